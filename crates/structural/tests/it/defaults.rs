//! The defaults of the built-in kinds in recorded cases.

use serde_json::{Value, json};

/// Sets the defaults of absent fields.
pub(crate) fn apply(object: &mut Value) {
    match object["kind"].as_str() {
        Some("Deployment") => deployment(&mut object["spec"]),
        Some("Service") => service(&mut object["spec"]),
        _ => {}
    }
}

fn set(object: &mut Value, defaults: Value) {
    let (Value::Object(object), Value::Object(defaults)) = (object, defaults) else {
        return;
    };
    for (name, value) in defaults {
        object.entry(name).or_insert(value);
    }
}

fn each(object: &mut Value, list: &str, change: impl Fn(&mut Value)) {
    let items = object.get_mut(list).and_then(Value::as_array_mut);
    items.into_iter().flatten().for_each(change);
}

fn deployment(spec: &mut Value) {
    set(
        spec,
        json!({"replicas": 1, "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600}),
    );
    set(&mut spec["strategy"], json!({"type": "RollingUpdate"}));
    if spec["strategy"]["type"] == "RollingUpdate" {
        set(&mut spec["strategy"], json!({"rollingUpdate": {}}));
        set(
            &mut spec["strategy"]["rollingUpdate"],
            json!({"maxSurge": "25%", "maxUnavailable": "25%"}),
        );
    }
    pod(&mut spec["template"]["spec"]);
}

fn pod(spec: &mut Value) {
    set(
        spec,
        json!({
            "restartPolicy": "Always", "dnsPolicy": "ClusterFirst", "schedulerName": "default-scheduler",
            "terminationGracePeriodSeconds": 30, "securityContext": {},
        }),
    );
    each(spec, "volumes", |volume| {
        if let Some(source) = volume.get_mut("configMap") {
            set(source, json!({"defaultMode": 420}));
        }
    });
    each(spec, "containers", |container| {
        let image = container
            .get("image")
            .and_then(Value::as_str)
            .unwrap_or_default();
        let policy = if image.contains(':') {
            "IfNotPresent"
        } else {
            "Always"
        };
        let pull = if image.is_empty() {
            "IfNotPresent"
        } else {
            policy
        };
        set(
            container,
            json!({
                "imagePullPolicy": pull, "terminationMessagePath": "/dev/termination-log",
                "terminationMessagePolicy": "File",
            }),
        );
        each(container, "ports", |port| {
            set(port, json!({"protocol": "TCP"}));
        });
        each(container, "env", |env| {
            if let Some(field) = env
                .get_mut("valueFrom")
                .and_then(|from| from.get_mut("fieldRef"))
            {
                set(field, json!({"apiVersion": "v1"}));
            }
        });
        if let Some(probe) = container.get_mut("livenessProbe") {
            set(
                probe,
                json!({"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}),
            );
            if let Some(get) = probe.get_mut("httpGet") {
                set(get, json!({"path": "/", "scheme": "HTTP"}));
            }
        }
    });
}

fn service(spec: &mut Value) {
    set(
        spec,
        json!({"type": "ClusterIP", "sessionAffinity": "None", "internalTrafficPolicy": "Cluster"}),
    );
    each(spec, "ports", |port| {
        set(port, json!({"protocol": "TCP"}));
        if port["targetPort"] == 0 || port["targetPort"] == "" {
            port["targetPort"] = port["port"].clone();
        }
    });
}
