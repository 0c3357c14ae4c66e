//! Roles and bindings as a request needs them: by subject, parsed once, brought up to date by events.
//!
//! A request costs a hash lookup for the user and each group. Nothing is parsed unless a role or a binding has
//! changed, and then only that object.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use outrigger_apimachinery::status::field::quote;
use serde_json::Value;

use super::identity::{Attributes, Identity, service_account_name};
use super::rule::Rule;

/// What is known of all roles and bindings.
#[derive(Debug, Default)]
pub(super) struct Index {
    /// By namespace, empty for cluster roles, and name.
    roles: HashMap<String, HashMap<String, Arc<[Rule]>>>,
    /// By namespace, empty for cluster role bindings.
    grants: HashMap<String, Grants>,
}

/// The bindings of one namespace by subject.
#[derive(Debug, Default)]
struct Grants {
    bindings: HashMap<String, Arc<Binding>>,
    users: HashMap<String, BTreeMap<String, Arc<Binding>>>,
    groups: HashMap<String, BTreeMap<String, Arc<Binding>>>,
}

/// A role binding or a cluster role binding.
#[derive(Debug)]
pub(super) struct Binding {
    namespace: String,
    name: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// The role that a binding grants.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct RoleRef {
    pub(super) kind: String,
    pub(super) name: String,
}

#[derive(Debug)]
struct Subject {
    kind: SubjectKind,
    /// The user or the group; for a service account the name of its user.
    matched: String,
    /// How the real server names it.
    described: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubjectKind {
    User,
    Group,
}

/// What authorization finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) allowed: bool,
    /// By which binding it is allowed; what could not be read if it is not.
    pub(super) reason: String,
}

/// The rules that apply to somebody.
#[derive(Debug, Default)]
pub(super) struct Held {
    pub(super) rules: Vec<Rule>,
    /// Roles that are bound and not there.
    pub(super) errors: Vec<String>,
}

impl Index {
    pub(super) fn put_role(&mut self, namespace: &str, name: &str, role: &Value) {
        let roles = self.roles.entry(namespace.to_owned()).or_default();
        roles.insert(name.to_owned(), Rule::all_of(role).into());
    }

    pub(super) fn remove_role(&mut self, namespace: &str, name: &str) {
        if let Some(roles) = self.roles.get_mut(namespace) {
            roles.remove(name);
        }
    }

    pub(super) fn put_binding(&mut self, namespace: &str, name: &str, binding: &Value) {
        self.remove_binding(namespace, name);
        let binding = Arc::new(Binding::parse(namespace, name, binding));
        let grants = self.grants.entry(namespace.to_owned()).or_default();
        for subject in &binding.subjects {
            let entry = grants.of(subject.kind).entry(subject.matched.clone());
            let bindings = entry.or_default();
            bindings.insert(name.to_owned(), Arc::clone(&binding));
        }
        grants.bindings.insert(name.to_owned(), binding);
    }

    pub(super) fn remove_binding(&mut self, namespace: &str, name: &str) {
        let Some(grants) = self.grants.get_mut(namespace) else {
            return;
        };
        let Some(binding) = grants.bindings.remove(name) else {
            return;
        };
        for subject in &binding.subjects {
            let subjects = grants.of(subject.kind);
            if let Some(bindings) = subjects.get_mut(&subject.matched) {
                bindings.remove(name);
                if bindings.is_empty() {
                    subjects.remove(&subject.matched);
                }
            }
        }
        if grants.bindings.is_empty() {
            self.grants.remove(namespace);
        }
    }

    /// Whether a binding allows it. The way of every request.
    pub(super) fn allows(&self, who: &Identity, what: &Attributes<'_>) -> bool {
        let scopes = match what.namespace() {
            "" => &[""][..],
            namespace => &["", namespace],
        };
        let grants = scopes
            .iter()
            .filter_map(|namespace| self.grants.get(*namespace));
        let mut bindings = grants.flat_map(|grants| grants.of_user(who));
        bindings.any(|binding| {
            let rules = self.rules_of(&binding.role, &binding.namespace);
            rules.is_ok_and(|rules| rules.iter().any(|rule| rule.allows(what)))
        })
    }

    /// Whether a binding allows it, and which.
    pub(super) fn decide(&self, who: &Identity, what: &Attributes<'_>) -> Decision {
        let mut errors = Vec::new();
        for binding in self.bindings(who, what.namespace()) {
            match self.rules_of(&binding.role, &binding.namespace) {
                Ok(rules) if rules.iter().any(|rule| rule.allows(what)) => {
                    return Decision {
                        allowed: true,
                        reason: format!("RBAC: allowed by {}", binding.described(who)),
                    };
                }
                Ok(_) => {}
                Err(error) => errors.push(error),
            }
        }
        let reason = match together(&errors) {
            text if text.is_empty() => text,
            text => format!("RBAC: {text}"),
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// All rules that apply in a namespace; those of the cluster if it is empty.
    pub(super) fn held(&self, who: &Identity, namespace: &str) -> Held {
        let mut held = Held::default();
        for binding in self.bindings(who, namespace) {
            match self.rules_of(&binding.role, &binding.namespace) {
                Ok(rules) => held.rules.extend(rules.iter().cloned()),
                Err(error) => held.errors.push(error),
            }
        }
        held
    }

    /// The rules of a role, or what is wrong with the reference. `namespace` is that of the binding.
    pub(super) fn rules_of(&self, role: &RoleRef, namespace: &str) -> Result<&[Rule], String> {
        let (namespace, kind) = match role.kind.as_str() {
            "ClusterRole" => ("", "clusterrole"),
            "Role" => (namespace, "role"),
            other => return Err(format!("unsupported role reference kind: {}", quote(other))),
        };
        let roles = self.roles.get(namespace);
        let rules = roles.and_then(|roles| roles.get(&role.name));
        rules.map(|rules| &**rules).ok_or_else(|| {
            let name = quote(&role.name);
            format!("{kind}.rbac.authorization.k8s.io {name} not found")
        })
    }

    /// The bindings that apply, those of the cluster first, by name.
    fn bindings(&self, who: &Identity, namespace: &str) -> Vec<&Arc<Binding>> {
        let mut found = self.bindings_in(who, "");
        if !namespace.is_empty() {
            found.append(&mut self.bindings_in(who, namespace));
        }
        found
    }

    fn bindings_in(&self, who: &Identity, namespace: &str) -> Vec<&Arc<Binding>> {
        let Some(grants) = self.grants.get(namespace) else {
            return Vec::new();
        };
        let mut found: Vec<&Arc<Binding>> = grants.of_user(who).collect();
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        found.dedup_by(|a, b| Arc::ptr_eq(a, b));
        found
    }
}

impl Grants {
    /// The bindings of a user and its groups; some may come twice.
    fn of_user<'a, 'u>(
        &'a self,
        who: &'u Identity,
    ) -> impl Iterator<Item = &'a Arc<Binding>> + use<'a, 'u> {
        let user = self.users.get(&who.name);
        let groups = who.groups.iter().filter_map(|group| self.groups.get(group));
        user.into_iter().chain(groups).flat_map(BTreeMap::values)
    }

    fn of(&mut self, kind: SubjectKind) -> &mut HashMap<String, BTreeMap<String, Arc<Binding>>> {
        match kind {
            SubjectKind::User => &mut self.users,
            SubjectKind::Group => &mut self.groups,
        }
    }
}

impl Binding {
    fn parse(namespace: &str, name: &str, binding: &Value) -> Self {
        let subjects = binding["subjects"].as_array().into_iter().flatten();
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            role: RoleRef::parse(&binding["roleRef"]),
            subjects: subjects
                .filter_map(|subject| Subject::parse(subject, namespace))
                .collect(),
        }
    }

    fn described(&self, who: &Identity) -> String {
        let subject = self.subjects.iter().find(|subject| subject.is(who));
        let subject = subject.map_or("", |subject| &subject.described);
        let (kind, name) = match self.namespace.as_str() {
            "" => ("ClusterRoleBinding", quote(&self.name)),
            namespace => ("RoleBinding", quote(&format!("{}/{namespace}", self.name))),
        };
        let role = quote(&self.role.name);
        format!("{kind} {name} of {} {role} to {subject}", self.role.kind)
    }
}

impl RoleRef {
    pub(super) fn parse(reference: &Value) -> Self {
        let text = |key: &str| reference[key].as_str().unwrap_or_default().to_owned();
        Self {
            kind: text("kind"),
            name: text("name"),
        }
    }
}

impl Subject {
    /// None if it can match nobody.
    fn parse(subject: &Value, binding_namespace: &str) -> Option<Self> {
        let name = subject["name"].as_str()?;
        let namespace = subject["namespace"].as_str().unwrap_or_default();
        let kind = subject["kind"].as_str()?;
        let plain = format!("{kind} {}", quote(name));
        let (kind, matched, described) = match kind {
            "User" => (SubjectKind::User, name.to_owned(), plain),
            "Group" => (SubjectKind::Group, name.to_owned(), plain),
            "ServiceAccount" => {
                let namespace = if namespace.is_empty() {
                    binding_namespace
                } else {
                    namespace
                };
                if namespace.is_empty() {
                    return None;
                }
                let described = format!("{kind} {}", quote(&format!("{name}/{namespace}")));
                (
                    SubjectKind::User,
                    service_account_name(namespace, name),
                    described,
                )
            }
            _ => return None,
        };
        Some(Self {
            kind,
            matched,
            described,
        })
    }

    fn is(&self, who: &Identity) -> bool {
        match self.kind {
            SubjectKind::User => self.matched == who.name,
            SubjectKind::Group => who.is_in(&self.matched),
        }
    }
}

/// Several errors as one text, each once, in brackets.
pub(super) fn together(errors: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for error in errors {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    }
    match once.as_slice() {
        [] => String::new(),
        [only] => (*only).to_owned(),
        several => format!("[{}]", several.join(", ")),
    }
}

#[cfg(test)]
mod tests;
