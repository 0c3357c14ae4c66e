//! The hooks of the kinds that have any.

use serde_json::{Value, json};

use super::*;
use crate::kinds::Registry;

#[test]
fn only_some_built_in_kinds_have_hooks() {
    let kinds = Registry::default().snapshot();
    let with_hooks = kinds
        .stored()
        .filter(|kind| format!("{:?}", kind.strategy) != "Generic");
    let mut names: Vec<_> = with_hooks.map(|kind| kind.kind.clone()).collect();
    names.sort();
    let expected = [
        "APIService",
        "CustomResourceDefinition",
        "DaemonSet",
        "MutatingWebhookConfiguration",
        "Namespace",
        "ReplicationController",
        "Service",
        "ValidatingWebhookConfiguration",
    ];
    assert_eq!(names, expected);
}

#[test]
fn a_namespace_terminates_without_a_grace_period_and_waits_for_both_lists_of_finalizers() {
    let strategy = for_kind("", "Namespace");
    let mut namespace = json!({
        "metadata": {"name": "a", "generation": 1, "deletionGracePeriodSeconds": 0},
        "spec": {"finalizers": ["kubernetes"]},
    });
    strategy.begin_deletion(&mut namespace, "");
    assert_eq!(namespace["metadata"], json!({"name": "a", "generation": 2}));
    assert_eq!(namespace["status"]["phase"], "Terminating");
    assert!(!strategy.is_finalized(&namespace));
    namespace["spec"]["finalizers"] = Value::Null;
    assert!(strategy.is_finalized(&namespace));
    assert!(strategy.check_delete("default").is_err());
    assert!(strategy.check_delete("a").is_ok());
}

#[test]
fn a_definition_keeps_its_generation_and_gets_a_finalizer_when_its_deletion_begins() {
    let strategy = for_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let mut definition = json!({"metadata": {"generation": 1, "deletionGracePeriodSeconds": 0}});
    strategy.begin_deletion(&mut definition, "2026-01-01T00:00:00Z");
    assert_eq!(definition["metadata"]["generation"], 1);
    assert!(!strategy.is_finalized(&definition));
    let condition = &definition["status"]["conditions"][0];
    assert_eq!(condition["reason"], "InstanceDeletionPending");
    assert!(remove_cleanup_finalizer(&mut definition, ""));
    assert!(strategy.is_finalized(&definition));
}

#[test]
fn the_scale_of_a_replication_controller_has_a_plain_label_selector() {
    let controller = json!({"spec": {"selector": {"app": "a", "tier": "b"}}});
    let strategy = for_kind("", "ReplicationController");
    let selector = strategy.scale_selector(&controller);
    assert_eq!(selector.as_deref(), Some("app=a,tier=b"));
    let deployment = json!({"spec": {"selector": {"matchLabels": {"app": "a"}}}});
    let selector = for_kind("apps", "Deployment").scale_selector(&deployment);
    assert_eq!(selector.as_deref(), Some("app=a"));
}

#[test]
fn a_webhook_configuration_without_webhooks_needs_no_extension() {
    let strategy = for_kind(
        "admissionregistration.k8s.io",
        "ValidatingWebhookConfiguration",
    );
    assert_eq!(strategy.required_extension(&json!({"webhooks": []})), None);
    let with_webhook = json!({"webhooks": [{}]});
    assert_eq!(
        strategy.required_extension(&with_webhook),
        Some("admission webhooks")
    );
}
