//! The life of a cluster: which flow is due, what its steps need, and what they do on machines.
//!
//! ```text
//! Cluster, Machines ─ lifecycle::next (pure) ─→ flow that is due ┐
//! spec, files, provider ─ step plans (pure) ─→ inputs, digests ──┴→ flow::Runner ─→ execute: effects on machines
//! status ◄─ record, conditions (pure) ◄─────────────────────────────────┘
//! ```
//!
//! Everything that decides is pure. `execute` does the work of one attempt through the port [`Remote`].

mod access;
pub mod backup;
pub mod certificates;
mod changes;
mod claims;
mod conditions;
mod execute;
mod hook_command;
mod inputs;
pub mod lifecycle;
mod machine_name;
mod provider;
mod record;
mod remote;
pub mod status;
mod steps;

pub use access::check_access;
pub use changes::{Change, changes};
pub use claims::{Claim, conflicts};
pub use conditions::{Stored, conditions, current_step};
pub use execute::{Execution, execute, stop};
pub use hook_command::{ArgumentLimit, hook_arguments};
pub use inputs::Inputs;
pub use machine_name::{control_plane_machine, machine_name};
pub use provider::folder as provider_folder;
pub use provider::{Provider, Providers, StandIn, name as provider_name};
pub use record::{from_status, record_of, status_of, to_status};
pub use remote::{
    Command, Connect, Login, MachineIds, Outcome, Output, Remote, RemoteError, Script, Ssh, local,
};
pub use steps::{Effect, Peers, Report, Step, StepError, StepInput, StepPlan, hook_result, tail};
