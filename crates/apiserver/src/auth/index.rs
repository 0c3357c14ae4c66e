//! The RBAC index: parsed roles, and bindings by subject, updated by watch events.
//!
//! A request costs a hash lookup for the user and each group, and a few for each role that they have, however many rules
//! it has and bindings name it. Only changed objects are parsed.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use outrigger_apimachinery::status::field::quote;
use serde_json::Value;

use super::rule::Rule;
use super::rule_set::RuleSet;
use super::user::{Attributes, UserInfo, service_account_name};

/// How many errors of rule resolution are reported.
const MAX_ERRORS: usize = 100;

#[derive(Debug, Default)]
pub(super) struct Index {
    /// By namespace, empty for cluster roles, and name.
    roles: HashMap<String, HashMap<String, Arc<RuleSet>>>,
    /// By namespace, empty for cluster role bindings.
    grants: HashMap<String, Grants>,
}

/// The bindings of one namespace by subject.
#[derive(Debug, Default)]
struct Grants {
    bindings: HashMap<String, Arc<Binding>>,
    users: HashMap<String, BoundRoles>,
    groups: HashMap<String, BoundRoles>,
}

/// The bindings of a subject by role and name, so that a role is evaluated once, however many bindings name it.
type BoundRoles = HashMap<RoleRef, BTreeMap<String, Arc<Binding>>>;

/// A role binding or a cluster role binding.
#[derive(Debug)]
pub(super) struct Binding {
    namespace: String,
    name: String,
    role: RoleRef,
    subjects: Vec<Subject>,
}

/// Why the role of a binding cannot be resolved.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(super) enum RoleRefError {
    #[error("unsupported role reference kind: {}", quote(kind))]
    UnsupportedKind { kind: String },
    #[error("{resource}.rbac.authorization.k8s.io {} not found", quote(name))]
    NotFound {
        resource: &'static str,
        name: String,
    },
}

/// The role that a binding grants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct RoleRef {
    pub(super) kind: String,
    pub(super) name: String,
}

#[derive(Debug)]
struct Subject {
    kind: SubjectKind,
    /// The user or the group; for a service account the name of its user.
    matched: String,
    /// The name in messages.
    described: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SubjectKind {
    User,
    Group,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) allowed: bool,
    /// The binding that allows it, or the errors of rule resolution.
    pub(super) reason: String,
}

/// The roles that apply to a user.
#[derive(Debug, Default)]
pub(super) struct HeldRoles {
    pub(super) roles: Vec<Arc<RuleSet>>,
    /// Bound roles that do not exist.
    pub(super) errors: Vec<String>,
}

impl Index {
    pub(super) fn insert_role(&mut self, namespace: &str, name: &str, role: &Value) {
        let roles = self.roles.entry(namespace.to_owned()).or_default();
        let rules = RuleSet::new(Rule::all_of(role));
        roles.insert(name.to_owned(), Arc::new(rules));
    }

    pub(super) fn remove_role(&mut self, namespace: &str, name: &str) {
        if let Some(roles) = self.roles.get_mut(namespace) {
            roles.remove(name);
        }
    }

    pub(super) fn insert_binding(&mut self, namespace: &str, name: &str, binding: &Value) {
        self.remove_binding(namespace, name);
        let binding = Arc::new(Binding::parse(namespace, name, binding));
        let grants = self.grants.entry(namespace.to_owned()).or_default();
        for subject in &binding.subjects {
            let entry = grants.of(subject.kind).entry(subject.matched.clone());
            let bindings = entry.or_default().entry(binding.role.clone());
            let bindings = bindings.or_default();
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
            let Some(roles) = subjects.get_mut(&subject.matched) else {
                continue;
            };
            if let Some(bindings) = roles.get_mut(&binding.role) {
                bindings.remove(name);
                if bindings.is_empty() {
                    roles.remove(&binding.role);
                }
            }
            if roles.is_empty() {
                subjects.remove(&subject.matched);
            }
        }
        if grants.bindings.is_empty() {
            self.grants.remove(namespace);
        }
    }

    /// Whether a binding allows the request. The hot path.
    pub(super) fn allows(&self, user: &UserInfo, attributes: &Attributes<'_>) -> bool {
        let scopes = match attributes.namespace() {
            "" => &[""][..],
            namespace => &["", namespace],
        };
        let grants = scopes
            .iter()
            .filter_map(|namespace| self.grants.get(*namespace));
        let mut bindings = grants.flat_map(|grants| grants.of_user(user));
        bindings.any(|binding| {
            let rules = self.rules_of(&binding.role, &binding.namespace);
            rules.is_ok_and(|rules| rules.allows(attributes))
        })
    }

    /// Like [`Index::allows`], with the reason.
    pub(super) fn decide(&self, user: &UserInfo, attributes: &Attributes<'_>) -> Decision {
        let mut errors = Vec::new();
        for binding in self.bindings(user, attributes.namespace()) {
            match self.rules_of(&binding.role, &binding.namespace) {
                Ok(rules) if rules.allows(attributes) => {
                    return Decision {
                        allowed: true,
                        reason: format!("RBAC: allowed by {}", binding.message(user)),
                    };
                }
                Err(error) if errors.len() < MAX_ERRORS => errors.push(error.to_string()),
                _ => {}
            }
        }
        let reason = match aggregate(&errors) {
            text if text.is_empty() => text,
            text => format!("RBAC: {text}"),
        };
        Decision {
            allowed: false,
            reason,
        }
    }

    /// All roles that apply in a namespace; only cluster-wide ones if it is empty.
    pub(super) fn roles_for(&self, user: &UserInfo, namespace: &str) -> HeldRoles {
        let mut held = HeldRoles::default();
        for binding in self.bindings(user, namespace) {
            match self.rules_of(&binding.role, &binding.namespace) {
                Ok(rules) => held.roles.push(Arc::clone(rules)),
                Err(error) if held.errors.len() < MAX_ERRORS => {
                    held.errors.push(error.to_string());
                }
                Err(_) => {}
            }
        }
        held
    }

    /// The rules of a role. `namespace` is that of the binding.
    pub(super) fn rules_of(
        &self,
        role: &RoleRef,
        namespace: &str,
    ) -> Result<&Arc<RuleSet>, RoleRefError> {
        let (namespace, kind) = match role.kind.as_str() {
            "ClusterRole" => ("", "clusterrole"),
            "Role" => (namespace, "role"),
            other => {
                return Err(RoleRefError::UnsupportedKind {
                    kind: other.to_owned(),
                });
            }
        };
        let roles = self.roles.get(namespace);
        let rules = roles.and_then(|roles| roles.get(&role.name));
        rules.ok_or_else(|| RoleRefError::NotFound {
            resource: kind,
            name: role.name.clone(),
        })
    }

    /// The first binding of each role that applies, cluster role bindings first, sorted by name.
    fn bindings(&self, user: &UserInfo, namespace: &str) -> Vec<&Arc<Binding>> {
        let mut found = self.bindings_in(user, "");
        if !namespace.is_empty() {
            found.append(&mut self.bindings_in(user, namespace));
        }
        found
    }

    fn bindings_in(&self, user: &UserInfo, namespace: &str) -> Vec<&Arc<Binding>> {
        let Some(grants) = self.grants.get(namespace) else {
            return Vec::new();
        };
        let mut found: Vec<&Arc<Binding>> = grants.of_user(user).collect();
        found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        let mut roles = HashSet::new();
        found.retain(|binding| roles.insert(&binding.role));
        found
    }
}

impl Grants {
    /// The first binding of each role of the user and of each of its groups.
    fn of_user<'a, 'u>(
        &'a self,
        user: &'u UserInfo,
    ) -> impl Iterator<Item = &'a Arc<Binding>> + use<'a, 'u> {
        let bindings = self.users.get(&user.name);
        let groups = user
            .groups
            .iter()
            .filter_map(|group| self.groups.get(group));
        bindings
            .into_iter()
            .chain(groups)
            .flat_map(HashMap::values)
            .filter_map(|bindings| bindings.values().next())
    }

    fn of(&mut self, kind: SubjectKind) -> &mut HashMap<String, BoundRoles> {
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

    fn message(&self, user: &UserInfo) -> String {
        let subject = self.subjects.iter().find(|subject| subject.is(user));
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
    /// None if it matches no user.
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

    fn is(&self, user: &UserInfo) -> bool {
        match self.kind {
            SubjectKind::User => self.matched == user.name,
            SubjectKind::Group => user.is_in(&self.matched),
        }
    }
}

/// The message of `utilerrors.NewAggregate`: each error once.
pub(super) fn aggregate(errors: &[String]) -> String {
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
