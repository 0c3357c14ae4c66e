//! What the API server checks beyond types: rules in CEL over a plugin's spec.

/// A rule, and what is told when it is broken.
pub(crate) struct Rule {
    pub(crate) rule: &'static str,
    pub(crate) message: &'static str,
}

/// Rules over `spec`. Rules with `oldSelf` hold for changes only.
pub(crate) const SPEC: &[Rule] = &[
    Rule {
        rule: "has(self.releaseName) == has(oldSelf.releaseName) && (!has(self.releaseName) || self.releaseName == oldSelf.releaseName)",
        message: "releaseName cannot be changed; remove the plugin and make it anew",
    },
    Rule {
        rule: "has(self.installNamespace) == has(oldSelf.installNamespace) && (!has(self.installNamespace) || self.installNamespace == oldSelf.installNamespace)",
        message: "installNamespace cannot be changed; remove the plugin and make it anew",
    },
    Rule {
        rule: "!has(self.resources) || size(self.resources) == 0 || self.kind == 'manifests'",
        message: "resources are for plugins of kind manifests only",
    },
    Rule {
        rule: "!self.required || self.enabled",
        message: "a required plugin cannot be switched off; set required to false first",
    },
];

/// Rules over each of `spec.valuesFrom`.
pub(crate) const VALUES_FROM: &[Rule] = &[
    Rule {
        rule: "!has(self.targetPath) || has(self.key)",
        message: "targetPath needs a key, whose value goes there",
    },
    Rule {
        rule: "!has(self.prefix) || !(has(self.key) || has(self.targetPath))",
        message: "prefix takes every key, so it cannot go with key or targetPath",
    },
];
