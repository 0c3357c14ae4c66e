//! Flags of the commands that fetch charts for plugins: mirrors, and registries without TLS.

use outrigger_oci::Mirrors;
use outrigger_repository::{ChartMirrors, Options};

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MirrorFlags {
    /// Fetch charts of a repository from another one; repeatable
    #[arg(
        long = "chart-mirror",
        value_name = "URL=URL",
        help_heading = "Mirrors"
    )]
    charts: Vec<String>,
    /// Pull OCI charts of PREFIX from TARGET; `*` stands for all registries; repeatable
    #[arg(
        long = "registry-mirror",
        value_name = "PREFIX=TARGET",
        help_heading = "Mirrors"
    )]
    registries: Vec<String>,
    /// Registry of charts to reach over plain HTTP; repeatable
    #[arg(long, value_name = "HOST[:PORT]", help_heading = "Mirrors")]
    plain_http: Vec<String>,
}

impl MirrorFlags {
    pub(crate) fn apply(&self, mut options: Options) -> anyhow::Result<Options> {
        let mut charts = ChartMirrors::default();
        for rule in &self.charts {
            charts.add(rule)?;
        }
        let mut registries = Mirrors::default();
        for rule in &self.registries {
            registries.add(rule)?;
        }
        options.chart_mirrors = charts;
        options.image_mirrors = registries;
        options.plain_http = self.plain_http.iter().cloned().collect();
        Ok(options)
    }
}
