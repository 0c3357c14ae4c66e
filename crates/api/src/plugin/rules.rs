//! CEL validation rules of the custom resource definition.
pub(crate) struct Rule {
    pub(crate) rule: &'static str,
    pub(crate) message: &'static str,
}

/// Rules of `spec`. Rules with `oldSelf` are transition rules.
pub(crate) const SPEC: &[Rule] = &[
    Rule {
        rule: "has(self.releaseName) == has(oldSelf.releaseName) && (!has(self.releaseName) || self.releaseName == oldSelf.releaseName)",
        message: "releaseName is immutable; delete the plugin and create it again",
    },
    Rule {
        rule: "has(self.installNamespace) == has(oldSelf.installNamespace) && (!has(self.installNamespace) || self.installNamespace == oldSelf.installNamespace)",
        message: "installNamespace is immutable; delete the plugin and create it again",
    },
    Rule {
        rule: "!has(self.resources) || size(self.resources) == 0 || self.kind == 'manifests'",
        message: "resources are only allowed for plugins of kind manifests",
    },
    Rule {
        rule: "!self.required || self.enabled",
        message: "a required plugin cannot be disabled; set required to false first",
    },
];

/// Rules of each item of `spec.valuesFrom`.
pub(crate) const VALUES_FROM: &[Rule] = &[
    Rule {
        rule: "!has(self.targetPath) || has(self.key)",
        message: "targetPath requires key",
    },
    Rule {
        rule: "!has(self.prefix) || !(has(self.key) || has(self.targetPath))",
        message: "prefix applies to all keys and cannot be combined with key or targetPath",
    },
];
