//! The progress of all plugins of a local cluster.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use outrigger_api::plugin::{Phase, Plugin};
use outrigger_api::reason::Reason;
use serde::Serialize;

use super::status_lines::StatusLines;
use crate::printer::Row;

/// How long all plugins must be idle before the watch stops.
const IDLE_TIMEOUT: Duration = Duration::from_secs(3);

/// When the watch stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StopWhen {
    Never,
    /// All plugins are Ready or disabled, or idle for a while.
    Idle,
}

/// The result of one plugin.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PluginRow {
    namespace: String,
    name: String,
    phase: String,
    version: String,
    /// Time until Ready.
    seconds: Option<String>,
    message: String,
    #[serde(skip)]
    is_done: bool,
}

impl Row for PluginRow {
    const HEADERS: &'static [&'static str] = &[
        "NAMESPACE",
        "NAME",
        "PHASE",
        "VERSION",
        "SECONDS",
        "MESSAGE",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.namespace.clone(),
            self.name.clone(),
            self.phase.clone(),
            self.version.clone(),
            self.seconds.clone().unwrap_or_default(),
            self.message.clone(),
        ]
    }
}

/// The results of all plugins.
#[derive(Debug, Default)]
pub(crate) struct Report {
    pub(crate) rows: Vec<PluginRow>,
    has_failures: bool,
}

impl Report {
    /// The report, as a failure unless something else succeeded.
    pub(crate) fn failed_unless(mut self, is_success: bool) -> Self {
        self.has_failures |= !is_success;
        self
    }

    /// Fails if a plugin is not ready, or something else failed and was reported.
    pub(crate) fn exit_code(&self) -> anyhow::Result<ExitCode> {
        let names = self.rows.iter().filter(|row| !row.is_done);
        let names: Vec<&str> = names.map(|row| &*row.name).collect();
        match names.as_slice() {
            [] if self.has_failures => Ok(ExitCode::FAILURE),
            [] => Ok(ExitCode::SUCCESS),
            [name] => anyhow::bail!("plugin {name} is not ready"),
            names => anyhow::bail!(
                "{} plugins are not ready: {}",
                names.len(),
                names.join(", ")
            ),
        }
    }
}

/// The observed plugins, by namespace and name.
#[derive(Debug, Default)]
struct PluginStates {
    plugins: BTreeMap<(String, String), PluginState>,
}

#[derive(Debug)]
struct PluginState {
    plugin: Plugin,
    /// When the last change of the plugin began; none if it was done when it was first seen.
    began: Option<Duration>,
    /// Time from then until it was done.
    ready: Option<Duration>,
    /// The plugin when an attempt failed for good. The controller retries, but nothing suggests that the next attempt succeeds.
    failed: Option<Plugin>,
}

impl PluginState {
    /// Whether the controller has nothing to do for the plugin, or did it in vain.
    fn is_idle(&self) -> bool {
        self.failed.is_some() || self.plugin.is_observed() && is_idle(&self.plugin)
    }
}

/// Watches all plugins and prints their progress.
pub(crate) async fn plugins(
    client: Client,
    started: Instant,
    stop_when: StopWhen,
) -> anyhow::Result<Report> {
    let api: Api<Plugin> = Api::all(client);
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut states = PluginStates::default();
    let mut lines = StatusLines::new();
    let mut is_listed = false;
    let mut idle_since: Option<Instant> = None;
    loop {
        let flush_at = lines.next_flush().map(Into::into);
        let is_idle = stop_when == StopWhen::Idle && is_listed && states.is_idle();
        idle_since = is_idle.then(|| idle_since.unwrap_or_else(Instant::now));
        let stop_at = idle_since.unwrap_or_else(Instant::now) + IDLE_TIMEOUT;
        let event = tokio::select! {
            event = events.next() => event.context("the watch ended")?,
            () = tokio::time::sleep_until(stop_at.into()), if is_idle => {
                return Ok(states.report());
            }
            () = tokio::time::sleep_until(flush_at.unwrap_or_else(tokio::time::Instant::now)), if flush_at.is_some() => {
                lines.flush();
                continue;
            }
        };
        // The watcher retries. The server runs in this process, so that errors are transient.
        let Ok(event) = event else { continue };
        match event {
            Event::Init => {}
            Event::InitDone => is_listed = true,
            Event::Apply(plugin) | Event::InitApply(plugin) => {
                states.apply(plugin, started.elapsed(), &mut lines);
            }
            Event::Delete(plugin) => {
                let key = key(&plugin);
                lines.remove(&name(&key));
                states.plugins.remove(&key);
            }
        }
        if stop_when == StopWhen::Idle && is_listed && states.are_all_ready() {
            return Ok(states.report());
        }
    }
}

fn key(plugin: &Plugin) -> (String, String) {
    (plugin.namespace().to_owned(), plugin.name().to_owned())
}

fn name((namespace, name): &(String, String)) -> String {
    match namespace.as_str() {
        "default" => name.clone(),
        _ => format!("{namespace}/{name}"),
    }
}

impl PluginStates {
    fn apply(&mut self, plugin: Plugin, elapsed: Duration, lines: &mut StatusLines) {
        let key = key(&plugin);
        let previous = self.plugins.remove(&key);
        let was_done = previous
            .as_ref()
            .is_some_and(|state| is_done(&state.plugin));
        let (began, ready, failed) = previous.map_or((None, None, None), |state| {
            (state.began, state.ready, state.failed)
        });
        let (began, ready) = match is_done(&plugin) {
            true if was_done => (began, ready),
            true => (began, began.map(|began| elapsed.saturating_sub(began))),
            false if was_done => (Some(elapsed), None),
            false => (began.or(Some(elapsed)), None),
        };
        let failed = if has_failed_for_good(&plugin) {
            Some(plugin.clone())
        } else {
            failed.filter(|_| !is_done(&plugin))
        };
        let is_transient =
            !plugin.is_observed() || !is_idle(&plugin) || plugin.phase() == Phase::Waiting;
        let text = line(&name(&key), &plugin, ready);
        lines.set(&name(&key), text, is_transient, is_done(&plugin));
        let state = PluginState {
            plugin,
            began,
            ready,
            failed,
        };
        self.plugins.insert(key, state);
    }

    fn are_all_ready(&self) -> bool {
        let mut states = self.plugins.values();
        !self.plugins.is_empty() && states.all(|state| is_done(&state.plugin))
    }

    /// Whether the controller has nothing to do for any plugin.
    fn is_idle(&self) -> bool {
        self.plugins.values().all(PluginState::is_idle)
    }

    fn report(&self) -> Report {
        let rows = self.plugins.iter().map(|((namespace, name), state)| {
            let plugin = state.failed.as_ref().unwrap_or(&state.plugin);
            let seconds = state.ready.map(|ready| ready.as_secs_f64());
            PluginRow {
                namespace: namespace.clone(),
                name: name.clone(),
                phase: format!("{:?}", plugin.phase()),
                version: version(plugin).to_owned(),
                seconds: seconds.map(|seconds| format!("{seconds:.2}")),
                message: message(plugin).to_owned(),
                is_done: is_done(plugin),
            }
        });
        Report {
            rows: rows.collect(),
            has_failures: !self.plugins.is_empty() && !self.are_all_ready(),
        }
    }
}

fn is_done(plugin: &Plugin) -> bool {
    plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Disabled)
}

/// Whether an attempt took its time and failed: it was rolled back, or its objects or hooks did not become ready.
fn has_failed_for_good(plugin: &Plugin) -> bool {
    const REASONS: &[Reason] = &[
        Reason::HookFailed,
        Reason::RollbackFailed,
        Reason::RolledBack,
        Reason::Timeout,
        Reason::Unhealthy,
    ];
    let ready = plugin.condition("Ready");
    plugin.phase() == Phase::Failed && ready.is_some_and(|ready| ready.has_reason(REASONS))
}

/// Whether a plugin stays in its phase until something changes. A repository that has not answered yet still may.
fn is_idle(plugin: &Plugin) -> bool {
    const AWAITED: &[Reason] = &[Reason::Fetching, Reason::Connecting, Reason::ReadingValues];
    let ready = plugin.condition("Ready");
    match plugin.phase() {
        Phase::Waiting => !ready.is_some_and(|ready| ready.has_reason(AWAITED)),
        Phase::Ready | Phase::Degraded | Phase::Failed | Phase::Disabled => true,
        _ => false,
    }
}

fn version(plugin: &Plugin) -> &str {
    let status = plugin.status.as_ref();
    status
        .and_then(|status| status.version.as_deref())
        .unwrap_or_default()
}

fn message(plugin: &Plugin) -> &str {
    plugin
        .condition("Ready")
        .map_or("", |ready| ready.message.as_str())
}

fn line(name: &str, plugin: &Plugin, ready: Option<Duration>) -> String {
    let phase = format!("{:?}", plugin.phase());
    let time = match ready {
        Some(ready) => format!("{:>6.2} s", ready.as_secs_f64()),
        None => " ".repeat(8),
    };
    let detail = match plugin.phase() {
        Phase::Ready => version(plugin),
        _ => message(plugin),
    };
    format!("{name:<24} {phase:<10} {time}  {detail}")
        .trim_end()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn plugin(name: &str, phase: &str, message: &str) -> Plugin {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name, "namespace": "default", "generation": 1},
            "spec": {},
            "status": {"phase": phase, "observedGeneration": 1, "version": "1.0.0", "conditions": [{
                "type": "Ready", "status": "False", "reason": "X", "message": message,
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }]},
        }))
        .unwrap()
    }

    fn states(plugins: &[Plugin]) -> PluginStates {
        let mut states = PluginStates::default();
        for plugin in plugins {
            states.apply(plugin.clone(), Duration::ZERO, &mut StatusLines::new());
        }
        states
    }

    #[test]
    fn a_plugin_that_was_rolled_back_is_a_failure_while_the_controller_retries() {
        let mut failed = plugin("a", "Failed", "rolled back: Job a failed");
        let status = failed.status.as_mut().unwrap();
        "RolledBack".clone_into(&mut status.conditions[0].reason);
        let states = states(&[failed, plugin("a", "Installing", "")]);
        assert!(states.is_idle() && !states.are_all_ready());
        let report = states.report();
        assert!(report.has_failures);
        assert_eq!(report.rows[0].message, "rolled back: Job a failed");
    }

    #[test]
    fn the_time_is_that_since_the_change_began() {
        let mut changing = PluginStates::default();
        let mut seconds = |phase: &str, at: u64| {
            let mut lines = StatusLines::new();
            let at = Duration::from_secs(at);
            changing.apply(plugin("a", phase, ""), at, &mut lines);
            changing.report().rows[0].seconds.clone()
        };
        assert_eq!(seconds("Installing", 1), None);
        assert_eq!(seconds("Ready", 4).as_deref(), Some("3.00"));
        assert_eq!(seconds("Ready", 60).as_deref(), Some("3.00"));
        assert_eq!(seconds("Upgrading", 100), None);
        assert_eq!(seconds("Disabled", 102).as_deref(), Some("2.00"));
        // A plugin that is ready when a server starts again has taken no time.
        let ready = states(&[plugin("a", "Ready", "")]);
        assert_eq!(ready.report().rows[0].seconds, None);
    }

    #[test]
    fn idle_plugins_that_are_not_ready_are_failures() {
        let ready = states(&[plugin("a", "Ready", ""), plugin("b", "Disabled", "")]);
        assert!(ready.are_all_ready() && !ready.report().has_failures);
        let waiting = states(&[
            plugin("a", "Ready", ""),
            plugin("b", "Waiting", "plugin c does not exist"),
        ]);
        assert!(!waiting.are_all_ready() && waiting.is_idle() && waiting.report().has_failures);
        assert!(!states(&[plugin("a", "Installing", "")]).is_idle());
    }

    #[test]
    fn a_line_has_name_phase_time_and_version_or_message() {
        let ready = Some(Duration::from_millis(1250));
        assert_eq!(
            line("a", &plugin("a", "Ready", ""), ready),
            "a                        Ready        1.25 s  1.0.0"
        );
        assert_eq!(
            line("b", &plugin("b", "Failed", "no chart"), None),
            "b                        Failed               no chart"
        );
    }
}
