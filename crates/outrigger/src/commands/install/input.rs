//! What an installation is made of: read and verified as a whole before anything changes.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, ensure};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Secret;
use outrigger_api::installation::{ConfigurationSource, InstallationSpec, PackageSource};
use outrigger_expansion::contents::source::Source;
use outrigger_expansion::signature::{self, PublicKey};
use outrigger_expansion::{Finding, Opened, Package, verify_with};
use outrigger_installer::{Contents, SiteCluster};
use outrigger_oci::Digest;
use serde_json::{Map, Value};

use super::configuration::{self, Origin};
use crate::commands::cluster::file::Manifests;
use crate::commands::expansion::opening::{BaseFlag, reader};
use crate::commands::expansion::sign::{key_error, signature_error};
use crate::commands::expansion::summary;
use crate::commands::up::clusters::files_root;
use crate::input_file;
use crate::report::{HintExt as _, note};

/// Which package is installed, and who is trusted.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct PackageFlags {
    /// Expansion package: a folder, a built package, or one of its chunks
    #[arg(long, value_name = "DIR|FILE")]
    expansion: Option<PathBuf>,
    #[command(flatten)]
    base: BaseFlag,
    /// Values of the site, which override those of the package; repeatable
    #[arg(long, value_name = "FILE")]
    values: Vec<PathBuf>,
    /// Public key that is trusted; repeatable. The package must be signed by one of them
    #[arg(long = "trusted-key", value_name = "FILE")]
    trusted_keys: Vec<PathBuf>,
    /// Accept a built package without signatures
    #[arg(long)]
    allow_unsigned: bool,
}

/// Everything that was read.
#[derive(Debug)]
pub(crate) struct Input {
    pub(super) contents: Contents,
    pub(super) secrets: Vec<Secret>,
    pub(super) skip_steps: Vec<String>,
    name: String,
    spec: InstallationSpec,
}

/// What the site has, whatever the package.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SiteInputs<'s> {
    pub(crate) config: Origin<'s>,
    /// A folder with hooks.
    pub(crate) hooks: Option<&'s Path>,
    /// The folder with the sources of the configuration's files, if it is not that of the configuration.
    pub(crate) files: Option<&'s Path>,
    pub(crate) provider: Option<&'s Path>,
    /// To which images are pushed.
    pub(crate) registry: Option<&'s str>,
}

/// A package whose findings are not fatal.
struct ReadPackage {
    path: PathBuf,
    opened: Opened,
    package: Package,
    signed_by: Vec<String>,
}

impl Input {
    pub(crate) fn read(
        flags: &PackageFlags,
        default_package: Option<&Path>,
        site: SiteInputs<'_>,
    ) -> anyhow::Result<Self> {
        let values = read_values(&flags.values)?;
        let read = flags.read(default_package, &values)?;
        let package = read.as_ref().map(|read| &read.package);
        let configuration = configuration::read(site.config, package)?;
        let folder = match site.config {
            Origin::File(path) => Some(files_root(path)),
            Origin::BuiltIn(..) => None,
        };
        let mut contents = Contents {
            site_files: site.files.map(Path::to_owned).or(folder),
            provider: site.provider.map(Path::to_owned),
            site_registry: site.registry.map(str::to_owned),
            ..Contents::default()
        };
        if let Some(hooks) = site.hooks {
            contents.add_site_hooks(hooks)?;
        }
        let mut spec = InstallationSpec::default();
        if let Some(read) = &read {
            let source = Source::new(&read.path, flags.base.path(), &read.opened);
            spec.package = Some(PackageSource {
                name: read.package.name.clone(),
                version: read.package.version.clone(),
                source: read.path.display().to_string(),
                digest: source.digest().map(ToString::to_string),
                signed_by: read.signed_by.clone(),
            });
            spec.values = values;
            contents.set_package(&read.opened, &read.package, source)?;
        }
        let Manifests {
            clusters,
            machines,
            secrets,
        } = configuration.manifests;
        let digest = digest(&clusters, &machines, &secrets)?;
        let cluster = clusters.into_iter().next().context("there is no cluster")?;
        let cluster = SiteCluster {
            cluster,
            workers: machines,
            digest: digest.clone(),
        };
        spec.cluster = Some(cluster.name().to_owned());
        spec.configuration = Some(ConfigurationSource {
            source: site.config.name(),
            digest,
        });
        spec.hooks = contents
            .hooks
            .keys()
            .map(|name| (*name).to_owned())
            .collect();
        let name = cluster.name().to_owned();
        contents.cluster = Some(cluster);
        Ok(Self {
            contents,
            secrets,
            skip_steps: configuration.skip_steps,
            name,
            spec,
        })
    }

    /// The name of the Installation.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn spec(&self, skip: &BTreeSet<&'static str>) -> InstallationSpec {
        InstallationSpec {
            skip_steps: skip.iter().map(|step| (*step).to_owned()).collect(),
            ..self.spec.clone()
        }
    }

    /// The cluster and its workers, whose stand-in machines are started.
    pub(crate) fn manifests(&self) -> Manifests {
        let cluster = self.contents.cluster.as_ref();
        Manifests {
            clusters: cluster.iter().map(|it| it.cluster.clone()).collect(),
            machines: cluster.map(|it| it.workers.clone()).unwrap_or_default(),
            secrets: Vec::new(),
        }
    }
}

/// Identifies the objects of a configuration. They include credentials.
fn digest(
    clusters: &[outrigger_api::cluster::Cluster],
    machines: &[outrigger_api::machine::Machine],
    secrets: &[Secret],
) -> anyhow::Result<String> {
    let bytes = serde_json::to_vec(&(clusters, machines, secrets))?;
    Ok(Digest::of(&bytes).to_string())
}

fn read_values(paths: &[PathBuf]) -> anyhow::Result<Map<String, Value>> {
    let mut values = Value::Object(Map::new());
    for path in paths {
        let shown = path.display().to_string();
        let text = input_file::read(path)?;
        outrigger_goyaml::check_strict(&text).with_context(|| shown.clone())?;
        let read = outrigger_goyaml::parse_json(&text).with_context(|| shown.clone())?;
        ensure!(
            read.is_object() || read.is_null(),
            "{shown}: values are an object"
        );
        overlay(&mut values, read);
    }
    match values {
        Value::Object(values) => Ok(values),
        _ => Ok(Map::new()),
    }
}

/// Merges maps; everything else is replaced.
fn overlay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}

impl PackageFlags {
    /// Reads and verifies the package. `None` if there is none: then everything works as if there were no packages.
    fn read(
        &self,
        default: Option<&Path>,
        values: &Map<String, Value>,
    ) -> anyhow::Result<Option<ReadPackage>> {
        let default = default.filter(|path| path.exists());
        let path = match (&self.expansion, default) {
            (Some(path), _) => path.clone(),
            (None, Some(default)) => default.to_owned(),
            (None, None) => {
                ensure!(
                    self.values.is_empty(),
                    "--values is for a package, and there is none"
                );
                return Ok(None);
            }
        };
        let signed_by = self.trusted(&path)?;
        let opened = self.base.open(&path)?;
        let findings = verify_with(&opened.scanned, values);
        if findings.iter().any(Finding::is_fatal) {
            for finding in findings.iter().filter(|finding| finding.is_fatal()) {
                let location = path.join(finding.location());
                note(&format!(
                    "fatal: {}: {}",
                    location.display(),
                    finding.message
                ));
            }
            let shown = path.display();
            return Err(anyhow!("{shown} has {}", summary(&findings)))
                .hint(format!("`outrigger expansion check {shown}` explains them"));
        }
        let (package, _) = Package::read(&opened.scanned);
        Ok(Some(ReadPackage {
            package: package.with_values(values),
            path,
            opened,
            signed_by,
        }))
    }

    /// Whether the command line names a package.
    pub(crate) fn is_given(&self) -> bool {
        self.expansion.is_some()
    }

    /// The keys whose signatures count. What nobody signed is refused, unless it is a folder and no key is trusted.
    fn trusted(&self, path: &Path) -> anyhow::Result<Vec<String>> {
        let keys = self.trusted_keys.iter();
        let keys: Vec<PublicKey> = keys
            .map(|path| PublicKey::read(path).map_err(key_error))
            .collect::<anyhow::Result<_>>()?;
        let is_folder = path.is_dir() && path.join(outrigger_expansion::DEFINITION).exists();
        let shown = path.display();
        if is_folder {
            ensure_unsigned_folder(keys.is_empty() || self.allow_unsigned, path)?;
            return Ok(Vec::new());
        }
        // A package that cannot be opened is the first mistake to report.
        let package = reader(path, &std::sync::Arc::default())?;
        if keys.is_empty() && !self.allow_unsigned {
            return Err(anyhow!(
                "no key is trusted, so that nobody vouches for {shown}"
            ))
            .hint("pass a public key with --trusted-key, or --allow-unsigned");
        }
        let verified = signature::verify(
            package.signatures(),
            package.root_bytes(),
            &keys,
            Timestamp::now(),
        );
        match verified {
            Err(signature::Error::Unsigned) if self.allow_unsigned => Ok(Vec::new()),
            // Without keys there is nothing to compare a signature with.
            Err(_) if keys.is_empty() => Ok(Vec::new()),
            other => {
                let verified = other.map_err(signature_error)?;
                Ok(verified
                    .into_iter()
                    .map(|signature| signature.key)
                    .collect())
            }
        }
    }
}

fn ensure_unsigned_folder(is_allowed: bool, path: &Path) -> anyhow::Result<()> {
    let shown = path.display();
    let checked = if is_allowed {
        Ok(())
    } else {
        Err(anyhow!("{shown} is a folder, which nobody can sign"))
    };
    checked
        .hint("build and sign it with `outrigger expansion build --key`, or pass --allow-unsigned")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn later_values_override_earlier_ones_key_by_key() {
        let mut values = json!({"a": {"b": 1, "c": 2}, "d": [1]});
        overlay(&mut values, json!({"a": {"b": 3}, "d": [2]}));
        overlay(&mut values, Value::Null);
        assert_eq!(values, json!({"a": {"b": 3, "c": 2}, "d": [2]}));
    }
}
