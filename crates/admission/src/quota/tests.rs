//! Usage of quotas.
#![expect(clippy::needless_pass_by_value, reason = "arguments are literals")]

use std::collections::BTreeMap;

use serde_json::json;

use super::*;

/// Objects by group and plural.
struct Cluster(BTreeMap<(&'static str, &'static str), Vec<Value>>);

impl Objects for Cluster {
    fn resources(&self) -> Vec<(String, String)> {
        let known = [
            ("", "pods"),
            ("", "services"),
            ("", "persistentvolumeclaims"),
            ("", "configmaps"),
            ("", "secrets"),
            ("apps", "deployments"),
            ("resource.k8s.io", "resourceclaims"),
        ];
        let known = known.into_iter();
        known.map(|(g, p)| (g.to_owned(), p.to_owned())).collect()
    }

    fn count(&self, group: &str, plural: &str) -> usize {
        self.list(group, plural).len()
    }

    fn list(&self, group: &str, plural: &str) -> Vec<Value> {
        let found = self.0.iter().find(|(key, _)| **key == (group, plural));
        found.map_or_else(Vec::new, |(_, objects)| objects.clone())
    }
}

fn pod(resources: Value) -> Value {
    json!({"spec": {"containers": [{"name": "c", "resources": resources}]}})
}

#[track_caller]
fn check(
    objects: impl IntoIterator<Item = ((&'static str, &'static str), Vec<Value>)>,
    spec: Value,
    used: Value,
) {
    let cluster = Cluster(objects.into_iter().collect());
    let hard = spec["hard"].clone();
    let quota = json!({"spec": spec});
    let measured = Usage::measure(&quota, &cluster);
    let expected = Some(json!({"hard": hard, "used": used}));
    assert_eq!(measured.status(&quota), expected);
    assert_eq!(updated(&quota, &cluster), expected);
}

/// The status if the objects are added one after the other, after others that are deleted again or changed into them.
fn updated(quota: &Value, cluster: &Cluster) -> Option<Value> {
    let mut usage = Usage::measure(quota, &Cluster(BTreeMap::new()));
    let other = pod(json!({"requests": {"cpu": "3", "memory": "1k"}}));
    for ((group, plural), objects) in &cluster.0 {
        for (i, object) in objects.iter().enumerate() {
            if i % 2 == 0 {
                usage.update(group, plural, Change::Added(&other));
                let change = Change::Modified {
                    old: &other,
                    new: object,
                };
                usage.update(group, plural, change);
            } else {
                usage.update(group, plural, Change::Added(object));
                usage.update(group, plural, Change::Added(&other));
                usage.update(group, plural, Change::Deleted(&other));
            }
        }
    }
    usage.status(quota)
}

#[test]
fn adds_up_the_resources_of_pods_that_have_not_ended() {
    let mut ended = pod(json!({"requests": {"cpu": "5"}}));
    ended["status"] = json!({"phase": "Succeeded"});
    let running = pod(json!({
        "requests": {"cpu": "500m", "memory": "1Gi", "example.com/gpu": "1"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }));
    check(
        [(("", "pods"), vec![running.clone(), running, ended])],
        json!({"hard": {
            "pods": "5", "count/pods": "5", "cpu": "2", "requests.cpu": "2", "limits.memory": "4Gi",
            "requests.example.com/gpu": "3",
        }}),
        json!({
            "pods": "2", "count/pods": "3", "cpu": "1", "requests.cpu": "1", "limits.memory": "2Gi",
            "requests.example.com/gpu": "2",
        }),
    );
}

#[test]
fn counts_objects_by_their_old_and_generic_names() {
    check(
        [
            (("", "configmaps"), vec![json!({}), json!({})]),
            (("apps", "deployments"), vec![json!({})]),
        ],
        json!({"hard": {
            "configmaps": "5", "count/configmaps": "5", "secrets": "1", "count/deployments.apps": "1",
            "count/deployments.extensions": "1",
        }}),
        json!({"configmaps": "2", "count/configmaps": "2", "secrets": "0", "count/deployments.apps": "1"}),
    );
}

#[test]
fn measures_services_and_claims() {
    let claim = json!({"spec": {"storageClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}}});
    let service = json!({"spec": {"type": "LoadBalancer", "ports": [{"port": 1}, {"port": 2}]}});
    check(
        [
            (("", "persistentvolumeclaims"), vec![claim.clone(), claim]),
            (("", "services"), vec![service]),
        ],
        json!({"hard": {
            "persistentvolumeclaims": "5", "requests.storage": "5Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "5Gi",
            "tin.storageclass.storage.k8s.io/persistentvolumeclaims": "5",
            "services": "1", "services.nodeports": "2", "services.loadbalancers": "1",
        }}),
        json!({
            "persistentvolumeclaims": "2", "requests.storage": "2Gi",
            "gold.storageclass.storage.k8s.io/requests.storage": "2Gi",
            "tin.storageclass.storage.k8s.io/persistentvolumeclaims": "0",
            "services": "1", "services.nodeports": "2", "services.loadbalancers": "1",
        }),
    );
}

#[test]
fn measures_the_devices_of_resource_claims() {
    let exactly = |class: &str, count: i64| json!({"deviceClassName": class, "allocationMode": "ExactCount", "count": count});
    let claim = json!({"spec": {"devices": {"requests": [
        {"exactly": exactly("gold", 2)},
        {"firstAvailable": [exactly("gold", 1), exactly("gold", 3), exactly("tin", 1)]},
    ]}}});
    check(
        [(("resource.k8s.io", "resourceclaims"), vec![claim])],
        json!({"hard": {"gold.deviceclass.resource.k8s.io/devices": "9", "count/resourceclaims.resource.k8s.io": "1"}}),
        json!({"gold.deviceclass.resource.k8s.io/devices": "5", "count/resourceclaims.resource.k8s.io": "1"}),
    );
}

#[test]
fn counts_only_what_is_in_all_scopes() {
    let best_effort = pod(json!({}));
    let mut urgent = pod(json!({"requests": {"cpu": "1"}}));
    urgent["spec"]["priorityClassName"] = json!("high");
    let mut limited = best_effort.clone();
    limited["spec"]["activeDeadlineSeconds"] = json!(5);
    let pods = || {
        [(
            ("", "pods"),
            vec![best_effort.clone(), urgent.clone(), limited.clone()],
        )]
    };
    let hard = json!({"pods": "5"});
    for (scope, count) in [
        ("BestEffort", "2"),
        ("NotBestEffort", "1"),
        ("Terminating", "1"),
        ("NotTerminating", "2"),
        ("PriorityClass", "1"),
        ("CrossNamespacePodAffinity", "0"),
    ] {
        check(
            pods(),
            json!({"hard": hard, "scopes": [scope]}),
            json!({"pods": count}),
        );
    }
    for (operator, count) in [
        ("In", "1"),
        ("NotIn", "2"),
        ("Exists", "1"),
        ("DoesNotExist", "2"),
    ] {
        let requirement =
            json!({"scopeName": "PriorityClass", "operator": operator, "values": ["high"]});
        check(
            pods(),
            json!({"hard": hard, "scopeSelector": {"matchExpressions": [requirement]}}),
            json!({"pods": count}),
        );
    }
}

#[test]
fn leaves_a_current_status_alone() {
    let quota = json!({
        "spec": {"hard": {"pods": "5", "cpu": "1"}},
        "status": {"hard": {"pods": "5", "cpu": "1000m"}, "used": {"pods": "0", "cpu": "0"}},
    });
    let usage = Usage::measure(&quota, &Cluster(BTreeMap::new()));
    assert_eq!(usage.status(&quota), None);
}
