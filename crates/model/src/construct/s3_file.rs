//! A file in the bucket of the cluster.

use serde::{Deserialize, Serialize};

use super::{Construct, Content, Sharing, cluster_only};
use crate::scope::Scope;

/// A file in the bucket of the cluster, under the prefix of the plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct S3File {
    /// The key, relative to the prefix of the cluster.
    pub key: String,
    /// The content.
    pub content: Content,
}

impl Construct for S3File {
    const KIND: &'static str = "S3 file";
    const SHARING: Sharing = Sharing::Exclusive;

    fn key(&self) -> String {
        self.key.clone()
    }

    fn check(&self, scope: &Scope) -> Result<(), String> {
        cluster_only(scope)?;
        self.content.check()?;
        if self.key.len() > 512
            || self
                .key
                .split('/')
                .any(|name| matches!(name, "" | "." | ".."))
        {
            return Err("keys have at most 512 bytes and no empty, . or .. component".to_owned());
        }
        Ok(())
    }
}
