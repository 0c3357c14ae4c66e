//! Numbers at their limits.

use anyhow::ensure;
use serde_json::{Value, json};

use super::target::{Answer, JSON, Target, WIDGETS, YAML, widget};

const PODS: &str = "/api/v1/namespaces/default/pods";
const TOKENS: &str = "/api/v1/namespaces/default/serviceaccounts/default/token";
const LIMITS: &[i64] = &[i64::MAX, i64::MIN, i32::MAX as i64, i32::MIN as i64, -1, 0];

/// A Pod that garbage collection deletes: its owner does not exist.
pub(super) async fn orphan(target: &Target) -> anyhow::Result<String> {
    let mut pod = pod("orphan", i64::MAX);
    pod["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "gone", "uid": "00000000-0000-0000-0000-000000000000",
    }]);
    target.post(PODS, &pod).await?.expect(&[201])?;
    let path = format!("{PODS}/orphan");
    loop {
        let answer = target.get(&path).await?;
        if !answer.body["metadata"]["deletionTimestamp"].is_null() {
            let time = answer.body["metadata"]["deletionTimestamp"].to_string();
            return Ok(format!("deletion by garbage collection at {time}"));
        }
        answer.expect(&[200])?;
        tokio::task::yield_now().await;
    }
}

pub(super) async fn deletion(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    for (number, limit) in LIMITS.iter().enumerate() {
        let name = format!("deleted-{number}");
        target.post(PODS, &pod(&name, 30)).await?.expect(&[201])?;
        let path = format!("{PODS}/{name}?gracePeriodSeconds={limit}");
        last = target.delete(&path).await?.expect(&[200, 202, 400, 422])?;
        let options =
            json!({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": limit});
        let path = format!("{PODS}/{name}");
        let answer = target
            .send("DELETE", &path, "application/json", options.to_string())
            .await?;
        answer.expect(&[200, 202, 400, 404, 409, 422])?;
    }
    Ok(last)
}

pub(super) async fn watch_timeout(target: &Target) -> anyhow::Result<String> {
    for limit in LIMITS.iter().filter(|limit| **limit > 1_000_000) {
        let path = format!("{PODS}?watch=1&timeoutSeconds={limit}");
        drop(target.client.watch(&path).await?);
    }
    Ok("200, a watch".to_owned())
}

pub(super) async fn token_requests(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    let specs = [
        json!("x"),
        json!(1),
        json!([]),
        json!({"expirationSeconds": "x"}),
    ]
    .into_iter();
    let expirations = LIMITS
        .iter()
        .map(|limit| json!({"expirationSeconds": limit}));
    for spec in specs.chain(expirations) {
        let request =
            json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": spec});
        let answer = target.post(TOKENS, &request).await?;
        last = answer.expect(&[201, 400, 422])?;
    }
    Ok(last)
}

/// Creates, updates and deletes workloads each of whose integers is at a limit, under simulation.
pub(super) async fn workloads(target: &Target) -> anyhow::Result<String> {
    let mut accepted = 0;
    let mut rejected = 0;
    for &limit in LIMITS {
        for (number, (path, object)) in extreme_workloads(limit).into_iter().enumerate() {
            let name = format!("w{number}-{:x}", fastrand::u32(..));
            let mut object = object;
            object["metadata"] = json!({"name": name});
            let created = target.post(path, &object).await?;
            if created.code != 201 {
                created.expect(&[400, 403, 422])?;
                rejected += 1;
                continue;
            }
            accepted += 1;
            await_controller(target, &format!("{path}/{name}")).await?;
            let deleted = target.delete(&format!("{path}/{name}")).await?;
            deleted.expect(&[200, 202])?;
        }
    }
    Ok(format!("{accepted} accepted, {rejected} rejected"))
}

/// Waits until the workload's controller has written a status, unless it never does.
async fn await_controller(target: &Target, path: &str) -> anyhow::Result<()> {
    for _ in 0..50 {
        let answer = target.get(path).await?;
        ensure!(answer.code == 200, "{answer:?}");
        let status = &answer.body["status"];
        if status.as_object().is_some_and(|status| !status.is_empty()) {
            return Ok(());
        }
    }
    Ok(())
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn extreme_workloads(limit: i64) -> Vec<(&'static str, Value)> {
    let template = |grace: i64, policy: &str| {
        json!({
            "metadata": {"labels": {"app": "x"}},
            "spec": {
                "terminationGracePeriodSeconds": grace, "activeDeadlineSeconds": grace.max(1), "restartPolicy": policy,
                "containers": [{"name": "c", "image": "x", "ports": [{"containerPort": 80}]}],
            },
        })
    };
    let selector = json!({"matchLabels": {"app": "x"}});
    let mut always = template(limit, "Always");
    if let Some(spec) = always["spec"].as_object_mut() {
        spec.remove("activeDeadlineSeconds");
    }
    let deployments = "/apis/apps/v1/namespaces/default/deployments";
    let jobs = "/apis/batch/v1/namespaces/default/jobs";
    vec![
        (
            deployments,
            json!({"spec": {"replicas": 1, "selector": selector, "template": always}}),
        ),
        (
            deployments,
            json!({"spec": {
                "replicas": 1, "selector": selector, "template": always, "minReadySeconds": limit,
                "progressDeadlineSeconds": limit, "revisionHistoryLimit": limit,
            }}),
        ),
        (
            deployments,
            json!({"spec": {
                "replicas": 2, "selector": selector, "template": always,
                "strategy": {"rollingUpdate": {"maxSurge": limit, "maxUnavailable": "100%"}},
            }}),
        ),
        (
            "/apis/apps/v1/namespaces/default/daemonsets",
            json!({"spec": {
                "selector": selector, "template": always, "minReadySeconds": limit,
            }}),
        ),
        (
            "/apis/apps/v1/namespaces/default/statefulsets",
            json!({"spec": {
                "replicas": 1, "selector": selector, "serviceName": "x", "template": always, "ordinals": {"start": limit},
                "updateStrategy": {"rollingUpdate": {"partition": limit}},
            }}),
        ),
        (
            jobs,
            json!({"spec": {
                "template": template(limit, "Never"), "backoffLimit": limit, "ttlSecondsAfterFinished": limit,
                "activeDeadlineSeconds": limit,
            }}),
        ),
        (
            jobs,
            json!({"spec": {
                "template": template(limit, "Never"), "completions": limit, "parallelism": 1,
            }}),
        ),
        (
            "/apis/batch/v1/namespaces/default/cronjobs",
            json!({"spec": {
                "schedule": "*/1 * * * *", "startingDeadlineSeconds": limit, "successfulJobsHistoryLimit": limit,
                "failedJobsHistoryLimit": limit, "jobTemplate": {"spec": {"template": template(limit, "Never")}},
            }}),
        ),
        (
            "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers",
            json!({"spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "x", "apiVersion": "apps/v1"},
                "minReplicas": limit, "maxReplicas": limit,
            }}),
        ),
        (
            "/apis/policy/v1/namespaces/default/poddisruptionbudgets",
            json!({"spec": {
                "selector": selector, "minAvailable": limit,
            }}),
        ),
        (
            "/apis/coordination.k8s.io/v1/namespaces/default/leases",
            json!({"spec": {
                "leaseDurationSeconds": limit, "leaseTransitions": limit,
            }}),
        ),
    ]
}

/// Quantities and numbers beyond every range.
pub(super) async fn beyond_every_range(target: &Target) -> anyhow::Result<String> {
    let schema = json!({"type": "object", "properties": {
        "n": {"type": "number", "maximum": 1e300}, "i": {"type": "integer"},
        "q": {"x-kubernetes-int-or-string": true},
    }, "x-kubernetes-validations": [
        {"rule": "!has(self.q) || !isQuantity(string(self.q)) || quantity(string(self.q)).isGreaterThan(quantity('1'))"},
    ]});
    target.define(schema).await?;
    let mut codes = std::collections::BTreeMap::<u16, usize>::new();
    let mut note = |answer: Answer| -> anyhow::Result<()> {
        answer.expect(&[200, 201, 400, 403, 404, 409, 422])?;
        *codes.entry(answer.code).or_default() += 1;
        Ok(())
    };
    let quantities = [
        "1e30",
        "1e400",
        "-1e30",
        "1e-400",
        "1E",
        "9223372036854775807E",
        "1e9223372036854775807",
        "0.000000000000000000000000001",
    ];
    for quantity in quantities {
        for (path, object) in quantified(quantity) {
            note(target.post(path, &object).await?)?;
        }
    }
    let numbers = [
        "1e400",
        "-1e400",
        "1e-400",
        "1e30",
        "123456789012345678901234567890",
        "1E+99999",
    ];
    for number in numbers {
        let raw = |object: Value| object.to_string().replace("\"NUMBER\"", number);
        let deployment = json!({
            "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"},
            "spec": {"replicas": "NUMBER", "selector": {"matchLabels": {"a": "b"}}},
        });
        let path = "/apis/apps/v1/namespaces/default/deployments";
        note(target.send("POST", path, JSON, raw(deployment)).await?)?;
        for field in ["n", "i", "q"] {
            let object = widget(&format!("w{field}"), &json!({field: "NUMBER"}));
            note(
                target
                    .send("POST", WIDGETS, JSON, raw(object.clone()))
                    .await?,
            )?;
            note(target.send("POST", WIDGETS, YAML, raw(object)).await?)?;
            let patch = raw(json!({"spec": {field: "NUMBER"}}));
            let path = format!("{WIDGETS}/w{field}");
            let merge = "application/merge-patch+json";
            note(target.send("PATCH", &path, merge, patch).await?)?;
            note(target.delete(&path).await?)?;
        }
    }
    Ok(format!("{codes:?}"))
}

/// Objects with a quantity.
fn quantified(quantity: &str) -> Vec<(&'static str, Value)> {
    let name = format!("q-{:x}", fastrand::u32(..));
    let metadata = json!({"name": name});
    let resources =
        json!({"requests": {"cpu": quantity, "memory": quantity}, "limits": {"cpu": quantity}});
    let container = json!({"name": "c", "image": "x", "resources": resources});
    vec![
        (
            "/api/v1/namespaces/default/resourcequotas",
            json!({"metadata": metadata, "spec": {"hard": {"cpu": quantity, "pods": quantity}}}),
        ),
        (
            "/api/v1/namespaces/default/limitranges",
            json!({"metadata": metadata, "spec": {"limits": [{"type": "Container", "max": {"cpu": quantity}}]}}),
        ),
        (
            PODS,
            json!({"metadata": metadata, "spec": {"containers": [container, container]}}),
        ),
        (
            "/api/v1/namespaces/default/persistentvolumeclaims",
            json!({"metadata": metadata, "spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": quantity}},
            }}),
        ),
    ]
}

pub(super) async fn query_parameters(target: &Target) -> anyhow::Result<String> {
    let mut answers: Vec<Answer> = Vec::new();
    let limits = LIMITS.iter().map(ToString::to_string);
    let texts = ["18446744073709551616", "1e999", "NaN", "", "%00", "x"].map(str::to_owned);
    for value in limits.chain(texts) {
        for name in [
            "limit",
            "resourceVersion",
            "continue",
            "timeout",
            "timeoutSeconds",
        ] {
            answers.push(target.get(&format!("{PODS}?{name}={value}")).await?);
        }
        let path = format!("{PODS}?limit=1&resourceVersion={value}&resourceVersionMatch=Exact");
        answers.push(target.get(&path).await?);
    }
    let count = answers.len();
    for answer in answers {
        answer.expect(&[200, 400, 410, 422, 504])?;
    }
    Ok(format!("{count} requests answered with 200, 4xx or 504"))
}

fn pod(name: &str, grace: i64) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name},
        "spec": {
            "nodeName": "node1", "terminationGracePeriodSeconds": grace,
            "containers": [{"name": "c", "image": "x"}],
        },
    })
}
