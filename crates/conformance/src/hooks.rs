//! Files and hooks on many machines, compared with what people use instead: Ansible, and OpenSSH in a shell script.

pub(crate) mod bench;
mod contenders;
pub(crate) mod runner;
