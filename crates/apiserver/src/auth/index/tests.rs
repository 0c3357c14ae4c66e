//! Which binding allows what, told as the real server tells it.

use serde_json::json;

use super::super::user::Target;
use super::*;

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    }
}

fn decide(index: &Index, user: &UserInfo, verb: &str, namespace: &str) -> (bool, String) {
    let target = Target::Resource {
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "",
        namespace,
        name: "",
    };
    let decision = index.decide(user, &Attributes { verb, target });
    (decision.allowed, decision.reason)
}

fn role(verb: &str) -> Value {
    json!({"rules": [{"apiGroups": [""], "resources": ["pods"], "verbs": [verb]}]})
}

fn binding(role: (&str, &str), subjects: &Value) -> Value {
    json!({"roleRef": {"kind": role.0, "name": role.1}, "subjects": subjects})
}

#[test]
fn binds_users_groups_and_service_accounts() {
    let mut index = Index::default();
    index.insert_role("", "reader", &role("list"));
    index.insert_role("default", "local", &role("get"));
    let dev = json!([{"kind": "Group", "name": "dev"}]);
    index.insert_binding("", "readers", &binding(("ClusterRole", "reader"), &dev));
    let local = json!([{"kind": "User", "name": "bob"}, {"kind": "ServiceAccount", "name": "default", "namespace": "default"}]);
    index.insert_binding("default", "local", &binding(("Role", "local"), &local));

    let alice = user("alice", &["dev"]);
    let reason =
        r#"RBAC: allowed by ClusterRoleBinding "readers" of ClusterRole "reader" to Group "dev""#;
    assert_eq!(
        decide(&index, &alice, "list", ""),
        (true, reason.to_owned())
    );
    assert_eq!(
        decide(&index, &alice, "list", "default"),
        (true, reason.to_owned())
    );
    assert_eq!(
        decide(&index, &alice, "get", "default"),
        (false, String::new())
    );

    let bob = user("bob", &[]);
    let reason = r#"RBAC: allowed by RoleBinding "local/default" of Role "local" to User "bob""#;
    assert_eq!(
        decide(&index, &bob, "get", "default"),
        (true, reason.to_owned())
    );
    assert_eq!(decide(&index, &bob, "get", "other"), (false, String::new()));
    assert_eq!(decide(&index, &bob, "get", ""), (false, String::new()));

    let account = UserInfo::service_account("default", "default", "u");
    let reason = r#"RBAC: allowed by RoleBinding "local/default" of Role "local" to ServiceAccount "default/default""#;
    assert_eq!(
        decide(&index, &account, "get", "default"),
        (true, reason.to_owned())
    );
}

#[test]
fn reports_a_missing_role() {
    let mut index = Index::default();
    let alice = json!([{"kind": "User", "name": "alice"}]);
    index.insert_binding("", "dangling", &binding(("ClusterRole", "nope"), &alice));
    index.insert_binding("default", "dangling", &binding(("Role", "nope"), &alice));
    let alice = user("alice", &[]);
    let cluster = r#"RBAC: clusterrole.rbac.authorization.k8s.io "nope" not found"#;
    assert_eq!(
        decide(&index, &alice, "get", ""),
        (false, cluster.to_owned())
    );
    let both = r#"RBAC: [clusterrole.rbac.authorization.k8s.io "nope" not found, role.rbac.authorization.k8s.io "nope" not found]"#;
    assert_eq!(
        decide(&index, &alice, "get", "default"),
        (false, both.to_owned())
    );
}

#[test]
fn replaced_and_removed_bindings_no_longer_apply() {
    let mut index = Index::default();
    index.insert_role("", "reader", &role("get"));
    let alice = json!([{"kind": "User", "name": "alice"}]);
    let bob = json!([{"kind": "User", "name": "bob"}]);
    index.insert_binding("", "b", &binding(("ClusterRole", "reader"), &alice));
    index.insert_binding("", "b", &binding(("ClusterRole", "reader"), &bob));
    assert!(!decide(&index, &user("alice", &[]), "get", "").0);
    assert!(decide(&index, &user("bob", &[]), "get", "").0);
    index.insert_role("", "reader", &role("list"));
    assert!(!decide(&index, &user("bob", &[]), "get", "").0);
    index.remove_binding("", "b");
    index.remove_role("", "reader");
    assert_eq!(
        decide(&index, &user("bob", &[]), "list", ""),
        (false, String::new())
    );
    assert!(index.grants.is_empty());
}

#[test]
fn a_role_is_evaluated_once_however_many_bindings_name_it() {
    let mut index = Index::default();
    index.insert_role("team", "big", &role("get"));
    let bob = json!([{"kind": "User", "name": "bob"}, {"kind": "Group", "name": "dev"}]);
    for number in 0..50 {
        let name = format!("b{number:02}");
        index.insert_binding("team", &name, &binding(("Role", "big"), &bob));
    }
    let bob = user("bob", &["dev"]);
    let names = |bindings: Vec<&Arc<Binding>>| -> Vec<String> {
        let names = bindings.into_iter().map(|binding| binding.name.clone());
        names.collect()
    };
    assert_eq!(names(index.bindings(&bob, "team")), ["b00"]);
    assert_eq!(index.roles_for(&bob, "team").roles.len(), 1);
    assert_eq!(index.grants["team"].of_user(&bob).count(), 2);
    index.remove_binding("team", "b00");
    assert_eq!(names(index.bindings(&bob, "team")), ["b01"]);
}

#[test]
fn errors_of_many_dangling_bindings_are_limited() {
    let mut index = Index::default();
    let bob = json!([{"kind": "User", "name": "bob"}]);
    for number in 0..200 {
        let name = format!("b{number:03}");
        index.insert_binding("team", &name, &binding(("Role", &name), &bob));
    }
    let bob = user("bob", &[]);
    assert_eq!(index.roles_for(&bob, "team").errors.len(), MAX_ERRORS);
    let (_, reason) = decide(&index, &bob, "get", "team");
    assert_eq!(reason.matches("not found").count(), MAX_ERRORS);
}
