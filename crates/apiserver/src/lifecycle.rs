//! What goes on beside requests: definitions become kinds, namespaces are filled and emptied.

pub(crate) mod definitions;
pub(crate) mod namespaces;
mod protection;

use std::sync::Arc;

use crate::server::State;

/// Runs until the server closes.
pub(crate) async fn run(state: Arc<State>) {
    let mut closed = state.closed.clone();
    tokio::select! {
        () = definitions::run(&state) => {}
        () = namespaces::run(&state) => {}
        () = protection::run(&state) => {}
        _ = closed.wait_for(|closed| *closed) => {}
    }
}
