//! Plans of small flows.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use crate::*;

/// One runner, two machines, and a store that never fails.
struct Example {
    flow: Flow,
    machines: Vec<String>,
    max_in_turn: usize,
    alone: BTreeSet<String>,
    digests: BTreeMap<Task, String>,
    omitted: BTreeSet<Task>,
    ended: Vec<Ended>,
    skip: BTreeSet<&'static str>,
    delegate: BTreeMap<&'static str, Delegate>,
    retry: Option<&'static str>,
    records: Records,
    now: Timestamp,
}

impl Example {
    fn new(steps: &[Step]) -> Self {
        Self {
            flow: Flow::new("create", steps.to_vec()).unwrap(),
            machines: vec!["m1".to_owned(), "m2".to_owned()],
            max_in_turn: 1,
            alone: BTreeSet::new(),
            digests: BTreeMap::new(),
            omitted: BTreeSet::new(),
            ended: Vec::new(),
            skip: BTreeSet::new(),
            delegate: BTreeMap::new(),
            retry: None,
            records: Records::new(),
            now: Timestamp::UNIX_EPOCH,
        }
    }

    /// Plans until the lease is stored.
    fn plan(&mut self) -> Plan {
        let plan = self.plan_once();
        let is_lease = plan.outcome == Outcome::InProgress && plan.wake == Some(self.now);
        if is_lease { self.plan_once() } else { plan }
    }

    fn plan_once(&mut self) -> Plan {
        let desired = Desired {
            run: "1",
            machines: &self.machines,
            max_in_turn: self.max_in_turn,
            alone: &self.alone,
            omitted: &self.omitted,
            digests: &self.digests,
            skip: &self.skip,
            delegate: &self.delegate,
            retry: self.retry,
            is_canceled: false,
        };
        let runner = identity("runner");
        let plan = plan(
            &self.flow,
            &desired,
            &self.records,
            &self.ended,
            &runner,
            self.now,
        );
        if plan.wake != Some(self.now) {
            self.ended.clear();
        }
        self.records.extend(plan.changed.clone());
        plan
    }

    /// The attempts that begin, and where the flow stands.
    fn next(&mut self) -> (Vec<Attempt>, Outcome) {
        let mut plan = self.plan();
        if plan.actions.is_empty() && !plan.changed.is_empty() {
            // Another target may have waited for what is stored now.
            plan = self.plan();
        }
        let attempts = plan.actions.into_iter().map(|action| action.attempt);
        (attempts.collect(), plan.outcome)
    }

    fn begins(&mut self) -> Vec<String> {
        let (attempts, _) = self.next();
        for attempt in &attempts {
            self.finish(attempt, Ok(()));
        }
        attempts
            .iter()
            .map(|attempt| attempt.task.to_string())
            .collect()
    }

    fn finish(&mut self, attempt: &Attempt, outcome: Result<(), String>) {
        let result = match outcome {
            Ok(()) => EndResult::Succeeded,
            Err(message) => EndResult::Failed(message),
        };
        let attempt = attempt.clone();
        self.ended.push(Ended { attempt, result });
    }
}

fn identity(holder: &str) -> Identity {
    Identity {
        holder: holder.to_owned(),
        lease: Duration::from_hours(1),
        is_exclusive: false,
    }
}

#[test]
fn machines_wait_for_each_other_only_before_cluster_steps() {
    let mut example = Example::new(&[
        Step::machine("EnsureCopyFiles"),
        Step::machine("EnsureSysctl"),
        Step::cluster("EnsureCerts"),
        Step::new("EnsureJoin", Scope::MachineInTurn),
    ]);
    let (attempts, _) = example.next();
    example.finish(&attempts[0], Ok(()));
    assert_eq!(example.begins(), ["EnsureSysctl on machine m1"]);
    example.finish(&attempts[1], Ok(()));
    assert_eq!(example.begins(), ["EnsureSysctl on machine m2"]);
    assert_eq!(example.begins(), ["EnsureCerts on cluster"]);
    assert_eq!(example.begins(), ["EnsureJoin on machine m1"]);
    assert_eq!(example.begins(), ["EnsureJoin on machine m2"]);
    assert_eq!(example.next(), (vec![], Outcome::Done));
}

#[test]
fn a_failure_is_retried_with_backoff_and_ends_as_failed_until_the_user_asks_again() {
    let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
    for delay in [1, 2, 4, 8] {
        let (attempts, _) = example.next();
        example.finish(&attempts[0], Err("no entropy".into()));
        assert_eq!(example.next().0, []);
        example.now += SignedDuration::from_secs(delay);
    }
    let (attempts, _) = example.next();
    example.finish(&attempts[0], Err("no entropy".into()));
    let task = attempts[0].task.clone();
    assert_eq!(example.next(), (vec![], Outcome::Failed(vec![task])));
    example.retry = Some("1");
    let (attempts, outcome) = example.next();
    assert_eq!((attempts[0].number, attempts[0].serial), (1, 6));
    assert_eq!(outcome, Outcome::InProgress);
}

#[test]
fn a_changed_input_repeats_its_own_task_only() {
    let mut example = Example::new(&[
        Step::machine("EnsureCopyFiles"),
        Step::cluster("EnsureCerts"),
    ]);
    assert_eq!(example.begins().len(), 2);
    assert_eq!(example.begins(), ["EnsureCerts on cluster"]);
    let task = Task {
        step: "EnsureCopyFiles",
        target: Target::Machine("m2".into()),
    };
    example.digests.insert(task, "changed".into());
    assert_eq!(example.begins(), ["EnsureCopyFiles on machine m2"]);
    assert_eq!(example.next(), (vec![], Outcome::Done));
}

#[test]
fn a_skipped_step_is_recorded_and_later_steps_begin() {
    let mut example = Example::new(&[Step::machine("EnsureSysctl"), Step::machine("EnsureSwap")]);
    example.skip.insert("EnsureSysctl");
    let begun = ["EnsureSwap on machine m1", "EnsureSwap on machine m2"];
    assert_eq!(example.begins(), begun);
    let record = &example.records[&Target::Machine("m1".into())];
    assert_eq!(record.state("EnsureSysctl"), &State::Skipped);
}

#[test]
fn the_last_step_can_be_delegated_and_times_out() {
    let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
    let delegate = Delegate {
        owner: "operator".into(),
        timeout: Duration::from_mins(1),
    };
    example.delegate.insert("EnsureCerts", delegate);
    let (attempts, outcome) = example.next();
    assert_eq!(attempts, []);
    assert!(matches!(outcome, Outcome::Delegated(_)), "{outcome:?}");
    example.now += SignedDuration::from_mins(1);
    let (_, outcome) = example.next();
    assert!(matches!(outcome, Outcome::Failed(_)), "{outcome:?}");
    let State::Failed { message, .. } = example.records[&Target::Cluster].state("EnsureCerts")
    else {
        panic!("{:?}", example.records);
    };
    assert_eq!(message, "operator did not finish the step in time");
}

#[test]
fn a_failed_delegation_is_forgotten_when_somebody_else_does_the_step() {
    let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
    let operator = |owner: &str| Delegate {
        owner: owner.into(),
        timeout: Duration::from_mins(1),
    };
    let state = |example: &Example| {
        example.records[&Target::Cluster]
            .state("EnsureCerts")
            .clone()
    };
    example.delegate.insert("EnsureCerts", operator("one"));
    let _ = example.next();
    example.now += SignedDuration::from_mins(1);
    let _ = example.next();
    assert!(matches!(state(&example), State::Failed { .. }));
    // Another operator.
    example.delegate.insert("EnsureCerts", operator("two"));
    let (_, outcome) = example.next();
    assert!(matches!(outcome, Outcome::Delegated(_)), "{outcome:?}");
    example.now += SignedDuration::from_mins(1);
    let _ = example.next();
    // Nobody: the runner does it.
    example.delegate.clear();
    assert_eq!(example.begins(), ["EnsureCerts on cluster"]);
}

#[test]
fn what_is_recorded_about_an_omitted_step_is_forgotten_unless_it_is_done() {
    let steps = ["EnsureCerts", "EnsureSysctl", "EnsureSwap"];
    let mut example = Example::new(&steps.map(Step::cluster));
    example.skip.insert("EnsureSysctl");
    let (attempts, _) = example.next();
    example.finish(&attempts[0], Ok(()));
    let delegate = Delegate {
        owner: "operator".into(),
        timeout: Duration::from_mins(1),
    };
    example.delegate.insert("EnsureSwap", delegate);
    let _ = example.next();
    let states = |example: &Example| {
        let record = &example.records[&Target::Cluster];
        steps.map(|step| record.state(step).clone())
    };
    assert!(matches!(
        states(&example),
        [State::Done, State::Skipped, State::Delegated { .. }]
    ));
    example.omitted = steps
        .map(|step| Task {
            step,
            target: Target::Cluster,
        })
        .into();
    let (_, outcome) = example.next();
    assert_eq!(outcome, Outcome::Done);
    assert_eq!(
        states(&example),
        [State::Done, State::Waiting, State::Waiting]
    );
}

#[test]
fn an_attempt_without_end_expires() {
    let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
    let (attempts, _) = example.next();
    example.now += SignedDuration::from_mins(10);
    let [action] = &example.plan().actions[..] else {
        panic!("one action is expected");
    };
    assert_eq!(
        (action.kind, &action.attempt),
        (ActionKind::Expire, &attempts[0])
    );
}

#[test]
fn timeouts_at_the_limits_do_not_overflow() {
    let mut step = Step::cluster("EnsureCerts");
    step.timeout = Duration::MAX;
    step.retry.initial_delay = Duration::MAX;
    step.retry.max_delay = Duration::MAX;
    let mut example = Example::new(&[step]);
    let (attempts, _) = example.next();
    assert_eq!(attempts[0].deadline, Timestamp::MAX);
    example.finish(&attempts[0], Err("no".into()));
    example.plan();
    assert_eq!(example.plan().wake, Some(Timestamp::MAX));
}

#[test]
fn a_name_stands_for_one_step() {
    let mut docker = Step::machine("EnsureContainerRuntime");
    docker.aliases = &["EnsureDocker"];
    let flow = Flow::new("create", vec![docker.clone()]).unwrap();
    assert_eq!(flow.step("EnsureDocker"), Some(&docker));
    assert_eq!(flow.step("EnsureDone"), None);
    let twice = Flow::new("create", vec![docker, Step::machine("EnsureDocker")]);
    let error = twice.unwrap_err().to_string();
    assert_eq!(
        error,
        "flow create declares the step name EnsureDocker twice"
    );
}

#[test]
fn adjacent_steps_in_turn_finish_on_a_machine_before_the_next_begins() {
    let in_turn = |id| Step::new(id, Scope::MachineInTurn);
    let mut example = Example::new(&[
        in_turn("EnsurePreUpgradeHook"),
        in_turn("EnsureUpgrade"),
        in_turn("EnsurePostUpgradeHook"),
        Step::cluster("EnsurePostClusterUpgradeHook"),
    ]);
    let order = [
        "EnsurePreUpgradeHook on machine m1",
        "EnsureUpgrade on machine m1",
        "EnsurePostUpgradeHook on machine m1",
        "EnsurePreUpgradeHook on machine m2",
        "EnsureUpgrade on machine m2",
        "EnsurePostUpgradeHook on machine m2",
        "EnsurePostClusterUpgradeHook on cluster",
    ];
    for expected in order {
        assert_eq!(example.begins(), [expected]);
    }
}

#[test]
fn several_machines_have_their_turn_after_those_that_are_alone() {
    let in_turn = |id| Step::new(id, Scope::MachineInTurn);
    let mut example = Example::new(&[in_turn("EnsureUpgrade"), in_turn("EnsureHook")]);
    example.machines = ["c1", "c2", "w1", "w2", "w3"].map(str::to_owned).into();
    example.alone = ["c1", "c2"].map(str::to_owned).into();
    example.max_in_turn = 2;
    assert_eq!(example.begins(), ["EnsureUpgrade on machine c1"]);
    assert_eq!(example.begins(), ["EnsureHook on machine c1"]);
    assert_eq!(example.begins(), ["EnsureUpgrade on machine c2"]);
    assert_eq!(example.begins(), ["EnsureHook on machine c2"]);
    let both = ["EnsureUpgrade on machine w1", "EnsureUpgrade on machine w2"];
    assert_eq!(example.begins(), both);
    let both = ["EnsureHook on machine w1", "EnsureHook on machine w2"];
    assert_eq!(example.begins(), both);
    assert_eq!(example.begins(), ["EnsureUpgrade on machine w3"]);
}

#[test]
fn no_machine_begins_its_turn_after_one_failed() {
    let mut step = Step::new("EnsureUpgrade", Scope::MachineInTurn);
    step.retry.attempts = 1;
    let mut example = Example::new(&[step]);
    example.machines = ["w1", "w2", "w3"].map(str::to_owned).into();
    example.max_in_turn = 2;
    let (attempts, _) = example.next();
    example.finish(&attempts[0], Err("disk full".to_owned()));
    example.finish(&attempts[1], Ok(()));
    let (attempts, outcome) = example.next();
    assert_eq!(attempts, []);
    assert!(matches!(outcome, Outcome::Failed(failed) if failed.len() == 1));
    example.retry = Some("1");
    let (attempts, _) = example.next();
    let begun: Vec<String> = attempts.iter().map(|it| it.task.to_string()).collect();
    let expected = ["EnsureUpgrade on machine w1", "EnsureUpgrade on machine w3"];
    assert_eq!(begun, expected);
}

#[test]
fn a_success_and_the_next_start_of_a_target_are_stored_together() {
    let mut example = Example::new(&[Step::machine("EnsureSysctl"), Step::machine("EnsureSwap")]);
    let (attempts, _) = example.next();
    example.finish(&attempts[0], Ok(()));
    let plan = example.plan();
    let record = &plan.changed[&Target::Machine("m1".into())];
    assert_eq!(record.state("EnsureSysctl"), &State::Done);
    assert!(matches!(record.state("EnsureSwap"), State::Running { .. }));
}

#[test]
fn omitted_tasks_do_not_exist() {
    let mut example = Example::new(&[
        Step::machine("EnsureMarkNode"),
        Step::cluster("EnsureCilium"),
    ]);
    let target = Target::Machine("m1".into());
    let step = "EnsureMarkNode";
    example.omitted.insert(Task { step, target });
    assert_eq!(example.begins(), ["EnsureMarkNode on machine m2"]);
    let cluster = Task {
        step: "EnsureCilium",
        target: Target::Cluster,
    };
    example.omitted.insert(cluster);
    assert_eq!(example.next(), (vec![], Outcome::Done));
}

#[test]
fn an_attempt_at_a_task_that_is_omitted_later_is_canceled() {
    let mut example = Example::new(&[Step::cluster("EnsureCilium")]);
    let (attempts, _) = example.next();
    example.omitted.insert(attempts[0].task.clone());
    let plan = example.plan();
    assert_eq!(plan.actions[0].kind, ActionKind::Cancel);
    assert_eq!(plan.outcome, Outcome::InProgress);
    let attempt = attempts[0].clone();
    let result = EndResult::Canceled;
    example.ended.push(Ended { attempt, result });
    assert_eq!(example.plan().outcome, Outcome::Done);
}

mod leases {
    use super::*;

    fn plan_as(example: &Example, holder: &str, is_exclusive: bool) -> Plan {
        let desired = Desired {
            run: "1",
            machines: &[],
            max_in_turn: 1,
            alone: &example.alone,
            omitted: &example.omitted,
            digests: &example.digests,
            skip: &example.skip,
            delegate: &example.delegate,
            retry: None,
            is_canceled: false,
        };
        let runner = Identity {
            is_exclusive,
            ..identity(holder)
        };
        plan(
            &example.flow,
            &desired,
            &example.records,
            &[],
            &runner,
            example.now,
        )
    }

    #[test]
    fn a_runner_stores_the_lease_before_anything_else() {
        let example = Example::new(&[Step::cluster("EnsureCerts")]);
        let plan = plan_as(&example, "a", false);
        assert_eq!(plan.actions, []);
        let record = &plan.changed[&Target::Cluster];
        assert_eq!(record.lease.as_ref().unwrap().holder, "a");
        assert_eq!(record.tasks, BTreeMap::new());
    }

    #[test]
    fn another_runner_waits_for_the_lease_and_takes_it_when_it_expires() {
        let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
        example.next();
        let plan = plan_as(&example, "b", false);
        assert_eq!(plan.outcome, Outcome::Held("runner".into()));
        let expires = plan.wake.unwrap();
        assert_eq!(expires, example.now + SignedDuration::from_hours(1));
        assert!(!plan_as(&example, "b", true).changed.is_empty());
        example.now = expires;
        assert!(!plan_as(&example, "b", false).changed.is_empty());
    }

    #[test]
    fn the_lease_is_renewed_while_attempts_run_and_released_at_the_end() {
        let mut example = Example::new(&[Step::cluster("EnsureCerts")]);
        example.flow = {
            let mut step = Step::cluster("EnsureCerts");
            step.timeout = Duration::from_hours(9);
            Flow::new("create", vec![step]).unwrap()
        };
        let (attempts, _) = example.next();
        let wake = example.plan().wake.unwrap();
        assert_eq!(wake, example.now + SignedDuration::from_mins(20));
        example.now = wake;
        let plan = example.plan();
        let lease = plan.changed[&Target::Cluster].lease.clone().unwrap();
        assert_eq!(lease.expires, wake + SignedDuration::from_hours(1));
        example.finish(&attempts[0], Ok(()));
        let plan = example.plan();
        assert_eq!(plan.outcome, Outcome::Done);
        assert_eq!(plan.changed[&Target::Cluster].lease, None);
        assert!(plan_as(&example, "b", false).changed.is_empty());
    }
}
