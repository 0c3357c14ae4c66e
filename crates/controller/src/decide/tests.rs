//! Decisions as tables: facts in, decision out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use outrigger_api::condition::{Condition, Truth};
use outrigger_api::plugin::{Dependency, PluginSpec, PluginStatus};

use super::*;
use crate::facts::{Dependant, Tries, Unhealthy};

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
                status: Truth::True,
                reason: "Ready".to_owned(),
                message: String::new(),
                last_transition_time: String::new(),
                observed_generation: Some(1),
            }],
            ..PluginStatus::default()
        });
    })
}

fn facts(plugin: Plugin) -> Facts {
    Facts {
        key: Key::of(&plugin),
        status: plugin.status.clone().unwrap_or_default(),
        plugin: Arc::new(plugin),
        dependencies: Vec::new(),
        cycle: None,
        dependants: Vec::new(),
        objects: ObjectFacts::default(),
        tries: Tries::default(),
        is_read_current: true,
        now: Instant::now(),
    }
}

fn on(name: &str, range: Option<&str>, plugin: Option<Plugin>) -> DependencyFact {
    DependencyFact {
        dependency: Dependency {
            name: name.to_owned(),
            namespace: None,
            version: range.map(str::to_owned),
        },
        key: Key::new("default", name),
        plugin: plugin.map(Arc::new),
    }
}

fn dependant(name: &str, is_going: bool) -> Dependant {
    Dependant {
        key: Key::new("default", name),
        is_going,
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
fn waits(dependency: DependencyFact, reason: &str, message: &str) {
    let mut facts = facts(plugin("web", |_| {}));
    facts.dependencies.push(dependency);
    match next(&facts) {
        Next::Wait(obstacle) => {
            assert_eq!(
                (obstacle.reason, obstacle.message.as_str()),
                (reason, message)
            );
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn dependencies_that_are_not_there_or_not_ready_or_too_old_are_waited_for_by_name() {
    waits(
        on("db", None, None),
        "DependencyMissing",
        "there is no plugin db",
    );
    waits(
        on("db", None, Some(plugin("db", |_| {}))),
        "DependencyNotReady",
        "plugin db is not ready yet",
    );
    waits(
        on("db", Some(">=2"), Some(ready("db", "1.9.0"))),
        "DependencyVersion",
        "plugin db is at version 1.9.0, but >=2 is needed",
    );
    let mut off = ready("db", "1.0.0");
    off.spec.enabled = false;
    waits(
        on("db", None, Some(off)),
        "DependencyNotReady",
        "plugin db is switched off",
    );
}

#[test]
fn a_dependency_that_was_ready_before_its_last_change_does_not_count() {
    let mut changed = ready("db", "1.0.0");
    changed.metadata.generation = Some(2);
    waits(
        on("db", None, Some(changed)),
        "DependencyNotReady",
        "plugin db is not ready yet",
    );
}

#[test]
fn a_failed_dependency_does_not_count() {
    let mut failed = ready("db", "1.0.0");
    let status = failed.status.as_mut().unwrap();
    status.phase = Phase::Failed;
    status.conditions[0].status = Truth::False;
    waits(
        on("db", None, Some(failed)),
        "DependencyNotReady",
        "plugin db is Failed",
    );
}

#[test]
fn ready_dependencies_let_it_go_on() {
    let mut facts = facts(plugin("web", |_| {}));
    facts
        .dependencies
        .push(on("db", Some(">=1.0, <2"), Some(ready("db", "1.3.0"))));
    facts
        .dependencies
        .push(on("dns", None, Some(ready("dns", "0.1.0"))));
    assert_eq!(next(&facts), Next::Prepare { blocked: None });
}

#[test]
fn what_is_installed_stays_while_a_dependency_is_away_but_does_not_change() {
    let mut facts = facts(plugin("web", installed));
    facts.dependencies.push(on("db", None, None));
    let Next::Prepare { blocked } = next(&facts) else {
        panic!("it is installed");
    };
    let backoff = Backoff::default();
    assert_eq!(
        work(&facts, "old", blocked.as_ref(), &backoff),
        Work::Nothing
    );
    let waits = Obstacle::new("DependencyMissing", "there is no plugin db");
    assert_eq!(
        work(&facts, "new", blocked.as_ref(), &backoff),
        Work::Wait(waits)
    );
}

#[track_caller]
fn refuses(facts: &Facts, reason: &str, part: &str) {
    match next(facts) {
        Next::Refuse(obstacle) => {
            assert_eq!(obstacle.reason, reason);
            assert!(obstacle.message.contains(part), "{}", obstacle.message);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn cycles_are_refused_by_name() {
    let mut facts = facts(plugin("a", |_| {}));
    facts.cycle = Some(
        ["a", "b", "a"]
            .map(|name| Key::new("default", name))
            .to_vec(),
    );
    refuses(&facts, "DependencyCycle", "depends on itself: a -> b -> a");
}

#[test]
fn kustomize_is_refused_for_now() {
    let kustomize = plugin("a", |plugin| plugin.spec.kind = PluginKind::Kustomize);
    refuses(
        &facts(kustomize),
        "KindNotSupported",
        "kustomize are not supported yet",
    );
}

#[test]
fn what_would_strand_the_release_is_refused_with_a_way_out() {
    type Change = fn(&mut PluginSpec);
    let cases: [(&str, Change); 3] = [
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
        let facts = facts(plugin("web", |plugin| {
            installed(plugin);
            change(&mut plugin.spec);
        }));
        refuses(&facts, "ImmutableField", text);
    }
}

#[test]
fn a_range_that_cannot_be_read_is_refused() {
    let facts = facts(plugin("web", |plugin| {
        plugin.spec.dependencies.push(Dependency {
            name: "db".to_owned(),
            namespace: None,
            version: Some(">= one".to_owned()),
        });
    }));
    refuses(&facts, "InvalidSpec", "spec.dependencies[0].version");
}

fn switched_off(change: impl FnOnce(&mut Plugin)) -> Facts {
    facts(plugin("web", |plugin| {
        installed(plugin);
        plugin.spec.enabled = false;
        change(plugin);
    }))
}

fn mark(plugin: &mut Plugin, annotation: &str) {
    plugin
        .annotations_mut()
        .insert(annotation.to_owned(), "true".to_owned());
}

#[track_caller]
fn protects(facts: &Facts, reason: &str, part: &str, expected: &[&str]) {
    match next(facts) {
        Next::Protect { obstacle, cascade } => {
            assert_eq!(obstacle.reason, reason);
            assert!(obstacle.message.contains(part), "{}", obstacle.message);
            let names: Vec<&str> = cascade.iter().map(|key| key.name.as_str()).collect();
            assert_eq!(names, expected);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn switched_off_it_is_removed_and_then_off() {
    assert_eq!(next(&switched_off(|_| {})), Next::Remove { force: false });
    let gone = switched_off(|plugin| plugin.finalizers_mut().clear());
    assert_eq!(next(&gone), Next::Off);
}

#[test]
fn dependants_protect_it_until_they_go_or_it_is_forced() {
    let mut facts = switched_off(|_| {});
    facts.dependants = vec![dependant("shop", false), dependant("blog", true)];
    protects(
        &facts,
        "DependantsRemain",
        "others depend on it: shop;",
        &[],
    );
    facts.dependants = vec![dependant("blog", true)];
    protects(&facts, "DependantsGoing", "goes after blog", &[]);
    let mut facts = switched_off(|plugin| mark(plugin, CASCADE));
    facts.dependants = vec![dependant("shop", false), dependant("blog", true)];
    protects(&facts, "Cascading", "goes after shop", &["shop"]);
    let mut facts = switched_off(|plugin| mark(plugin, FORCE));
    facts.dependants = vec![dependant("shop", false)];
    assert_eq!(next(&facts), Next::Remove { force: true });
}

#[test]
fn members_of_a_cycle_do_not_wait_for_each_other_to_go() {
    let mut facts = switched_off(|_| {});
    facts.dependants = vec![dependant("blog", true)];
    facts.cycle = Some(
        ["web", "blog", "web"]
            .map(|name| Key::new("default", name))
            .to_vec(),
    );
    assert_eq!(next(&facts), Next::Remove { force: false });
}

#[test]
fn what_is_required_stays_unless_forced() {
    let facts = switched_off(|plugin| plugin.spec.required = true);
    protects(&facts, "Required", "it is required", &[]);
    let facts = switched_off(|plugin| {
        plugin.spec.required = true;
        mark(plugin, FORCE);
    });
    assert_eq!(next(&facts), Next::Remove { force: true });
}

#[test]
fn work_is_what_the_digest_says() {
    let backoff = Backoff::default();
    let fresh = facts(plugin("web", |_| {}));
    assert_eq!(work(&fresh, "new", None, &backoff), Work::Install);
    let old = facts(plugin("web", installed));
    assert_eq!(work(&old, "old", None, &backoff), Work::Nothing);
    assert_eq!(work(&old, "new", None, &backoff), Work::Upgrade);
}

fn failed(attempts: u32, retries: Option<u32>, inputs: Option<&str>) -> Facts {
    let mut facts = facts(plugin("web", |plugin| plugin.spec.retries = retries));
    facts.status.attempts = attempts;
    facts.status.observed_generation = Some(1);
    facts.tries.failed_inputs = inputs.map(str::to_owned);
    facts.tries.next = Some(facts.now + Duration::from_secs(4));
    facts
}

#[test]
fn what_failed_waits_its_time_and_after_the_last_retry_for_a_change() {
    let backoff = Backoff::default();
    let facts = failed(3, None, Some("x"));
    let until = facts.tries.next;
    assert_eq!(work(&facts, "x", None, &backoff), Work::Hold { until });
    assert_eq!(work(&facts, "y", None, &backoff), Work::Install);
    assert_eq!(
        work(&failed(3, Some(2), Some("x")), "x", None, &backoff),
        Work::Hold { until: None }
    );
    assert_eq!(
        work(&failed(3, Some(2), Some("x")), "y", None, &backoff),
        Work::Install
    );
    let facts = failed(2, Some(2), Some("x"));
    let until = facts.tries.next;
    assert_eq!(work(&facts, "x", None, &backoff), Work::Hold { until });
}

#[test]
fn after_a_start_what_used_up_its_retries_still_waits_for_a_change() {
    let backoff = Backoff::default();
    assert_eq!(
        work(&failed(3, Some(2), None), "x", None, &backoff),
        Work::Hold { until: None }
    );
    let mut changed = failed(3, Some(2), None);
    changed.status.observed_generation = Some(0);
    assert_eq!(work(&changed, "x", None, &backoff), Work::Install);
}

#[test]
fn drift_is_corrected_as_the_policy_says_and_not_in_a_fight() {
    let backoff = Backoff::default();
    let mut facts = facts(plugin("web", installed));
    facts.objects.drifted = vec!["ConfigMap default/web: changed".to_owned()];
    assert_eq!(work(&facts, "old", None, &backoff), Work::Correct);
    facts.tries.corrections = 2;
    facts.tries.corrected = Some(facts.now);
    let until = Some(facts.now + Duration::from_secs(2));
    assert_eq!(work(&facts, "old", None, &backoff), Work::Hold { until });
    for policy in [Drift::Warn, Drift::Ignore] {
        Arc::make_mut(&mut facts.plugin).spec.drift = policy;
        assert_eq!(work(&facts, "old", None, &backoff), Work::Nothing);
    }
}

#[track_caller]
fn settles(before: Phase, failed: Option<bool>, overdue: bool, phase: Phase, reason: &str) {
    let unhealthy = failed.map(|has_failed| Unhealthy {
        object: "Deployment default/web".to_owned(),
        why: "0 of 1 are ready".to_owned(),
        has_failed,
    });
    let objects = ObjectFacts {
        unhealthy: unhealthy.into_iter().collect(),
        total: 2,
        ..ObjectFacts::default()
    };
    let (found, sayings) = settle(before, &objects, overdue);
    let ready = sayings.iter().find(|saying| saying.kind == READY).unwrap();
    assert_eq!((found, ready.reason), (phase, reason));
}

#[test]
fn health_decides_the_phase() {
    settles(Phase::Installing, None, false, Phase::Ready, "Ready");
    settles(Phase::Failed, None, false, Phase::Ready, "Ready");
    settles(
        Phase::Installing,
        Some(false),
        false,
        Phase::Installing,
        "Progressing",
    );
    settles(
        Phase::Upgrading,
        Some(false),
        false,
        Phase::Upgrading,
        "Progressing",
    );
    settles(
        Phase::Installing,
        Some(false),
        true,
        Phase::Failed,
        "Timeout",
    );
    settles(Phase::Failed, Some(false), false, Phase::Failed, "Timeout");
    settles(
        Phase::Installing,
        Some(true),
        false,
        Phase::Failed,
        "Unhealthy",
    );
    settles(
        Phase::Ready,
        Some(false),
        false,
        Phase::Degraded,
        "Progressing",
    );
    settles(
        Phase::Ready,
        Some(true),
        false,
        Phase::Degraded,
        "Unhealthy",
    );
    settles(Phase::Degraded, None, false, Phase::Ready, "Ready");
}

#[test]
fn what_was_ready_is_not_called_unready_before_it_was_looked_at() {
    let objects = ObjectFacts {
        are_unknown: true,
        ..ObjectFacts::default()
    };
    assert_eq!(
        settle(Phase::Ready, &objects, false),
        (Phase::Ready, Vec::new())
    );
    assert_eq!(settle(Phase::Pending, &objects, false).0, Phase::Installing);
}
