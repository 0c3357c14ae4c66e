//! What plugins contribute to a cluster, and the one pure function that merges it.
//!
//! ```text
//! Contribution { owner, scope, construct }…  ─merge→  Model { files, flags, resources, … }  or  Conflict…
//! ```
//!
//! Each construct (a file, a flag, a CloudFormation resource) is a type in its own file under `construct/`, and one line
//! in `contribution.rs`. Contributions are also the wire format of executable plugins and of the files that the stages
//! write, so that they derive serde and reject unknown fields.
//!
//! Pure: no file system, no clock, no randomness. The crate does not render anything and knows no plugin by name.
#![warn(missing_docs)]

mod conflict;
pub mod construct;
mod contribution;
mod merge;
mod merged;
mod names;
mod scope;
mod secret;

pub use conflict::{Conflict, Problem};
pub use construct::{Construct, Sharing};
pub use contribution::{AnyConstruct, Contribution, Model};
pub use merge::merge;
pub use merged::{Entry, Merged};
pub use names::{InvalidName, Owner, PoolName};
pub use scope::{Placement, Role, Scope};
pub use secret::{Secret, SecretRef};
