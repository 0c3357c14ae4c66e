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
        "core.Namespace" => namespace::set_defaults,
        "core.NamespaceStatus" => |status| set_missing(status, [("phase", json!("Active"))]),
        "scheduling.PriorityClass" => |class| {
            set_missing(class, [("preemptionPolicy", json!("PreemptLowerPriority"))]);
        },
        "apiextensions.CustomResourceDefinition" => custom_resource_definition::set_defaults,
        "admissionregistration.ValidatingWebhook" => set_webhook_defaults,
        "admissionregistration.MutatingWebhook" => |hook| {
            set_webhook_defaults(hook);
            set_missing(hook, [("reinvocationPolicy", json!("Never"))]);
        },
        "admissionregistration.RuleWithOperations"
        | "admissionregistration.NamedRuleWithOperations" => |rule| {
            set_missing(rule, [("scope", json!("*"))]);
        },
        "admissionregistration.ServiceReference"
        | "apiextensions.ServiceReference"
        | "apiregistration.ServiceReference" => |reference| {
            set_missing(reference, [("port", json!(443))]);
        },
        "admissionregistration.ValidatingAdmissionPolicySpec"
        | "admissionregistration.MutatingAdmissionPolicySpec" => |spec| {
            set_missing(spec, [("failurePolicy", json!("Fail"))]);
        },
        "admissionregistration.MatchResources" => set_match_defaults,
        "authentication.TokenRequestSpec" => |spec| {
            set_missing(spec, [("expirationSeconds", json!(3600))]);
        },
        "resource.ExactDeviceRequest" | "resource.DeviceSubRequest" => |request| {
            set_missing(request, [("allocationMode", json!("ExactCount"))]);
            if str_field(request, "allocationMode") == "ExactCount" {
                set_missing(request, [("count", json!(1))]);
            }
        },
        "resource.DeviceToleration" => |toleration| {
            set_missing(toleration, [("operator", json!("Equal"))]);
        },
        _ => return None,
    };
    Some(rule)
}
