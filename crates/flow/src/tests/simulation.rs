//! Runners that crash, race and read stale records, on machines that finish work at any time.
//!
//! Each simulation runs a random flow through random faults, checks the invariants of every attempt, then lets one
//! runner finish without faults and compares the result with [`Site::expected`], which knows nothing of records or plans.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures::FutureExt as _;
use jiff::{SignedDuration, Timestamp};

use crate::*;

const IDS: [&str; 6] = [
    "EnsureA", "EnsureB", "EnsureC", "EnsureD", "EnsureE", "EnsureF",
];
const RUNNERS: [&str; 2] = ["a", "b"];
const LEASE: Duration = Duration::from_mins(1);

#[test]
fn flows_end_as_without_faults() {
    for seed in 0..1_000 {
        let mut simulation = Simulation::new(seed);
        let faults = simulation.site().random.usize(10..120);
        for _ in 0..faults {
            simulation.fault();
        }
        simulation.finish();
        let site = simulation.site();
        assert_eq!(site.states(), site.expected(), "seed {seed}");
    }
}

/// What the machines know about a task: the current attempt, all results, and the last success.
#[derive(Debug, Default)]
struct Work {
    current: Option<Attempt>,
    results: BTreeMap<String, Result<(), String>>,
    success: Option<(String, String)>,
}

/// What happens to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriteFault {
    None,
    LostRequest,
    LostResponse,
    /// The runner is killed before or after the write.
    Kill,
}

/// The cluster: what the user wants, what is stored, and what the machines do.
struct Site {
    random: fastrand::Rng,
    flow: Flow,
    machines: Vec<String>,
    run: u32,
    digests: BTreeMap<Task, String>,
    omitted: BTreeSet<Task>,
    skip: BTreeSet<&'static str>,
    delegate: BTreeMap<&'static str, Delegate>,
    /// Tasks whose attempts all fail.
    broken: BTreeSet<Task>,
    retry: Option<String>,
    is_canceled: bool,
    has_faults: bool,
    now: Timestamp,
    /// Since when there are no faults.
    calm_since: Option<Timestamp>,
    /// The stored records, with the version that a write must name.
    stored: Versioned<u64>,
    work: BTreeMap<Task, Work>,
    /// The attempts that each runner started.
    started: BTreeMap<&'static str, Vec<Attempt>>,
    /// Tasks with an attempt that could not be stopped.
    uncertain: BTreeSet<Task>,
    /// The inputs that were processed successfully.
    succeeded: BTreeSet<(u32, Task, String)>,
    /// The tasks that were done or skipped once.
    finished: BTreeSet<(String, Task)>,
}

/// A connection of a runner to the site.
#[derive(Clone)]
struct Connection {
    site: Arc<Mutex<Site>>,
    runner: &'static str,
}

impl Connection {
    fn site(&self) -> MutexGuard<'_, Site> {
        self.site.lock().unwrap()
    }
}

impl Store for Connection {
    type Version = u64;

    async fn write(&self, writes: Vec<Write<u64>>) -> Vec<Result<u64, WriteError>> {
        let mut results = Vec::new();
        for write in writes {
            let fault = self.site().write_fault();
            if fault == WriteFault::Kill && self.site().random.bool() {
                std::future::pending::<()>().await;
            }
            let result = match fault {
                WriteFault::LostRequest => Err(WriteError::Failed("lost".into())),
                _ => self.site().write(&write),
            };
            if fault == WriteFault::Kill {
                std::future::pending::<()>().await;
            }
            results.push(match fault {
                WriteFault::LostResponse => Err(WriteError::Failed("lost".into())),
                _ => result,
            });
        }
        results
    }
}

impl Executor for Connection {
    fn start(&self, attempt: &Attempt) {
        let mut site = self.site();
        site.run_attempt(attempt);
        let started = site.started.entry(self.runner).or_default();
        started.push(attempt.clone());
    }

    async fn stop(&self, attempts: &[Attempt]) -> Vec<Stopped> {
        let attempts = attempts.iter();
        attempts.map(|attempt| self.site().stop(attempt)).collect()
    }
}

struct Simulation {
    site: Arc<Mutex<Site>>,
    runners: BTreeMap<&'static str, (u32, Runner)>,
    /// What each runner has read.
    read: BTreeMap<&'static str, Versioned<u64>>,
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let site = Site::new(seed);
        let is_exclusive = seed.is_multiple_of(3);
        let runner = |name: &'static str| (name, (0, Runner::new(identity(name, 0, is_exclusive))));
        Self {
            site: Arc::new(Mutex::new(site)),
            runners: RUNNERS.into_iter().map(runner).collect(),
            read: BTreeMap::new(),
        }
    }

    fn site(&self) -> MutexGuard<'_, Site> {
        self.site.lock().unwrap()
    }

    /// Something happens, in any order.
    fn fault(&mut self) {
        let runner = RUNNERS[self.site().random.usize(..2)];
        let number = self.site().random.u8(..32);
        match number {
            0..10 => drop(self.reconcile(runner)),
            10..14 => drop(self.reconcile_stale(runner)),
            14..22 => self.site().work_ends(),
            22..26 => self.report(runner),
            26 => self.kill(runner),
            27 => {
                let mut site = self.site();
                let seconds = site.random.i64(1..900);
                site.now += SignedDuration::from_secs(seconds);
            }
            28 => self.site().operator(),
            _ => self.site().change_spec(),
        }
    }

    /// The next process has another identity, and knows nothing of what was started.
    fn kill(&mut self, runner: &'static str) {
        self.site().started.remove(runner);
        let is_exclusive = self.site().random.bool();
        let (incarnation, slot) = self.runners.get_mut(runner).unwrap();
        *incarnation += 1;
        *slot = Runner::new(identity(runner, *incarnation, is_exclusive));
    }

    fn reconcile(&mut self, runner: &'static str) -> Option<Pass<u64>> {
        let stored = self.site().stored.clone();
        self.read.insert(runner, stored);
        self.reconcile_stale(runner)
    }

    /// A pass with what the runner read last; `None` if it was killed.
    fn reconcile_stale(&mut self, runner: &'static str) -> Option<Pass<u64>> {
        let read = self.read.get(runner)?.clone();
        let connection = Connection {
            site: Arc::clone(&self.site),
            runner,
        };
        let spec = self.site().spec();
        let desired = spec.desired();
        let (_, process) = self.runners.get_mut(runner)?;
        let ports = (&connection, &connection);
        let site = Arc::clone(&self.site);
        let now = move || site.lock().unwrap().now;
        let pass = process.pass(&spec.flow, &desired, read, ports, now);
        let pass = pass.now_or_never();
        match &pass {
            Some(pass) => drop(self.read.insert(runner, pass.records.clone())),
            None => self.kill(runner),
        }
        pass
    }

    /// A runner learns the results of attempts that it started.
    fn report(&mut self, runner: &'static str) {
        let started = self.site().started.remove(runner).unwrap_or_default();
        for attempt in started {
            let result = self.site().result(&attempt);
            if let Some(result) = result {
                let (_, process) = self.runners.get_mut(runner).unwrap();
                process.report(attempt, result);
            } else {
                let mut site = self.site();
                site.started.entry(runner).or_default().push(attempt);
            }
        }
    }

    /// One runner finishes the flow without faults, and again after the user asks for another try of what failed.
    fn finish(&mut self) {
        self.site().is_canceled = false;
        self.site().has_faults = false;
        let now = self.site().now;
        self.site().calm_since = Some(now);
        // The process that finishes may be one that lost responses.
        if self.site().random.bool() {
            self.kill("a");
        }
        self.kill("b");
        self.run_to_end();
        self.site().retry = Some("last".into());
        self.run_to_end();
    }

    fn run_to_end(&mut self) {
        for _ in 0..10_000 {
            let pass = self.reconcile("a").unwrap();
            let before = self.site().stored.clone();
            self.site().operator();
            self.site().end_all();
            self.report("a");
            let mut site = self.site();
            // Until the lease of another runner expires, nothing can be recorded.
            let is_held = matches!(pass.outcome, Outcome::Held(_));
            let is_idle = is_held || self.runners["a"].1.is_idle();
            let is_stable = site.stored == before && is_idle;
            match (is_stable, pass.outcome, pass.wake) {
                (true, Outcome::Done | Outcome::Failed(_), _) => return,
                (true, _, Some(wake)) => site.now = site.now.max(wake),
                (true, outcome, None) => panic!("stuck: {outcome:?} {:#?}", site.stored),
                _ => {}
            }
        }
        panic!("the flow does not end: {:#?}", self.site().stored);
    }
}

fn identity(runner: &str, incarnation: u32, is_exclusive: bool) -> Identity {
    Identity {
        holder: format!("{runner}-{incarnation}"),
        lease: LEASE,
        is_exclusive,
    }
}

/// What the user wants.
/// Machines have their turn one after the other.
static NOBODY: BTreeSet<String> = BTreeSet::new();

struct Spec {
    flow: Flow,
    run: String,
    machines: Vec<String>,
    omitted: BTreeSet<Task>,
    digests: BTreeMap<Task, String>,
    skip: BTreeSet<&'static str>,
    delegate: BTreeMap<&'static str, Delegate>,
    retry: Option<String>,
    is_canceled: bool,
}

impl Spec {
    fn desired(&self) -> Desired<'_> {
        Desired {
            run: &self.run,
            machines: &self.machines,
            max_in_turn: 1,
            alone: &NOBODY,
            omitted: &self.omitted,
            digests: &self.digests,
            skip: &self.skip,
            delegate: &self.delegate,
            retry: self.retry.as_deref(),
            is_canceled: self.is_canceled,
        }
    }
}

impl Site {
    fn new(seed: u64) -> Self {
        let mut random = fastrand::Rng::with_seed(seed);
        let steps = (0..random.usize(1..=IDS.len())).map(|i| random_step(&mut random, IDS[i]));
        let flow = Flow::new("create", steps.collect()).unwrap();
        let machines = (0..random.usize(0..4)).map(|i| format!("m{i}")).collect();
        let mut site = Self {
            random,
            flow,
            machines,
            run: 0,
            digests: BTreeMap::new(),
            omitted: BTreeSet::new(),
            skip: BTreeSet::new(),
            delegate: BTreeMap::new(),
            broken: BTreeSet::new(),
            retry: None,
            is_canceled: false,
            has_faults: true,
            now: Timestamp::UNIX_EPOCH,
            calm_since: None,
            stored: BTreeMap::new(),
            work: BTreeMap::new(),
            started: BTreeMap::new(),
            uncertain: BTreeSet::new(),
            succeeded: BTreeSet::new(),
            finished: BTreeSet::new(),
        };
        site.change_inputs();
        site
    }

    fn spec(&self) -> Spec {
        Spec {
            flow: self.flow.clone(),
            run: self.run.to_string(),
            machines: self.machines.clone(),
            omitted: self.omitted.clone(),
            digests: self.digests.clone(),
            skip: self.skip.clone(),
            delegate: self.delegate.clone(),
            retry: self.retry.clone(),
            is_canceled: self.is_canceled,
        }
    }

    fn write_fault(&mut self) -> WriteFault {
        match self.random.u8(..32) {
            _ if !self.has_faults => WriteFault::None,
            0 => WriteFault::LostRequest,
            1 => WriteFault::LostResponse,
            2 => WriteFault::Kill,
            _ => WriteFault::None,
        }
    }

    /// The tasks that exist.
    fn tasks(&self) -> Vec<Task> {
        let tasks = self.all_tasks().into_iter();
        tasks.filter(|task| !self.omitted.contains(task)).collect()
    }

    fn all_tasks(&self) -> Vec<Task> {
        let targets = |step: &Step| match step.scope {
            Scope::Cluster => vec![Target::Cluster],
            _ => self.machines.iter().cloned().map(Target::Machine).collect(),
        };
        let of_step = |step: &Step| {
            let id = step.id;
            targets(step)
                .into_iter()
                .map(move |target| Task { step: id, target })
        };
        self.flow.steps().iter().flat_map(of_step).collect()
    }

    fn change_inputs(&mut self) {
        for task in self.all_tasks() {
            if !self.digests.contains_key(&task) || self.random.u8(..) < 64 {
                let digest = format!("{:016x}", self.random.u64(..));
                self.digests.insert(task.clone(), digest);
                if self.random.u8(..) < 24 {
                    self.broken.insert(task);
                } else {
                    self.broken.remove(&task);
                }
            }
        }
    }

    fn change_spec(&mut self) {
        let step = IDS[self.random.usize(..IDS.len())];
        match self.random.u8(..16) {
            0 => self.change_inputs(),
            1 if !self.skip.remove(step) => drop(self.skip.insert(step)),
            2 if self.delegate.remove(step).is_none() => self.delegate_step(step),
            3 => self.retry = Some(self.random.u64(..).to_string()),
            4 => self.is_canceled = !self.is_canceled,
            5 => self.run += 1,
            6 => drop(self.machines.pop()),
            7 if self.machines.len() < 4 => {
                self.machines.push(format!("m{}", self.machines.len()));
                self.change_inputs();
            }
            8 => self.omit(),
            _ => {}
        }
    }

    /// A task comes to be, or ceases to exist.
    fn omit(&mut self) {
        let tasks = self.all_tasks();
        if let Some(task) = self.random.choice(tasks)
            && !self.omitted.remove(&task)
        {
            self.omitted.insert(task);
        }
    }

    fn delegate_step(&mut self, step: &'static str) {
        let delegate = Delegate {
            owner: "operator".into(),
            timeout: Duration::from_mins(10),
        };
        self.delegate.insert(step, delegate);
    }

    fn write(&mut self, write: &Write<u64>) -> Result<u64, WriteError> {
        let current = self.stored.get(&write.target).map(|(version, _)| *version);
        if current != write.version {
            return Err(WriteError::Conflict);
        }
        self.note_finished(&write.target, &write.record);
        let version = current.unwrap_or(0) + 1;
        let record = write.record.clone();
        self.stored.insert(write.target.clone(), (version, record));
        Ok(version)
    }

    fn note_finished(&mut self, target: &Target, record: &Record) {
        let finished = record
            .tasks
            .iter()
            .filter(|(_, task)| task.state.is_finished());
        let tasks = finished.map(|(step, _)| Task {
            step,
            target: target.clone(),
        });
        self.finished
            .extend(tasks.map(|task| (record.run.clone(), task)));
    }

    /// The tasks that must be finished before this one begins.
    fn predecessors(&self, task: &Task) -> Vec<Task> {
        let position = |id: &str| {
            let mut steps = self.flow.steps().iter();
            steps.position(|step| step.id == id).unwrap()
        };
        let is_in_turn = |id: &str| self.flow.step(id).unwrap().scope == Scope::MachineInTurn;
        let precedes = |other: &Task| {
            let (first, last) = (position(other.step), position(task.step));
            let range = first.min(last)..=first.max(last);
            let mut between = self.flow.steps()[range].iter();
            // All of them run together on one machine after the other.
            if between.all(|step| is_in_turn(step.id)) && other.target != task.target {
                return other.target < task.target;
            }
            let is_related = [&other.target, &task.target].contains(&&Target::Cluster)
                || other.target == task.target;
            is_related && first < last
        };
        self.tasks().into_iter().filter(precedes).collect()
    }

    fn run_attempt(&mut self, attempt: &Attempt) {
        let work = self.work.entry(attempt.task.clone()).or_default();
        let is_known = work.results.contains_key(&attempt.id());
        if is_known || work.current.as_ref().map(Attempt::id) == Some(attempt.id()) {
            return;
        }
        // An executor refuses an attempt that a newer one has superseded.
        let is_superseded = |other: &Attempt| {
            (other.run.parse::<u32>().unwrap(), other.serial)
                > (attempt.run.parse().unwrap(), attempt.serial)
        };
        if work.current.as_ref().is_some_and(is_superseded) {
            return;
        }
        // It does not repeat what the last attempt did without anybody learning of it.
        if self.uncertain.contains(&attempt.task)
            && work.success == Some((attempt.run.clone(), attempt.digest.clone()))
        {
            work.results.insert(attempt.id(), Ok(()));
            return;
        }
        work.current = Some(attempt.clone());
        work.success = None;
        self.check_begin(attempt);
    }

    /// The invariants of every attempt that begins.
    fn check_begin(&self, attempt: &Attempt) {
        let input = (self.run, attempt.task.clone(), attempt.digest.clone());
        let is_current = attempt.run == self.run.to_string();
        assert!(
            !is_current || !self.succeeded.contains(&input),
            "{} is repeated for the same input",
            attempt.task
        );
        let step = self.flow.step(attempt.task.step).unwrap();
        assert!(attempt.number <= step.retry.attempts, "too many attempts");
        for earlier in self.predecessors(&attempt.task) {
            let is_finished = self
                .finished
                .contains(&(attempt.run.clone(), earlier.clone()));
            assert!(
                !is_current || is_finished,
                "{} begins before {earlier}",
                attempt.task
            );
        }
    }

    /// An attempt ends on its machine, whether a runner waits for it or not.
    fn work_ends(&mut self) {
        let running = self.work.iter().filter(|(_, work)| work.current.is_some());
        let tasks: Vec<Task> = running.map(|(task, _)| task.clone()).collect();
        if let Some(task) = self.random.choice(tasks) {
            self.end(&task);
        }
    }

    fn end(&mut self, task: &Task) {
        let is_broken = self.broken.contains(task);
        let Some(work) = self.work.get_mut(task) else {
            return;
        };
        let Some(attempt) = work.current.take() else {
            return;
        };
        // The machine ends attempts at their deadlines, whoever asks.
        let result = if attempt.deadline <= self.now {
            Err("timed out".to_owned())
        } else if is_broken {
            Err("broken".to_owned())
        } else {
            let run = attempt.run.parse().unwrap();
            self.succeeded
                .insert((run, task.clone(), attempt.digest.clone()));
            work.success = Some((attempt.run.clone(), attempt.digest.clone()));
            Ok(())
        };
        work.results.insert(attempt.id(), result);
    }

    fn end_all(&mut self) {
        let tasks: Vec<Task> = self.work.keys().cloned().collect();
        for task in &tasks {
            self.end(task);
        }
    }

    /// The result of an attempt. One that was superseded has none, and is never asked for again.
    fn result(&self, attempt: &Attempt) -> Option<Result<(), String>> {
        let work = self.work.get(&attempt.task)?;
        let result = work.results.get(&attempt.id()).cloned();
        let is_current = work.current.as_ref().map(Attempt::id) == Some(attempt.id());
        result.or_else(|| (!is_current).then(|| Err("superseded".to_owned())))
    }

    fn stop(&mut self, attempt: &Attempt) -> Stopped {
        if self.has_faults && self.random.u8(..8) == 0 {
            self.uncertain.insert(attempt.task.clone());
            return Stopped::Unknown("offline".to_owned());
        }
        let work = self.work.entry(attempt.task.clone()).or_default();
        if let Some(result) = work.results.get(&attempt.id()).cloned() {
            return Stopped::Ended(result);
        }
        let stopped = work.current.take_if(|current| current.id() == attempt.id());
        work.results.insert(attempt.id(), Err("stopped".to_owned()));
        // A runner starts what it recorded, whatever became of the responses, as soon as leases have expired.
        let had_time = |since: Timestamp| attempt.deadline > since + 2 * LEASE;
        assert!(
            stopped.is_some()
                || attempt.deadline > self.now
                || !self.calm_since.is_some_and(had_time),
            "{} was recorded, but not started before its deadline",
            attempt.task
        );
        Stopped::Canceled
    }

    /// The operator finishes all that is delegated to it.
    fn operator(&mut self) {
        let steps = self.flow.steps().to_vec();
        let now = self.now;
        let mut finished = Vec::new();
        for (target, (version, record)) in &mut self.stored {
            for step in &steps {
                if record
                    .finish_delegated(step, "operator", Ok(()), now)
                    .is_ok()
                {
                    *version += 1;
                    let task = Task {
                        step: step.id,
                        target: target.clone(),
                    };
                    let digest = record.tasks[step.id].digest.clone();
                    finished.push((record.run.clone(), task, digest));
                }
            }
        }
        for (run, task, digest) in finished {
            self.finished.insert((run.clone(), task.clone()));
            self.succeeded.insert((run.parse().unwrap(), task, digest));
        }
    }

    fn states(&self) -> BTreeMap<Task, &'static str> {
        let name = |task: Task| {
            let record = &self.stored.get(&task.target)?.1;
            let name = match record.state(task.step) {
                State::Done => "Done",
                State::Skipped => "Skipped",
                State::Failed { .. } => "Failed",
                State::Waiting | State::Retrying { .. } => return None,
                other => panic!("{task} is {other:?}"),
            };
            Some((task, name))
        };
        self.tasks().into_iter().filter_map(name).collect()
    }

    /// What a flow without faults ends with: each step, in order, on each target that has no failure before it. Results
    /// from before a spec change stay: a task after a failure may be done already.
    fn expected(&self) -> BTreeMap<Task, &'static str> {
        let mut blocked: BTreeSet<Target> = BTreeSet::new();
        let mut expected = BTreeMap::new();
        let in_turn = |step: &Step| step.scope == Scope::MachineInTurn;
        let groups = self.flow.steps().chunk_by(|a, b| in_turn(a) && in_turn(b));
        for group in groups {
            let steps = group.iter().enumerate();
            let tasks = steps.flat_map(|(index, step)| {
                let tasks = self.tasks().into_iter();
                let tasks = tasks.filter(|task| task.step == step.id);
                tasks.map(move |task| (task.target.clone(), index, step, task))
            });
            let mut tasks: Vec<_> = tasks.collect();
            tasks.sort_by(|a, b| (&a.0, a.1).cmp(&(&b.0, b.1)));
            let mut turn: Option<Target> = None;
            for (_, _, step, task) in tasks {
                let is_others_turn = turn.as_ref().is_some_and(|turn| *turn != task.target);
                let is_blocked = blocked.contains(&Target::Cluster)
                    || blocked.contains(&task.target)
                    || (step.scope == Scope::Cluster && !blocked.is_empty())
                    || (in_turn(step) && is_others_turn);
                let state = self.expected_state(step, &task, is_blocked);
                if !matches!(state, "Done" | "Skipped") {
                    blocked.insert(task.target.clone());
                    turn.get_or_insert_with(|| task.target.clone());
                }
                expected.insert(task, state);
            }
        }
        self.reconcile_blocked(expected)
    }

    fn expected_state(&self, step: &Step, task: &Task, is_blocked: bool) -> &'static str {
        let digest = self.digests[task].clone();
        let was_done = self.succeeded.contains(&(self.run, task.clone(), digest));
        if was_done && self.is_done(task) {
            "Done"
        } else if is_blocked {
            "Blocked"
        } else if self.skip.contains(step.id) {
            "Skipped"
        } else if self.broken.contains(task) && !self.delegate.contains_key(step.id) {
            "Failed"
        } else {
            "Done"
        }
    }

    fn is_done(&self, task: &Task) -> bool {
        let record = self.stored.get(&task.target).map(|(_, record)| record);
        record.is_some_and(|record| record.state(task.step) == &State::Done)
    }

    /// A blocked task keeps the state that it had; all others must be as expected.
    fn reconcile_blocked(
        &self,
        expected: BTreeMap<Task, &'static str>,
    ) -> BTreeMap<Task, &'static str> {
        let actual = self.states();
        let resolve = |(task, state): (Task, &'static str)| match state {
            "Blocked" => actual.get(&task).map(|actual| (task, *actual)),
            state => Some((task, state)),
        };
        expected.into_iter().filter_map(resolve).collect()
    }
}

fn random_step(random: &mut fastrand::Rng, id: &'static str) -> Step {
    let scopes = [Scope::Cluster, Scope::Machine, Scope::MachineInTurn];
    let mut step = Step::new(id, scopes[random.usize(..3)]);
    step.retry.attempts = random.u32(1..4);
    step.timeout = Duration::from_mins(5);
    step.is_delegable = true;
    step
}
