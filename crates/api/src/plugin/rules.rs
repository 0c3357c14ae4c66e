//! CEL validation rules of the custom resource definition.

use crate::definition::Rule;

/// Rules of `spec`. Rules with `oldSelf` are transition rules.
pub(crate) fn spec() -> Vec<Rule> {
    vec![
        Rule::new(
            "has(self.releaseName) == has(oldSelf.releaseName) && (!has(self.releaseName) || self.releaseName == oldSelf.releaseName)",
            "releaseName is immutable; delete the plugin and create it again",
        ),
        Rule::new(
            "has(self.installNamespace) == has(oldSelf.installNamespace) && (!has(self.installNamespace) || self.installNamespace == oldSelf.installNamespace)",
            "installNamespace is immutable; delete the plugin and create it again",
        ),
        Rule::new(
            "!has(self.resources) || size(self.resources) == 0 || self.kind == 'manifests'",
            "resources are only allowed for plugins of kind manifests",
        ),
        Rule::new(
            "!self.required || self.enabled",
            "a required plugin cannot be disabled; set required to false first",
        ),
    ]
}

/// Rules of `spec.cluster`.
pub(crate) fn cluster() -> Vec<Rule> {
    vec![
        Rule::new(
            "has(self.name) != has(self.secretName)",
            "set either name or secretName",
        ),
        Rule::new(
            "!has(self.key) || has(self.secretName)",
            "key requires secretName",
        ),
    ]
}

/// Rules of each item of `spec.valuesFrom`.
pub(crate) fn values_from() -> Vec<Rule> {
    vec![
        Rule::new(
            "!has(self.targetPath) || has(self.key)",
            "targetPath requires key",
        ),
        Rule::new(
            "!has(self.prefix) || !(has(self.key) || has(self.targetPath))",
            "prefix applies to all keys and cannot be combined with key or targetPath",
        ),
    ]
}
