//! Clusters on machines with real SSH servers. They need root rights.

mod delegation;
mod example;
mod fixture;
mod hooks;
mod interrupted;
mod tkestack;
mod unlucky;
