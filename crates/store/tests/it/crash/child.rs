//! The process that is killed: workers write to names of their own as fast as they can, a watcher looks on.

use std::collections::BTreeMap;
use std::path::PathBuf;

use outrigger_store::{
    EncodedObject, Key, Operation, Options, Precondition, Resource, Scope, Store, Transaction,
};
use serde_json::json;

use super::record::{Changes, Line};

/// Where the store is. Without it this is not the process to be killed.
pub(super) const FOLDER: &str = "OUTRIGGER_CRASH_FOLDER";

const WORKERS: usize = 32;
const NAMES: u64 = 6;

#[test]
fn writes_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER) else {
        return;
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    runtime.block_on(write(PathBuf::from(folder)));
}

async fn write(folder: PathBuf) {
    let store = Store::open(Options::in_folder(folder)).unwrap();
    println!();
    println!("{}", Line::Start(store.revision()));
    let mut tasks: Vec<_> = (0..WORKERS)
        .map(|worker| tokio::spawn(work(store.clone(), worker)))
        .collect();
    tasks.push(tokio::spawn(look_on(store)));
    for task in tasks {
        task.await.unwrap();
    }
}

async fn look_on(store: Store) {
    let mut watcher = store.watch(Scope::everything(), store.revision()).unwrap();
    loop {
        let event = watcher.next().await.unwrap();
        println!(
            "{}",
            Line::Event(event.revision(), event.key().name().to_owned())
        );
    }
}

async fn work(store: Store, worker: usize) {
    for round in 0_u64.. {
        let changes = changes(&store, worker, round);
        let operations = changes
            .iter()
            .map(|(name, text)| operation(&store, name, text.as_deref()))
            .collect();
        println!("{}", Line::Try(worker, changes));
        let written = store.write(Transaction::new(operations)).await.unwrap();
        let revisions: BTreeMap<_, _> = written
            .results
            .iter()
            .map(|object| (object.key().name().to_owned(), object.revision()))
            .collect();
        println!("{}", Line::Acknowledged(worker, revisions));
    }
}

/// Changes one or two names; every fourth change deletes an existing object.
fn changes(store: &Store, worker: usize, round: u64) -> Changes {
    let name = |number: u64| format!("w{worker}-{}", number % NAMES);
    let names = match round % 3 {
        0 => vec![name(round), name(round + 1)],
        _ => vec![name(round)],
    };
    let text = |name: &str| {
        let delete = round % 4 == 3 && store.get(&key(name)).is_some();
        (!delete).then(|| format!("{}-{}", store.revision(), "x".repeat(800)))
    };
    names
        .into_iter()
        .map(|name| (name.clone(), text(&name)))
        .collect()
}

fn operation(store: &Store, name: &str, text: Option<&str>) -> Operation {
    let key = key(name);
    let Some(text) = text else {
        return Operation::Delete {
            key,
            precondition: Precondition::exists(),
        };
    };
    let object = json!({"kind": "Pod", "metadata": {"name": name}, "spec": {"text": text}});
    let encoded = EncodedObject::new(&object).unwrap();
    match store.get(&key) {
        None => Operation::Create { key, encoded },
        Some(current) => Operation::Replace {
            key,
            encoded,
            precondition: Precondition::revision(current.revision()),
        },
    }
}

fn key(name: &str) -> Key {
    Resource::new("", "pods")
        .unwrap()
        .key("default", name)
        .unwrap()
}
