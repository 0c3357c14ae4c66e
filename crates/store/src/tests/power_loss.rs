//! Power loss at any moment: parts of what was not synced are lost.

use std::collections::BTreeMap;

use super::simulated::{SimulatedDisk, random};
use super::*;

/// The last acknowledged write of a name, and the write that was in flight.
#[derive(Debug, Default, Clone)]
struct Fate {
    acknowledged: Option<(String, u64)>,
    open: Option<String>,
}

/// Writes an object repeatedly until the power is lost.
async fn write_until_power_loss(store: Store, name: String, mut fate: Fate) -> (String, Fate) {
    for round in 0.. {
        let text = format!("{round}-{}", "x".repeat(500));
        let transaction = match store.get(&pod(&name)) {
            None => Transaction::create(pod(&name), encoded(&text)),
            Some(_) => Transaction::replace(pod(&name), encoded(&text), Precondition::exists()),
        };
        fate.open = Some(text.clone());
        match store.write(transaction).await {
            Ok(written) => {
                fate = Fate {
                    acknowledged: Some((text, written.results[0].revision())),
                    open: None,
                };
            }
            Err(_) => break,
        }
    }
    (name, fate)
}

fn check(store: &Store, name: &str, fate: &Fate) {
    let found = store.get(&pod(name)).map(|object| content(&object));
    let acknowledged = fate.acknowledged.as_ref().map(|(text, _)| text.clone());
    let allowed = [acknowledged, fate.open.clone()];
    assert!(
        found == allowed[0] || (found.is_some() && found == allowed[1]),
        "{name}: found {found:?}, allowed {allowed:?}"
    );
}

/// Opens one disk repeatedly, losing power each time.
async fn survives(seed: u64) {
    let mut random = random(seed);
    let disk = SimulatedDisk::with_store();
    let mut fates: BTreeMap<String, Fate> = (0..5)
        .map(|number| (format!("p{number}"), Fate::default()))
        .collect();
    let mut last = 0;
    for round in 0..6 {
        let store = disk.open().unwrap();
        for (name, fate) in &mut fates {
            check(&store, name, fate);
            // The current content is the baseline from here on.
            let object = store.get(&pod(name));
            fate.acknowledged = object.map(|object| (content(&object), object.revision()));
            fate.open = None;
        }
        assert!(store.revision() >= last, "round {round}");
        disk.cut_power_after(1 + random() % 120);
        let tasks: Vec<_> = fates
            .clone()
            .into_iter()
            .map(|(name, fate)| tokio::spawn(write_until_power_loss(store.clone(), name, fate)))
            .collect();
        for task in tasks {
            let (name, fate) = task.await.unwrap();
            last = last.max(
                fate.acknowledged
                    .as_ref()
                    .map_or(0, |(_, revision)| *revision),
            );
            fates.insert(name, fate);
        }
        disk.cut_power(&mut random);
        store.close().await;
    }
}

#[tokio::test]
async fn keeps_acknowledged_writes_across_power_loss() {
    for seed in 0..15 {
        survives(seed).await;
    }
}
