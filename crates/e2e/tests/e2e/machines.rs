//! Machines with real SSH servers: OpenSSH, and dropbear with busybox. They need root rights.

mod attempts;
mod commands;
mod connections;
mod copies;
mod hostile_hooks;
mod impostors;
mod large;
mod shells;

use outrigger_testing::machines::{Machines, Options, Server};

const SERVERS: [Server; 2] = [Server::OpenSsh, Server::Dropbear];

fn start(server: Server) -> Machines {
    Machines::start(Options::new(server)).unwrap()
}
