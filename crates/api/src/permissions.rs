//! The permissions that the controller needs in a cluster, from which the roles in `deploy/` are generated.
//!
//! The tests of the controller record its requests and compare them with this table: each request is covered, and each
//! rule is used. What plugins install needs rights of its own: those of the service account of the plugin.

/// When a rule is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Need {
    Always,
    /// To install and upgrade the custom resource definitions.
    InstallCrds,
    /// To serve metrics outside of loopback.
    Metrics,
    /// To serve objects of KubeGems and TKEStack.
    Compat,
    /// To install clusters.
    Providers,
}

/// One rule of a role.
#[derive(Debug, Clone, Copy)]
pub struct Rule {
    pub need: Need,
    pub groups: &'static [&'static str],
    pub resources: &'static [&'static str],
    /// All objects if empty.
    pub names: &'static [&'static str],
    pub verbs: &'static [&'static str],
    pub why: &'static str,
}

/// Rules in all namespaces, except for the impersonation of service accounts, whose names the user chooses.
pub const CLUSTER: &[Rule] = &[
    Rule {
        need: Need::Always,
        groups: &["outrigger.dev"],
        resources: &["plugins"],
        names: &[],
        verbs: &["get", "list", "watch", "patch", "delete"],
        why: "reconcile plugins, add finalizers and owner references, remove dependents with outrigger.dev/cascade",
    },
    Rule {
        need: Need::Always,
        groups: &["outrigger.dev"],
        resources: &["repositories"],
        names: &[],
        verbs: &["list", "watch"],
        why: "find charts",
    },
    Rule {
        need: Need::Always,
        groups: &["outrigger.dev"],
        resources: &["clusters"],
        names: &[],
        verbs: &["list", "watch", "patch"],
        why: "reconcile clusters, add finalizers",
    },
    Rule {
        need: Need::Always,
        groups: &["outrigger.dev"],
        resources: &["machines"],
        names: &[],
        verbs: &[
            "create", "delete", "get", "list", "patch", "update", "watch",
        ],
        why: "keep the machines of control planes, add finalizers",
    },
    Rule {
        need: Need::Always,
        groups: &["outrigger.dev"],
        resources: &[
            "clusters/status",
            "machines/status",
            "plugins/status",
            "repositories/status",
        ],
        names: &[],
        verbs: &["patch"],
        why: "report the status",
    },
    Rule {
        need: Need::Always,
        groups: &[""],
        resources: &["configmaps", "secrets"],
        names: &[],
        verbs: &["get"],
        why: "read values, kubeconfigs and the credentials of repositories",
    },
    Rule {
        need: Need::Always,
        groups: &["*"],
        resources: &["*"],
        names: &[],
        verbs: &["list", "watch"],
        why: "monitor the health and the drift of what plugins install, of any kind",
    },
    Rule {
        need: Need::Always,
        groups: &["events.k8s.io"],
        resources: &["events"],
        names: &[],
        verbs: &["create", "patch"],
        why: "record events about plugins",
    },
    Rule {
        need: Need::InstallCrds,
        groups: &["apiextensions.k8s.io"],
        resources: &["customresourcedefinitions"],
        names: &[
            "plugins.outrigger.dev",
            "repositories.outrigger.dev",
            "clusters.outrigger.dev",
            "machines.outrigger.dev",
            "installations.outrigger.dev",
        ],
        verbs: &["patch"],
        why: "upgrade the custom resource definitions that were installed with the controller",
    },
    Rule {
        need: Need::Metrics,
        groups: &["authentication.k8s.io"],
        resources: &["tokenreviews"],
        names: &[],
        verbs: &["create"],
        why: "authenticate clients that read metrics",
    },
    Rule {
        need: Need::Metrics,
        groups: &["authorization.k8s.io"],
        resources: &["subjectaccessreviews"],
        names: &[],
        verbs: &["create"],
        why: "authorize clients that read metrics",
    },
    Rule {
        need: Need::Compat,
        groups: &["outrigger.dev"],
        resources: &["plugins"],
        names: &[],
        verbs: &["create"],
        why: "mirror objects of KubeGems and TKEStack as plugins",
    },
    Rule {
        need: Need::Compat,
        groups: &["outrigger.dev"],
        resources: &["clusters"],
        names: &[],
        verbs: &["create", "get"],
        why: "mirror the clusters of TKEStack",
    },
    Rule {
        need: Need::Compat,
        groups: &[
            "application.tkestack.io",
            "bundle.kubegems.io",
            "platform.tkestack.io",
            "plugins.kubegems.io",
        ],
        resources: &[
            "apps/status",
            "bundles/status",
            "clusters/status",
            "plugins/status",
        ],
        names: &[],
        verbs: &["patch"],
        why: "report the status of the mirrored objects",
    },
];

/// Rules in the namespace of the controller.
pub const NAMESPACE: &[Rule] = &[
    Rule {
        need: Need::Always,
        groups: &["coordination.k8s.io"],
        resources: &["leases"],
        names: &[],
        verbs: &["create", "get", "update"],
        why: "elect a leader",
    },
    Rule {
        need: Need::Providers,
        groups: &[""],
        resources: &["secrets"],
        names: &[],
        verbs: &["create", "patch"],
        why: "keep the kubeconfigs of clusters that are installed",
    },
];

/// A request to the API server.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Access {
    pub verb: String,
    pub group: String,
    /// With the subresource, as in `plugins/status`.
    pub resource: String,
}

impl Rule {
    /// Whether the rule permits the access to an object, or to all objects.
    pub fn covers(&self, access: &Access) -> bool {
        let has =
            |list: &[&str], item: &str| list.iter().any(|other| *other == item || *other == "*");
        has(self.groups, &access.group)
            && has(self.resources, &access.resource)
            && has(self.verbs, &access.verb)
    }
}

/// The rules as named templates of a Helm chart.
pub fn template() -> String {
    let mut text = "{{- /* Generated by `cargo xtask gen deploy` from crates/api/src/permissions.rs. Do not edit. */}}\n".to_owned();
    for (name, rules) in [("cluster", CLUSTER), ("namespace", NAMESPACE)] {
        text.push_str(&format!("{{{{- define \"outrigger.rules.{name}\" -}}}}\n"));
        for rule in rules {
            push_rule(&mut text, rule);
        }
        text.push_str("{{- end }}\n");
    }
    text
}

fn push_rule(text: &mut String, rule: &Rule) {
    let condition = match rule.need {
        Need::Always | Need::Providers => None,
        Need::InstallCrds => Some("crds.upgrade"),
        Need::Metrics => Some("metrics.enabled"),
        Need::Compat => Some("compat"),
    };
    if let Some(condition) = condition {
        text.push_str(&format!("{{{{- if .Values.{condition} }}}}\n"));
    }
    text.push_str(&format!("# {}\n", rule.why));
    text.push_str(&format!("- apiGroups: {}\n", list(rule.groups)));
    text.push_str(&format!("  resources: {}\n", list(rule.resources)));
    if !rule.names.is_empty() {
        text.push_str(&format!("  resourceNames: {}\n", list(rule.names)));
    }
    text.push_str(&format!("  verbs: {}\n", list(rule.verbs)));
    if condition.is_some() {
        text.push_str("{{- end }}\n");
    }
}

fn list(items: &[&str]) -> String {
    let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    format!("[{}]", items.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_covers_what_it_lists() {
        let access = |verb: &str, group: &str, resource: &str| Access {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
        };
        let is_covered = |access: &Access| CLUSTER.iter().any(|rule| rule.covers(access));
        assert!(is_covered(&access("watch", "apps", "deployments")));
        assert!(is_covered(&access(
            "patch",
            "outrigger.dev",
            "plugins/status"
        )));
        assert!(!is_covered(&access("patch", "apps", "deployments")));
        assert!(!is_covered(&access("get", "apps", "deployments")));
        assert!(!is_covered(&access("update", "", "secrets")));
    }

    #[test]
    fn definitions_are_named_in_the_rules() {
        let rule = CLUSTER.iter().find(|rule| rule.need == Need::InstallCrds);
        let names = rule.unwrap().names;
        let definitions = crate::definitions();
        let defined: Vec<&str> = definitions
            .iter()
            .filter_map(|definition| definition.metadata.name.as_deref())
            .collect();
        assert_eq!(names, defined);
    }
}
