//! Namespaces, classes, definitions, admission, and requests for devices.

use serde_json::{Map, Value, json};

use super::{Rule, default, part, text};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core.Namespace" => namespace,
        "core.NamespaceStatus" => |status| default(status, [("phase", json!("Active"))]),
        "scheduling.PriorityClass" => |class| {
            default(class, [("preemptionPolicy", json!("PreemptLowerPriority"))]);
        },
        "apiextensions.CustomResourceDefinition" => definition,
        "admissionregistration.ValidatingWebhook" => webhook,
        "admissionregistration.MutatingWebhook" => |hook| {
            webhook(hook);
            default(hook, [("reinvocationPolicy", json!("Never"))]);
        },
        "admissionregistration.RuleWithOperations"
        | "admissionregistration.NamedRuleWithOperations" => |rule| {
            default(rule, [("scope", json!("*"))]);
        },
        "admissionregistration.ServiceReference"
        | "apiextensions.ServiceReference"
        | "apiregistration.ServiceReference" => |reference| {
            default(reference, [("port", json!(443))]);
        },
        "admissionregistration.ValidatingAdmissionPolicySpec"
        | "admissionregistration.MutatingAdmissionPolicySpec" => |spec| {
            default(spec, [("failurePolicy", json!("Fail"))]);
        },
        "admissionregistration.MatchResources" => matching,
        "authentication.TokenRequestSpec" => |spec| {
            default(spec, [("expirationSeconds", json!(3600))]);
        },
        "resource.ExactDeviceRequest" | "resource.DeviceSubRequest" => |request| {
            default(request, [("allocationMode", json!("ExactCount"))]);
            if text(request, "allocationMode") == "ExactCount" {
                default(request, [("count", json!(1))]);
            }
        },
        "resource.DeviceToleration" => |toleration| {
            default(toleration, [("operator", json!("Equal"))]);
        },
        _ => return None,
    };
    Some(rule)
}

fn namespace(namespace: &mut Map<String, Value>) {
    let Some(metadata) = part(namespace, "metadata") else {
        return;
    };
    if let Some(name) = metadata.get("name").cloned()
        && let Some(labels) = part(metadata, "labels")
    {
        labels.insert("kubernetes.io/metadata.name".to_owned(), name);
    }
}

fn definition(definition: &mut Map<String, Value>) {
    let Some(spec) = part(definition, "spec") else {
        return;
    };
    default(spec, [("conversion", json!({"strategy": "None"}))]);
    if let Some(names) = part(spec, "names") {
        let kind = text(names, "kind").to_owned();
        if !kind.is_empty() {
            default(
                names,
                [
                    ("singular", json!(kind.to_lowercase())),
                    ("listKind", json!(format!("{kind}List"))),
                ],
            );
        }
    }
    let versions = spec.get("versions").and_then(Value::as_array);
    let stored = versions
        .into_iter()
        .flatten()
        .find(|version| version["storage"] == true)
        .map(|version| version["name"].clone());
    if let Some(status) = part(definition, "status")
        && let Some(stored) = stored
    {
        default(status, [("storedVersions", json!([stored]))]);
    }
}

fn webhook(hook: &mut Map<String, Value>) {
    default(
        hook,
        [
            ("failurePolicy", json!("Fail")),
            ("timeoutSeconds", json!(10)),
        ],
    );
    matching(hook);
}

fn matching(matching: &mut Map<String, Value>) {
    default(
        matching,
        [
            ("matchPolicy", json!("Equivalent")),
            ("namespaceSelector", json!({})),
            ("objectSelector", json!({})),
        ],
    );
}
