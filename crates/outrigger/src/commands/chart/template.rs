//! `outrigger chart template`: prints what `helm template` prints, byte for byte.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use outrigger_chart::render::release_name;
use outrigger_chart::{
    Error, KubeVersion, Operation, PrintOptions, RenderOptions, Rendered, print, print_template,
    render_cached,
};

use super::host::LocalHost;
use super::remote::RemoteFlags;
use super::render_flags::RenderFlags;
use super::source::{self, helm_error, render_error};
use crate::printer::Printer;
use crate::report::{HintExt as _, UsageError};

const EXAMPLES: &str = "\
Examples:
  outrigger chart template web ./chart
  outrigger chart template web ./chart-1.2.3.tgz -n shop -f site.yaml --set replicas=3
  outrigger chart template web ./chart --show-only templates/service.yaml
  outrigger chart template web ./chart --compat helm3 --kube-version 1.29
  outrigger chart template web oci://registry.local:5000/charts/web --version ^1.2

Not supported, in contrast to `helm template`: --dependency-update (use `outrigger chart dependency update`), --validate,
--dry-run=server and --post-renderer.";

#[derive(Debug, clap::Args)]
#[command(
    after_help = EXAMPLES,
    override_usage = "outrigger chart template [OPTIONS] [NAME] CHART"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct Args {
    /// Optional release name, then the chart: a folder, an archive, or an oci:// or https:// URL
    #[arg(num_args = 1..=2, required = true, value_name = "[NAME] CHART")]
    names: Vec<String>,
    #[command(flatten)]
    remote: RemoteFlags,
    #[command(flatten)]
    render: RenderFlags,
    /// Print only manifests of this template, a path in the chart; may be repeated
    #[arg(short, long, value_name = "PATH")]
    show_only: Vec<String>,
    /// Include custom resource definitions in the output
    #[arg(long)]
    include_crds: bool,
    /// Omit custom resource definitions, also with --include-crds
    #[arg(long)]
    skip_crds: bool,
    /// Omit tests
    #[arg(long)]
    skip_tests: bool,
    /// Omit hooks
    #[arg(long)]
    no_hooks: bool,
    /// Set .Release.IsUpgrade instead of .Release.IsInstall
    #[arg(long)]
    is_upgrade: bool,
    /// Kubernetes version used for Capabilities.KubeVersion
    #[arg(long, value_name = "VERSION")]
    kube_version: Option<String>,
    /// Additional API versions used for Capabilities.APIVersions; may be repeated
    #[arg(short, long, value_name = "GROUP/VERSION", value_delimiter = ',')]
    api_versions: Vec<String>,
    /// Do not validate the values against the chart's schema
    #[arg(long)]
    skip_schema_validation: bool,
    /// Allow templates to resolve host names
    #[arg(long)]
    enable_dns: bool,
    /// Use the release name `release-name`, as without a name
    #[arg(short, long)]
    generate_name: bool,
    /// Template of the release name
    #[arg(long, value_name = "TEMPLATE")]
    name_template: Option<String>,
    /// Write manifests to files in this folder instead of stdout
    #[arg(long, value_name = "DIR")]
    output_dir: Option<PathBuf>,
    /// Append the release name to the output folder
    #[arg(long, requires = "output_dir")]
    release_name: bool,
    /// Print the rendered templates if they are not valid YAML
    #[arg(long)]
    debug: bool,
    #[command(flatten)]
    unsupported: Unsupported,
    #[command(flatten)]
    ignored: Ignored,
}

/// Flags of `helm template` that this command rejects with a reason.
#[derive(Debug, clap::Args)]
struct Unsupported {
    #[arg(long, hide = true)]
    validate: bool,
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "client")]
    dry_run: Option<String>,
    #[arg(long, hide = true)]
    dependency_update: bool,
    #[arg(long, hide = true, value_name = "COMMAND")]
    post_renderer: Option<String>,
}

/// Flags of `helm template` that have no effect on a chart in a file, so that scripts need not be changed.
#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
struct Ignored {
    #[arg(long, hide = true, num_args = 0..=1, require_equals = true, default_missing_value = "watcher")]
    wait: Option<String>,
    #[arg(long, hide = true)]
    wait_for_jobs: bool,
    #[arg(long, hide = true, value_name = "DURATION")]
    timeout: Option<String>,
    #[arg(long, hide = true)]
    create_namespace: bool,
    #[arg(long, hide = true, visible_alias = "atomic")]
    rollback_on_failure: bool,
    #[arg(long, hide = true)]
    replace: bool,
    #[arg(long, hide = true, value_name = "TEXT")]
    description: Option<String>,
    #[arg(long, hide = true)]
    disable_openapi_validation: bool,
}

impl Unsupported {
    fn check(&self) -> anyhow::Result<()> {
        let reject = |flag: &str, hint: &str| {
            let reason = "the command uses no cluster and no other program";
            Err(UsageError(format!("unsupported flag {flag}: {reason}"))).hint(hint)
        };
        match self.dry_run.as_deref() {
            None | Some("client" | "true") => {}
            Some(_) => {
                return reject(
                    "--dry-run=server",
                    "pipe the output to `kubectl apply --dry-run=server -f -`",
                );
            }
        }
        if self.validate {
            return reject(
                "--validate",
                "pipe the output to `kubectl apply --dry-run=server -f -`",
            );
        }
        if self.dependency_update {
            return reject(
                "--dependency-update",
                "run `outrigger chart dependency update CHART` first",
            );
        }
        if self.post_renderer.is_some() {
            return reject("--post-renderer", "pipe the output to the program");
        }
        Ok(())
    }
}

/// Helm's release name if none is given.
const DEFAULT_NAME: &str = "release-name";

pub(crate) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    args.unsupported.check()?;
    let profile = args.render.compat.profile();
    let values = args.render.values.merge(profile)?;
    let host = LocalHost::new(args.enable_dns);
    let (name, path) = args.name_and_chart(&host)?;
    let chart = args.remote.load_lazily(path, profile)?;
    let mut parsed = source::parse_templates(&chart, profile);
    let options = args.render_options(name.clone())?;
    let rendered = render_cached(
        &chart,
        &values,
        &options,
        &host,
        &mut source::warn,
        &mut parsed,
    );
    let rendered = match rendered {
        Ok(rendered) => rendered,
        Err(error) => return args.failed(&error, printer),
    };
    let print = PrintOptions {
        include_crds: args.include_crds && !args.skip_crds,
        no_hooks: args.no_hooks,
        skip_tests: args.skip_tests,
        show_only: args.show_only.clone(),
    };
    if let Some(folder) = &args.output_dir {
        chart.check_reads()?;
        let subfolder = if args.release_name { &*name } else { "" };
        write_files(&rendered, &print, &folder.join(subfolder), printer)?;
    } else {
        let text = print_template(&rendered, &print, profile).map_err(helm_error)?;
        chart.check_reads()?;
        printer.data(&text)?;
    }
    // The process exits: skipping the destructors saves time.
    std::mem::forget((chart, values, parsed, rendered));
    Ok(ExitCode::SUCCESS)
}

impl Args {
    /// Prints what was rendered with `--debug`.
    fn failed(&self, error: &Error, printer: &Printer) -> anyhow::Result<ExitCode> {
        let Error::Manifest(invalid) = error else {
            return Err(render_error(error));
        };
        if self.debug {
            printer.data(invalid.rendered.as_bytes())?;
            return Err(helm_error(error));
        }
        Err(helm_error(error)).hint("use --debug to print the rendered templates")
    }

    fn name_and_chart(&self, host: &LocalHost) -> anyhow::Result<(String, &Path)> {
        let (name, chart) = match self.names.as_slice() {
            [chart] => (None, chart),
            [name, chart] => (Some(name.clone()), chart),
            _ => return Err(UsageError("expected at most two arguments".to_owned()).into()),
        };
        let name = match (name, &self.name_template) {
            (Some(_), _) if self.generate_name => {
                let text = "cannot set --generate-name and also specify a name";
                return Err(UsageError(text.to_owned()).into());
            }
            (Some(_), Some(_)) => {
                let text = "cannot set --name-template and also specify a name";
                return Err(UsageError(text.to_owned()).into());
            }
            (Some(name), None) => name,
            (None, Some(template)) => {
                release_name::from_template(template, host, self.render.compat.profile())
                    .map_err(helm_error)?
            }
            (None, None) => DEFAULT_NAME.to_owned(),
        };
        Ok((name, Path::new(chart)))
    }

    fn render_options(&self, name: String) -> anyhow::Result<RenderOptions> {
        let profile = self.render.compat.profile();
        let mut options = RenderOptions::new(profile, name, &self.render.namespace);
        if self.is_upgrade {
            options.release.operation = Some(Operation::Upgrade);
        }
        options.skip_schema = self.skip_schema_validation;
        options.limits.stack_bytes = super::TEMPLATE_STACK;
        if let Some(version) = &self.kube_version {
            options.capabilities.kube_version =
                KubeVersion::parse(version, profile).map_err(helm_error)?;
        }
        options
            .capabilities
            .api_versions
            .extend(self.api_versions.iter().cloned());
        Ok(options)
    }
}

/// Writes the manifests of each template to one file. As Helm does, prints a line per manifest and an empty line.
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
    }
    for path in print::written_paths(rendered, options) {
        printer.line(&format!("wrote {}", folder.join(path).display()))?;
    }
    printer.line("")
}
