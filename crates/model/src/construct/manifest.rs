//! A Kubernetes object.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Construct, Sharing, cluster_only};
use crate::scope::Scope;

/// A Kubernetes object that is applied to the cluster. Two plugins that contribute the same object conflict, in whichever
/// files it is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Manifest {
    /// The file that it comes from, for messages and the order of objects.
    pub name: String,
    /// The position in the file.
    #[serde(default)]
    pub position: usize,
    /// The object.
    pub object: Value,
}

impl Manifest {
    fn text(&self, pointer: &str) -> &str {
        self.object
            .pointer(pointer)
            .and_then(Value::as_str)
            .unwrap_or_default()
    }
}

impl Construct for Manifest {
    const KIND: &'static str = "object";
    const SHARING: Sharing = Sharing::Exclusive;

    /// `KIND.GROUP NAMESPACE/NAME`: objects of different versions of a group are the same.
    fn key(&self) -> String {
        let version = self.text("/apiVersion");
        let group = version.split_once('/').map_or("", |(group, _)| group);
        let namespace = self.text("/metadata/namespace");
        format!(
            "{}.{group} {namespace}/{}",
            self.text("/kind"),
            self.text("/metadata/name")
        )
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        cluster_only(scope)?;
        let required = ["/apiVersion", "/kind", "/metadata/name"];
        match required
            .into_iter()
            .find(|field| self.text(field).is_empty())
        {
            Some(field) => Err(format!(
                "{} of {} is missing",
                &field[1..].replace('/', "."),
                self.name
            )),
            None => Ok(()),
        }
    }
}
