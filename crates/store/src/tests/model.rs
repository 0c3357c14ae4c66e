//! Random operations on a store and on a simple model; contents and watch events must match.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::watch::{Event, WatchEnd};

/// The expected objects: content, revision and creation revision by name.
type Objects = BTreeMap<String, (String, u64, u64)>;

/// An expected event: revision, type, name, content.
type Seen = (u64, char, String, String);

#[derive(Debug, Clone)]
enum Step {
    Write(Vec<Change>),
    /// Starts a watch this many revisions ago.
    Watch(Watched, u64),
    /// Compares the snapshot of this many revisions ago.
    Past(u64),
    Reopen,
}

#[derive(Debug, Clone)]
enum Change {
    Create(u8),
    Replace(u8, Seeing),
    Delete(u8, Seeing),
}

/// The precondition of a write.
#[derive(Debug, Clone, Copy)]
enum Seeing {
    Nothing,
    Current,
    Stale,
}

#[derive(Debug, Clone, Copy)]
enum Watched {
    All,
    Name(u8),
    OtherNamespace,
}

fn seeing() -> impl Strategy<Value = Seeing> {
    prop_oneof![
        Just(Seeing::Nothing),
        Just(Seeing::Current),
        Just(Seeing::Stale)
    ]
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        3 => (0u8..12).prop_map(Change::Create),
        3 => (0u8..12, seeing()).prop_map(|(name, seeing)| Change::Replace(name, seeing)),
        2 => (0u8..12, seeing()).prop_map(|(name, seeing)| Change::Delete(name, seeing)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let watched = prop_oneof![
        Just(Watched::All),
        (0u8..12).prop_map(Watched::Name),
        Just(Watched::OtherNamespace),
    ];
    prop_oneof![
        12 => prop::collection::vec(change(), 1..2).prop_map(Step::Write),
        3 => prop::collection::vec(change(), 2..5).prop_map(Step::Write),
        2 => (watched, 0u64..20).prop_map(|(watched, ago)| Step::Watch(watched, ago)),
        2 => (0u64..20).prop_map(Step::Past),
        1 => Just(Step::Reopen),
    ]
}

fn name(number: u8) -> String {
    format!("p{number}")
}

/// The store under test and its model.
struct Run {
    options: Options,
    store: Store,
    objects: Objects,
    revision: u64,
    /// Events since the last start.
    events: Vec<Seen>,
    /// All states since the last start, by revision.
    past: BTreeMap<u64, Objects>,
    watchers: Vec<(Watcher, Watched, u64)>,
}

impl Run {
    fn new(options: Options) -> Self {
        let store = Store::open(options.clone()).unwrap();
        let revision = store.revision();
        Self {
            options,
            store,
            objects: Objects::new(),
            revision,
            events: Vec::new(),
            past: BTreeMap::from([(revision, Objects::new())]),
            watchers: Vec::new(),
        }
    }

    async fn step(&mut self, number: usize, step: &Step) {
        match step {
            Step::Write(changes) => self.write(number, changes).await,
            Step::Watch(watched, ago) => self.watch(*watched, self.revision.saturating_sub(*ago)),
            Step::Past(ago) => self.look_back(self.revision.saturating_sub(*ago)),
            Step::Reopen => self.reopen().await,
        }
    }

    /// Commits a transaction and compares the result with the model.
    async fn write(&mut self, number: usize, changes: &[Change]) {
        let mut objects = self.objects.clone();
        let mut past = Vec::new();
        let mut events = Vec::new();
        let mut accepted = true;
        let mut operations = Vec::new();
        for (index, change) in changes.iter().enumerate() {
            let text = format!("{number}-{index}");
            let revision = self.revision + 1 + index as u64;
            // Preconditions refer to the state before the transaction.
            operations.push(operation(change, &text, &self.objects));
            let event = apply(&mut objects, change, &text, revision, &self.objects);
            accepted &= event.is_some();
            events.extend(event);
            past.push((revision, objects.clone()));
        }
        let result = self.store.write(Transaction::new(operations)).await;
        assert_eq!(result.is_ok(), accepted, "{changes:?}: {result:?}");
        if let Ok(written) = result {
            let revisions: Vec<_> = written
                .results
                .iter()
                .map(|object| object.revision())
                .collect();
            assert!(
                revisions
                    .iter()
                    .eq(events.iter().map(|(revision, ..)| revision))
            );
            self.revision += changes.len() as u64;
            self.objects = objects;
            self.events.extend(events);
            self.past.extend(past);
        }
        self.compare();
    }

    fn compare(&self) {
        assert_eq!(self.store.revision(), self.revision);
        assert_eq!(listed(&self.store.snapshot()), self.objects);
        for (name, (text, ..)) in &self.objects {
            assert_eq!(&content(&self.store.get(&pod(name)).unwrap()), text);
        }
    }

    fn watch(&mut self, watched: Watched, from: u64) {
        let scope = match watched {
            Watched::All => Scope::resource(&pods()),
            Watched::Name(number) => Scope::namespace(&pods(), "default")
                .unwrap()
                .named(&name(number)),
            Watched::OtherNamespace => Scope::namespace(&pods(), "other").unwrap(),
        };
        match self.store.watch(scope, from) {
            Ok(watcher) => self.watchers.push((watcher, watched, from)),
            Err(expired) => assert!(from < expired.compacted),
        }
    }

    fn look_back(&self, revision: u64) {
        match self.store.snapshot_at(revision) {
            Ok(snapshot) => assert_eq!(listed(&snapshot), self.past[&revision]),
            Err(expired) => assert!(revision < expired.compacted),
        }
    }

    async fn reopen(&mut self) {
        self.store.close().await;
        self.check_watchers(Some(WatchEnd::Closed)).await;
        if self.options.folder.is_none() {
            self.objects.clear();
        }
        self.store = Store::open(self.options.clone()).unwrap();
        if self.options.folder.is_none() {
            self.revision = self.store.revision();
        }
        self.compare();
        self.events.clear();
        self.past = BTreeMap::from([(self.revision, self.objects.clone())]);
        assert_eq!(self.store.compacted_revision(), self.revision);
    }

    /// Each watcher has seen the expected events, then the end.
    async fn check_watchers(&mut self, end: Option<WatchEnd>) {
        for (mut watcher, watched, from) in self.watchers.drain(..) {
            let expected: Vec<_> = self
                .events
                .iter()
                .filter(|(revision, _, of, _)| *revision > from && sees(watched, of))
                .cloned()
                .collect();
            let mut seen = Vec::new();
            while let Ok(Some(event)) = watcher.ready() {
                seen.push(describe(&event));
            }
            assert_eq!(seen, expected, "{watched:?} from {from}");
            assert_eq!(watcher.progress(), Ok(self.revision.max(from)));
            if let Some(end) = end {
                assert_eq!(watcher.next().await.unwrap_err(), end);
            }
        }
    }
}

fn precondition(name: &str, seeing: Seeing, objects: &Objects) -> Precondition {
    let current = objects.get(name).map_or(1, |(_, revision, _)| *revision);
    match seeing {
        Seeing::Nothing => Precondition::exists(),
        Seeing::Current => Precondition::revision(current),
        Seeing::Stale => Precondition::revision(current + 1000),
    }
}

fn operation(change: &Change, text: &str, known: &Objects) -> Operation {
    match change {
        Change::Create(number) => Operation::Create {
            key: pod(&name(*number)),
            encoded: encoded(text),
        },
        Change::Replace(number, seeing) => Operation::Replace {
            key: pod(&name(*number)),
            encoded: encoded(text),
            precondition: precondition(&name(*number), *seeing, known),
        },
        Change::Delete(number, seeing) => Operation::Delete {
            key: pod(&name(*number)),
            precondition: precondition(&name(*number), *seeing, known),
        },
    }
}

/// Applies a change to the model; none if it is rejected.
fn apply(
    objects: &mut Objects,
    change: &Change,
    text: &str,
    revision: u64,
    known: &Objects,
) -> Option<Seen> {
    let allowed = |objects: &Objects, name: &str, seeing: Seeing| {
        let (old, at, created) = objects.get(name)?.clone();
        let wanted = precondition(name, seeing, known).revision;
        wanted
            .is_none_or(|wanted| wanted == at)
            .then_some((old, created))
    };
    match change {
        Change::Create(number) => {
            let name = name(*number);
            if objects.contains_key(&name) {
                return None;
            }
            objects.insert(name.clone(), (text.to_owned(), revision, revision));
            Some((revision, '+', name, text.to_owned()))
        }
        Change::Replace(number, seeing) => {
            let name = name(*number);
            let (_, created) = allowed(objects, &name, *seeing)?;
            objects.insert(name.clone(), (text.to_owned(), revision, created));
            Some((revision, '~', name, text.to_owned()))
        }
        Change::Delete(number, seeing) => {
            let name = name(*number);
            let (old, _) = allowed(objects, &name, *seeing)?;
            objects.remove(&name);
            Some((revision, '-', name, old))
        }
    }
}

fn sees(watched: Watched, of: &str) -> bool {
    match watched {
        Watched::All => true,
        Watched::Name(number) => name(number) == of,
        Watched::OtherNamespace => false,
    }
}

fn describe(event: &Event) -> Seen {
    let sign = match event {
        Event::Added { .. } => '+',
        Event::Modified { .. } => '~',
        Event::Deleted { .. } => '-',
    };
    (
        event.revision(),
        sign,
        event.key().name().to_owned(),
        content(event.object()),
    )
}

fn listed(snapshot: &Snapshot) -> Objects {
    snapshot
        .list(&Scope::everything())
        .map(|object| {
            let versions = (
                content(object),
                object.revision(),
                object.created_revision(),
            );
            (object.key().name().to_owned(), versions)
        })
        .collect()
}

fn run(options: Options, steps: &[Step]) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(async {
        let mut run = Run::new(options);
        for (number, step) in steps.iter().enumerate() {
            run.step(number, step).await;
        }
        run.check_watchers(None).await;
        run.store.close().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_store_in_memory_matches_the_model(steps in prop::collection::vec(step(), 1..120)) {
        run(Options::in_memory(), &steps);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    #[test]
    fn a_store_in_a_file_matches_the_model(steps in prop::collection::vec(step(), 1..80)) {
        let folder = tempfile::tempdir().unwrap();
        run(Options::in_folder(folder.path()), &steps);
    }
}
