//! Validates and generates the name of a release.

use outrigger_gotmpl::function::Host;
use outrigger_gotmpl::value::Value;
use outrigger_gotmpl::{Engine, Limits};

use crate::dns_name;
use crate::error::{Error, TemplateError};
use crate::profile::Profile;

const MAX_LENGTH: usize = 53;
const PATTERN: &str = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

pub(super) fn check(name: &str, profile: Profile) -> Result<(), Error> {
    let reason = if name.is_empty() {
        "no name provided".to_owned()
    } else if name.len() > MAX_LENGTH || !dns_name::is_subdomain(name) {
        format!(
            "invalid release name, must match regex {PATTERN} and the length must not be longer than {MAX_LENGTH}"
        )
    } else {
        return Ok(());
    };
    Err(Error::ReleaseName {
        prefix: profile.rules().release_name_prefix,
        name: name.to_owned(),
        reason,
    })
}

/// Executes a `--name-template`, which has no data.
pub fn from_template(
    text: &str,
    host: &dyn Host,
    profile: Profile,
) -> Result<String, TemplateError> {
    const NAME: &str = "name-template";
    let dialect = profile.dialect();
    let parsed = outrigger_gotmpl::parse(NAME, text, &dialect).map_err(TemplateError::Name)?;
    let mut engine = Engine::new(dialect, Limits::default());
    engine.add(parsed);
    let mut out = Vec::new();
    engine
        .execute(NAME, &Value::Nil, host, &mut out)
        .map_err(|error| TemplateError::Exec(error.to_string()))?;
    Ok(String::from_utf8_lossy(&out).into_owned())
}
