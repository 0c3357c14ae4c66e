//! `EnsureStartControlPlane`: starts the static pods of a control plane again, and waits until its API server is ready.

use crate::StepInput;
use crate::provider::baremetal::network::api_server;
use crate::provider::baremetal::work::Work;

pub(super) fn work(input: &StepInput<'_>) -> Option<Work> {
    let script = include_str!("../scripts/start_control_plane.sh");
    let work = Work::new("start the control plane", script);
    Some(work.with("SERVER", api_server(input.machine?)))
}
