//! Renders a chart for a release, with what the cluster serves and holds.

mod host;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp;
use outrigger_chart::settled::{Settled, settle};
use outrigger_chart::{Capabilities, Chart, Profile, RenderOptions, Rendered, render_cached};
use outrigger_gotmpl::json;
use outrigger_gotmpl::value::Map as GoMap;
use outrigger_gotmpl::value::Value as GoValue;
use serde_json::{Map, Value};

use crate::action::Action;
use crate::cluster::Cluster;
use crate::desired::{Desired, Object, action, parse_objects};
use crate::error::Error;
use crate::id::ObjectId;
use crate::options::Crds;
use crate::past::Past;

use host::ClusterHost;

/// How a chart becomes objects.
#[derive(Debug, Clone)]
pub struct Rendering {
    pub crds: Crds,
    /// The registry that all images are taken from, if not from those they name.
    pub image_registry: Option<String>,
    /// Tells the time of day.
    pub now: fn() -> Timestamp,
}

impl Default for Rendering {
    fn default() -> Self {
        Self {
            crds: Crds::default(),
            image_registry: None,
            now: Timestamp::now,
        }
    }
}

/// Renders a chart with the user's values. An attempt that was stopped half-way is gone on with if it would be the
/// same; otherwise the chart sees the number of the next revision.
pub async fn render(
    cluster: &Cluster,
    past: &Past,
    chart: &Arc<Chart>,
    values: &Map<String, Value>,
    rendering: &Rendering,
) -> Result<Desired, Error> {
    let attempt = past.resumable().filter(|attempt| {
        let title = attempt.chart.title();
        attempt.config == *values
            && title.name == chart.metadata.name
            && title.version == chart.metadata.version
    });
    if let Some(attempt) = attempt {
        let revision = attempt.revision;
        let desired = render_at(cluster, past, revision, chart, values, rendering).await?;
        if attempt.has_same_contents(&desired.record()) {
            return Ok(desired);
        }
    }
    let revision = past.next_revision();
    render_at(cluster, past, revision, chart, values, rendering).await
}

async fn render_at(
    cluster: &Cluster,
    past: &Past,
    revision: u32,
    chart: &Arc<Chart>,
    values: &Map<String, Value>,
    rendering: &Rendering,
) -> Result<Desired, Error> {
    let served = cluster.kinds().await?;
    let is_install = action(past) == Action::Install;
    let job = |capabilities: &Capabilities| Job {
        cluster: cluster.clone(),
        chart: Arc::clone(chart),
        values: values.clone(),
        options: options(past, revision, is_install, capabilities.clone()),
        now: rendering.now,
    };
    let mut ran = run(job(served.capabilities())).await?;
    let definitions = match rendering.crds {
        Crds::Skip => Vec::new(),
        Crds::Create | Crds::Replace => definitions(&ran.rendered)?,
    };
    let kinds = if definitions.is_empty() {
        Arc::clone(&served)
    } else {
        Arc::new(served.with_definitions(definitions.iter().map(Object::body)))
    };
    // Templates see what the chart's own definitions add, as if they were installed before.
    if kinds.capabilities() != served.capabilities() {
        ran = run(job(kinds.capabilities())).await?;
    }
    let warnings = std::mem::take(&mut ran.warnings);
    let mut desired =
        Desired::from_rendered(cluster, past, chart, values.clone(), ran, kinds).await?;
    desired.revision = revision;
    desired.set_definitions(definitions);
    desired.set_warnings(warnings);
    if let Some(registry) = &rendering.image_registry {
        desired.relocate_images(registry)?;
    }
    Ok(desired)
}

fn options(
    past: &Past,
    revision: u32,
    is_install: bool,
    capabilities: Capabilities,
) -> RenderOptions {
    let id = past.id();
    let mut options = RenderOptions::new(Profile::Helm4, &id.name, &id.namespace);
    options.release.revision = revision;
    options.release.is_install = is_install;
    options.release.is_upgrade = !is_install;
    options.capabilities = capabilities;
    options
}

/// The objects of the folder `crds`.
fn definitions(rendered: &Rendered) -> Result<Vec<Object>, Error> {
    let mut definitions = Vec::new();
    for file in &rendered.crds {
        let text = String::from_utf8_lossy(&file.data);
        for document in outrigger_chart::manifest::split::documents(&text, Profile::Helm4) {
            for body in parse_objects(&file.path, document)? {
                definitions.push(Object::new(ObjectId::of(&body), body));
            }
        }
    }
    Ok(definitions)
}

/// One run of the engine.
struct Job {
    cluster: Cluster,
    chart: Arc<Chart>,
    values: Map<String, Value>,
    options: RenderOptions,
    now: fn() -> Timestamp,
}

/// Renders on a thread that may block, because templates may ask the cluster. Stops when nobody waits any more.
async fn run(job: Job) -> Result<Ran, Error> {
    let cluster = job.cluster.clone();
    let _turn = cluster.turn_to_render().await;
    let unwanted = Arc::new(AtomicBool::new(false));
    let _guard = Unwanted(Arc::clone(&unwanted));
    let runtime = tokio::runtime::Handle::current();
    let work = tokio::task::spawn_blocking(move || {
        let host = ClusterHost {
            cluster: job.cluster.clone(),
            runtime,
            now: job.now,
            unwanted,
        };
        let values = go_values(&job.values);
        let mut warnings = Vec::new();
        let rendered = job.cluster.with_parsed(|parsed| {
            render_cached(
                &job.chart,
                &values,
                &job.options,
                &host,
                &mut |warning| warnings.push(warning),
                parsed,
            )
        })?;
        Ok(Ran {
            rendered,
            settled: settle(&job.chart, &values, job.options.profile)?,
            warnings,
        })
    });
    work.await.unwrap_or(Err(Error::RenderEnded))
}

/// What a chart came to.
pub(crate) struct Ran {
    pub(crate) rendered: Rendered,
    /// What its dependencies made of it, if it has some.
    pub(crate) settled: Option<Settled>,
    warnings: Vec<String>,
}

struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Values as Helm has them: every number is a float.
fn go_values(values: &Map<String, Value>) -> GoMap {
    let text = serde_json::to_vec(values).expect("JSON has a form in JSON");
    match json::decode(&text) {
        Ok(GoValue::Map(map)) => map,
        _ => GoMap::default(),
    }
}
