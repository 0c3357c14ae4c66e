//! Decisions as tables: observed state in, decision out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use outrigger_api::condition::{Condition, ConditionStatus};
use outrigger_api::plugin::{ClusterReference, Dependency, FINALIZER, PluginSpec, PluginStatus};
use outrigger_api::reason::Reason;

use super::*;
use crate::lineage::Lineage;
use crate::observed::{Dependent, RetryState, UnhealthyObject};

fn plugin(name: &str, change: impl FnOnce(&mut Plugin)) -> Plugin {
    let spec = PluginSpec {
        enabled: true,
        ..PluginSpec::default()
    };
    let mut plugin = Plugin::new(name, spec);
    plugin.metadata.namespace = Some("default".to_owned());
    plugin.metadata.generation = Some(1);
    change(&mut plugin);
    plugin
}

/// A plugin that is Ready at a version.
fn ready(name: &str, version: &str) -> Plugin {
    plugin(name, |plugin| {
        plugin.status = Some(PluginStatus {
            observed_generation: Some(1),
            phase: Phase::Ready,
            version: Some(version.to_owned()),
            conditions: vec![Condition {
                kind: "Ready".to_owned(),
                status: ConditionStatus::True,
                reason: "Ready".to_owned(),
                message: String::new(),
                last_transition_time: String::new(),
                observed_generation: Some(1),
            }],
            ..PluginStatus::default()
        });
    })
}

fn observed(plugin: Plugin) -> Observed {
    Observed {
        key: Key::of(&plugin),
        status: plugin.status.clone().unwrap_or_default(),
        plugin: Arc::new(plugin),
        replaced: None,
        dependencies: Vec::new(),
        cycle: None,
        dependents: Vec::new(),
        release_owner: None,
        unavailable: None,
        changed_owners: None,
        lineage: Lineage::default(),
        objects: ObservedObjects::default(),
        retry: RetryState::default(),
        are_references_current: true,
        now: Instant::now(),
    }
}

fn dependency(name: &str, range: Option<&str>, plugin: Option<Plugin>) -> ObservedDependency {
    ObservedDependency {
        dependency: Dependency {
            name: name.to_owned(),
            namespace: None,
            version: range.map(str::to_owned),
        },
        key: Key::new("default", name),
        plugin: plugin.map(Arc::new),
    }
}

fn dependent(name: &str, is_removing: bool) -> Dependent {
    Dependent {
        key: Key::new("default", name),
        is_removing,
    }
}

fn installed(plugin: &mut Plugin) {
    plugin.finalizers_mut().push(FINALIZER.to_owned());
    plugin.status = Some(PluginStatus {
        observed_generation: Some(1),
        phase: Phase::Ready,
        revision: Some(1),
        input_digest: Some("old".to_owned()),
        kind: Some(PluginKind::Helm),
        namespace: Some("default".to_owned()),
        release_name: Some("web".to_owned()),
        ..PluginStatus::default()
    });
}

#[track_caller]
fn check_waits(dependency: ObservedDependency, reason: &str, message: &str) {
    let mut observed = observed(plugin("web", |_| {}));
    observed.dependencies.push(dependency);
    match decision(&observed) {
        Decision::Wait(cause) => {
            assert_eq!(
                (cause.reason.as_str(), cause.message.as_str()),
                (reason, message)
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_plugin_waits_for_missing_unready_and_outdated_dependencies() {
    check_waits(
        dependency("db", None, None),
        "DependencyMissing",
        "plugin db does not exist",
    );
    check_waits(
        dependency("db", None, Some(plugin("db", |_| {}))),
        "DependencyNotReady",
        "plugin db is not ready yet",
    );
    check_waits(
        dependency("db", Some(">=2"), Some(ready("db", "1.9.0"))),
        "DependencyVersionMismatch",
        "plugin db has version 1.9.0, but >=2 is required",
    );
    let mut disabled = ready("db", "1.0.0");
    disabled.spec.enabled = false;
    check_waits(
        dependency("db", None, Some(disabled)),
        "DependencyNotReady",
        "plugin db is disabled",
    );
}

#[test]
fn a_dependency_that_was_ready_at_an_older_generation_is_not_ready() {
    let mut changed = ready("db", "1.0.0");
    changed.metadata.generation = Some(2);
    check_waits(
        dependency("db", None, Some(changed)),
        "DependencyNotReady",
        "plugin db is not ready yet",
    );
}

#[test]
fn a_failed_dependency_is_not_ready() {
    let mut failed = ready("db", "1.0.0");
    let status = failed.status.as_mut().unwrap();
    status.phase = Phase::Failed;
    status.conditions[0].status = ConditionStatus::False;
    check_waits(
        dependency("db", None, Some(failed)),
        "DependencyNotReady",
        "plugin db is Failed",
    );
}

#[test]
fn ready_dependencies_do_not_block() {
    let mut observed = observed(plugin("web", |_| {}));
    observed.dependencies.push(dependency(
        "db",
        Some(">=1.0, <2"),
        Some(ready("db", "1.3.0")),
    ));
    observed
        .dependencies
        .push(dependency("dns", None, Some(ready("dns", "0.1.0"))));
    assert_eq!(
        decision(&observed),
        Decision::ResolveInputs { blocked: None }
    );
}

#[test]
fn an_installed_plugin_is_kept_but_not_changed_while_a_dependency_is_missing() {
    let mut observed = observed(plugin("web", installed));
    observed.dependencies.push(dependency("db", None, None));
    let Decision::ResolveInputs { blocked } = decision(&observed) else {
        panic!("an installed plugin resolves its inputs");
    };
    let backoff = Backoff::default();
    assert_eq!(
        action(&observed, "old", blocked.as_ref(), &backoff),
        Action::None
    );
    let cause = Cause::new(Reason::DependencyMissing, "plugin db does not exist");
    assert_eq!(
        action(&observed, "new", blocked.as_ref(), &backoff),
        Action::Wait(cause)
    );
}

#[track_caller]
fn check_rejected(observed: &Observed, reason: &str, part: &str) {
    match decision(observed) {
        Decision::Reject(cause) => {
            assert_eq!(cause.reason.as_str(), reason);
            assert!(cause.message.contains(part), "{}", cause.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn dependency_cycles_are_rejected() {
    let mut observed = observed(plugin("a", |_| {}));
    observed.cycle = Some(
        ["a", "b", "a"]
            .map(|name| Key::new("default", name))
            .to_vec(),
    );
    check_rejected(
        &observed,
        "DependencyCycle",
        "dependency cycle: a -> b -> a",
    );
}

#[test]
fn kind_kustomize_is_rejected() {
    let kustomize = plugin("a", |plugin| plugin.spec.kind = PluginKind::Kustomize);
    check_rejected(
        &observed(kustomize),
        "KindNotSupported",
        "kustomize are not supported yet",
    );
}

/// A plugin with a finalizer whose cluster cannot be used.
fn unavailable(unavailable: Unavailable, change: impl FnOnce(&mut Plugin)) -> Observed {
    let plugin = plugin("web", |plugin| {
        plugin.metadata.finalizers = Some(vec![FINALIZER.to_owned()]);
        change(plugin);
    });
    Observed {
        unavailable: Some(unavailable),
        ..observed(plugin)
    }
}

#[test]
fn a_plugin_waits_for_its_cluster_and_is_rejected_if_that_refuses_it() {
    let missing = unavailable(Unavailable::NotFound("site".to_owned()), |_| {});
    let cause = Cause::new(Reason::ClusterMissing, "cluster site does not exist");
    assert_eq!(decision(&missing), Decision::AwaitCluster(cause));
    let deleted = unavailable(Unavailable::Deleted("site".to_owned()), |_| {});
    let cause = Cause::new(Reason::ClusterNotReady, "cluster site is being deleted");
    assert_eq!(decision(&deleted), Decision::AwaitCluster(cause));
    let refused = unavailable(refusal_of_site(), |_| {});
    check_rejected(&refused, "ClusterNotAllowed", "namespace default");
}

fn refusal_of_site() -> Unavailable {
    Unavailable::NotAllowed {
        name: "site".to_owned(),
        namespace: "default".to_owned(),
    }
}

#[test]
fn nothing_holds_up_the_removal_of_a_plugin_whose_cluster_is_gone() {
    let gone = unavailable(Unavailable::NotFound("site".to_owned()), |plugin| {
        plugin.spec.required = true;
        plugin.spec.enabled = false;
    });
    let gone = Observed {
        dependents: vec![dependent("shop", false)],
        ..gone
    };
    assert_eq!(decision(&gone), Decision::Uninstall { force: false });
}

#[test]
fn a_release_in_a_cluster_that_refuses_the_plugin_is_removed_by_force_only() {
    let refused = |force: &str| {
        unavailable(refusal_of_site(), |plugin| {
            plugin.spec.enabled = false;
            let annotations = plugin.annotations_mut();
            annotations.insert(FORCE.to_owned(), force.to_owned());
        })
    };
    let Decision::BlockRemoval { cause, .. } = decision(&refused("false")) else {
        panic!("{:?}", decision(&refused("false")));
    };
    assert_eq!(cause.reason, Reason::ClusterNotAllowed);
    assert!(cause.message.contains(FORCE), "{}", cause.message);
    let forced = Decision::Uninstall { force: true };
    assert_eq!(decision(&refused("true")), forced);
}

#[test]
fn changes_that_would_orphan_the_release_are_rejected() {
    type Change = fn(&mut PluginSpec);
    let cases: [(&str, Change); 5] = [
        (
            "cluster cannot be changed from local to Secret far",
            |spec| {
                spec.cluster = Some(ClusterReference {
                    secret_name: Some("far".to_owned()),
                    ..ClusterReference::default()
                });
            },
        ),
        (
            "cluster cannot be changed from local to cluster far",
            |spec| {
                spec.cluster = Some(ClusterReference {
                    name: Some("far".to_owned()),
                    ..ClusterReference::default()
                });
            },
        ),
        ("kind cannot be changed from helm to template", |spec| {
            spec.kind = PluginKind::Template;
        }),
        (
            "installNamespace cannot be changed from default to other",
            |spec| {
                spec.install_namespace = Some("other".to_owned());
            },
        ),
        ("releaseName cannot be changed from web to other", |spec| {
            spec.release_name = Some("other".to_owned());
        }),
    ];
    for (text, change) in cases {
        let observed = observed(plugin("web", |plugin| {
            installed(plugin);
            change(&mut plugin.spec);
        }));
        check_rejected(&observed, "ImmutableField", text);
    }
}

#[test]
fn an_invalid_version_range_is_rejected() {
    let observed = observed(plugin("web", |plugin| {
        plugin.spec.dependencies.push(Dependency {
            name: "db".to_owned(),
            namespace: None,
            version: Some(">= one".to_owned()),
        });
    }));
    check_rejected(&observed, "InvalidSpec", "spec.dependencies[0].version");
}

fn disabled(change: impl FnOnce(&mut Plugin)) -> Observed {
    observed(plugin("web", |plugin| {
        installed(plugin);
        plugin.spec.enabled = false;
        change(plugin);
    }))
}

fn annotate(plugin: &mut Plugin, annotation: &str) {
    plugin
        .annotations_mut()
        .insert(annotation.to_owned(), "true".to_owned());
}

#[track_caller]
fn check_removal_blocked(observed: &Observed, reason: &str, part: &str, expected: &[&str]) {
    match decision(observed) {
        Decision::BlockRemoval { cause, cascade } => {
            assert_eq!(cause.reason.as_str(), reason);
            assert!(cause.message.contains(part), "{}", cause.message);
            let names: Vec<&str> = cascade.iter().map(|key| key.name.as_str()).collect();
            assert_eq!(names, expected);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_disabled_plugin_is_uninstalled() {
    assert_eq!(
        decision(&disabled(|_| {})),
        Decision::Uninstall { force: false }
    );
    let uninstalled = disabled(|plugin| plugin.finalizers_mut().clear());
    assert_eq!(decision(&uninstalled), Decision::Disabled);
}

#[test]
fn dependents_block_removal_until_they_are_removed_or_it_is_forced() {
    let mut observed = disabled(|_| {});
    observed.dependents = vec![dependent("shop", false), dependent("blog", true)];
    check_removal_blocked(
        &observed,
        "DependentsRemain",
        "other plugins depend on it: shop;",
        &[],
    );
    observed.dependents = vec![dependent("blog", true)];
    check_removal_blocked(
        &observed,
        "RemovingDependents",
        "waiting for dependents to be removed: blog",
        &[],
    );
    let mut observed = disabled(|plugin| annotate(plugin, CASCADE));
    observed.dependents = vec![dependent("shop", false), dependent("blog", true)];
    check_removal_blocked(
        &observed,
        "Cascading",
        "removing dependents first: shop",
        &["shop"],
    );
    let mut observed = disabled(|plugin| annotate(plugin, FORCE));
    observed.dependents = vec![dependent("shop", false)];
    assert_eq!(decision(&observed), Decision::Uninstall { force: true });
}

#[test]
fn members_of_a_cycle_do_not_wait_for_each_other_to_be_removed() {
    let mut observed = disabled(|_| {});
    observed.dependents = vec![dependent("blog", true)];
    observed.cycle = Some(
        ["web", "blog", "web"]
            .map(|name| Key::new("default", name))
            .to_vec(),
    );
    assert_eq!(decision(&observed), Decision::Uninstall { force: false });
}

#[test]
fn a_required_plugin_is_not_removed_even_by_force() {
    let message = "plugin is required; set spec.required to false to remove it";
    let observed = disabled(|plugin| plugin.spec.required = true);
    check_removal_blocked(&observed, "Required", message, &[]);
    let observed = disabled(|plugin| {
        plugin.spec.required = true;
        annotate(plugin, FORCE);
    });
    check_removal_blocked(&observed, "Required", message, &[]);
}

#[test]
fn the_release_of_a_suspended_plugin_is_left_alone_even_if_it_is_disabled_or_deleted() {
    let suspended = |change: fn(&mut Plugin)| {
        disabled(|plugin| {
            annotate(plugin, SUSPEND);
            change(plugin);
        })
    };
    assert_eq!(decision(&suspended(|_| {})), Decision::Suspended);
    let forced = suspended(|plugin| annotate(plugin, FORCE));
    assert_eq!(decision(&forced), Decision::Suspended);
    let delete = |plugin: &mut Plugin| {
        plugin.metadata.deletion_timestamp = Some(
            k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(jiff::Timestamp::UNIX_EPOCH),
        );
    };
    assert_eq!(decision(&suspended(delete)), Decision::LeaveRelease);
    let never_installed = suspended(|plugin| plugin.metadata.finalizers = None);
    assert_eq!(decision(&never_installed), Decision::Disabled);
}

#[test]
fn the_input_digest_decides_the_action() {
    let backoff = Backoff::default();
    let new = observed(plugin("web", |_| {}));
    assert_eq!(action(&new, "new", None, &backoff), Action::Install);
    let installed = observed(plugin("web", installed));
    assert_eq!(action(&installed, "old", None, &backoff), Action::None);
    assert_eq!(action(&installed, "new", None, &backoff), Action::Upgrade);
}

fn failed(attempts: u32, retries: Option<u32>, inputs: Option<&str>) -> Observed {
    let mut observed = observed(plugin("web", |plugin| plugin.spec.retries = retries));
    observed.status.attempts = attempts;
    observed.status.observed_generation = Some(1);
    observed.retry.failed_inputs = inputs.map(str::to_owned);
    observed.retry.retry_at = Some(observed.now + Duration::from_secs(4));
    observed
}

#[test]
fn a_failed_attempt_backs_off_and_after_the_last_retry_waits_for_a_change() {
    let backoff = Backoff::default();
    let observed = failed(3, None, Some("x"));
    let until = observed.retry.retry_at;
    assert_eq!(
        action(&observed, "x", None, &backoff),
        Action::BackOff { until }
    );
    assert_eq!(action(&observed, "y", None, &backoff), Action::Install);
    assert_eq!(
        action(&failed(3, Some(2), Some("x")), "x", None, &backoff),
        Action::BackOff { until: None }
    );
    assert_eq!(
        action(&failed(3, Some(2), Some("x")), "y", None, &backoff),
        Action::Install
    );
    let observed = failed(2, Some(2), Some("x"));
    let until = observed.retry.retry_at;
    assert_eq!(
        action(&observed, "x", None, &backoff),
        Action::BackOff { until }
    );
}

#[test]
fn exhausted_retries_still_wait_for_a_change_after_a_restart() {
    let backoff = Backoff::default();
    assert_eq!(
        action(&failed(3, Some(2), None), "x", None, &backoff),
        Action::BackOff { until: None }
    );
    let mut changed = failed(3, Some(2), None);
    changed.status.observed_generation = Some(0);
    assert_eq!(action(&changed, "x", None, &backoff), Action::Install);
}

#[test]
fn an_attempt_that_could_not_be_rolled_back_is_not_repeated() {
    let backoff = Backoff::default();
    for reason in ["RolledBack", "RollbackFailed"] {
        let mut observed = failed(1, None, Some("x"));
        let mut applied = ready("web", "1").status.unwrap().conditions.remove(0);
        (applied.kind, applied.reason) = (APPLIED.to_owned(), reason.to_owned());
        observed.status.conditions.push(applied);
        let repeated = action(&observed, "x", None, &backoff);
        assert_eq!(repeated, Action::BackOff { until: None }, "{reason}");
    }
}

#[test]
fn drift_is_corrected_by_policy_and_with_backoff() {
    let backoff = Backoff::default();
    let mut observed = observed(plugin("web", installed));
    observed.objects.drifted = vec!["ConfigMap default/web: changed".to_owned()];
    assert_eq!(
        action(&observed, "old", None, &backoff),
        Action::CorrectDrift
    );
    observed.retry.drift_corrections = 2;
    observed.retry.drift_corrected_at = Some(observed.now);
    let until = Some(observed.now + Duration::from_secs(2));
    assert_eq!(
        action(&observed, "old", None, &backoff),
        Action::BackOff { until }
    );
    for policy in [Drift::Warn, Drift::Ignore] {
        Arc::make_mut(&mut observed.plugin).spec.drift = policy;
        assert_eq!(action(&observed, "old", None, &backoff), Action::None);
    }
}

#[track_caller]
fn check_health(before: Phase, failed: Option<bool>, is_overdue: bool, phase: Phase, reason: &str) {
    let unhealthy = failed.map(|has_failed| UnhealthyObject {
        object: "Deployment default/web".to_owned(),
        message: "0 of 1 are ready".to_owned(),
        has_failed,
        is_crashing: false,
    });
    let objects = ObservedObjects {
        unhealthy: unhealthy.into_iter().collect(),
        total: 2,
        ..ObservedObjects::default()
    };
    let time = ProgressTime {
        is_overdue,
        is_short: false,
    };
    let assessment = assess_health(before, &objects, time);
    let (ready, _) = assessment.explanation.unwrap();
    assert_eq!((assessment.phase, ready.reason.as_str()), (phase, reason));
}

#[test]
fn the_phase_follows_health() {
    check_health(Phase::Installing, None, false, Phase::Ready, "Ready");
    check_health(Phase::Failed, None, false, Phase::Ready, "Ready");
    check_health(
        Phase::Installing,
        Some(false),
        false,
        Phase::Installing,
        "Progressing",
    );
    check_health(
        Phase::Upgrading,
        Some(false),
        false,
        Phase::Upgrading,
        "Progressing",
    );
    check_health(
        Phase::Installing,
        Some(false),
        true,
        Phase::Failed,
        "Timeout",
    );
    check_health(Phase::Failed, Some(false), false, Phase::Failed, "Timeout");
    check_health(
        Phase::Installing,
        Some(true),
        false,
        Phase::Failed,
        "Unhealthy",
    );
    check_health(
        Phase::Ready,
        Some(false),
        false,
        Phase::Degraded,
        "Progressing",
    );
    check_health(
        Phase::Ready,
        Some(true),
        false,
        Phase::Degraded,
        "Unhealthy",
    );
    check_health(Phase::Degraded, None, false, Phase::Ready, "Ready");
}

#[test]
fn a_ready_plugin_stays_ready_until_its_objects_are_observed() {
    let objects = ObservedObjects {
        is_incomplete: true,
        ..ObservedObjects::default()
    };
    let time = ProgressTime::default();
    assert_eq!(
        assess_health(Phase::Ready, &objects, time),
        Assessment {
            phase: Phase::Ready,
            explanation: None
        }
    );
    assert_eq!(
        assess_health(Phase::Pending, &objects, time).phase,
        Phase::Installing
    );
}

#[test]
fn a_ready_plugin_whose_objects_scale_is_degraded_only_if_that_takes_long() {
    let unhealthy = |has_failed| ObservedObjects {
        unhealthy: vec![UnhealthyObject {
            object: "Deployment default/web".to_owned(),
            message: "1 of 3 replicas".to_owned(),
            has_failed,
            is_crashing: false,
        }],
        total: 1,
        ..ObservedObjects::default()
    };
    let check = |before, has_failed, is_short, expected| {
        let time = ProgressTime {
            is_overdue: false,
            is_short,
        };
        let assessment = assess_health(before, &unhealthy(has_failed), time);
        let (ready, healthy) = assessment.explanation.unwrap();
        assert_eq!((assessment.phase, ready.reason.as_str()), expected);
        assert_eq!(healthy.status, ConditionStatus::False);
    };
    check(Phase::Ready, false, true, (Phase::Ready, "Progressing"));
    check(Phase::Ready, false, false, (Phase::Degraded, "Progressing"));
    check(Phase::Ready, true, true, (Phase::Degraded, "Unhealthy"));
    check(
        Phase::Degraded,
        false,
        true,
        (Phase::Degraded, "Progressing"),
    );
}

#[test]
fn a_release_of_another_plugin_is_neither_changed_nor_uninstalled() {
    let owner = Key::new("team", "web");
    let mut observed = observed(plugin("web", |_| {}));
    observed.release_owner = Some(owner.clone());
    let Decision::Reject(cause) = decision(&observed) else {
        panic!("{:?}", decision(&observed));
    };
    assert_eq!(cause.reason, Reason::ReleaseConflict);
    assert!(
        cause.message.contains("belongs to plugin team/web"),
        "{}",
        cause.message
    );
    for annotation in [CASCADE, FORCE] {
        let mut observed = disabled(|plugin| annotate(plugin, annotation));
        observed.release_owner = Some(owner.clone());
        let owner = owner.clone();
        assert_eq!(decision(&observed), Decision::Disown { owner });
    }
}

#[test]
fn a_ready_plugin_whose_pods_crash_has_no_grace_but_an_installation_has_its_timeout() {
    let objects = ObservedObjects {
        unhealthy: vec![UnhealthyObject {
            object: "Deployment default/web".to_owned(),
            message: "0 of 1 are ready".to_owned(),
            has_failed: false,
            is_crashing: true,
        }],
        total: 1,
        ..ObservedObjects::default()
    };
    let time = ProgressTime {
        is_overdue: false,
        is_short: true,
    };
    let phase = |before| assess_health(before, &objects, time).phase;
    assert_eq!(phase(Phase::Ready), Phase::Degraded);
    assert_eq!(phase(Phase::Installing), Phase::Installing);
}

#[test]
fn an_installed_plugin_is_degraded_while_its_cluster_does_not_respond() {
    let objects = ObservedObjects {
        unreachable: Some("no response".to_owned()),
        total: 1,
        ..ObservedObjects::default()
    };
    let assessment = assess_health(Phase::Ready, &objects, ProgressTime::default());
    assert_eq!(assessment.phase, Phase::Degraded);
    let (ready, healthy) = assessment.explanation.unwrap();
    assert_eq!(ready.reason, Reason::ClusterUnreachable);
    assert_eq!(healthy.status, ConditionStatus::Unknown);
}
