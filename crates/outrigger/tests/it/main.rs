//! Exit code, stdout and stderr of the binary.

#![expect(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

mod apiserver;
mod chart;
mod cluster;
mod command_line;
mod docs;
mod examples;
mod expansion;
mod image;
mod input_files;
mod install;
mod local_cluster;
mod output;
mod plugin;
mod provider;
mod serve;
mod site_registry;
mod stack;
mod terminal;
mod up;
