//! The controller against a plain model: any sequence of changes, foreign edits, outages and kills over ten plugins with
//! dependencies ends with the objects, the history and the phases that the model predicts.
//!
//! `SEQUENCES=1000 SEED=7 cargo test -p outrigger-controller model` runs more sequences, from another seed. `LIMIT=120` gives
//! each 120 seconds to end, for a machine that is busy otherwise.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;
use std::str::FromStr;
use std::time::{Duration, Instant};

use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::json;

use crate::harness::{Harness, TIMEOUT};

const PLUGINS: usize = 10;
const STEPS: usize = 14;
const DEFAULT_SEQUENCES: u64 = 12;

/// Generates numbers from a seed (`SplitMix64`).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut number = self.0;
        number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        number ^ (number >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Create {
        plugin: usize,
        dependencies: Vec<usize>,
        text: u64,
    },
    Change {
        plugin: usize,
        text: u64,
    },
    Disable(usize),
    Enable(usize),
    Delete(usize),
    ForeignEdit(usize),
    ForeignDelete(usize),
    Outage,
    Recovery,
    Kill,
}

/// What the user asked for.
#[derive(Debug, Clone)]
struct Desired {
    dependencies: Vec<usize>,
    text: u64,
    enabled: bool,
}

/// The model: what the user asked for is what is there.
#[derive(Debug, Default)]
struct Model {
    plugins: BTreeMap<usize, Desired>,
    /// Plugins that existed at some time. A dependent of one is created only while it is enabled, because the result
    /// would depend on how far its removal is.
    known: BTreeSet<usize>,
    is_down: bool,
}

impl Model {
    /// Whether an enabled plugin depends on this one. Its removal would be blocked.
    fn is_needed(&self, plugin: usize) -> bool {
        let mut others = self.plugins.values();
        others.any(|other| other.enabled && other.dependencies.contains(&plugin))
    }

    fn is_installable(&self, dependencies: &[usize]) -> bool {
        dependencies.iter().all(|dependency| {
            let enabled = self.plugins.get(dependency).map(|other| other.enabled);
            enabled == Some(true) || !self.known.contains(dependency)
        })
    }

    /// The phase that a plugin reaches.
    fn phase(&self, plugin: usize) -> Option<Phase> {
        let desired = self.plugins.get(&plugin)?;
        if !desired.enabled {
            return Some(Phase::Disabled);
        }
        let mut dependencies = desired.dependencies.iter();
        let are_ready = dependencies.all(|other| self.phase(*other) == Some(Phase::Ready));
        Some(if are_ready {
            Phase::Ready
        } else {
            Phase::Waiting
        })
    }

    /// A step that is possible now.
    fn next_step(&self, random: &mut Random) -> Option<Step> {
        let plugin = random.below(PLUGINS);
        let text = random.next() % 1000;
        let desired = self.plugins.get(&plugin);
        match (random.below(12), desired) {
            (_, None) => {
                let count = random.below(3).min(plugin);
                let dependencies: BTreeSet<usize> =
                    (0..count).map(|_| random.below(plugin)).collect();
                let dependencies: Vec<usize> = dependencies.into_iter().collect();
                let is_possible = self.is_installable(&dependencies);
                is_possible.then_some(Step::Create {
                    plugin,
                    dependencies,
                    text,
                })
            }
            (0..=2, Some(_)) => Some(Step::Change { plugin, text }),
            (3, Some(desired)) if desired.enabled => {
                (!self.is_needed(plugin)).then_some(Step::Disable(plugin))
            }
            (4, Some(desired)) if !desired.enabled => {
                let is_possible = self.is_installable(&desired.dependencies);
                is_possible.then_some(Step::Enable(plugin))
            }
            (5, Some(_)) => (!self.is_needed(plugin)).then_some(Step::Delete(plugin)),
            (6..=7, Some(_)) => Some(Step::ForeignEdit(plugin)),
            (8..=9, Some(_)) => Some(Step::ForeignDelete(plugin)),
            (10, _) if self.is_down => Some(Step::Recovery),
            (10, _) => Some(Step::Outage),
            (11, _) => Some(Step::Kill),
            _ => None,
        }
    }

    fn apply(&mut self, step: &Step) {
        match step {
            Step::Create {
                plugin,
                dependencies,
                text,
            } => {
                self.known.insert(*plugin);
                let desired = Desired {
                    dependencies: dependencies.clone(),
                    text: *text,
                    enabled: true,
                };
                self.plugins.insert(*plugin, desired);
            }
            Step::Change { plugin, text } => {
                if let Some(desired) = self.plugins.get_mut(plugin) {
                    desired.text = *text;
                }
            }
            Step::Disable(plugin) | Step::Enable(plugin) => {
                if let Some(desired) = self.plugins.get_mut(plugin) {
                    desired.enabled = matches!(step, Step::Enable(_));
                }
            }
            Step::Delete(plugin) => {
                self.plugins.remove(plugin);
            }
            Step::Outage => self.is_down = true,
            Step::Recovery => self.is_down = false,
            Step::ForeignEdit(_) | Step::ForeignDelete(_) | Step::Kill => {}
        }
    }
}

/// The cluster, with one set of names per sequence.
struct Cluster {
    harness: Harness,
    sequence: u64,
}

impl Cluster {
    fn name(&self, plugin: usize) -> String {
        format!("s{}-p{plugin}", self.sequence)
    }

    async fn apply(&mut self, step: &Step) {
        match step {
            Step::Create {
                plugin,
                dependencies,
                text,
            } => self.create(*plugin, dependencies, *text).await,
            Step::Change { plugin, text } => {
                self.patch(*plugin, json!({"values": {"text": text.to_string()}}))
                    .await;
            }
            Step::Disable(plugin) => self.patch(*plugin, json!({"enabled": false})).await,
            Step::Enable(plugin) => self.patch(*plugin, json!({"enabled": true})).await,
            Step::Delete(plugin) => self.harness.delete(&self.name(*plugin)).await,
            Step::ForeignEdit(plugin) => {
                let patch = Patch::Merge(json!({"data": {"text": "foreign"}}));
                let maps = self.harness.config_maps();
                let name = self.name(*plugin);
                // It may not exist.
                let _ = maps.patch(&name, &PatchParams::default(), &patch).await;
            }
            Step::ForeignDelete(plugin) => {
                let maps = self.harness.config_maps();
                let name = self.name(*plugin);
                let _ = maps.delete(&name, &DeleteParams::default()).await;
            }
            Step::Outage => self.move_charts("config", "away"),
            Step::Recovery => self.move_charts("away", "config"),
            Step::Kill => {
                self.harness.kill();
                self.harness.start(|_| {});
            }
        }
    }

    fn move_charts(&self, from: &str, to: &str) {
        let directory = self.harness.charts.path();
        fs_err::rename(directory.join(from), directory.join(to)).unwrap();
    }

    async fn create(&self, plugin: usize, dependencies: &[usize], text: u64) {
        let name = self.name(plugin);
        // An earlier plugin of this name may still be removed.
        self.harness.until_deleted(&name).await;
        let dependencies: Vec<_> = dependencies
            .iter()
            .map(|other| json!({"name": self.name(*other)}))
            .collect();
        let object = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin", "metadata": {"name": name},
            "spec": {
                "repo": format!("{}/config", self.harness.repo()), "conflicts": "take",
                "dependencies": dependencies, "values": {"text": text.to_string()},
            },
        });
        let plugin: Plugin = serde_json::from_value(object).unwrap();
        let plugins = self.harness.plugins();
        plugins
            .create(&PostParams::default(), &plugin)
            .await
            .unwrap();
    }

    async fn patch(&self, plugin: usize, spec: serde_json::Value) {
        let name = self.name(plugin);
        self.harness.patch(&name, json!({"spec": spec})).await;
    }

    /// The first difference from the model.
    async fn difference(&self, model: &Model) -> Option<String> {
        let list = self.harness.plugins().list(&ListParams::default()).await;
        let found: BTreeMap<String, Plugin> = list
            .unwrap()
            .into_iter()
            .map(|plugin| (plugin.name_any(), plugin))
            .collect();
        for number in 0..PLUGINS {
            let name = self.name(number);
            let phase = found.get(&name).map(|plugin| {
                let is_settled =
                    plugin.is_observed() && plugin.metadata.deletion_timestamp.is_none();
                is_settled.then(|| plugin.phase())
            });
            let expected = model.phase(number).map(Some);
            if phase != expected {
                let status = found.get(&name).map(|plugin| &plugin.status);
                return Some(format!(
                    "{name} is {phase:?}, not {expected:?}: {status:#?}"
                ));
            }
            let expected = model.phase(number) == Some(Phase::Ready);
            let text = expected.then(|| model.plugins[&number].text.to_string());
            let found = self.harness.text(&name).await;
            if found != text {
                return Some(format!("{name} has text {found:?}, not {text:?}"));
            }
            if let Some(difference) = self.history_difference(&name, expected).await {
                return Some(difference);
            }
        }
        None
    }

    /// An installed plugin has exactly one deployed revision, and none that is pending. Others have no history.
    async fn history_difference(&self, name: &str, is_installed: bool) -> Option<String> {
        let selector = format!("owner=helm,name={name}");
        let secrets = self.harness.objects("v1", "Secret");
        let records = secrets.list(&ListParams::default().labels(&selector)).await;
        let statuses: Vec<String> = records
            .unwrap()
            .into_iter()
            .map(|record| record.labels()["status"].clone())
            .collect();
        let deployed = statuses.iter().filter(|status| *status == "deployed");
        let deployed = deployed.count();
        let pending = statuses.iter().any(|status| status.starts_with("pending"));
        let is_expected = if is_installed {
            deployed == 1 && !pending
        } else {
            statuses.is_empty()
        };
        (!is_expected).then(|| format!("{name} has revisions {statuses:?}"))
    }

    async fn until_equal(&self, model: &Model) -> Result<(), String> {
        let limit = Duration::from_secs(variable("LIMIT", TIMEOUT.as_secs()));
        let deadline = Instant::now() + limit;
        loop {
            let Some(difference) = self.difference(model).await else {
                return Ok(());
            };
            if Instant::now() > deadline {
                return Err(difference);
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

async fn run_sequence(cluster: &mut Cluster, seed: u64) {
    let mut random = Random(seed);
    let mut model = Model::default();
    let mut steps = Vec::new();
    while steps.len() < STEPS {
        let Some(step) = model.next_step(&mut random) else {
            continue;
        };
        cluster.apply(&step).await;
        model.apply(&step);
        steps.push(step);
        // Some steps meet a controller in the middle of its work, others an idle one.
        if random.below(3) == 0 {
            tokio::time::sleep(Duration::from_millis(random.next() % 40)).await;
        }
    }
    if model.is_down {
        cluster.apply(&Step::Recovery).await;
        model.apply(&Step::Recovery);
    }
    if let Err(difference) = cluster.until_equal(&model).await {
        panic!("seed {seed}: {difference}\nafter {steps:#?}");
    }
    // In the end nothing is left.
    let remaining: Vec<usize> = model.plugins.keys().rev().copied().collect();
    for plugin in remaining {
        cluster.apply(&Step::Delete(plugin)).await;
        model.apply(&Step::Delete(plugin));
    }
    if let Err(difference) = cluster.until_equal(&model).await {
        panic!("seed {seed}, after the removal of all: {difference}\nafter {steps:#?}");
    }
}

fn variable<T: FromStr<Err: Debug>>(name: &str, default: T) -> T {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) => default,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn any_sequence_of_events_ends_as_the_model_predicts() {
    let sequences: u64 = variable("SEQUENCES", DEFAULT_SEQUENCES);
    let first: u64 = variable("SEED", 1);
    let mut cluster = Cluster {
        harness: Harness::new().await,
        sequence: 0,
    };
    for sequence in 0..sequences {
        cluster.sequence = sequence;
        run_sequence(&mut cluster, first + sequence).await;
    }
    cluster.harness.close().await;
}
