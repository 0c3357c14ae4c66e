//! Records that somebody edits while attempts run.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::time::Duration;

use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};

use crate::*;

/// A store and a machine on which nothing fails.
#[derive(Default)]
struct Site {
    begun: Mutex<Vec<Attempt>>,
    /// What stopping an attempt results in.
    stopped: Option<Stopped>,
}

impl Store for Site {
    type Version = ();

    async fn write(&self, writes: Vec<Write<()>>) -> Vec<Result<(), WriteError>> {
        writes.iter().map(|_| Ok(())).collect()
    }
}

impl Executor for Site {
    fn start(&self, attempt: &Attempt) {
        self.begun.lock().unwrap().push(attempt.clone());
    }

    async fn stop(&self, attempts: &[Attempt]) -> Vec<Stopped> {
        let stopped = self.stopped.clone().unwrap_or(Stopped::Canceled);
        attempts.iter().map(|_| stopped.clone()).collect()
    }
}

/// One runner of a flow with a hook on one machine.
struct Edited {
    flow: Flow,
    runner: Runner,
    records: Versioned<()>,
    site: Site,
    now: Timestamp,
    is_canceled: bool,
}

impl Edited {
    fn new() -> Self {
        let mut step = Step::machine("EnsureHook");
        step.timeout = Duration::from_hours(24);
        let identity = Identity {
            holder: "runner".to_owned(),
            lease: Duration::from_hours(1),
            is_exclusive: true,
        };
        Self {
            flow: Flow::new("create", vec![step]).unwrap(),
            runner: Runner::new(identity),
            records: Versioned::new(),
            site: Site::default(),
            now: Timestamp::UNIX_EPOCH,
            is_canceled: false,
        }
    }

    fn pass(&mut self) -> Outcome {
        let desired = Desired {
            run: "1-Create",
            machines: &["m".to_owned()],
            max_in_turn: 1,
            alone: &BTreeSet::new(),
            omitted: &BTreeSet::new(),
            digests: &BTreeMap::new(),
            skip: &BTreeSet::new(),
            delegate: &BTreeMap::new(),
            retry: None,
            is_canceled: self.is_canceled,
        };
        self.now += SignedDuration::from_secs(2);
        let (now, ports) = (self.now, (&self.site, &self.site));
        let records = self.records.clone();
        let pass = self
            .runner
            .pass(&self.flow, &desired, records, ports, || now);
        let pass = pass.now_or_never().unwrap();
        assert_eq!(pass.errors, []);
        self.records = pass.records;
        pass.outcome
    }

    fn begun(&self) -> Vec<Attempt> {
        self.site.begun.lock().unwrap().clone()
    }

    fn record(&mut self) -> &mut Record {
        let target = Target::Machine("m".to_owned());
        &mut self.records.get_mut(&target).unwrap().1
    }

    /// The record of the machine is as after this edit.
    fn edit(&mut self, edit: impl FnOnce(&mut Record)) {
        edit(self.record());
    }
}

#[test]
fn the_result_of_an_attempt_counts_whatever_is_done_to_its_record_meanwhile() {
    let edits: [fn(&mut Record); 4] = [
        |record| *record = Record::default(),
        |record| record.tasks.clear(),
        |record| {
            let task = record.tasks.get_mut("EnsureHook").unwrap();
            task.state = State::Running {
                attempt: 1,
                holder: "runner".to_owned(),
                deadline: Timestamp::MAX,
            };
        },
        |record| record.retry = Some("edited".to_owned()),
    ];
    for (number, edit) in edits.into_iter().enumerate() {
        for is_seen_before_the_end in [true, false] {
            let mut edited = Edited::new();
            edited.pass();
            let first = edited.begun().pop().unwrap();
            // The second attempt.
            edited.runner.report(first, Err("busy".to_owned()));
            edited.pass();
            edited.pass();
            let attempt = edited.begun().pop().unwrap();
            assert_eq!((attempt.number, attempt.serial), (2, 2));
            edited.edit(edit);
            if is_seen_before_the_end {
                edited.pass();
                let state = edited.record().state("EnsureHook").clone();
                assert!(matches!(state, State::Running { attempt: 1 | 2, .. }));
            }
            edited.runner.report(attempt, Ok(()));
            assert_eq!(edited.pass(), Outcome::Done, "edit {number}");
            assert_eq!(edited.begun().len(), 2, "edit {number}");
            assert!(edited.runner.is_idle());
        }
    }
}

#[test]
fn the_record_of_the_whole_flow_can_be_lost_while_an_attempt_runs() {
    let mut edited = Edited::new();
    edited.pass();
    let attempt = edited.begun().pop().unwrap();
    edited.records.clear();
    edited.pass();
    let target = Target::Machine("m".to_owned());
    let record = &edited.records[&target].1;
    assert_eq!(record.running(&attempt.task).as_ref(), Some(&attempt));
    edited.runner.report(attempt, Ok(()));
    assert_eq!(edited.pass(), Outcome::Done);
    assert_eq!(edited.begun().len(), 1);
}

#[test]
fn an_attempt_that_could_not_be_stopped_is_attached_to_when_it_is_wanted_again() {
    let mut edited = Edited::new();
    edited.pass();
    edited.site.stopped = Some(Stopped::Unknown("no answer".to_owned()));
    edited.is_canceled = true;
    assert_eq!(edited.pass(), Outcome::InProgress);
    assert_eq!(edited.pass(), Outcome::InProgress);
    assert_eq!(edited.begun().len(), 1);
    edited.is_canceled = false;
    edited.pass();
    let begun = edited.begun();
    assert_eq!(begun.len(), 2);
    assert_eq!(begun[0], begun[1]);
    edited.runner.report(begun[1].clone(), Ok(()));
    assert_eq!(edited.pass(), Outcome::Done);
}
