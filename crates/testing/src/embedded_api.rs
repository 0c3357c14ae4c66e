//! The embedded Kubernetes API server inside the test process: no sockets, simulated workloads, and connections that
//! record requests and inject faults.

pub mod charts;
mod connection;
mod watch_gate;

use std::time::Duration;

use kube::Client;
use outrigger_apiserver::server::{Options, Server};
use outrigger_simulate as simulate;

pub use connection::{Connection, Fault, Loss};
pub use watch_gate::GatedBody;

/// Starts an in-memory server with its controllers. Each step of a simulated workload takes `delay`.
pub async fn start(delay: Duration) -> Server {
    let server = Server::open(Options::in_memory())
        .await
        .expect("an in-memory server always opens");
    server.run_controllers();
    let options = simulate::Options {
        delay,
        ..simulate::Options::default()
    };
    simulate::start(&server, options);
    server
}

/// A client of the server whose default namespace is `default`.
pub fn client(server: &Server) -> Client {
    Client::new(server.service(), "default")
}
