//! A process writes under load and is killed repeatedly at random times, on one data folder.
//!
//! Afterwards no acknowledged write is missing, writes in flight happened completely or not at all, no write that a
//! watcher saw is undone, and no revision is used twice.
//!
//! `OUTRIGGER_CRASH_ROUNDS` sets the number of kills.

mod child;
mod record;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use outrigger_store::{OpenError, Options, Scope, Snapshot, Store};
use record::{Line, Worker};

const ROUNDS: &str = "OUTRIGGER_CRASH_ROUNDS";

/// Content and revision of each name.
type Contents = BTreeMap<String, (String, u64)>;

#[test]
fn keeps_acknowledged_writes_across_sigkill() {
    let rounds = std::env::var(ROUNDS).map_or(5, |rounds| rounds.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    // A new store is at revision 1.
    let mut history = History {
        revision: 1,
        ..History::default()
    };
    let mut acknowledged = 0;
    for round in 0..rounds {
        let random = RandomState::new().hash_one(round);
        // Some processes are killed while they open or create the file.
        let delay = if random.is_multiple_of(4) {
            random / 4 % 30
        } else {
            random / 4 % 400
        };
        let output = run_and_kill(&data, Duration::from_millis(delay));
        // Half of the rounds leave the file as it is, so that the next process repairs it.
        let contents = match round % 2 {
            0 => read(&data),
            _ => read_copy(&data, &folder.path().join("copy")),
        };
        acknowledged += history.check(round, &output, &contents);
    }
    println!(
        "{rounds} kills, {acknowledged} writes acknowledged, last revision {}",
        history.revision
    );
}

#[test]
fn opens_a_folder_whose_creation_was_killed() {
    let rounds = std::env::var(ROUNDS).map_or(4, |rounds| rounds.parse().unwrap());
    for round in 0..rounds {
        let folder = tempfile::tempdir().unwrap();
        let delay = RandomState::new().hash_one(round) % 40_000;
        let output = run_and_kill(folder.path(), Duration::from_micros(delay));
        let mut history = History {
            revision: 1,
            ..History::default()
        };
        history.check(round, &output, &read(folder.path()));
    }
}

#[test]
fn rejects_a_folder_locked_by_another_process() {
    let folder = tempfile::tempdir().unwrap();
    let mut result = None;
    let output = run(folder.path(), || {
        // The process creates the file after it has locked the folder.
        let file = folder.path().join("store.redb");
        for _ in 0..1000 {
            if file.exists() {
                result = Some(Store::open(Options::in_folder(folder.path())));
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    let refused = matches!(result, Some(Err(OpenError::InUse { .. })));
    assert!(refused, "{output}");
    read(folder.path());
}

/// What all rounds have reported so far.
#[derive(Default)]
struct History {
    /// The name of the object of each revision.
    given: BTreeMap<u64, String>,
    contents: Contents,
    revision: u64,
}

impl History {
    /// Compares the output of the killed process with the file and returns the number of acknowledged writes.
    fn check(&mut self, round: u64, output: &str, (contents, revision): &(Contents, u64)) -> usize {
        let mut workers = BTreeMap::<usize, Worker>::new();
        let mut acknowledged = 0;
        let mut seen = self.revision;
        for line in Line::parse_all(output) {
            match line {
                Line::Start(start) => assert_eq!(start, self.revision, "round {round}"),
                Line::Try(worker, changes) => workers.entry(worker).or_default().tried(changes),
                Line::Acknowledged(worker, revisions) => {
                    let written = workers.entry(worker).or_default().acknowledged(&revisions);
                    acknowledged += written.len();
                    self.contents.retain(|name, _| !written.contains_key(name));
                    for (name, (text, revision)) in written {
                        self.give(revision, &name);
                        self.contents
                            .extend(text.map(|text| (name, (text, revision))));
                    }
                }
                Line::Event(revision, name) => {
                    assert!(
                        revision > seen,
                        "round {round}: event {revision} after {seen}"
                    );
                    seen = revision;
                    let owner = self.given.entry(revision).or_insert_with(|| name.clone());
                    assert_eq!(
                        *owner, name,
                        "round {round}: revision {revision} given twice"
                    );
                }
            }
        }
        assert!(
            *revision >= seen,
            "round {round}: what a watcher saw at {seen} is undone"
        );
        let last = self
            .given
            .last_key_value()
            .map_or(0, |(revision, _)| *revision);
        assert!(
            *revision >= last,
            "round {round}: the store is at {revision}, but {last} was given"
        );
        for worker in workers.values() {
            worker.resolve_in_flight(&mut self.contents, contents, self.revision);
        }
        assert_eq!(self.contents, *contents, "round {round}");
        self.revision = *revision;
        acknowledged
    }

    /// The writer and a watcher may both report a revision, but only for one name.
    fn give(&mut self, revision: u64, name: &str) {
        assert!(
            revision > self.revision,
            "{revision} was given in an earlier round"
        );
        let owner = self
            .given
            .entry(revision)
            .or_insert_with(|| name.to_owned());
        assert_eq!(owner, name, "revision {revision} given twice");
    }
}

/// Lets the process write for some time.
fn run_and_kill(data: &Path, time: Duration) -> String {
    run(data, || std::thread::sleep(time))
}

/// Starts this test binary as the process that writes, kills it after `meanwhile`, and returns what it said.
#[expect(clippy::disallowed_methods, reason = "a process must die here")]
fn run(data: &Path, meanwhile: impl FnOnce()) -> String {
    let mut process = Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "crash::child::writes_until_it_is_killed",
            "--nocapture",
        ])
        .env(child::FOLDER, data)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdout = process.stdout.take().unwrap();
    // Read all the time, or the process would wait for the pipe.
    let reader = std::thread::spawn(move || {
        let mut output = Vec::new();
        stdout.read_to_end(&mut output).unwrap();
        String::from_utf8(output).unwrap()
    });
    meanwhile();
    process.kill().unwrap();
    let status = process.wait().unwrap();
    assert!(
        status.code().is_none(),
        "the process ended by itself: {status}"
    );
    reader.join().unwrap()
}

fn read(data: &Path) -> (Contents, u64) {
    let store = Store::open(Options::in_folder(data)).unwrap();
    let snapshot = store.snapshot();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(store.close());
    (contents(&snapshot), snapshot.revision())
}

fn read_copy(data: &Path, copy: &Path) -> (Contents, u64) {
    fs_err::create_dir_all(copy).unwrap();
    let file = data.join("store.redb");
    // A process that was killed early has made none.
    if file.exists() {
        fs_err::copy(file, copy.join("store.redb")).unwrap();
    }
    let result = read(copy);
    fs_err::remove_dir_all(copy).unwrap();
    result
}

fn contents(snapshot: &Snapshot) -> Contents {
    let everything = Scope::everything();
    let objects = snapshot.list(&everything).map(|object| {
        let value: serde_json::Value = serde_json::from_slice(object.bytes()).unwrap();
        assert_eq!(
            value["metadata"]["resourceVersion"],
            object.revision().to_string()
        );
        let text = value["spec"]["text"].as_str().unwrap().to_owned();
        (object.key().name().to_owned(), (text, object.revision()))
    });
    objects.collect()
}
