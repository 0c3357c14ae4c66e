//! Decisions of the admission plugins.
#![expect(clippy::needless_pass_by_value, reason = "arguments are literals")]

use outrigger_builtin::kinds::Registry;
use outrigger_cel::{Check, Decision, ServiceAccount};
use serde_json::json;

use super::*;

mod authorization;
mod created;
mod mutating;

#[derive(Default)]
struct Cluster {
    limit_ranges: Vec<Value>,
    quotas: Vec<Value>,
    runtime_class: Option<Value>,
    default_priority_class: Option<Priority>,
    policies: Vec<BoundPolicy<ValidatingPolicy>>,
    mutating: Vec<BoundPolicy<MutatingPolicy>>,
    params: Vec<Value>,
}

impl ClusterState for Cluster {
    fn priority_class(&self, _: &str) -> Option<Priority> {
        None
    }

    fn default_priority_class(&self) -> Option<Priority> {
        self.default_priority_class.clone()
    }

    fn service_account(&self, _: &str, _: &str) -> Option<Value> {
        Some(json!({"automountServiceAccountToken": false}))
    }

    fn default_storage_class(&self) -> Option<String> {
        None
    }

    fn default_ingress_class(&self) -> Option<String> {
        None
    }

    fn runtime_class(&self, _: &str) -> Option<Value> {
        self.runtime_class.clone()
    }

    fn limit_ranges(&self, _: &str) -> Vec<Value> {
        self.limit_ranges.clone()
    }

    fn resource_quotas(&self, _: &str) -> Vec<Value> {
        self.quotas.clone()
    }

    fn validating_policies(&self) -> Vec<BoundPolicy<ValidatingPolicy>> {
        self.policies.clone()
    }

    fn mutating_policies(&self) -> Vec<BoundPolicy<MutatingPolicy>> {
        self.mutating.clone()
    }

    fn schema(&self, kind: &Kind) -> Schema {
        let schema = outrigger_structural::schema::builtin::schema(&kind.api_version(), &kind.kind);
        schema.unwrap().clone()
    }

    fn namespace(&self, _: &str) -> Option<Value> {
        None
    }

    fn authorizer(&self, user: User<'_>) -> Arc<dyn Authorizer> {
        Arc::new(Reader(user.name.to_owned()))
    }

    fn is_namespaced(&self, _: ParamKind<'_>) -> Option<bool> {
        Some(true)
    }

    fn params(&self, _: ParamKind<'_>, _: &str) -> Vec<Value> {
        self.params.clone()
    }

    fn random_suffix(&self) -> Result<String, Status> {
        Ok("abcde".to_owned())
    }
}

/// Allows everybody to get and nobody else than the service account `ns/admin` to do anything else.
#[derive(Debug)]
struct Reader(String);

impl Authorizer for Reader {
    fn decide(&self, account: Option<&ServiceAccount>, check: &Check, verb: &str) -> Decision {
        let is_admin =
            account.is_some_and(|account| &*account.namespace == "ns" && &*account.name == "admin");
        let user = &self.0;
        Decision {
            allowed: verb == "get" || is_admin,
            reason: format!("{user:?} {verb} {check:?}").into(),
        }
    }
}

fn with_attributes<T>(
    (group, kind): (&str, &str),
    operation: Operation<'_>,
    run: impl FnOnce(&Attributes<'_>) -> T,
) -> T {
    let kinds = Registry::default().snapshot();
    let attributes = Attributes {
        kind: kinds.kind(group, "v1", kind).unwrap(),
        operation,
        subresource: "",
        namespace: "ns",
        user: User::default(),
        dry_run: false,
    };
    run(&attributes)
}

/// Mutates and validates a new Pod.
fn admit(pod: &Value, cluster: &Cluster) -> Result<Value, String> {
    with_attributes(("", "Pod"), Operation::Create, |attributes| {
        let mut pod = pod.clone();
        mutate(attributes, &mut pod, cluster)
            .and_then(|()| validate(attributes, &pod, cluster).map(drop))
            .map_err(|status| status.message)?;
        Ok(pod)
    })
}

fn pod(resources: Value) -> Value {
    json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}})
}

fn limits(limit: Value) -> Cluster {
    Cluster {
        limit_ranges: vec![json!({"spec": {"limits": [limit]}})],
        ..Cluster::default()
    }
}

#[test]
fn limit_ranges_set_defaults_and_tell_so() {
    let cluster = limits(json!({
        "type": "Container",
        "default": {"cpu": "1", "memory": "1Gi"},
        "defaultRequest": {"cpu": "500m", "memory": "1Gi"},
    }));
    let admitted = admit(&pod(json!({"requests": {"cpu": "100m"}})), &cluster).unwrap();
    assert_eq!(
        admitted["spec"]["containers"][0]["resources"],
        json!({"requests": {"cpu": "100m", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}})
    );
    assert_eq!(
        admitted["metadata"]["annotations"]["kubernetes.io/limit-ranger"],
        "LimitRanger plugin set: memory request for container c; cpu, memory limit for container c"
    );
}

#[test]
fn limit_ranges_bound_containers_and_pods() {
    let check = |limit: Value, resources: Value, why: &str| {
        let rejected = admit(&pod(resources), &limits(limit)).unwrap_err();
        assert_eq!(rejected, format!("pods \"p\" is forbidden: {why}"));
    };
    check(
        json!({"type": "Container", "min": {"cpu": "100m"}}),
        json!({"requests": {"cpu": "50m"}}),
        "minimum cpu usage per Container is 100m, but request is 50m",
    );
    check(
        json!({"type": "Container", "max": {"cpu": "1", "memory": "1Gi"}}),
        json!({"limits": {"cpu": "2"}}),
        "[maximum cpu usage per Container is 1, but limit is 2, maximum memory usage per Container is 1Gi.  No limit is specified]",
    );
    check(
        json!({"type": "Pod", "max": {"memory": "1Gi"}}),
        json!({"limits": {"memory": "2Gi"}}),
        "maximum memory usage per Pod is 1Gi, but limit is 2Gi",
    );
    check(
        json!({"type": "Container", "maxLimitRequestRatio": {"cpu": "2"}}),
        json!({"requests": {"cpu": "100m"}, "limits": {"cpu": "500m"}}),
        "cpu max limit to request ratio per Container is 2, but provided ratio is 5.000000",
    );
}

#[test]
fn pods_get_what_their_runtime_class_defines() {
    let cluster = Cluster {
        runtime_class: Some(json!({
            "overhead": {"podFixed": {"cpu": "10m"}},
            "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k", "operator": "Exists"}]},
        })),
        ..Cluster::default()
    };
    let mut sent = pod(json!({}));
    sent["spec"]["runtimeClassName"] = json!("r");
    let admitted = admit(&sent, &cluster).unwrap();
    assert_eq!(admitted["spec"]["overhead"], json!({"cpu": "10m"}));
    assert_eq!(admitted["spec"]["nodeSelector"], json!({"a": "b"}));
    let tolerations = admitted["spec"]["tolerations"].as_array().unwrap();
    assert_eq!(tolerations.last().unwrap()["key"], "k");

    sent["spec"]["nodeSelector"] = json!({"a": "c"});
    assert_eq!(
        admit(&sent, &cluster).unwrap_err(),
        "pods \"p\" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[a] = b; pod.spec.nodeSelector[a] = c"
    );
    assert_eq!(
        admit(&sent, &Cluster::default()).unwrap_err(),
        "pods \"p\" is forbidden: pod rejected: RuntimeClass \"r\" not found"
    );
    let mut sent = pod(json!({}));
    sent["spec"]["overhead"] = json!({"cpu": "1"});
    assert_eq!(
        admit(&sent, &Cluster::default()).unwrap_err(),
        "pods \"p\" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"
    );
}

fn quota(hard: Value, used: Value) -> Cluster {
    let quota = json!({"metadata": {"name": "q"}, "status": {"hard": hard, "used": used}});
    Cluster {
        quotas: vec![quota],
        ..Cluster::default()
    }
}

/// What a quota counts after a write, or why it rejects the write.
fn used_after(
    (kind, operation): (&str, Operation<'_>),
    object: &Value,
    cluster: &Cluster,
) -> Result<Value, String> {
    with_attributes(("", kind), operation, |attributes| {
        let charges = charge(attributes, object, cluster).map_err(|status| status.message)?;
        let charge = charges.into_iter().next();
        Ok(charge.map_or(Value::Null, |charge| charge.new["status"]["used"].clone()))
    })
}

#[test]
fn objects_are_charged_to_quotas() {
    let cluster = quota(
        json!({"pods": "2", "requests.cpu": "1", "secrets": "1"}),
        json!({"pods": "1", "requests.cpu": "500m", "secrets": "0"}),
    );
    let create = ("Pod", Operation::Create);
    let fits = pod(json!({"requests": {"cpu": "500m"}}));
    assert_eq!(
        used_after(create, &fits, &cluster),
        Ok(json!({"pods": "2", "requests.cpu": "1", "secrets": "0"}))
    );
    let exceeds = pod(json!({"requests": {"cpu": "600m"}}));
    assert_eq!(
        used_after(create, &exceeds, &cluster).unwrap_err(),
        "pods \"p\" is forbidden: exceeded quota: q, requested: requests.cpu=600m, used: requests.cpu=500m, limited: requests.cpu=1"
    );
    assert_eq!(
        used_after(create, &pod(json!({})), &cluster).unwrap_err(),
        "pods \"p\" is forbidden: failed quota: q: must specify requests.cpu for: c"
    );
    let other = json!({"metadata": {"name": "p"}});
    let untouched = used_after(("ConfigMap", Operation::Create), &other, &cluster);
    assert_eq!(untouched, Ok(Value::Null));
}

#[test]
fn updates_are_charged_by_their_difference() {
    let service =
        |type_: &str| json!({"metadata": {"name": "s"}, "spec": {"type": type_, "ports": [{}]}});
    let cluster = quota(
        json!({"services": "1", "services.nodeports": "0"}),
        json!({"services": "1", "services.nodeports": "0"}),
    );
    let old = service("ClusterIP");
    let update = ("Service", Operation::Update { old: &old });
    assert_eq!(used_after(update, &old, &cluster), Ok(Value::Null));
    assert_eq!(
        used_after(update, &service("NodePort"), &cluster).unwrap_err(),
        "services \"s\" is forbidden: exceeded quota: q, requested: services.nodeports=1, used: services.nodeports=0, limited: services.nodeports=0"
    );
}

#[test]
fn a_quota_that_was_not_measured_yet_rejects() {
    let cluster = quota(json!({"pods": "2"}), json!({}));
    assert_eq!(
        used_after(("Pod", Operation::Create), &pod(json!({})), &cluster).unwrap_err(),
        "pods \"p\" is forbidden: status unknown for quota: q, resources: pods"
    );
}

#[test]
fn there_is_one_default_priority_class() {
    let cluster = Cluster {
        default_priority_class: Some(Priority {
            class: "a".to_owned(),
            value: 1,
            preemption_policy: "Never".to_owned(),
        }),
        ..Cluster::default()
    };
    let class = json!({"metadata": {"name": "b"}, "globalDefault": true});
    let kind = ("scheduling.k8s.io", "PriorityClass");
    let rejected = with_attributes(kind, Operation::Create, |attributes| {
        validate(attributes, &class, &cluster).unwrap_err().message
    });
    assert_eq!(
        rejected,
        "priorityclasses.scheduling.k8s.io \"b\" is forbidden: PriorityClass a is already marked as default. Only one default can exist"
    );
}

fn policy(spec: Value, binding: Value) -> Cluster {
    let policy = json!({"metadata": {"name": "p"}, "spec": spec});
    Cluster {
        policies: vec![BoundPolicy {
            policy: ValidatingPolicy::compile(&policy).into(),
            bindings: vec![json!({"metadata": {"name": "b"}, "spec": binding})],
        }],
        params: vec![json!({"metadata": {"name": "x"}, "data": {"most": "3"}})],
        ..Cluster::default()
    }
}

fn pods() -> Value {
    json!({"resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]})
}

#[test]
fn policies_deny_with_their_messages() {
    let check = |spec: Value, expected: &str| {
        let mut spec = spec;
        spec["matchConstraints"] = pods();
        let cluster = policy(spec, json!({"validationActions": ["Deny"]}));
        let denied = admit(&pod(json!({})), &cluster).unwrap_err();
        assert_eq!(
            denied,
            format!(
                "pods \"p\" is forbidden: ValidatingAdmissionPolicy 'p' with binding 'b' denied request: {expected}"
            )
        );
    };
    check(
        json!({"validations": [{"expression": "object.metadata.name == 'q'"}]}),
        "failed expression: object.metadata.name == 'q'",
    );
    check(
        json!({"validations": [{"expression": "false", "message": " no "}]}),
        "no",
    );
    check(
        json!({
            "variables": [
                {"name": "one", "expression": "object.metadata.name"},
                {"name": "two", "expression": "variables.one + variables.one"},
            ],
            "validations": [{"expression": "false", "messageExpression": "'got ' + variables.two"}],
        }),
        "got pp",
    );
    check(
        json!({"validations": [{"expression": "object.spec.replicas > 1"}]}),
        "expression 'object.spec.replicas > 1' resulted in error: no such key: replicas",
    );
}

#[test]
fn policies_warn_or_do_not_match() {
    let cluster = |binding: Value, condition: &str| {
        let spec = json!({
            "matchConstraints": pods(),
            "matchConditions": [{"name": "c", "expression": condition}],
            "validations": [{"expression": "false"}],
        });
        policy(spec, binding)
    };
    let warnings = |cluster: &Cluster| {
        with_attributes(("", "Pod"), Operation::Create, |attributes| {
            validate(attributes, &pod(json!({})), cluster).unwrap()
        })
    };
    let warn = json!({"validationActions": ["Warn"]});
    assert_eq!(
        warnings(&cluster(warn.clone(), "request.operation == 'CREATE'")),
        [
            "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': failed expression: false"
        ]
    );
    assert!(warnings(&cluster(warn, "oldObject != null")).is_empty());
    let elsewhere = json!({"validationActions": ["Deny"], "matchResources": {"objectSelector": {"matchLabels": {"a": "b"}}}});
    assert!(warnings(&cluster(elsewhere, "true")).is_empty());
}

#[test]
fn policies_read_their_parameters() {
    let cluster = |name: &str| {
        let spec = json!({
            "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
            "matchConstraints": pods(),
            "validations": [{"expression": "int(params.data.most) < 3"}],
        });
        policy(
            spec,
            json!({"paramRef": {"name": name}, "validationActions": ["Deny"]}),
        )
    };
    let denied = admit(&pod(json!({})), &cluster("x")).unwrap_err();
    assert!(
        denied.ends_with("failed expression: int(params.data.most) < 3"),
        "{denied}"
    );
    let denied = admit(&pod(json!({})), &cluster("y")).unwrap_err();
    assert!(denied.ends_with("failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"), "{denied}");
}
