//! What objects use of a `ResourceQuota`: the evaluators of kube-apiserver, one file for each resource that is more than
//! counted.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_builtin::fields::{list, text, texts};
use serde_json::Value;

use crate::resource_list::ResourceList;

mod claims;
mod pods;
mod resource_claims;
mod services;
#[cfg(test)]
mod tests;
mod usage;

pub(crate) use pods::is_terminating;
pub use usage::{Change, Objects, Usage};

/// Measures the objects of one resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Evaluator<'a> {
    Pods,
    Services,
    Claims,
    ResourceClaims,
    /// Objects that are only counted.
    Count {
        group: &'a str,
        plural: &'a str,
    },
}

impl<'a> Evaluator<'a> {
    pub(crate) fn of(group: &'a str, plural: &'a str) -> Self {
        match (group, plural) {
            ("", "pods") => Self::Pods,
            ("", "services") => Self::Services,
            ("", "persistentvolumeclaims") => Self::Claims,
            ("resource.k8s.io", "resourceclaims") => Self::ResourceClaims,
            _ => Self::Count { group, plural },
        }
    }

    fn resource(self) -> (&'a str, &'a str) {
        match self {
            Self::Pods => ("", "pods"),
            Self::Services => ("", "services"),
            Self::Claims => ("", "persistentvolumeclaims"),
            Self::ResourceClaims => ("resource.k8s.io", "resourceclaims"),
            Self::Count { group, plural } => (group, plural),
        }
    }

    /// Whether objects of the resource use this name of a quota.
    pub(crate) fn measures(self, name: &str) -> bool {
        let (group, plural) = self.resource();
        if is_count_of(name, group, plural) {
            return true;
        }
        match self {
            Self::Pods => pods::measures(name),
            Self::Services => services::measures(name),
            Self::Claims => claims::measures(name),
            Self::ResourceClaims => resource_claims::measures(name),
            Self::Count { .. } => {
                group.is_empty() && name == plural && LEGACY_COUNTS.contains(&plural)
            }
        }
    }

    pub(crate) fn usage(self, object: &Value) -> ResourceList {
        let mut usage = match self {
            Self::Pods => pods::usage(object),
            Self::Services => services::usage(object),
            Self::Claims => claims::usage(object),
            Self::ResourceClaims => resource_claims::usage(object),
            Self::Count { group: "", plural } if LEGACY_COUNTS.contains(&plural) => {
                ResourceList::from([(plural.to_owned(), Quantity::ONE)])
            }
            Self::Count { .. } => ResourceList::new(),
        };
        let (group, plural) = self.resource();
        usage.insert(count_name(group, plural), Quantity::ONE);
        usage
    }

    /// Rejects an object that does not specify what a quota limits.
    pub(crate) fn check_required(self, required: &[&str], object: &Value) -> Result<(), String> {
        match self {
            Self::Pods => pods::check_required(required, object),
            _ => Ok(()),
        }
    }

    /// Whether an object is in all scopes of a quota.
    pub(crate) fn is_in_scope(self, quota: &Value, object: &Value) -> bool {
        scopes(&quota["spec"]).all(|scope| match self {
            Self::Pods => pods::is_in_scope(&scope, object),
            Self::Claims => claims::is_in_scope(&scope, object),
            Self::Services | Self::ResourceClaims | Self::Count { .. } => false,
        })
    }
}

/// Names without a prefix that count objects of the core group.
const LEGACY_COUNTS: [&str; 4] = [
    "configmaps",
    "secrets",
    "replicationcontrollers",
    "resourcequotas",
];

/// `count/deployments.apps`.
fn count_name(group: &str, plural: &str) -> String {
    if group.is_empty() {
        format!("count/{plural}")
    } else {
        format!("count/{plural}.{group}")
    }
}

fn is_count_of(name: &str, group: &str, plural: &str) -> bool {
    let Some(rest) = name
        .strip_prefix("count/")
        .and_then(|name| name.strip_prefix(plural))
    else {
        return false;
    };
    match rest.strip_prefix('.') {
        Some(rest) => !group.is_empty() && rest == group,
        None => rest.is_empty() && group.is_empty(),
    }
}

/// A requirement on the scope of an object.
pub(crate) struct Scope<'a> {
    name: &'a str,
    operator: &'a str,
    values: &'a [Value],
}

impl Scope<'_> {
    /// Whether one of several names, or the absence of any, satisfies the requirement.
    fn selects(&self, names: &[&str]) -> bool {
        let is_listed = |name: &&str| texts(self.values).any(|value| value == *name);
        match self.operator {
            "In" => names.iter().any(is_listed),
            "NotIn" => names.is_empty() || !names.iter().all(is_listed),
            "DoesNotExist" => names.is_empty(),
            _ => !names.is_empty(),
        }
    }
}

fn scopes(spec: &Value) -> impl Iterator<Item = Scope<'_>> {
    let plain = texts(list(spec, "scopes")).map(|name| Scope {
        name,
        operator: "Exists",
        values: &[],
    });
    let selected = list(&spec["scopeSelector"], "matchExpressions").iter();
    plain.chain(selected.map(|requirement| Scope {
        name: text(requirement, "scopeName"),
        operator: text(requirement, "operator"),
        values: list(requirement, "values"),
    }))
}
