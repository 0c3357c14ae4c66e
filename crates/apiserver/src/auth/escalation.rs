//! Nobody gives away rights that they do not have: the checks on roles and bindings that are written.

use outrigger_apimachinery::status::Status;
use outrigger_apimachinery::status::field::quote;
use outrigger_builtin::kinds::Kind;
use serde_json::Value;

use super::Auth;
use super::identity::{Attributes, Identity, Target};
use super::index::RoleRef;
use super::rule::{Rule, missing, quoted_list};
use super::service_account::text;

const GROUP: &str = "rbac.authorization.k8s.io";

impl Auth {
    /// Whether `who` may write this role or binding. Other kinds are not looked at. `old` is what is there.
    pub fn check_escalation(
        &self,
        who: &Identity,
        kind: &Kind,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        if kind.group != GROUP || who.is_privileged() {
            return Ok(());
        }
        if old.is_some_and(|old| differs_only_for_deletion(new, old)) {
            return Ok(());
        }
        match kind.plural.as_str() {
            "roles" | "clusterroles" => self.check_role(who, kind, new, old),
            "rolebindings" | "clusterrolebindings" => self.check_binding(who, kind, new),
            _ => Ok(()),
        }
    }

    fn check_role(
        &self,
        who: &Identity,
        kind: &Kind,
        new: &Value,
        old: Option<&Value>,
    ) -> Result<(), Status> {
        let (namespace, name) = place(new);
        // A new object is not named in the request.
        let asked = if old.is_some() { name } else { "" };
        if self.may(who, "escalate", &kind.plural, namespace, asked) {
            return Ok(());
        }
        let refuse = |why: String| Status::forbidden(kind.group_resource(), name, why);
        self.check_covered(who, namespace, &Rule::all_of(new))
            .map_err(refuse)?;
        if gathers(new) || old.is_some_and(gathers) {
            let full = Rule::full_authority();
            let why = "must have cluster-admin privileges to use the aggregationRule";
            self.check_covered(who, namespace, &full)
                .map_err(|_| refuse(why.to_owned()))?;
        }
        Ok(())
    }

    fn check_binding(&self, who: &Identity, kind: &Kind, new: &Value) -> Result<(), Status> {
        let (namespace, name) = place(new);
        let role = RoleRef::parse(&new["roleRef"]);
        let plural = match role.kind.as_str() {
            "ClusterRole" => "clusterroles",
            "Role" => "roles",
            other => {
                let message = format!("unsupported role reference kind: {}", quote(other));
                return Err(Status::internal(message));
            }
        };
        if self.may(who, "bind", plural, namespace, &role.name) {
            return Ok(());
        }
        if role.kind == "Role" && namespace.is_empty() {
            return Err(Status::bad_request("Namespace parameter required."));
        }
        let rules = self
            .index()
            .rules_of(&role, namespace)
            .map(<[Rule]>::to_vec);
        // The real server names the resource of the request here, not that of the role.
        let rules = rules.map_err(|_| Status::not_found(kind.group_resource(), &role.name))?;
        self.check_covered(who, namespace, &rules)
            .map_err(|why| Status::forbidden(kind.group_resource(), name, why))
    }

    fn may(&self, who: &Identity, verb: &str, resource: &str, namespace: &str, name: &str) -> bool {
        let target = Target::Resource {
            group: GROUP,
            version: "*",
            resource,
            subresource: "",
            namespace,
            name,
        };
        self.authorize(who, &Attributes { verb, target }).is_ok()
    }

    fn check_covered(
        &self,
        who: &Identity,
        namespace: &str,
        wanted: &[Rule],
    ) -> Result<(), String> {
        let held = self.index().held(who, namespace);
        let missing = missing(&held.rules, wanted);
        if missing.is_empty() {
            return Ok(());
        }
        let mut message = format!(
            "user {} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            quote(&who.name),
            quoted_list(&who.groups),
            missing.join("\n"),
        );
        if !held.errors.is_empty() {
            let errors = super::index::together(&held.errors);
            message.push_str(&format!("; resolution errors: [{errors}]"));
        }
        Err(message)
    }
}

fn place(object: &Value) -> (&str, &str) {
    let metadata = &object["metadata"];
    (text(&metadata["namespace"]), text(&metadata["name"]))
}

fn gathers(role: &Value) -> bool {
    let selectors = role["aggregationRule"]["clusterRoleSelectors"].as_array();
    selectors.is_some_and(|selectors| !selectors.is_empty())
}

/// Whether only owners and finalizers change, as when an object is about to be removed.
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
