//! Stub.
use crate::profile::Profile;
pub(crate) fn is_valid(text: &str, _: Profile) -> bool { text.starts_with(|c: char| c.is_ascii_digit() || c=='v') }
pub(crate) fn satisfies(_: &str, _: &str, _: Profile) -> bool { true }
pub(crate) fn describe(text: &str, _: Profile) -> Result<(String, u64, u64), String> { Ok((text.trim_start_matches('v').to_owned(),1,1)) }
pub(crate) fn is_strict(_: &str, _: Profile) -> bool { true }
pub(crate) fn why_not(_: &str, _: &str, _: Profile) -> Option<String> { None }
