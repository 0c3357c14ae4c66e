//! Authentication and authorization over a store in memory. The expected texts are those of a real server.

use http::{HeaderMap, HeaderName, HeaderValue};
use outrigger_builtin::kinds::Registry;
use outrigger_store::{EncodedObject, Options, Precondition, Resource, Transaction};
use serde_json::{Value, json};

use super::*;

const RBAC: &str = "rbac.authorization.k8s.io";

/// A server's auth with the roles of a real one, and `alice` (groups dev, ops) and `bob` by static token.
struct Fixture {
    store: Store,
    auth: Auth,
}

fn now() -> Timestamp {
    "2026-11-16T01:34:15Z".parse().unwrap()
}

impl Fixture {
    async fn new() -> Self {
        Self::at(now).await
    }

    async fn at(clock: fn() -> Timestamp) -> Self {
        let store = Store::open(Options::in_memory()).unwrap();
        let mut credentials = Credentials::generate().unwrap();
        let tokens = "alicetoken,alice,alice-uid,\"dev,ops\"\nbobtoken,bob,bob-uid\n";
        credentials.tokens = StaticTokens::parse(tokens).unwrap();
        let auth = Auth::with_clock(store.clone(), credentials, clock);
        let fixture = Self { store, auth };
        for object in bootstrap_objects() {
            let plural = format!("{}s", object["kind"].as_str().unwrap().to_lowercase());
            fixture.put(RBAC, &plural, &object).await;
        }
        fixture
    }

    async fn put(&self, group: &str, plural: &str, object: &Value) {
        let metadata = &object["metadata"];
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let name = metadata["name"].as_str().unwrap();
        let key = Resource::new(group, plural)
            .unwrap()
            .key(namespace, name)
            .unwrap();
        let encoded = EncodedObject::new(object).unwrap();
        let transaction = if self.store.get(&key).is_some() {
            Transaction::replace(key, encoded, Precondition::exists())
        } else {
            Transaction::create(key, encoded)
        };
        self.store.write(transaction).await.unwrap();
    }

    async fn remove(&self, group: &str, plural: &str, namespace: &str, name: &str) {
        let key = Resource::new(group, plural)
            .unwrap()
            .key(namespace, name)
            .unwrap();
        self.store
            .write(Transaction::delete(key, Precondition::exists()))
            .await
            .unwrap();
    }

    /// A role with `rules` in `default` or, without, in the whole cluster, bound to a user.
    async fn grant(&self, user: &str, name: &str, namespace: &str, rules: Value) {
        let (role, binding) = match namespace {
            "" => ("ClusterRole", "ClusterRoleBinding"),
            _ => ("Role", "RoleBinding"),
        };
        let metadata = json!({"name": name, "namespace": namespace});
        let plural = |kind: &str| format!("{}s", kind.to_lowercase());
        self.put(
            RBAC,
            &plural(role),
            &json!({"metadata": metadata, "rules": rules}),
        )
        .await;
        let bound = json!({
            "metadata": metadata,
            "roleRef": {"apiGroup": RBAC, "kind": role, "name": name},
            "subjects": [{"kind": "User", "name": user}],
        });
        self.put(RBAC, &plural(binding), &bound).await;
    }

    fn user(&self, token: &str) -> UserInfo {
        self.auth
            .authenticate(&headers(&[("authorization", &format!("Bearer {token}"))]))
            .unwrap()
    }

    fn refusal(&self, user: &UserInfo, verb: &str, path: &str) -> Option<String> {
        let refused = self.auth.authorize(user, &attributes(verb, path)).err()?;
        assert_eq!(refused.code(), 403);
        Some(refused.message)
    }

    fn ask(&self, kind: &str, user: &UserInfo, spec: &Value) -> Value {
        let response = self
            .auth
            .review(kind, user, json!({"metadata": {}, "spec": spec}));
        let response = response
            .unwrap()
            .unwrap_or_else(|status| serde_json::to_value(status).unwrap());
        response
            .get("status")
            .filter(|status| status.is_object())
            .cloned()
            .unwrap_or(response)
    }
}

/// `/version`, or `group/resource/subresource namespace name`.
fn attributes<'a>(verb: &'a str, path: &'a str) -> Attributes<'a> {
    if path.starts_with('/') && !path.starts_with("/pods") {
        return Attributes {
            verb,
            target: Target::Path(path),
        };
    }
    let mut words = path.split(' ');
    let mut resource = words.next().unwrap().split('/');
    let mut next = || resource.next().unwrap_or_default();
    let target = Target::Resource {
        group: next(),
        version: "v1",
        resource: next(),
        subresource: next(),
        namespace: words.next().unwrap_or_default(),
        name: words.next().unwrap_or_default(),
    };
    Attributes { verb, target }
}

fn headers(pairs: &[(&str, &str)]) -> HeaderMap {
    let pairs = pairs.iter().map(|(name, value)| {
        let name: HeaderName = name.to_lowercase().parse().unwrap();
        (name, HeaderValue::from_str(value).unwrap())
    });
    let mut headers = HeaderMap::new();
    for (name, value) in pairs {
        headers.append(name, value);
    }
    headers
}

fn account(uid: &str) -> Value {
    json!({"kind": "ServiceAccount", "metadata": {"name": "robot", "namespace": "default", "uid": uid}})
}

#[tokio::test]
async fn authenticates_the_user_of_a_token() {
    let fixture = Fixture::new().await;
    let admin = fixture.user(fixture.auth.credentials().admin.expose());
    assert_eq!(admin.groups, [MASTERS, AUTHENTICATED]);
    assert_eq!(fixture.user("alicetoken").name, "alice");
    for wrong in [
        &[][..],
        &[("authorization", "Bearer wrong")],
        &[("authorization", "Basic YTpi")],
    ] {
        let refused = fixture.auth.authenticate(&headers(wrong)).unwrap_err();
        assert_eq!(
            (refused.code(), refused.message.as_str()),
            (401, "Unauthorized")
        );
    }
}

#[tokio::test]
async fn forbids_requests_without_permission() {
    let fixture = Fixture::new().await;
    let bob = fixture.user("bobtoken");
    for (verb, path, expected) in [
        (
            "list",
            "/pods",
            r#"pods is forbidden: User "bob" cannot list resource "pods" in API group "" at the cluster scope"#,
        ),
        (
            "get",
            "/pods x a",
            r#"pods "a" is forbidden: User "bob" cannot get resource "pods" in API group "" in the namespace "x""#,
        ),
        (
            "get",
            "apps/deployments/scale q d",
            r#"deployments.apps "d" is forbidden: User "bob" cannot get resource "deployments/scale" in API group "apps" in the namespace "q""#,
        ),
        (
            "get",
            "/metrics",
            r#"forbidden: User "bob" cannot get path "/metrics""#,
        ),
    ] {
        assert_eq!(fixture.refusal(&bob, verb, path).as_deref(), Some(expected));
    }
    assert_eq!(fixture.refusal(&bob, "get", "/version"), None);
    assert_eq!(
        fixture.refusal(
            &bob,
            "create",
            "authorization.k8s.io/selfsubjectaccessreviews"
        ),
        None
    );
    assert_eq!(
        fixture.refusal(&UserInfo::anonymous(), "get", "/healthz"),
        None
    );
    assert_eq!(
        fixture.refusal(&UserInfo::internal(), "get", "/metrics"),
        None
    );
}

#[tokio::test]
async fn a_new_binding_applies_at_once() {
    let fixture = Fixture::new().await;
    let bob = fixture.user("bobtoken");
    assert!(fixture.refusal(&bob, "get", "/pods default a").is_some());
    let subjects = json!([{"kind": "User", "name": "bob"}]);
    let view = json!({
        "metadata": {"name": "v", "namespace": "default"}, "subjects": subjects,
        "roleRef": {"kind": "ClusterRole", "name": "view"},
    });
    fixture.put(RBAC, "rolebindings", &view).await;
    assert_eq!(fixture.refusal(&bob, "get", "/pods default a"), None);
    assert!(fixture.refusal(&bob, "get", "/secrets default a").is_some());
    assert!(fixture.refusal(&bob, "get", "/pods other a").is_some());
    fixture.remove(RBAC, "rolebindings", "default", "v").await;
    assert!(fixture.refusal(&bob, "get", "/pods default a").is_some());
}

#[tokio::test]
async fn checks_impersonation_like_the_real_server() {
    let fixture = Fixture::new().await;
    let (admin, bob) = (UserInfo::internal(), fixture.user("bobtoken"));
    let list = attributes("list", "/pods");
    let act = |user: &UserInfo, pairs: &[(&str, &str)]| {
        let user = fixture
            .auth
            .impersonate(user.clone(), &headers(pairs), &list);
        user.map_err(|status| (status.code(), status.message))
    };
    assert_eq!(act(&bob, &[]).unwrap(), bob);
    let jane = act(
        &admin,
        &[
            ("Impersonate-User", "jane"),
            ("Impersonate-Group", "a"),
            ("Impersonate-Uid", "1"),
            ("Impersonate-Extra-Foo%2fBar", "z"),
        ],
    )
    .unwrap();
    assert_eq!((jane.name.as_str(), jane.uid.as_str()), ("jane", "1"));
    assert_eq!(jane.groups, ["a", AUTHENTICATED]);
    assert_eq!(jane.extra["foo/bar"], ["z"]);
    let robot = act(
        &admin,
        &[("Impersonate-User", "system:serviceaccount:ns:sa")],
    )
    .unwrap();
    assert_eq!(
        robot.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:ns",
            AUTHENTICATED
        ]
    );
    let nobody = act(&admin, &[("Impersonate-User", ANONYMOUS)]).unwrap();
    assert_eq!(nobody.groups, [UNAUTHENTICATED]);
    let root = act(
        &admin,
        &[("Impersonate-User", "r"), ("Impersonate-Group", MASTERS)],
    )
    .unwrap();
    assert_eq!(root.groups, [MASTERS, AUTHENTICATED]);

    let refused = r#"pods is forbidden: User "bob" cannot impersonate-on:user-info:list resource "pods" in API group "" at the cluster scope"#;
    assert_eq!(
        act(&bob, &[("Impersonate-User", "jane")]),
        Err((403, refused.to_owned()))
    );
    let refused = r#"pods is forbidden: User "bob" cannot impersonate-on:serviceaccount:list resource "pods" in API group "" at the cluster scope"#;
    assert_eq!(
        act(&bob, &[("Impersonate-User", "system:serviceaccount:ns:sa")]),
        Err((403, refused.to_owned()))
    );
    let refused = r#"requested &user.DefaultInfo{Name:"", UID:"1", Groups:[]string{"a"}, Extra:map[string][]string{"b":[]string{"z"}}} without impersonating a user name"#;
    let nameless = [
        ("Impersonate-Group", "a"),
        ("Impersonate-Extra-B", "z"),
        ("Impersonate-Uid", "1"),
    ];
    assert_eq!(act(&admin, &nameless), Err((400, refused.to_owned())));

    fixture
        .grant(
            "bob",
            "actor",
            "",
            json!([{"apiGroups": [""], "resources": ["users"], "verbs": ["impersonate"]}]),
        )
        .await;
    assert_eq!(
        act(&bob, &[("Impersonate-User", "jane")]).unwrap().name,
        "jane"
    );
    assert!(
        act(
            &bob,
            &[("Impersonate-User", "jane"), ("Impersonate-Group", MASTERS)]
        )
        .is_err()
    );
}

#[tokio::test]
async fn rejects_privilege_escalation() {
    let fixture = Fixture::new().await;
    let kinds = Registry::default().snapshot();
    let kind = |plural: &str| kinds.resource(RBAC, "v1", plural).unwrap();
    let bob = fixture.user("bobtoken");
    fixture
        .grant(
            "bob",
            "rbacer",
            "default",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        )
        .await;
    let check = |plural: &str, object: Value| {
        let refused = fixture
            .auth
            .check_escalation(&bob, kind(plural), &object, None)
            .err()?;
        Some((refused.code(), refused.message))
    };
    let role =
        |rules: Value| json!({"metadata": {"name": "x", "namespace": "default"}, "rules": rules});
    assert_eq!(
        check(
            "roles",
            role(json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]))
        ),
        None
    );
    let refused = "roles.rbac.authorization.k8s.io \"x\" is forbidden: user \"bob\" (groups=[\"system:authenticated\"]) is attempting to grant RBAC permissions not currently held:\n{APIGroups:[\"\"], Resources:[\"secrets\"], Verbs:[\"get\" \"list\"]}";
    let secrets = json!([{"apiGroups": [""], "resources": ["secrets"], "verbs": ["get", "list"]}]);
    assert_eq!(
        check("roles", role(secrets.clone())),
        Some((403, refused.to_owned()))
    );
    let gathering = json!({"metadata": {"name": "x"}, "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"a": "b"}}]}});
    let refused = r#"clusterroles.rbac.authorization.k8s.io "x" is forbidden: must have cluster-admin privileges to use the aggregationRule"#;
    assert_eq!(
        check("clusterroles", gathering),
        Some((403, refused.to_owned()))
    );

    let binding = |role: &str, name: &str| json!({"metadata": {"name": "x", "namespace": "default"}, "roleRef": {"apiGroup": RBAC, "kind": role, "name": name}});
    assert_eq!(check("rolebindings", binding("Role", "rbacer")), None);
    let missing = (
        404,
        r#"rolebindings.rbac.authorization.k8s.io "nope" not found"#.to_owned(),
    );
    assert_eq!(
        check("rolebindings", binding("ClusterRole", "nope")),
        Some(missing)
    );
    assert_eq!(
        check("rolebindings", binding("ClusterRole", "view"))
            .unwrap()
            .0,
        403
    );
    fixture.grant("bob", "binder", "default", json!([{"apiGroups": [RBAC], "resources": ["clusterroles"], "resourceNames": ["view"], "verbs": ["bind"]}, {"apiGroups": [RBAC], "resources": ["roles"], "verbs": ["escalate"]}])).await;
    assert_eq!(check("rolebindings", binding("ClusterRole", "view")), None);
    assert_eq!(check("roles", role(secrets)), None);
}

#[tokio::test]
async fn a_token_is_valid_while_its_service_account_exists() {
    let fixture = Fixture::new().await;
    fixture.put("", "serviceaccounts", &account("uid-1")).await;
    let response = fixture
        .auth
        .issue_token("default", &account("uid-1"), json!({"spec": {}}))
        .unwrap();
    assert_eq!(
        response["spec"],
        json!({"audiences": [ISSUER], "expirationSeconds": 3600, "boundObjectRef": null})
    );
    assert_eq!(
        response["status"]["expirationTimestamp"],
        "2026-11-16T02:34:15Z"
    );
    let token = response["status"]["token"].as_str().unwrap();
    let claims = jwt::claims(token).unwrap();
    assert_eq!(claims["sub"], "system:serviceaccount:default:robot");
    assert_eq!(
        claims["kubernetes.io"],
        json!({"namespace": "default", "serviceaccount": {"name": "robot", "uid": "uid-1"}})
    );
    let robot = fixture.user(token);
    assert_eq!(robot.name, "system:serviceaccount:default:robot");
    assert_eq!(
        robot.groups,
        [
            "system:serviceaccounts",
            "system:serviceaccounts:default",
            AUTHENTICATED
        ]
    );
    assert_eq!(
        robot.extra["authentication.kubernetes.io/credential-id"],
        [format!("JTI={}", claims["jti"].as_str().unwrap())]
    );

    fixture.put("", "serviceaccounts", &account("uid-2")).await;
    let bearer = headers(&[("authorization", &format!("Bearer {token}"))]);
    assert_eq!(fixture.auth.authenticate(&bearer).unwrap_err().code(), 401);
    fixture
        .remove("", "serviceaccounts", "default", "robot")
        .await;
    assert_eq!(fixture.auth.authenticate(&bearer).unwrap_err().code(), 401);
}

#[tokio::test]
async fn a_token_expires() {
    static DAYS: std::sync::atomic::AtomicI64 = std::sync::atomic::AtomicI64::new(0);
    let fixture = Fixture::at(|| {
        let days = DAYS.load(std::sync::atomic::Ordering::Relaxed);
        now() + jiff::SignedDuration::from_hours(24 * days)
    })
    .await;
    fixture.put("", "serviceaccounts", &account("u")).await;
    let response = fixture
        .auth
        .issue_token(
            "default",
            &account("u"),
            json!({"spec": {"expirationSeconds": 7200}}),
        )
        .unwrap();
    let token = response["status"]["token"].as_str().unwrap();
    assert!(fixture.auth.authenticate_token(token, &[]).is_ok());
    DAYS.store(1, std::sync::atomic::Ordering::Relaxed);
    assert_eq!(
        fixture
            .auth
            .authenticate_token(token, &[])
            .unwrap_err()
            .to_string(),
        "[invalid bearer token, service account token has expired]"
    );
}

#[tokio::test]
async fn rejects_invalid_token_requests_like_the_real_server() {
    let fixture = Fixture::new().await;
    let account = account("uid-1");
    for (request, code, expected) in [
        (
            json!({"spec": {"expirationSeconds": 5}}),
            422,
            r#"TokenRequest.authentication.k8s.io "" is invalid: spec.expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes"#,
        ),
        (
            json!({"metadata": {"name": "z"}, "spec": {}}),
            422,
            r#"TokenRequest.authentication.k8s.io "robot" is invalid: metadata.name: Invalid value: "z": must match the service account name if specified"#,
        ),
        (
            json!({"metadata": {"uid": "z"}, "spec": {}}),
            409,
            r#"Operation cannot be fulfilled on TokenRequest.authentication.k8s.io "robot": the UID in the token request (z) does not match the UID of the service account (uid-1)"#,
        ),
        (
            json!({"spec": {"boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "nope"}}}),
            404,
            r#"secrets "nope" not found"#,
        ),
        (
            json!({"spec": {"boundObjectRef": {"kind": "ConfigMap", "apiVersion": "v1", "name": "nope"}}}),
            400,
            "cannot bind token to object of type /v1, Kind=ConfigMap",
        ),
    ] {
        let refused = fixture
            .auth
            .issue_token("default", &account, request)
            .unwrap_err();
        assert_eq!((refused.code(), refused.message.as_str()), (code, expected));
    }
}

#[tokio::test]
async fn a_legacy_token_is_valid_while_its_secret_exists() {
    let fixture = Fixture::new().await;
    fixture.put("", "serviceaccounts", &account("u")).await;
    let token = fixture
        .auth
        .legacy_token("default", "robot", "u", "legacy")
        .unwrap();
    let secret = json!({"metadata": {"name": "legacy", "namespace": "default", "uid": "s"}, "data": {"token": service_account::encoded(&token)}});
    assert!(fixture.auth.authenticate_token(&token, &[]).is_err());
    fixture.put("", "secrets", &secret).await;
    assert_eq!(
        fixture.user(&token).name,
        "system:serviceaccount:default:robot"
    );
    assert!(fixture.user(&token).extra.is_empty());
    let request = json!({"spec": {"audiences": ["a", "b"], "boundObjectRef": {"kind": "Secret", "apiVersion": "v1", "name": "legacy"}}});
    let bound = fixture
        .auth
        .issue_token("default", &account("u"), request)
        .unwrap();
    let bound = bound["status"]["token"].as_str().unwrap();
    assert_eq!(
        fixture
            .auth
            .authenticate_token(bound, &[])
            .unwrap_err()
            .to_string(),
        r#"[invalid bearer token, token audiences ["a" "b"] is invalid for the target audiences ["https://kubernetes.default.svc"]]"#
    );
    let audiences = ["b".to_owned(), "c".to_owned()];
    assert_eq!(
        fixture
            .auth
            .authenticate_token(bound, &audiences)
            .unwrap()
            .audiences,
        ["b"]
    );
    fixture.remove("", "secrets", "default", "legacy").await;
    assert!(fixture.auth.authenticate_token(&token, &[]).is_err());
    assert!(fixture.auth.authenticate_token(bound, &audiences).is_err());
}

#[tokio::test]
async fn reviews_match_authorization() {
    let fixture = Fixture::new().await;
    let (admin, bob) = (UserInfo::internal(), fixture.user("bobtoken"));
    let pods = json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "x"}});
    assert_eq!(
        fixture.ask("selfsubjectaccessreviews", &bob, &pods),
        json!({"allowed": false})
    );
    assert_eq!(
        fixture.ask("selfsubjectaccessreviews", &admin, &pods),
        json!({"allowed": true})
    );
    let version = json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}});
    assert_eq!(
        fixture.ask("selfsubjectaccessreviews", &bob, &version),
        json!({"allowed": true, "reason": r#"RBAC: allowed by ClusterRoleBinding "system:discovery" of ClusterRole "system:discovery" to Group "system:authenticated""#})
    );
    fixture
        .grant(
            "bob",
            "getter",
            "x",
            json!([{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]),
        )
        .await;
    let about_bob =
        json!({"resourceAttributes": pods["resourceAttributes"], "user": "bob", "groups": ["g"]});
    let allowed = json!({"allowed": true, "reason": r#"RBAC: allowed by RoleBinding "getter/x" of Role "getter" to User "bob""#});
    assert_eq!(
        fixture.ask("subjectaccessreviews", &admin, &about_bob),
        allowed
    );

    let rules = fixture.ask("selfsubjectrulesreviews", &bob, &json!({"namespace": "x"}));
    assert_eq!(
        rules["resourceRules"],
        json!([
            {"verbs": ["create"], "apiGroups": ["authorization.k8s.io"], "resources": ["selfsubjectaccessreviews", "selfsubjectrulesreviews"]},
            {"verbs": ["create"], "apiGroups": ["authentication.k8s.io"], "resources": ["selfsubjectreviews"]},
            {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]},
        ])
    );
    assert_eq!(rules["nonResourceRules"].as_array().unwrap().len(), 2);
    assert_eq!(rules["incomplete"], false);
    let me = fixture.ask("selfsubjectreviews", &bob, &json!({}));
    assert_eq!(
        me,
        json!({"userInfo": {"username": "bob", "uid": "bob-uid", "groups": [AUTHENTICATED]}})
    );
    let token = fixture.ask("tokenreviews", &admin, &json!({"token": "bobtoken"}));
    assert_eq!(
        token,
        json!({"authenticated": true, "user": me["userInfo"], "audiences": [ISSUER]})
    );
    let token = fixture.ask(
        "tokenreviews",
        &admin,
        &json!({"token": "bobtoken", "audiences": ["q"]}),
    );
    assert_eq!(token, json!({"user": {}, "error": "invalid bearer token"}));
    assert!(fixture.auth.review("pods", &admin, json!({})).is_none());
}

#[tokio::test]
async fn a_rules_review_has_each_rule_once_and_is_limited() {
    let fixture = Fixture::new().await;
    let bob = fixture.user("bobtoken");
    let rule = |i: usize| json!({"apiGroups": [""], "resources": ["pods", format!("r{i}")], "verbs": ["get"]});
    let rules = vec![rule(0); 1000];
    fixture.grant("bob", "equal", "x", json!(rules)).await;
    fixture.grant("bob", "again", "x", json!(rules)).await;
    let review = || fixture.ask("selfsubjectrulesreviews", &bob, &json!({"namespace": "x"}));
    let listed = review();
    let is_pods = |listed: &&Value| listed["resources"][0] == "pods";
    let count = |review: &Value| {
        let listed = review["resourceRules"].as_array().unwrap();
        listed.iter().filter(is_pods).count()
    };
    assert_eq!((count(&listed), &listed["incomplete"]), (1, &json!(false)));

    let many: Vec<Value> = (0..10_000).map(rule).collect();
    fixture.grant("bob", "many", "x", json!(many)).await;
    let listed = review();
    assert_eq!(listed["incomplete"], true);
    assert!(count(&listed) < 5000);
    let all = ["resourceRules", "nonResourceRules"];
    let all = all.map(|key| listed[key].as_array().unwrap().len());
    assert_eq!(
        listed["evaluationError"],
        format!("only the first {} rules are listed", all[0] + all[1])
    );
}

#[tokio::test]
async fn rejects_invalid_reviews_like_the_real_server() {
    let fixture = Fixture::new().await;
    let admin = UserInfo::internal();
    let both = json!({"nonResourceAttributes": {"verb": "get", "path": "/version"}, "resourceAttributes": {"verb": "get"}});
    for (kind, review, expected) in [
        (
            "selfsubjectaccessreviews",
            json!({"spec": {}}),
            r#".authorization.k8s.io "" is invalid: spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified"#,
        ),
        (
            "selfsubjectaccessreviews",
            json!({"spec": both}),
            r#".authorization.k8s.io "" is invalid: spec.nonResourceAttributes: Invalid value: {"Path":"/version","Verb":"get"}: cannot be specified in combination with resourceAttributes"#,
        ),
        (
            "subjectaccessreviews",
            json!({"metadata": {"name": "q"}, "spec": {}}),
            r#".authorization.k8s.io "" is invalid: [spec.resourceAttributes: Invalid value: null: exactly one of nonResourceAttributes or resourceAttributes must be specified, spec.user: Invalid value: "": at least one of user or group must be specified, metadata: Invalid value: {"name":"q"}: must be empty]"#,
        ),
        (
            "localsubjectaccessreviews",
            json!({"metadata": {"namespace": "default"}, "spec": {"resourceAttributes": {"namespace": "other"}, "user": "bob"}}),
            r#".authorization.k8s.io "" is invalid: spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace"#,
        ),
        (
            "selfsubjectrulesreviews",
            json!({"spec": {}}),
            "no namespace on request",
        ),
        (
            "tokenreviews",
            json!({"spec": {}}),
            "token is required for TokenReview in authentication",
        ),
    ] {
        let refused = fixture
            .auth
            .review(kind, &admin, review)
            .unwrap()
            .unwrap_err();
        assert_eq!(refused.message, expected);
    }
}
