//! What is recorded about a flow in the status of a Cluster or Machine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The flow that an object is in, or was in last. The controller resumes it from this record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowStatus {
    /// `Create`, `Upgrade`, `ScaleUp`, `ScaleDown`, `RenewCertificates`, `Restore` or `Delete`
    pub name: String,
    /// Identifies the run of the flow
    pub run: String,
    /// Value of the annotation `outrigger.dev/retry` that was handled last
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<String>,
    /// Whether all steps are done. Later changes of their inputs wait for the next flow
    #[serde(default)]
    pub completed: bool,
    /// The step that runs, waits or failed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub step: Option<String>,
    /// The number of its attempt
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// When it is tried again
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<String>,
    /// The process that runs the flow
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<FlowLease>,
    /// The recorded tasks: one for each step that has begun
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["step"]))]
    pub tasks: Vec<TaskStatus>,
}

/// The process that runs a flow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FlowLease {
    pub holder: String,
    /// When another process may take the flow over
    pub expires: String,
}

/// The states of a task. They are also the reasons of conditions.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
pub enum TaskState {
    #[default]
    Waiting,
    Running,
    Retrying,
    Done,
    Skipped,
    Delegated,
    Failed,
}

impl TaskState {
    /// The reason of a condition.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "Waiting",
            Self::Running => "Running",
            Self::Retrying => "Retrying",
            Self::Done => "Done",
            Self::Skipped => "Skipped",
            Self::Delegated => "Delegated",
            Self::Failed => "Failed",
        }
    }
}

/// What is recorded about one step.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// Id of the step
    pub step: String,
    #[serde(default)]
    pub state: TaskState,
    /// Digest of the input that the state belongs to
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub digest: String,
    /// When the state was entered
    pub since: String,
    /// How many attempts were started in this run
    #[serde(default)]
    pub starts: u32,
    /// The number of the running attempt, or of those that failed
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<u32>,
    /// The process that runs the attempt, or the operator that the step is or was delegated to
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When the attempt or the delegation ends
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<String>,
    /// When it is tried again
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_try: Option<String>,
    /// Why the last attempt failed
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// An operator that works on a delegated step. Operators write it, so that only one of them does.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DelegationLease {
    /// Id of the step
    pub step: String,
    /// The process of the operator
    pub holder: String,
    /// When another process may take over
    pub expires: String,
}

/// The last execution of a hook on a machine.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HookStatus {
    /// Name of the hook, such as `PreInstall`
    pub name: String,
    /// Machine that it ran on
    #[serde(default)]
    pub machine: String,
    /// Id of the attempt
    pub attempt: String,
    /// Digest of the script
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub script_digest: String,
    /// Exit code; unset if the script was killed or did not start
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// When it finished
    pub finished: String,
    /// The end of its output
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub output: String,
    /// Whether the beginning of the output is missing
    #[serde(default)]
    pub truncated: bool,
}
