//! `GroupResource`, `GroupKind` and `GroupVersion`.

use std::fmt;

/// A resource without its version: `configmaps`, `deployments.apps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupResource<'a> {
    pub group: &'a str,
    pub resource: &'a str,
}

impl<'a> GroupResource<'a> {
    pub const fn new(group: &'a str, resource: &'a str) -> Self {
        Self { group, resource }
    }
}

impl fmt::Display for GroupResource<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        qualified(f, self.resource, self.group)
    }
}

/// A kind without its version: `ConfigMap`, `Deployment.apps`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupKind<'a> {
    pub group: &'a str,
    pub kind: &'a str,
}

impl<'a> GroupKind<'a> {
    pub const fn new(group: &'a str, kind: &'a str) -> Self {
        Self { group, kind }
    }
}

impl fmt::Display for GroupKind<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        qualified(f, self.kind, self.group)
    }
}

fn qualified(f: &mut fmt::Formatter<'_>, name: &str, group: &str) -> fmt::Result {
    f.write_str(name)?;
    if group.is_empty() {
        return Ok(());
    }
    write!(f, ".{group}")
}

/// A version of a group: `v1`, `apps/v1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GroupVersion<'a> {
    pub group: &'a str,
    pub version: &'a str,
}

impl<'a> GroupVersion<'a> {
    pub const fn new(group: &'a str, version: &'a str) -> Self {
        Self { group, version }
    }

    /// Parses an `apiVersion`.
    pub fn parse(api_version: &'a str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self { group, version }
    }
}

impl fmt::Display for GroupVersion<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.group.is_empty() {
            write!(f, "{}/", self.group)?;
        }
        f.write_str(self.version)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn omits_the_core_group() {
        assert_eq!(GroupResource::new("", "pods").to_string(), "pods");
        assert_eq!(
            GroupKind::new("apps", "Deployment").to_string(),
            "Deployment.apps"
        );
        assert_eq!(GroupVersion::new("", "v1").to_string(), "v1");
        assert_eq!(
            GroupVersion::parse("apps/v1"),
            GroupVersion::new("apps", "v1")
        );
        assert_eq!(GroupVersion::parse("v1"), GroupVersion::new("", "v1"));
    }
}
