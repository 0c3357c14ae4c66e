//! TKEStack's App: a Helm chart of a chart group, installed in a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_chart::values::ReadFileError;
use outrigger_chart::{Profile, ValuesOptions};
use outrigger_gotmpl::{json, value};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Error, metadata};
use crate::plugin::{ClusterReference, Plugin, PluginSpec};

/// The cluster that TKEStack itself runs in, which is the local cluster.
const LOCAL_CLUSTER: &str = "global";

pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    let (meta, mut spec) = Fields::of_object(object)?;
    let converted = convert_spec(&mut spec)?;
    spec.finish()?;
    let metadata = metadata::convert(Value::Object(meta), converted.release_name.clone())?;
    let mut plugin = Plugin::new("", converted);
    plugin.metadata = metadata;
    Ok(plugin)
}

fn convert_spec(spec: &mut Fields) -> Result<PluginSpec, Error> {
    check_type(spec)?;
    spec.ignore("tenantID");
    spec.ignore("finalizers");
    if spec.boolean("dryRun")? == Some(true) {
        return Err(Error::Invalid {
            path: spec.path_of("dryRun"),
            reason: "a stored object cannot be a dry run".to_owned(),
            hint: Some("use a server-side dry run: --dry-run=server"),
        });
    }
    let mut converted = PluginSpec {
        enabled: true,
        release_name: spec.string("name")?,
        install_namespace: spec.string("targetNamespace")?,
        cluster: target(spec.string("targetCluster")?),
        values: values(spec.object("values")?)?,
        ..PluginSpec::default()
    };
    let chart = spec.object("chart")?;
    convert_chart(chart, &mut converted)?;
    Ok(converted)
}

fn check_type(spec: &mut Fields) -> Result<(), Error> {
    let path = spec.path_of("type");
    match spec.string("type")?.as_deref() {
        None | Some("HelmV3") => Ok(()),
        Some(other) => Err(Error::invalid(
            path,
            format!("{other:?} is not supported; use HelmV3"),
        )),
    }
}

/// The kubeconfig of another cluster is in the Secret `NAME-kubeconfig`.
fn target(cluster: Option<String>) -> Option<ClusterReference> {
    let cluster = cluster.filter(|name| name != LOCAL_CLUSTER)?;
    Some(ClusterReference {
        secret_name: Some(format!("{cluster}-kubeconfig")),
        ..ClusterReference::default()
    })
}

/// The chart group is the name of a Repository, unless a URL is set.
fn convert_chart(mut chart: Fields, spec: &mut PluginSpec) -> Result<(), Error> {
    chart.ignore("tenantID");
    chart.ignore("importedRepo");
    let group = chart.string("chartGroupName")?;
    spec.repo = chart.string("repoURL")?.or(group);
    let path = chart.path_of("chartName");
    spec.chart = Some(chart.string("chartName")?.ok_or(Error::Missing { path })?);
    spec.version = chart.string("chartVersion")?;
    for name in ["repoUsername", "repoPassword"] {
        if chart.string(name)?.is_some() {
            return Err(Error::Invalid {
                path: chart.path_of(name),
                reason: "credentials must not be in a spec".to_owned(),
                hint: Some(
                    "create a Repository with a secretRef and set chartGroupName to its name",
                ),
            });
        }
    }
    let install = parameters(chart.object("installPara")?)?;
    let upgrade = parameters(chart.object("upgradePara")?)?;
    spec.timeout = install.timeout.or(upgrade.timeout);
    spec.rollback = upgrade.atomic || install.atomic;
    chart.finish()
}

struct Parameters {
    timeout: Option<String>,
    atomic: bool,
}

/// The controller always creates namespaces and waits for health.
fn parameters(mut fields: Fields) -> Result<Parameters, Error> {
    for ignored in ["createNamespace", "wait", "waitForJobs"] {
        fields.boolean(ignored)?;
    }
    let nanoseconds = fields.integer("clientTimeout")?.filter(|n| *n > 0);
    let parameters = Parameters {
        timeout: nanoseconds.map(|nanoseconds| {
            // Rounded up to whole seconds.
            let seconds = nanoseconds.div_ceil(1_000_000_000);
            format!("{seconds}s")
        }),
        atomic: fields.boolean("atomic")?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(parameters)
}

/// `rawValues`, overridden by `values` in the syntax of `--set`.
fn values(mut fields: Fields) -> Result<Map<String, Value>, Error> {
    let path = fields.path_of("rawValues");
    let raw = fields.string("rawValues")?.unwrap_or_default();
    let kind_path = fields.path_of("rawValuesType");
    let kind = fields.string("rawValuesType")?;
    if let Some(kind) = kind.filter(|kind| !["yaml", "json"].contains(&kind.as_str())) {
        return Err(Error::invalid(
            kind_path,
            format!("{kind:?} is neither yaml nor json"),
        ));
    }
    let mut options = ValuesOptions {
        files: vec![("rawValues".to_owned(), decode(raw, &path)?)],
        ..ValuesOptions::default()
    };
    let list = fields.path_of("values");
    for (path, item) in fields.list("values")? {
        let Value::String(text) = item else {
            return Err(Error::invalid(
                path,
                "must be a string in the syntax of --set",
            ));
        };
        options.set.push(text);
    }
    fields.finish()?;
    let read_file = &mut |_: &str| Err(ReadFileError("files are not supported".to_owned()));
    let merged = options.merge(Profile::Helm4, read_file).map_err(|error| {
        use outrigger_chart::values::Error as Values;
        match error {
            Values::File { source, .. } => Error::invalid(path, source.to_string()),
            other => Error::invalid(list, other.to_string()),
        }
    })?;
    Ok(to_json(merged))
}

/// Decodes values that may be base64. A YAML map contains a colon or a brace, base64 contains neither, so that they
/// cannot be confused.
fn decode(raw: String, path: &str) -> Result<Vec<u8>, Error> {
    if raw.contains([':', '{']) {
        return Ok(raw.into_bytes());
    }
    let encoded: String = raw.split_whitespace().collect();
    STANDARD
        .decode(encoded)
        .map_err(|_| Error::invalid(path, "must be a YAML map, optionally base64-encoded"))
}

fn to_json(values: value::Map) -> Map<String, Value> {
    let text = json::encode(&value::Value::Map(values), false).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
