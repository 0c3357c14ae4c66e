//! Defaults of Namespaces, and of the groups of API extension, admission, authentication, scheduling and devices.

use serde_json::json;

use super::Rule;
use crate::admissionregistration::webhook_configuration::{
    set_match_defaults, set_webhook_defaults,
};
use crate::apiextensions::custom_resource_definition;
use crate::core::namespace;
use crate::fields::{set_missing, str_field};

pub(super) fn of_type(name: &str) -> Option<Rule> {
    let rule: Rule = match name {
        "core/v1.Namespace" => namespace::set_defaults,
        "core/v1.NamespaceStatus" => |status| set_missing(status, [("phase", json!("Active"))]),
        "scheduling/v1.PriorityClass" => |class| {
            set_missing(class, [("preemptionPolicy", json!("PreemptLowerPriority"))]);
        },
        "apiextensions/v1.CustomResourceDefinition" => custom_resource_definition::set_defaults,
        "admissionregistration/v1.ValidatingWebhook" => set_webhook_defaults,
        "admissionregistration/v1.MutatingWebhook" => |hook| {
            set_webhook_defaults(hook);
            set_missing(hook, [("reinvocationPolicy", json!("Never"))]);
        },
        "admissionregistration/v1.RuleWithOperations"
        | "admissionregistration/v1.NamedRuleWithOperations" => |rule| {
            set_missing(rule, [("scope", json!("*"))]);
        },
        "admissionregistration/v1.ServiceReference"
        | "apiextensions/v1.ServiceReference"
        | "apiregistration/v1.ServiceReference" => |reference| {
            set_missing(reference, [("port", json!(443))]);
        },
        "admissionregistration/v1.ValidatingAdmissionPolicySpec"
        | "admissionregistration/v1.MutatingAdmissionPolicySpec" => |spec| {
            set_missing(spec, [("failurePolicy", json!("Fail"))]);
        },
        "admissionregistration/v1.MatchResources" => set_match_defaults,
        "authentication/v1.TokenRequestSpec" => |spec| {
            set_missing(spec, [("expirationSeconds", json!(3600))]);
        },
        "resource/v1.ExactDeviceRequest" | "resource/v1.DeviceSubRequest" => |request| {
            set_missing(request, [("allocationMode", json!("ExactCount"))]);
            if str_field(request, "allocationMode") == "ExactCount" {
                set_missing(request, [("count", json!(1))]);
            }
        },
        "resource/v1.DeviceToleration" => |toleration| {
            set_missing(toleration, [("operator", json!("Equal"))]);
        },
        _ => return None,
    };
    Some(rule)
}
