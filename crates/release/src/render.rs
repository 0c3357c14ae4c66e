//! Renders a chart for a release.

mod control;
mod host;
mod slots;

use std::sync::Arc;

use jiff::Timestamp;
use outrigger_chart::processed_chart::{ProcessedChart, process_dependencies};
use outrigger_chart::{Capabilities, Chart, Operation, Profile, Rendered, render_cached};
use outrigger_gotmpl::json;
use outrigger_gotmpl::value::{Map as GoMap, Value as GoValue, free_cycles, memory};
use serde_json::{Map, Value};

use crate::action::Action;
use crate::cluster::Cluster;
use crate::desired::{Desired, Object, action, parse_objects};
use crate::error::Error;
use crate::history::History;
use crate::id::ObjectId;
use crate::options::CrdPolicy;

use control::RenderControl;
use host::ClusterHost;
use slots::{Attempt, MemoryPermit, Running, Size};

#[derive(Debug, Clone)]
pub struct RenderOptions {
    pub crds: CrdPolicy,
    /// Replaces the registries of all images.
    pub image_registry: Option<String>,
    /// Leave out objects of kinds that are not defined yet: [`Desired::deferred`].
    pub defer_unknown_kinds: bool,
    /// The clock of template functions.
    pub now: fn() -> Timestamp,
}

impl Default for RenderOptions {
    fn default() -> Self {
        Self {
            crds: CrdPolicy::default(),
            image_registry: None,
            defer_unknown_kinds: false,
            now: Timestamp::now,
        }
    }
}

/// The maximum memory of the values of a render, by its size.
const MAX_MEMORY: [usize; 2] = [32 << 20, 256 << 20];

/// The maximum size of all manifests, by the size of the render. An object has at most 1.5 MiB.
const MAX_OUTPUT: [usize; 2] = [16 << 20, 64 << 20];

/// Renders a chart with user-supplied values. `.Release.Revision` is that of the interrupted or failed last revision if
/// the result has the same contents, otherwise the next one.
pub async fn render(
    cluster: &Cluster,
    history: &History,
    chart: &Arc<Chart>,
    values: &Map<String, Value>,
    options: &RenderOptions,
) -> Result<Desired, Error> {
    let attempt = history.resumable().filter(|attempt| {
        let summary = attempt.chart.summary();
        attempt.config == *values
            && summary.name == chart.metadata.name
            && summary.version == chart.metadata.version
    });
    if let Some(attempt) = attempt {
        let revision = attempt.revision;
        let desired = render_revision(cluster, history, revision, chart, values, options).await?;
        if attempt.has_same_contents(&desired.record()) {
            return Ok(desired);
        }
    }
    let revision = history.next_revision();
    render_revision(cluster, history, revision, chart, values, options).await
}

async fn render_revision(
    cluster: &Cluster,
    history: &History,
    revision: u32,
    chart: &Arc<Chart>,
    values: &Map<String, Value>,
    options: &RenderOptions,
) -> Result<Desired, Error> {
    let served = cluster.api_resources().await?;
    let task = |capabilities: &Capabilities| RenderTask {
        cluster: cluster.clone(),
        chart: Arc::clone(chart),
        values: values.clone(),
        options: engine_options(history, revision, capabilities.clone()),
        now: options.now,
    };
    let mut output = task(served.capabilities()).run().await?;
    let crds = match options.crds {
        CrdPolicy::Skip => Vec::new(),
        CrdPolicy::Create | CrdPolicy::Replace => parse_crds(&output.rendered)?,
    };
    let resources = if crds.is_empty() {
        Arc::clone(&served)
    } else {
        Arc::new(served.with_crds(crds.iter().map(Object::body)))
    };
    // `.Capabilities` includes the chart's own CRDs, as if they were installed before.
    if resources.capabilities() != served.capabilities() {
        output = task(resources.capabilities()).run().await?;
    }
    let warnings = std::mem::take(&mut output.warnings);
    let values = values.clone();
    let defer = options.defer_unknown_kinds;
    let desired = Desired::from_rendered(cluster, history, chart, values, output, resources, defer);
    let mut desired = desired.await?;
    desired.revision = revision;
    desired.set_crds(crds);
    desired.set_warnings(warnings);
    if let Some(registry) = &options.image_registry {
        desired.relocate_images(registry)?;
    }
    Ok(desired)
}

fn engine_options(
    history: &History,
    revision: u32,
    capabilities: Capabilities,
) -> outrigger_chart::RenderOptions {
    let id = history.id();
    let mut options = outrigger_chart::RenderOptions::new(Profile::Helm4, &id.name, &id.namespace);
    options.release.revision = revision;
    options.release.operation = Some(match action(history) {
        Action::Install => Operation::Install,
        _ => Operation::Upgrade,
    });
    options.capabilities = capabilities;
    options
}

/// The objects of the chart's `crds` directory.
fn parse_crds(rendered: &Rendered) -> Result<Vec<Object>, Error> {
    let mut crds = Vec::new();
    for file in &rendered.crds {
        let text = String::from_utf8_lossy(&file.data);
        for document in outrigger_chart::manifest::split::documents(&text, Profile::Helm4) {
            for body in parse_objects(&file.path, document)? {
                crds.push(Object::new(ObjectId::of(&body), body));
            }
        }
    }
    Ok(crds)
}

/// One run of the template engine.
struct RenderTask {
    cluster: Cluster,
    chart: Arc<Chart>,
    values: Map<String, Value>,
    options: outrigger_chart::RenderOptions,
    now: fn() -> Timestamp,
}

impl RenderTask {
    /// Renders on a blocking thread, because `lookup` blocks. Dropping the future cancels the render.
    async fn run(self) -> Result<RenderOutput, Error> {
        let task = Arc::new(self);
        slots::run(|size, permit| Self::start(&task, size, permit)).await
    }

    fn start(task: &Arc<Self>, size: Size, permit: MemoryPermit) -> Running<RenderOutput> {
        let control = Arc::new(RenderControl::default());
        let host = ClusterHost {
            cluster: task.cluster.clone(),
            runtime: tokio::runtime::Handle::current(),
            now: task.now,
            control: Arc::clone(&control),
        };
        let task = Arc::clone(task);
        let handle = tokio::task::spawn_blocking(move || {
            memory::take_limit_reached();
            let output = task.render(&host, size);
            free_cycles();
            drop(permit);
            Attempt {
                output,
                is_limit_reached: memory::take_limit_reached(),
            }
        });
        Running::new(control, handle)
    }

    fn render(&self, host: &ClusterHost, size: Size) -> Result<RenderOutput, Error> {
        let mut options = self.options.clone();
        options.limits.memory_bytes = MAX_MEMORY[size as usize];
        options.limits.output_bytes = MAX_OUTPUT[size as usize];
        let values = go_values(&self.values);
        let mut warnings = Vec::new();
        let rendered = self.cluster.with_parse_cache(|cache| {
            let warn = &mut |warning| warnings.push(warning);
            render_cached(&self.chart, &values, &options, host, warn, cache)
        })?;
        Ok(RenderOutput {
            rendered,
            processed: process_dependencies(&self.chart, &values, options.profile)?,
            warnings,
        })
    }
}

pub(crate) struct RenderOutput {
    pub(crate) rendered: Rendered,
    /// Values and dependencies after Helm's dependency processing, if the chart has dependencies.
    pub(crate) processed: Option<ProcessedChart>,
    warnings: Vec<String>,
}

/// Converts values as Helm does: all numbers become floats.
fn go_values(values: &Map<String, Value>) -> GoMap {
    let text = serde_json::to_vec(values).expect("JSON values serialize");
    match json::decode(&text) {
        Ok(GoValue::Map(map)) => map,
        _ => GoMap::default(),
    }
}
