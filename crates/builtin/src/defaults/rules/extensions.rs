//! Namespaces, classes, definitions, admission, and requests for devices.

use serde_json::{Map, Value, json};

use super::{Rule, default, part, text};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.Namespace" => namespace,
        "core/v1.NamespaceStatus" => |status| default(status, [("phase", json!("Active"))]),
        "scheduling/v1.PriorityClass" => |class| {
            default(class, [("preemptionPolicy", json!("PreemptLowerPriority"))]);
        },
        "apiextensions/v1.CustomResourceDefinition" => definition,
        "admissionregistration/v1.ValidatingWebhook" => webhook,
        "admissionregistration/v1.MutatingWebhook" => |hook| {
            webhook(hook);
            default(hook, [("reinvocationPolicy", json!("Never"))]);
        },
        "admissionregistration/v1.RuleWithOperations"
        | "admissionregistration/v1.NamedRuleWithOperations" => |rule| {
            default(rule, [("scope", json!("*"))]);
        },
        "admissionregistration/v1.ServiceReference"
        | "apiextensions/v1.ServiceReference"
        | "apiregistration/v1.ServiceReference" => |reference| {
            default(reference, [("port", json!(443))]);
        },
        "admissionregistration/v1.ValidatingAdmissionPolicySpec"
        | "admissionregistration/v1.MutatingAdmissionPolicySpec" => |spec| {
            default(spec, [("failurePolicy", json!("Fail"))]);
        },
        "admissionregistration/v1.MatchResources" => matching,
        "authentication/v1.TokenRequestSpec" => |spec| {
            default(spec, [("expirationSeconds", json!(3600))]);
        },
        "resource/v1.ExactDeviceRequest" | "resource/v1.DeviceSubRequest" => |request| {
            default(request, [("allocationMode", json!("ExactCount"))]);
            if text(request, "allocationMode") == "ExactCount" {
                default(request, [("count", json!(1))]);
            }
        },
        "resource/v1.DeviceToleration" => |toleration| {
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
