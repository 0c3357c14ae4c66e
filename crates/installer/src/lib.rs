//! The installer: brings an expansion package and the first cluster to a site.
//!
//! ```text
//! package, configuration, hooks ─Contents::read→ Contents ─plan (pure)→ inputs and digests of all steps
//!                                                                │
//! Installation.status ◄─record, conditions─ flow::Runner ◄───────┘ ─attempt→ steps/<what>.rs
//! ```
//!
//! The steps are run by the engine that also runs the flows of clusters, and resumed from the status of the object. What is
//! specific to a cluster (creating it, its plugins, its kubeconfig) is done through the port [`Site`].

mod contents;
mod driver;
mod folders;
mod operator;
mod plan;
mod registry;
mod reports;
mod site;
mod status;
mod steps;
mod store;

pub use contents::{
    Contents, ContentsError, HookScript, Origin, PackageContents, PackageOperator, SiteCluster,
};
pub use driver::{Installer, Outcome, Range, RunError, RunningOperator};
pub use folders::Folders;
pub use operator::ApiEndpoint;
pub use plan::{PlannedState, PlannedStep, StepPlan, planned, step_plan};
pub use registry::LocalRegistry;
pub use site::Site;
