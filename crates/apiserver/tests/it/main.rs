//! The whole server: its verbs, its controllers and its transport.
#![expect(clippy::unwrap_used, reason = "a test ends where something is missing")]

mod admission;
mod api_services;
mod controllers;
mod depth;
mod expensive;
mod lists;
mod numeric_limits;
mod panics;
mod races;
mod rejections;
mod requests;
mod resource_quotas;
mod server;
mod service_allocation;
mod transport;
