//! Operators that do steps of a cluster's life which are delegated to them.
//!
//! A Cluster lists steps in `spec.features.delegateConditions`. When such a step is due, the flow waits: the condition of
//! the step is Unknown with reason Delegated, and nothing after it starts. An [`Operator`] watches for its steps, does
//! them, and reports the result in the condition:
//!
//! ```text
//! watches ─→ delegated steps (pure) ─→ lease (status.delegations) ─→ handler, retried ─→ condition True or False
//! ```
//!
//! Of all replicas of an operator, the one with the lease does a step; it renews the lease while it works. If it dies,
//! another replica calls the handler again when the lease has expired: handlers must be idempotent. A handler is dropped
//! when its step is no longer delegated.
//!
//! ```no_run
//! # async fn example(client: kube::Client) -> Result<(), outrigger_sdk::Error> {
//! use outrigger_sdk::{Delegation, Operator};
//!
//! Operator::new(client, "my-operator")
//!     .on("EnsureCilium", async |step: Delegation| {
//!         println!("installing the network of {}", step.cluster_name());
//!         Ok::<_, std::io::Error>(())
//!     })
//!     .run(async { drop(tokio::signal::ctrl_c().await) })
//!     .await
//! # }
//! ```
//!
//! The account of an operator needs `get`, `list` and `watch` on `clusters` and `machines` of `outrigger.dev`, and
//! `patch` on their `status`.
#![warn(missing_docs)]

mod delegation;
pub mod harness;
mod lease;
mod object;
mod operator;
mod work;

pub use delegation::Delegation;
pub use operator::{Error, Operator, Retry};
