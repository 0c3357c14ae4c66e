//! Flags of mirrors: of chart repositories, and of what the controller pulls charts from.

use outrigger_oci::Mirrors;
use outrigger_repository::{ChartMirrors, Options};

use super::registry_name::{parse_mirror, parse_plain_http};

/// Mirrors of chart repositories.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChartMirrorFlag {
    /// Fetch charts of a repository from another one; `*` stands for all repositories; repeatable
    #[arg(
        long = "chart-mirror",
        value_name = "URL=URL",
        help_heading = "Registries"
    )]
    chart_mirrors: Vec<String>,
}

impl ChartMirrorFlag {
    pub(crate) fn mirrors(&self) -> anyhow::Result<ChartMirrors> {
        let mut mirrors = ChartMirrors::default();
        for rule in &self.chart_mirrors {
            mirrors.add(rule)?;
        }
        Ok(mirrors)
    }
}

/// Where the controller fetches charts. Credentials and certificates are those of Secrets.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MirrorFlags {
    #[command(flatten)]
    charts: ChartMirrorFlag,
    /// Pull OCI charts of PREFIX from TARGET; `*` stands for all registries; repeatable
    #[arg(
        long = "registry-mirror",
        value_name = "PREFIX=TARGET",
        value_parser = parse_mirror,
        help_heading = "Registries"
    )]
    registries: Vec<String>,
    /// Registry of charts to reach over plain HTTP; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_plain_http, help_heading = "Registries")]
    plain_http: Vec<String>,
}

impl MirrorFlags {
    pub(crate) fn apply(&self, mut options: Options) -> anyhow::Result<Options> {
        let mut registries = Mirrors::default();
        for rule in &self.registries {
            registries.add(rule)?;
        }
        options.chart_mirrors = self.charts.mirrors()?;
        options.image_mirrors = registries;
        options.plain_http = self.plain_http.iter().cloned().collect();
        Ok(options)
    }
}
