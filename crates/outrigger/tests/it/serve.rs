//! `outrigger serve` as a process, with an API server in the test.

mod controller;
mod monitoring;
mod shutdown;
mod trust;
