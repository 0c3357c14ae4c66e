//! The arguments of verbs that print one plugin.

use super::connect::ClusterFlags;
use crate::arguments::OutputFlag;

#[derive(Debug, clap::Args)]
pub(crate) struct ReadArgs {
    /// Name of the plugin
    pub(super) name: String,
    #[command(flatten)]
    pub(super) cluster: ClusterFlags,
    #[command(flatten)]
    pub(super) output: OutputFlag,
}
