//! The ways in which charts use YAML: documents as plain data, the head of a manifest, and text from values.

use outrigger_gotmpl::value::Value;
use outrigger_goyaml as goyaml;

use crate::plain::{Plain, PlainBuilder};
use crate::profile::Profile;

pub(crate) use goyaml::Head;

/// What is wrong with a document, in the words of Helm's YAML reader.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.full_text())]
pub struct ReadError(goyaml::Error);

/// The first document.
pub(crate) fn read(bytes: &[u8]) -> Result<Plain, ReadError> {
    goyaml::parse(bytes, &mut PlainBuilder).map_err(ReadError)
}

/// What Helm sorts a manifest by.
pub(crate) fn head(bytes: &[u8], profile: Profile) -> Result<Head, ReadError> {
    let go_type = match profile {
        Profile::Helm3 => "releaseutil.SimpleHead",
        Profile::Helm4 => "util.SimpleHead",
    };
    goyaml::head(bytes, go_type).map_err(ReadError)
}

/// A rendered file as text. Bytes that are not UTF-8 are an error of the YAML in it.
pub(crate) fn text(bytes: &[u8]) -> Result<std::borrow::Cow<'_, str>, ReadError> {
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Ok(text.into());
    }
    goyaml::check(bytes).map_err(ReadError)?;
    Ok(String::from_utf8_lossy(bytes))
}

/// `toYaml`: without the last line break.
pub(crate) fn to_yaml(value: &Value) -> Vec<u8> {
    outrigger_gotmpl::to_yaml(value)
}
