//! `outrigger chart template`: what `helm template` prints, to the byte.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use outrigger_chart::render::release_name;
use outrigger_chart::{
    KubeVersion, PrintOptions, RenderOptions, Rendered, print, print_template, render_cached,
};

use super::host::LocalHost;
use super::source::{self, CompatFlag, plainly};
use super::values::ValuesFlags;
use crate::printer::Printer;

const EXAMPLES: &str = "\
Examples:
  outrigger chart template web ./chart
  outrigger chart template web ./chart-1.2.3.tgz -n shop -f site.yaml --set replicas=3
  outrigger chart template web ./chart --show-only templates/service.yaml
  outrigger chart template web ./chart --compat helm3 --kube-version 1.29";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Name of the release, if any, then the chart: a folder or an archive
    #[arg(num_args = 1..=2, required = true, value_names = ["NAME", "CHART"])]
    names: Vec<String>,
    /// Namespace of the release
    #[arg(short, long, default_value = "default")]
    namespace: String,
    #[command(flatten)]
    values: ValuesFlags,
    #[command(flatten)]
    compat: CompatFlag,
    /// Print only what comes from this template, a path in the chart; may be repeated
    #[arg(short, long, value_name = "PATH")]
    show_only: Vec<String>,
    /// Print the chart's custom resource definitions too
    #[arg(long)]
    include_crds: bool,
    /// Leave out tests
    #[arg(long)]
    skip_tests: bool,
    /// Leave out hooks
    #[arg(long)]
    no_hooks: bool,
    /// Render as an upgrade, not as an installation
    #[arg(long)]
    is_upgrade: bool,
    /// Kubernetes version that the chart sees
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// API versions that the chart sees besides the usual ones; may be repeated
    #[arg(short, long, value_name = "GROUP/VERSION", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Do not check the values against the chart's schema
    #[arg(long)]
    skip_schema_validation: bool,
    /// Let templates look up host names
    #[arg(long)]
    enable_dns: bool,
    /// Make up a name for the release
    #[arg(short, long)]
    generate_name: bool,
    /// Template of the name of the release
    #[arg(long, value_name = "TEMPLATE")]
    name_template: Option<String>,
    /// Write each template's result to a file below this folder, not to stdout
    #[arg(long, value_name = "FOLDER")]
    output_dir: Option<PathBuf>,
    /// Put the files below a folder with the release's name
    #[arg(long, requires = "output_dir")]
    release_name: bool,
}

/// The name that a release gets when none is given.
const DEFAULT_NAME: &str = "release-name";

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let profile = args.compat.profile();
    let host = LocalHost::new(args.enable_dns);
    let (name, path) = args.name_and_chart(&host)?;
    let chart = source::load(path, profile)?;
    let mut parsed = source::parse_templates(&chart, profile);
    let values = args.values.merge(profile)?;
    let options = args.render_options(name.clone())?;
    let rendered = render_cached(
        &chart,
        &values,
        &options,
        &host,
        &mut source::warn,
        &mut parsed,
    )
    .map_err(plainly)?;
    let print = PrintOptions {
        include_crds: args.include_crds,
        no_hooks: args.no_hooks,
        skip_tests: args.skip_tests,
        show_only: args.show_only.clone(),
    };
    match &args.output_dir {
        Some(folder) if args.release_name => {
            write_files(&rendered, &print, &folder.join(name), printer)?;
        }
        Some(folder) => write_files(&rendered, &print, folder, printer)?,
        None => printer.bytes(&print_template(&rendered, &print, profile).map_err(plainly)?)?,
    }
    // The process ends here: its memory goes back as a whole, faster than piece by piece.
    std::mem::forget((chart, values, parsed, rendered));
    Ok(ExitCode::SUCCESS)
}

impl Args {
    fn name_and_chart(&self, host: &LocalHost) -> anyhow::Result<(String, &Path)> {
        let (given, chart) = match self.names.as_slice() {
            [chart] => (None, chart),
            [name, chart] => (Some(name.clone()), chart),
            _ => bail!("expected at most two arguments"),
        };
        let name = match (given, &self.name_template) {
            (Some(_), _) if self.generate_name => {
                bail!("cannot set --generate-name and also specify a name")
            }
            (Some(_), Some(_)) => bail!("cannot set --name-template and also specify a name"),
            (Some(name), None) => name,
            (None, Some(template)) => {
                release_name::from_template(template, host, self.compat.profile())
                    .map_err(plainly)?
            }
            (None, None) if self.generate_name => generated_name(chart, host),
            (None, None) => DEFAULT_NAME.to_owned(),
        };
        Ok((name, Path::new(chart)))
    }

    fn render_options(&self, name: String) -> anyhow::Result<RenderOptions> {
        let profile = self.compat.profile();
        let mut options = RenderOptions::new(profile, name, &self.namespace);
        options.release.is_upgrade = self.is_upgrade;
        options.skip_schema = self.skip_schema_validation;
        options.limits.stack_bytes = super::TEMPLATE_STACK;
        if let Some(version) = &self.kube_version {
            options.capabilities.kube_version =
                KubeVersion::parse(version, profile).map_err(plainly)?;
        }
        options
            .capabilities
            .api_versions
            .extend(self.api_versions.iter().cloned());
        Ok(options)
    }
}

/// Helm's form: the chart's name without its folder, version and ending, and the seconds since 1970.
fn generated_name(chart: &str, host: &LocalHost) -> String {
    let base = chart
        .trim_end_matches('/')
        .rsplit('/')
        .next()
        .unwrap_or_default();
    let base = base.split('.').next().unwrap_or_default();
    let base = if base.is_empty() { "chart" } else { base };
    format!("{base}-{}", host.seconds())
}

/// Writes each template's result to a file of its own, as Helm does, and says so.
fn write_files(
    rendered: &Rendered,
    options: &PrintOptions,
    folder: &Path,
    printer: &Printer,
) -> anyhow::Result<()> {
    for (path, text) in print::files(rendered, options) {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs_err::create_dir_all(parent)?;
        }
        fs_err::write(&path, text)?;
        printer.line(&format!("wrote {}", path.display()))?;
    }
    Ok(())
}
