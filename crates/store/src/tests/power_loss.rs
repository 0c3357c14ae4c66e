//! The power goes at every possible moment; parts of what was not synced are lost.

use std::collections::BTreeMap;

use super::simulated::{SimulatedDisk, random};
use super::*;

/// What the writer of one name was told, and what it had asked for when it got no answer.
#[derive(Debug, Default, Clone)]
struct Fate {
    acknowledged: Option<(String, u64)>,
    open: Option<String>,
}

/// Writes names over and over until the power goes.
async fn write_until_dark(store: Store, name: String, mut fate: Fate) -> (String, Fate) {
    for round in 0.. {
        let text = format!("{round}-{}", "x".repeat(500));
        let mutation = match store.get(&pod(&name)) {
            None => Mutation::create(pod(&name), draft(&text)),
            Some(_) => Mutation::replace(pod(&name), draft(&text), Precondition::exists()),
        };
        fate.open = Some(text.clone());
        match store.write(mutation).await {
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

/// One disk that loses power again and again.
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
            // What is there now is the truth from here on.
            let object = store.get(&pod(name));
            fate.acknowledged = object.map(|object| (content(&object), object.revision()));
            fate.open = None;
        }
        assert!(store.revision() >= last, "round {round}");
        disk.light_fuse(1 + random() % 120);
        let tasks: Vec<_> = fates
            .clone()
            .into_iter()
            .map(|(name, fate)| tokio::spawn(write_until_dark(store.clone(), name, fate)))
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
async fn nothing_acknowledged_is_lost_when_the_power_goes() {
    for seed in 0..15 {
        survives(seed).await;
    }
}
