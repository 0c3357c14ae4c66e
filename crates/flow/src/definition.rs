//! Flows and their steps, as declared by a provider.

use std::collections::BTreeSet;
use std::time::Duration;

/// How often a step runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// Once.
    Cluster,
    /// Once on each machine, on all machines at the same time.
    Machine,
    /// Once on each machine, on one machine after the other. Adjacent steps of this scope form a group: a machine finishes
    /// all of them before the next machine begins.
    MachineInTurn,
}

/// What happens after a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The number of attempts after which a task has failed. Zero counts as one.
    pub attempts: u32,
    /// The delay after the first failure; it doubles with each one.
    pub initial_delay: Duration,
    pub max_delay: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: 5,
            initial_delay: Duration::from_secs(1),
            max_delay: Duration::from_mins(1),
        }
    }
}

impl Retry {
    /// The delay after this many failed attempts, or nothing if there is no attempt left.
    pub(crate) fn delay(&self, failed: u32) -> Option<Duration> {
        let doublings = failed.saturating_sub(1).min(30);
        (failed < self.attempts).then(|| {
            self.initial_delay
                .saturating_mul(1 << doublings)
                .min(self.max_delay)
        })
    }
}

/// A declared step. Its id is part of the API: conditions, skip lists and delegations name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    pub id: &'static str,
    /// Older names, which skip and delegate lists may still use.
    pub aliases: &'static [&'static str],
    pub scope: Scope,
    pub retry: Retry,
    /// The maximum duration of an attempt.
    pub timeout: Duration,
    /// Whether an external operator may be asked to do it.
    pub is_delegable: bool,
}

impl Step {
    /// A step that runs once, with default retries and timeout.
    pub const fn cluster(id: &'static str) -> Self {
        Self::new(id, Scope::Cluster)
    }

    /// A step that runs on each machine, with default retries and timeout.
    pub const fn machine(id: &'static str) -> Self {
        Self::new(id, Scope::Machine)
    }

    pub const fn new(id: &'static str, scope: Scope) -> Self {
        Self {
            id,
            aliases: &[],
            scope,
            retry: Retry {
                attempts: 5,
                initial_delay: Duration::from_secs(1),
                max_delay: Duration::from_mins(1),
            },
            timeout: Duration::from_mins(10),
            is_delegable: false,
        }
    }
}

/// Steps in their order. Each waits for the earlier ones: a machine step for those of its machine and for cluster
/// steps, all others for those of all machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    name: &'static str,
    steps: Vec<Step>,
}

/// A flow in which a name is ambiguous.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("flow {flow} declares the step name {name} twice")]
pub struct InvalidFlow {
    pub flow: &'static str,
    pub name: &'static str,
}

impl Flow {
    pub fn new(name: &'static str, steps: Vec<Step>) -> Result<Self, InvalidFlow> {
        let mut names = BTreeSet::new();
        for step in &steps {
            for id in step.aliases.iter().chain([&step.id]) {
                if !names.insert(*id) {
                    return Err(InvalidFlow {
                        flow: name,
                        name: id,
                    });
                }
            }
        }
        Ok(Self { name, steps })
    }

    pub fn name(&self) -> &'static str {
        self.name
    }

    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The step with this id or alias.
    pub fn step(&self, name: &str) -> Option<&Step> {
        self.steps
            .iter()
            .find(|step| step.id == name || step.aliases.contains(&name))
    }
}
