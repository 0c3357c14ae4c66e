//! The flags of commands that render a chart.

use super::source::CompatFlag;
use super::values::ValuesFlags;

#[derive(Debug, clap::Args)]
pub(crate) struct RenderFlags {
    /// Release namespace
    #[arg(short, long, default_value = "default")]
    pub(super) namespace: String,
    #[command(flatten)]
    pub(super) values: ValuesFlags,
    #[command(flatten)]
    pub(super) compat: CompatFlag,
}
