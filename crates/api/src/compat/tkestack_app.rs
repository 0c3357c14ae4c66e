//! TKEStack's App: a Helm chart of a chart group, installed into a cluster.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_chart::{Profile, ValuesOptions};
use outrigger_gotmpl::{json, value};
use serde_json::{Map, Value};

use super::fields::Fields;
use super::{Error, metadata};
use crate::plugin::{ClusterReference, Plugin, PluginSpec};

/// The cluster that TKEStack itself runs in, which is where the controller runs.
const HERE: &str = "global";

pub(super) fn convert(object: Value) -> Result<Plugin, Error> {
    let (meta, mut spec) = Fields::of_object(object)?;
    let converted = convert_spec(&mut spec)?;
    spec.finish()?;
    let metadata = metadata::keep(Value::Object(meta), converted.release_name.clone())?;
    let mut plugin = Plugin::new("", converted);
    plugin.metadata = metadata;
    Ok(plugin)
}

fn convert_spec(spec: &mut Fields) -> Result<PluginSpec, Error> {
    check_type(spec)?;
    spec.ignore("tenantID");
    spec.ignore("finalizers");
    if spec.flag("dryRun")? == Some(true) {
        return Err(Error::Refused {
            path: spec.path_of("dryRun"),
            reason: "an object that is stored is no dry run".to_owned(),
            hint: Some("ask for a dry run when you apply it: --dry-run=server"),
        });
    }
    let mut converted = PluginSpec {
        enabled: true,
        release_name: spec.text("name")?,
        install_namespace: spec.text("targetNamespace")?,
        cluster: target(spec.text("targetCluster")?),
        values: values(spec.object("values")?)?,
        ..PluginSpec::default()
    };
    let chart = spec.object("chart")?;
    convert_chart(chart, &mut converted)?;
    Ok(converted)
}

fn check_type(spec: &mut Fields) -> Result<(), Error> {
    let path = spec.path_of("type");
    match spec.text("type")?.as_deref() {
        None | Some("HelmV3") => Ok(()),
        Some(other) => Err(Error::refused(
            path,
            format!("{other:?} is no type of application; use HelmV3"),
        )),
    }
}

/// Another cluster is known by the Secret with its kubeconfig, which has its name.
fn target(cluster: Option<String>) -> Option<ClusterReference> {
    let cluster = cluster.filter(|name| name != HERE)?;
    Some(ClusterReference {
        secret_name: format!("{cluster}-kubeconfig"),
        key: None,
    })
}

/// The chart group is a Repository of that name, unless a URL is given.
fn convert_chart(mut chart: Fields, spec: &mut PluginSpec) -> Result<(), Error> {
    chart.ignore("tenantID");
    chart.ignore("importedRepo");
    let group = chart.text("chartGroupName")?;
    spec.repo = chart.text("repoURL")?.or(group);
    let path = chart.path_of("chartName");
    spec.chart = Some(chart.text("chartName")?.ok_or(Error::Missing { path })?);
    spec.version = chart.text("chartVersion")?;
    for name in ["repoUsername", "repoPassword"] {
        if chart.text(name)?.is_some() {
            return Err(Error::Refused {
                path: chart.path_of(name),
                reason: "credentials do not belong into an object that many can read".to_owned(),
                hint: Some("make a Repository with a secretRef and name it as chartGroupName"),
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

/// Namespaces are made and health is awaited in any case.
fn parameters(mut fields: Fields) -> Result<Parameters, Error> {
    for known in ["createNamespace", "wait", "waitForJobs"] {
        fields.flag(known)?;
    }
    let nanoseconds = fields.whole_number("clientTimeout")?.filter(|n| *n > 0);
    let parameters = Parameters {
        timeout: nanoseconds.map(|nanoseconds| {
            // Longer than a second and not a whole number of them is not worth keeping apart.
            let seconds = nanoseconds.div_ceil(1_000_000_000);
            format!("{seconds}s")
        }),
        atomic: fields.flag("atomic")?.unwrap_or_default(),
    };
    fields.finish()?;
    Ok(parameters)
}

/// `rawValues`, then `values` in the form of `--set`, which win.
fn values(mut fields: Fields) -> Result<Map<String, Value>, Error> {
    let path = fields.path_of("rawValues");
    let raw = fields.text("rawValues")?.unwrap_or_default();
    let kind_path = fields.path_of("rawValuesType");
    let kind = fields.text("rawValuesType")?;
    if let Some(kind) = kind.filter(|kind| !["yaml", "json"].contains(&kind.as_str())) {
        return Err(Error::refused(
            kind_path,
            format!("{kind:?} is neither yaml nor json"),
        ));
    }
    let mut options = ValuesOptions {
        files: vec![("rawValues".to_owned(), plain(raw, &path)?)],
        ..ValuesOptions::default()
    };
    let list = fields.path_of("values");
    for (path, item) in fields.list("values")? {
        let Value::String(text) = item else {
            return Err(Error::refused(path, "must be text in the form of --set"));
        };
        options.set.push(text);
    }
    fields.finish()?;
    let no_files = &mut |_: &str| Err("files cannot be read here".to_owned());
    let merged = options.merge(Profile::Helm4, no_files).map_err(|error| {
        use outrigger_chart::values::Error as Values;
        match error {
            Values::File { source, .. } => Error::refused(path, source.to_string()),
            other => Error::refused(list, other.to_string()),
        }
    })?;
    Ok(to_json(merged))
}

/// The text of the values, which may be in base64. YAML that is a map has a colon or a brace, base64 has neither, so
/// the one is never taken for the other.
fn plain(raw: String, path: &str) -> Result<Vec<u8>, Error> {
    if raw.contains([':', '{']) {
        return Ok(raw.into_bytes());
    }
    let packed: String = raw.split_whitespace().collect();
    STANDARD
        .decode(packed)
        .map_err(|_| Error::refused(path, "is neither a map nor a map in base64"))
}

fn to_json(values: value::Map) -> Map<String, Value> {
    let text = json::encode(&value::Value::Map(values), false).unwrap_or_default();
    serde_json::from_slice(&text).unwrap_or_default()
}
