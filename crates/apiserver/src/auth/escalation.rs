//! Privilege escalation prevention: checks roles and bindings that are written.

use std::sync::Arc;

use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::quote;
use outrigger_builtin::fields::as_text;
use outrigger_builtin::kinds::Kind;
use serde_json::Value;

use super::Auth;
use super::index::{RoleRef, RoleRefError};
use super::rule::{Rule, missing, quoted_list};
use super::user::{Attributes, Target, UserInfo};

const GROUP: &str = "rbac.authorization.k8s.io";

/// Permissions that the user would grant but does not hold, in the words of the real server.
#[derive(Debug)]
struct EscalationError(String);

impl Auth {
    /// Checks that `user` may write this role or binding. Other kinds pass.
    pub fn check_escalation(
        &self,
        user: &UserInfo,
        kind: &Kind,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if kind.group != GROUP || user.is_privileged() {
            return Ok(());
        }
        if old.is_some_and(|old| differs_only_for_deletion(new, old)) {
            return Ok(());
        }
        match kind.plural.as_str() {
            "roles" | "clusterroles" => self.check_role(user, kind, new, old),
            "rolebindings" | "clusterrolebindings" => self.check_binding(user, kind, new),
            _ => Ok(()),
        }
    }

    fn check_role(
        &self,
        user: &UserInfo,
        kind: &Kind,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let (namespace, name) = namespaced_name(new);
        // The path of a create has no name.
        let requested = if old.is_some() { name } else { "" };
        if self.may(user, "escalate", &kind.plural, namespace, requested) {
            return Ok(());
        }
        let forbidden =
            |error: EscalationError| Status::forbidden(kind.group_resource(), name, error.0);
        self.check_covered(user, namespace, &Rule::all_of(new))
            .map_err(forbidden)?;
        if has_aggregation_rule(new) || old.is_some_and(has_aggregation_rule) {
            let full = Rule::full_authority();
            self.check_covered(user, namespace, &full).map_err(|_| {
                let reason = "must have cluster-admin privileges to use the aggregationRule";
                Status::forbidden(kind.group_resource(), name, reason)
            })?;
        }
        Ok(())
    }

    fn check_binding(&self, user: &UserInfo, kind: &Kind, new: &Value) -> Result<(), Status> {
        let (namespace, name) = namespaced_name(new);
        let role = RoleRef::parse(&new["roleRef"]);
        let plural = match role.kind.as_str() {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            other => {
                let kind = other.to_owned();
                return Err(Status::internal(RoleRefError::UnsupportedKind { kind }));
            }
        };
        if self.may(user, "bind", plural, namespace, &role.name) {
            return Ok(());
        }
        if role.kind == "Role" && namespace.is_empty() {
            return Err(Status::bad_request("Namespace parameter required."));
        }
        let rules = self.index().rules_of(&role, namespace).map(Arc::clone);
        // The real server names the resource of the request here, not that of the role.
        let rules = rules.map_err(|_| Status::not_found(kind.group_resource(), &role.name))?;
        self.check_covered(user, namespace, rules.rules())
            .map_err(|error| Status::forbidden(kind.group_resource(), name, error.0))
    }

    fn may(
        &self,
        user: &UserInfo,
        verb: &str,
        resource: &str,
        namespace: &str,
        name: &str,
    ) -> bool {
        let target = Target::Resource {
            group: GROUP,
            version: "*",
            resource,
            subresource: "",
            namespace,
            name,
        };
        self.authorize(user, &Attributes { verb, target }).is_ok()
    }

    fn check_covered(
        &self,
        user: &UserInfo,
        namespace: &str,
        granted: &[Rule],
    ) -> Result<(), EscalationError> {
        let held = self.index().roles_for(user, namespace);
        let missing = missing(&held.roles, granted);
        if missing.is_empty() {
            return Ok(());
        }
        let mut message = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            quote(&user.name),
            quoted_list(&user.groups),
            missing.join("\n"),
        );
        if !held.errors.is_empty() {
            let errors = super::index::aggregate(&held.errors);
            message.push_str(&format!("; resolution errors: [{errors}]"));
        }
        Err(EscalationError(message))
    }
}

fn namespaced_name(object: &Value) -> (&str, &str) {
    let metadata = &object["metadata"];
    (as_text(&metadata["namespace"]), as_text(&metadata["name"]))
}

fn has_aggregation_rule(role: &Value) -> bool {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

/// Whether only owner references and finalizers change, as the garbage collector does.
fn differs_only_for_deletion(new: &Value, old: &Value) -> bool {
    let [new, old] = [new, old].map(|object| {
        let mut object = object.clone();
        if let Some(metadata) = object["metadata"].as_object_mut() {
            for key in [
                "ownerReferences",
                "finalizers",
                "managedFields",
                "resourceVersion",
            ] {
                metadata.remove(key);
            }
        }
        object
    });
    new == old
}
