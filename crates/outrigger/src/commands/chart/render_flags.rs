//! The flags of commands that render a chart.

use super::source::CompatFlag;
use super::values::ValuesFlags;

#[derive(Debug, clap::Args)]
pub(crate) struct RenderFlags {
    /// Release namespace
    #[arg(short, long, default_value = "default")]
    pub(crate) namespace: String,
    #[command(flatten)]
    pub(crate) values: ValuesFlags,
    #[command(flatten)]
    pub(crate) compat: CompatFlag,
}
