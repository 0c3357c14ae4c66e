//! The lint rules for `Chart.yaml`.

use super::{Linter, Severity};
use crate::metadata::{API_V1, API_V2, Metadata};
use crate::profile::Profile;
use crate::yaml_value::YamlValue;
use crate::{govalidator, version, yaml};
use outrigger_gostd::path;

const FILE: &str = "Chart.yaml";

pub(super) fn check(linter: &mut Linter, data: &[u8], profile: Profile) {
    let (node, metadata) = match read(data, profile) {
        Ok(read) => read,
        Err(message) => {
            linter.push(
                Severity::Error,
                FILE,
                format!("unable to parse YAML\n\t{message}"),
            );
            return;
        }
    };
    let is_helm4 = profile == Profile::Helm4;
    if is_helm4 && let Some(message) = unknown_field(&node) {
        let text = format!("failed to strictly parse chart metadata file\n\t{message}");
        linter.push(Severity::Warning, FILE, text);
    }
    let mut error = |text: Option<String>| {
        if let Some(text) = text {
            linter.push(Severity::Error, FILE, text);
        }
    };
    error(name(&metadata));
    error(api_version(&metadata));
    error(not_a_string(&node, "version"));
    error(chart_version(&metadata, profile));
    error(not_a_string(&node, "appVersion"));
    error(maintainers(&metadata, profile));
    error(sources(&metadata));
    if metadata.icon.is_empty() {
        linter.push(Severity::Info, FILE, "icon is recommended".to_owned());
    }
    let mut error = |text: Option<String>| {
        if let Some(text) = text {
            linter.push(Severity::Error, FILE, text);
        }
    };
    error(icon(&metadata));
    error(chart_type(&metadata));
    error(dependencies(&metadata));
    if is_helm4 && !version::is_strict(&metadata.version, profile) {
        let text = format!("version '{}' is not a valid SemVerV2", metadata.version);
        linter.push(Severity::Warning, FILE, text);
    }
}

fn read(data: &[u8], profile: Profile) -> Result<(YamlValue, Metadata), String> {
    let node = yaml::read(data).map_err(|error| error.to_string())?;
    let mut metadata = Metadata::default();
    metadata
        .update(&node, profile)
        .map_err(|error| error.to_string())?;
    Ok((node, metadata))
}

/// The error of Go's strict decoder for the first unknown field.
fn unknown_field(node: &YamlValue) -> Option<String> {
    let field = Metadata::unknown_field(node)?;
    Some(format!(
        "error unmarshaling JSON: while decoding JSON: json: unknown field {}",
        outrigger_gostd::strconv::quote(&field)
    ))
}

fn name(metadata: &Metadata) -> Option<String> {
    if metadata.name.is_empty() {
        return Some("name is required".to_owned());
    }
    (path::base(&metadata.name) != metadata.name).then(|| {
        let name = outrigger_gostd::strconv::quote(&metadata.name);
        format!("chart name {name} is invalid")
    })
}

fn api_version(metadata: &Metadata) -> Option<String> {
    let expected = "The value must be either \"v1\" or \"v2\"";
    match metadata.api_version.as_str() {
        "" => Some(format!("apiVersion is required. {expected}")),
        API_V1 | API_V2 => None,
        other => Some(format!("apiVersion '{other}' is not valid. {expected}")),
    }
}

/// A version that is not quoted may be parsed as a number.
fn not_a_string(node: &YamlValue, key: &str) -> Option<String> {
    let found = match node.get(key)? {
        YamlValue::Str(_) => return None,
        other => other.to_value().type_name(),
    };
    Some(format!(
        "{key} should be of type string but it's of type {found}"
    ))
}

fn chart_version(metadata: &Metadata, profile: Profile) -> Option<String> {
    if metadata.version.is_empty() {
        return Some("version is required".to_owned());
    }
    if !version::is_valid(&metadata.version, profile) {
        return Some(format!(
            "version '{}' is not a valid SemVer",
            metadata.version
        ));
    }
    let reason = version::why_not(">0.0.0-0", &metadata.version, profile)?;
    Some(format!("version {reason}"))
}

fn maintainers(metadata: &Metadata, profile: Profile) -> Option<String> {
    if metadata.null_node_in == Some("maintainers") && profile == Profile::Helm4 {
        return Some("a maintainer entry is empty".to_owned());
    }
    metadata.maintainers.iter().find_map(|maintainer| {
        let name = &maintainer.name;
        if name.is_empty() {
            Some("each maintainer requires a name".to_owned())
        } else if !maintainer.email.is_empty() && !govalidator::is_email(&maintainer.email) {
            Some(format!(
                "invalid email '{}' for maintainer '{name}'",
                maintainer.email
            ))
        } else if !maintainer.url.is_empty() && !govalidator::is_url(&maintainer.url) {
            Some(format!(
                "invalid url '{}' for maintainer '{name}'",
                maintainer.url
            ))
        } else {
            None
        }
    })
}

fn sources(metadata: &Metadata) -> Option<String> {
    let mut sources = metadata.sources.iter();
    let invalid = sources.find(|source| !govalidator::is_request_url(source))?;
    Some(format!("invalid source URL '{invalid}'"))
}

fn icon(metadata: &Metadata) -> Option<String> {
    let is_invalid = !metadata.icon.is_empty() && !govalidator::is_request_url(&metadata.icon);
    is_invalid.then(|| format!("invalid icon URL '{}'", metadata.icon))
}

fn chart_type(metadata: &Metadata) -> Option<String> {
    let is_invalid = !metadata.chart_type.is_empty() && metadata.api_version != API_V2;
    is_invalid.then(|| {
        format!(
            "chart type is not valid in apiVersion '{}'. It is valid in apiVersion '{API_V2}'",
            metadata.api_version
        )
    })
}

fn dependencies(metadata: &Metadata) -> Option<String> {
    let is_invalid = !metadata.declared().is_empty() && metadata.api_version != API_V2;
    is_invalid.then(|| {
        format!(
            "dependencies are not valid in the Chart file with apiVersion '{}'. They are valid in apiVersion '{API_V2}'",
            metadata.api_version
        )
    })
}
