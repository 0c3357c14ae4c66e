//! Goes through the steps in their order, and changes a copy of the records.

use std::collections::BTreeMap;

use jiff::Timestamp;

use super::{Action, ActionKind, Desired, EndResult, Ended, Outcome, Plan, current_run};
use crate::state::later;
use crate::{Attempt, Event, Flow, Record, Records, Scope, State, Step, Target, Task};

/// Whether later steps may begin. What finishes with this plan counts for the same target only: the record of another
/// target could be stored without it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Progress {
    Unfinished,
    Planned,
    Stored,
}

/// The machines of a group that have their turn.
#[derive(Debug, Default)]
struct Turns {
    unfinished: usize,
    /// Whether no further machine may begin: one has its turn alone, or failed.
    is_taken: bool,
}

impl Turns {
    fn has_room(&self, is_alone: bool, max: usize) -> bool {
        self.unfinished == 0 || (!is_alone && !self.is_taken && self.unfinished < max)
    }
}

pub(super) struct Planner<'a> {
    flow: &'a Flow,
    desired: &'a Desired<'a>,
    holder: &'a str,
    now: Timestamp,
    stored: &'a Records,
    /// The records of all desired targets, and of others that have an ended attempt.
    records: Records,
    actions: Vec<Action>,
    wake: Option<Timestamp>,
    /// The progress of all earlier cluster steps.
    cluster: Progress,
    /// The progress of all earlier steps of each machine.
    machines: BTreeMap<&'a str, Progress>,
    unfinished: Vec<(Task, State)>,
    /// How many attempts of other runs and of removed machines are running.
    obsolete: usize,
}

impl<'a> Planner<'a> {
    pub(super) fn new(
        flow: &'a Flow,
        desired: &'a Desired<'a>,
        stored: &'a Records,
        ended: &[Ended],
        holder: &'a str,
        now: Timestamp,
    ) -> Self {
        let mut planner = Self {
            flow,
            desired,
            holder,
            now,
            stored,
            records: Records::new(),
            actions: Vec::new(),
            wake: None,
            cluster: Progress::Stored,
            machines: BTreeMap::new(),
            unfinished: Vec::new(),
            obsolete: 0,
        };
        for ended in ended {
            planner.end(ended);
        }
        let machines = desired.machines.iter().cloned().map(Target::Machine);
        for target in machines.chain([Target::Cluster]) {
            let record = planner.records.get(&target).or_else(|| stored.get(&target));
            let record = record.map_or_else(
                || Record::new(desired.run),
                |record| current_run(record, desired.run),
            );
            planner.records.insert(target, record);
        }
        planner
    }

    /// Records the outcome of an attempt. One that is no longer current is ignored.
    fn end(&mut self, ended: &Ended) {
        let attempt = &ended.attempt;
        let target = &attempt.task.target;
        let record = self.records.get(target).or_else(|| self.stored.get(target));
        let Some(mut record) = record.cloned() else {
            return;
        };
        // A step of another flow: its result does not matter any more.
        let unknown = Step::machine(attempt.task.step);
        let step = self.flow.step(attempt.task.step).unwrap_or(&unknown);
        let outcome = match &ended.result {
            EndResult::Succeeded => record.finish(attempt, Ok(()), step, self.now),
            EndResult::Failed(message) => {
                record.finish(attempt, Err(message.clone()), step, self.now)
            }
            EndResult::Canceled => record.cancel(attempt, step, self.now),
        };
        if outcome.is_ok() {
            self.records.insert(target.clone(), record);
        }
    }

    fn is_desired(&self, target: &Target) -> bool {
        match target {
            Target::Cluster => true,
            Target::Machine(name) => self.desired.machines.contains(name),
        }
    }

    /// Stops what is left of other runs, and on machines that are no longer part of the cluster.
    pub(super) fn cancel_obsolete(&mut self) {
        let mut attempts = Vec::new();
        for (target, stored) in self.stored {
            let record = self.records.get(target).unwrap_or(stored);
            if record.run == self.desired.run && self.is_desired(target) {
                continue;
            }
            for step in record.tasks.keys() {
                let target = target.clone();
                attempts.extend(record.running(&Task { step, target }));
            }
        }
        self.obsolete = attempts.len();
        for attempt in attempts {
            self.act(ActionKind::Cancel, attempt);
        }
    }

    pub(super) fn steps(&mut self) {
        let flow = self.flow;
        let in_turn = |step: &Step| step.scope == Scope::MachineInTurn;
        for group in flow.steps().chunk_by(|a, b| in_turn(a) && in_turn(b)) {
            match group {
                [step] if step.scope == Scope::Cluster => self.cluster_step(step),
                group => self.machine_steps(group),
            }
        }
    }

    fn cluster_step(&mut self, step: &Step) {
        let machines = self.machines.values().min();
        let machines = machines.copied().unwrap_or(Progress::Stored);
        let may_begin = self.cluster >= Progress::Planned && machines == Progress::Stored;
        let progress = self.task(step, Target::Cluster, may_begin);
        self.cluster = self.cluster.min(progress);
    }

    /// One step on all machines, or steps that run together on one machine after the other.
    fn machine_steps(&mut self, group: &[Step]) {
        let is_in_turn = group.iter().all(|step| step.scope == Scope::MachineInTurn);
        let mut turns = Turns::default();
        for machine in self.desired.machines {
            let is_alone = self.desired.alone.contains(machine);
            let is_turn = !is_in_turn || turns.has_room(is_alone, self.desired.max_in_turn);
            let progress = self.machine_group(group, machine, is_turn);
            if progress != Progress::Stored {
                turns.unfinished += 1;
                turns.is_taken |= is_alone || self.has_failed(group, machine);
            }
        }
    }

    /// The steps of a group on one machine.
    fn machine_group(&mut self, group: &[Step], machine: &'a str, is_turn: bool) -> Progress {
        let earlier = self.machines.get(machine).copied();
        let mut earlier = earlier.unwrap_or(Progress::Stored);
        let mut group_progress = Progress::Stored;
        for step in group {
            let may_begin =
                is_turn && earlier >= Progress::Planned && self.cluster == Progress::Stored;
            let progress = self.task(step, Target::Machine(machine.to_owned()), may_begin);
            earlier = earlier.min(progress);
            group_progress = group_progress.min(progress);
        }
        self.machines.insert(machine, earlier);
        group_progress
    }

    /// Whether a step of the group failed on a machine, so that no other machine begins.
    fn has_failed(&self, group: &[Step], machine: &str) -> bool {
        let record = self.records.get(&Target::Machine(machine.to_owned()));
        record.is_some_and(|record| {
            let mut states = group.iter().map(|step| record.state(step.id));
            states.any(|state| matches!(state, State::Failed { .. }))
        })
    }

    fn task(&mut self, step: &Step, target: Target, may_begin: bool) -> Progress {
        let task = Task {
            step: step.id,
            target,
        };
        if self.desired.omitted.contains(&task) {
            return self.omitted_task(step, &task);
        }
        let mut record = self.records.remove(&task.target).unwrap_or_default();
        if record.run == self.desired.run {
            self.invalidate(step, &task, &mut record);
            self.advance(step, &task, &mut record, may_begin);
        }
        let state = record.state(step.id).clone();
        let is_finished = state.is_finished() && record.run == self.desired.run;
        self.records.insert(task.target.clone(), record);
        if is_finished {
            return self.progress_of_finished(&task);
        }
        let is_blocked = matches!(state, State::Retrying { .. }) && !may_begin;
        let state = if is_blocked { State::Waiting } else { state };
        self.wake_for(&state);
        self.unfinished.push((task, state));
        Progress::Unfinished
    }

    /// Nothing to do, except for an attempt from before the task was omitted.
    fn omitted_task(&mut self, step: &Step, task: &Task) -> Progress {
        self.forget_omitted(step, task);
        let record = self.records.get(&task.target);
        let running = record.and_then(|record| record.running(task));
        let Some(attempt) = running.filter(|attempt| attempt.run == self.desired.run) else {
            return Progress::Stored;
        };
        let state = record.map(|record| record.state(task.step).clone());
        self.unfinished
            .push((task.clone(), state.unwrap_or_default()));
        self.act(ActionKind::Cancel, attempt);
        Progress::Unfinished
    }

    /// A failure, a delegation or a skip of a task that does not exist any more means nothing. What is done stays so: if the
    /// task comes back with the same input, it is not repeated.
    fn forget_omitted(&mut self, step: &Step, task: &Task) {
        let mut record = self.records.remove(&task.target).unwrap_or_default();
        let is_stale = match record.state(step.id) {
            State::Waiting | State::Running { .. } | State::Done => false,
            State::Retrying { .. }
            | State::Skipped
            | State::Delegated { .. }
            | State::Failed { .. } => true,
        };
        if is_stale && record.run == self.desired.run && !self.desired.is_canceled {
            self.on(step, task, &mut record, Event::Reset);
        }
        self.records.insert(task.target.clone(), record);
    }

    fn progress_of_finished(&self, task: &Task) -> Progress {
        let stored = self.stored.get(&task.target);
        let is_stored = stored.is_some_and(|stored| {
            stored.run == self.desired.run && stored.state(task.step).is_finished()
        });
        if is_stored {
            Progress::Stored
        } else {
            Progress::Planned
        }
    }

    /// Forgets a result that no longer counts.
    fn invalidate(&self, step: &Step, task: &Task, record: &mut Record) {
        let state = record.state(step.id);
        let is_stale = match state {
            // A running attempt is stopped first.
            State::Waiting | State::Running { .. } => false,
            State::Done => self.has_changed(task, record),
            State::Skipped => !self.desired.skip.contains(step.id),
            State::Delegated { owner, .. } => {
                let delegate = self.desired.delegate.get(step.id);
                delegate.is_none_or(|delegate| delegate.owner != *owner)
                    || self.is_skipped(step)
                    || self.has_changed(task, record)
            }
            State::Retrying { .. } => {
                self.is_skipped(step)
                    || self.desired.delegate.contains_key(step.id)
                    || self.has_changed(task, record)
                    || self.is_retry_requested(record)
            }
            State::Failed { owner, .. } => {
                let delegate = self.desired.delegate.get(step.id);
                // Somebody else does the step now.
                delegate.map(|delegate| &delegate.owner) != owner.as_ref()
                    || self.is_skipped(step)
                    || self.has_changed(task, record)
                    || self.is_retry_requested(record)
            }
        };
        if is_stale && !self.desired.is_canceled {
            self.on(step, task, record, Event::Reset);
        }
    }

    fn advance(&mut self, step: &Step, task: &Task, record: &mut Record, may_begin: bool) {
        match record.state(step.id) {
            State::Running { .. } => self.running(step, task, record),
            State::Delegated { owner, deadline } if *deadline <= self.now => {
                let message = format!("{owner} did not finish the step in time");
                self.on(step, task, record, Event::Fail { message });
            }
            _ if self.desired.is_canceled || !may_begin => {}
            State::Waiting => self.begin(step, task, record),
            State::Retrying { next_try, .. } if *next_try <= self.now => {
                self.start(step, task, record);
            }
            _ => {}
        }
    }

    fn running(&mut self, step: &Step, task: &Task, record: &mut Record) {
        let Some(attempt) = record.running(task) else {
            return;
        };
        let is_unwanted = self.desired.is_canceled
            || self.is_skipped(step)
            || self.desired.delegate.contains_key(step.id)
            || self.has_changed(task, record);
        if is_unwanted {
            self.act(ActionKind::Cancel, attempt);
        } else if attempt.deadline <= self.now {
            self.act(ActionKind::Expire, attempt);
        } else if !matches!(record.state(step.id), State::Running { holder, .. } if holder == self.holder)
        {
            let holder = self.holder.to_owned();
            self.on(step, task, record, Event::Adopt { holder });
            self.act(ActionKind::Run, attempt);
        }
    }

    fn begin(&mut self, step: &Step, task: &Task, record: &mut Record) {
        if self.is_skipped(step) {
            return self.on(step, task, record, Event::Skip);
        }
        let Some(delegate) = self.desired.delegate.get(step.id) else {
            return self.start(step, task, record);
        };
        let event = Event::Delegate {
            owner: delegate.owner.clone(),
            deadline: later(self.now, delegate.timeout),
        };
        self.on(step, task, record, event);
    }

    fn start(&mut self, step: &Step, task: &Task, record: &mut Record) {
        let holder = self.holder.to_owned();
        self.on(step, task, record, Event::Start { holder });
        if let Some(attempt) = record.running(task) {
            self.act(ActionKind::Run, attempt);
        }
    }

    fn on(&self, step: &Step, task: &Task, record: &mut Record, event: Event) {
        let digest = self.digest(task);
        let applied = record.on(step, digest, event, self.now);
        debug_assert!(applied.is_ok(), "{applied:?}");
    }

    fn act(&mut self, kind: ActionKind, attempt: Attempt) {
        self.actions.push(Action { kind, attempt });
    }

    fn is_skipped(&self, step: &Step) -> bool {
        self.desired.skip.contains(step.id)
    }

    fn is_retry_requested(&self, record: &Record) -> bool {
        self.desired.retry.is_some() && record.retry.as_deref() != self.desired.retry
    }

    fn has_changed(&self, task: &Task, record: &Record) -> bool {
        let recorded = record.tasks.get(task.step);
        recorded.is_some_and(|recorded| recorded.digest != self.digest(task))
    }

    fn digest(&self, task: &Task) -> &'a str {
        self.desired.digests.get(task).map_or("", String::as_str)
    }

    fn wake_for(&mut self, state: &State) {
        let time = match state {
            State::Running { deadline, .. } | State::Delegated { deadline, .. } => *deadline,
            State::Retrying { next_try, .. } => *next_try,
            _ => return,
        };
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    pub(super) fn finish(mut self) -> Plan {
        if let Some(retry) = self.desired.retry
            && !self.desired.is_canceled
        {
            let run = self.desired.run;
            for record in self.records.values_mut().filter(|record| record.run == run) {
                record.retry = Some(retry.to_owned());
            }
        }
        let outcome = self.outcome();
        let stored = self.stored;
        let is_new = |target: &Target, record: &Record| stored.get(target) != Some(record);
        self.records.retain(|target, record| is_new(target, record));
        Plan {
            changed: self.records,
            actions: self.actions,
            wake: self.wake,
            outcome,
        }
    }

    fn outcome(&self) -> Outcome {
        let tasks = |is_wanted: fn(&State) -> bool| {
            let unfinished = self.unfinished.iter();
            let wanted = unfinished.filter(|(_, state)| is_wanted(state));
            wanted.map(|(task, _)| task.clone()).collect::<Vec<_>>()
        };
        let running = tasks(|state| matches!(state, State::Running { .. }));
        let retrying = tasks(|state| matches!(state, State::Retrying { .. }));
        let delegated = tasks(|state| matches!(state, State::Delegated { .. }));
        let failed = tasks(|state| matches!(state, State::Failed { .. }));
        if self.obsolete > 0 {
            return Outcome::InProgress;
        }
        if self.desired.is_canceled && running.is_empty() {
            return Outcome::Canceled;
        }
        match (
            running.is_empty() && retrying.is_empty(),
            delegated.is_empty(),
            failed.is_empty(),
        ) {
            (true, true, true) if self.unfinished.is_empty() => Outcome::Done,
            (true, true, false) => Outcome::Failed(failed),
            (true, false, _) => Outcome::Delegated(delegated),
            _ => Outcome::InProgress,
        }
    }
}
