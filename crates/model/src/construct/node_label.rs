//! A label of nodes.

use serde::{Deserialize, Serialize};

use super::{Construct, Sharing};
use crate::scope::Scope;

/// A label of nodes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeLabel {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
}

impl Construct for NodeLabel {
    const KIND: &'static str = "node label";
    const SHARING: Sharing = Sharing::WhenEqual;

    fn key(&self) -> String {
        self.key.clone()
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        check_key(&self.key)?;
        check_value(&self.value)?;
        is_node(scope)
    }
}

/// Fails for machines that are not nodes.
pub(super) fn is_node(scope: &Scope) -> Result<(), String> {
    match scope {
        Scope::Role(crate::Role::Etcd) => Err("etcd machines are not nodes".to_owned()),
        _ => Ok(()),
    }
}

/// Fails unless the text is a key of a label or taint: `[PREFIX/]NAME`.
pub(super) fn check_key(key: &str) -> Result<(), String> {
    let (prefix, name) = key
        .rsplit_once('/')
        .map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| {
        let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.');
        !prefix.is_empty() && prefix.len() <= 253 && prefix.bytes().all(is_allowed)
    };
    if name.is_empty() || !is_label_text(name) || !prefix.is_none_or(is_prefix) {
        return Err(format!("{key:?} is not a label key"));
    }
    Ok(())
}

/// Fails unless the text is a value of a label or taint.
pub(super) fn check_value(value: &str) -> Result<(), String> {
    if value.is_empty() || is_label_text(value) {
        Ok(())
    } else {
        Err(format!("{value:?} is not a label value"))
    }
}

fn is_label_text(text: &str) -> bool {
    let ends = [text.bytes().next(), text.bytes().last()];
    let is_end = |byte: &Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
    text.len() <= 63
        && ends.iter().all(is_end)
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
}
