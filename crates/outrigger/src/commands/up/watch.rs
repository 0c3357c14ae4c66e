//! How plugins get on, told as it happens, until all are settled.

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use futures::StreamExt as _;
use kube::runtime::watcher::{Config, Event, watcher};
use kube::{Api, Client};
use outrigger_api::plugin::{Phase, Plugin};
use serde::Serialize;

use super::live::Lines;
use crate::printer::Row;

/// Nothing moves for so long: then nothing will.
const STILL: Duration = Duration::from_secs(3);

/// When following ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Goal {
    Never,
    /// All are Ready or off, or nothing moves any more.
    AllSettled,
}

/// How one plugin got on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Plugged {
    namespace: String,
    name: String,
    phase: String,
    version: String,
    /// Until it was Ready.
    seconds: Option<String>,
    message: String,
}

impl Row for Plugged {
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

/// How all got on.
#[derive(Debug, Default)]
pub(super) struct Report {
    pub(super) rows: Vec<Plugged>,
    is_bad: bool,
}

impl Report {
    pub(super) fn exit_code(&self) -> ExitCode {
        if self.is_bad {
            ExitCode::FAILURE
        } else {
            ExitCode::SUCCESS
        }
    }
}

/// What is known of the plugins.
#[derive(Debug, Default)]
struct Known {
    plugins: BTreeMap<(String, String), (Plugin, Option<Duration>)>,
}

/// Follows all plugins.
pub(super) async fn plugins(client: Client, began: Instant, goal: Goal) -> anyhow::Result<Report> {
    let api: Api<Plugin> = Api::all(client);
    let mut events = std::pin::pin!(watcher(api, Config::default()));
    let mut known = Known::default();
    let mut lines = Lines::new();
    let mut is_listed = false;
    loop {
        let event = tokio::select! {
            event = events.next() => event.context("the watch ended")?,
            () = tokio::time::sleep(STILL), if goal == Goal::AllSettled && is_listed && known.is_still() => {
                return Ok(known.report());
            }
        };
        // The server is in this process; what goes wrong comes right.
        let Ok(event) = event else { continue };
        match event {
            Event::Init => {}
            Event::InitDone => is_listed = true,
            Event::Apply(plugin) | Event::InitApply(plugin) => {
                known.apply(plugin, began.elapsed(), &mut lines);
            }
            Event::Delete(plugin) => {
                let key = key(&plugin);
                lines.remove(&name(&key));
                known.plugins.remove(&key);
            }
        }
        if goal == Goal::AllSettled && is_listed && known.are_all_ready() {
            return Ok(known.report());
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

impl Known {
    fn apply(&mut self, plugin: Plugin, after: Duration, lines: &mut Lines) {
        let key = key(&plugin);
        let before = self.plugins.get(&key).and_then(|(_, ready)| *ready);
        let ready = before.or_else(|| (is_done(&plugin)).then_some(after));
        let is_passing = !plugin.is_observed()
            || !is_at_rest(plugin.phase())
            || plugin.phase() == Phase::Waiting;
        lines.set(&name(&key), line(&name(&key), &plugin, ready), is_passing);
        self.plugins.insert(key, (plugin, ready));
    }

    fn are_all_ready(&self) -> bool {
        !self.plugins.is_empty() && self.plugins.values().all(|(plugin, _)| is_done(plugin))
    }

    /// Whether nobody is at work.
    fn is_still(&self) -> bool {
        let mut plugins = self.plugins.values();
        plugins.all(|(plugin, _)| plugin.is_observed() && is_at_rest(plugin.phase()))
    }

    fn report(&self) -> Report {
        let rows = self
            .plugins
            .iter()
            .map(|((namespace, name), (plugin, ready))| Plugged {
                namespace: namespace.clone(),
                name: name.clone(),
                phase: format!("{:?}", plugin.phase()),
                version: version(plugin).to_owned(),
                seconds: ready.map(|ready| format!("{:.2}", ready.as_secs_f64())),
                message: message(plugin).to_owned(),
            });
        Report {
            rows: rows.collect(),
            is_bad: !self.plugins.is_empty() && !self.are_all_ready(),
        }
    }
}

fn is_done(plugin: &Plugin) -> bool {
    plugin.is_observed() && matches!(plugin.phase(), Phase::Ready | Phase::Disabled)
}

/// Whether a phase lasts until something happens.
fn is_at_rest(phase: Phase) -> bool {
    matches!(
        phase,
        Phase::Waiting | Phase::Ready | Phase::Degraded | Phase::Failed | Phase::Disabled
    )
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
    let words = match plugin.phase() {
        Phase::Ready => version(plugin),
        _ => message(plugin),
    };
    format!("{name:<24} {phase:<10} {time}  {words}")
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

    fn known(plugins: &[Plugin]) -> Known {
        let plugins = plugins
            .iter()
            .map(|plugin| (key(plugin), (plugin.clone(), None)));
        Known {
            plugins: plugins.collect(),
        }
    }

    #[test]
    fn all_ready_is_good_and_anything_else_at_rest_is_bad() {
        let good = known(&[plugin("a", "Ready", ""), plugin("b", "Disabled", "")]);
        assert!(good.are_all_ready() && !good.report().is_bad);
        let waiting = known(&[
            plugin("a", "Ready", ""),
            plugin("b", "Waiting", "there is no plugin c"),
        ]);
        assert!(!waiting.are_all_ready() && waiting.is_still() && waiting.report().is_bad);
        assert!(!known(&[plugin("a", "Installing", "")]).is_still());
    }

    #[test]
    fn a_line_tells_name_phase_time_and_version_or_why_not() {
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
