//! YAML in charts: parses documents and the head of manifests, and encodes values.

use outrigger_gotmpl::value::Value;
use outrigger_goyaml as goyaml;

use crate::profile::Profile;
use crate::yaml_value::{YamlValue, YamlValueBuilder};

pub(crate) use goyaml::Head;

/// Why a document does not parse, with the message of sigs.k8s.io/yaml.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.full_text())]
pub struct ReadError(goyaml::Error);

/// The maximum nesting of the files of a chart and of values, which are traversed recursively. Helm has no limit.
const MAX_DEPTH: usize = 500;

/// Parses the first document.
pub(crate) fn read(bytes: &[u8]) -> Result<YamlValue, ReadError> {
    goyaml::parse_to_depth(bytes, &mut YamlValueBuilder, MAX_DEPTH).map_err(ReadError)
}

/// Parses the fields by which Helm sorts a manifest.
pub(crate) fn head(bytes: &[u8], profile: Profile) -> Result<Head, ReadError> {
    let go_type = match profile {
        Profile::Helm3 => "releaseutil.SimpleHead",
        Profile::Helm4 => "util.SimpleHead",
    };
    goyaml::head(bytes, go_type).map_err(ReadError)
}

/// Converts a rendered file to text. Invalid UTF-8 is reported as an error of the YAML, if it has one.
pub(crate) fn text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, ReadError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.into());
    }
    goyaml::check(bytes).map_err(ReadError)?;
    Ok(String::from_utf8_lossy(bytes))
}

/// `toYaml`: without the final newline.
pub(crate) fn to_yaml(value: &Value) -> Vec<u8> {
    outrigger_gotmpl::to_yaml(value)
}
