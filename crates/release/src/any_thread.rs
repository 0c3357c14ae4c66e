//! All work may run on any thread. The compiler proves it here, where the words of a failure are short.

use serde_json::{Map, Value};

use crate::progress::ignore;
use crate::{
    Cluster, Desired, Options, Past, Plan, ReleaseId, Rendering, Title, execute, from_manifests,
    observe, past, render, rollback, uninstall,
};

fn is_send<T: Send>(_: T) {}

#[expect(dead_code, reason = "to compile is the proof")]
fn all_work_is_send(
    cluster: &Cluster,
    id: &ReleaseId,
    (before, desired, plan): (&Past, &Desired, Plan),
    chart: &std::sync::Arc<outrigger_chart::Chart>,
    (rendering, options): (&Rendering, &Options),
) {
    let values: Map<String, Value> = Map::new();
    is_send(past(cluster, id));
    is_send(render(cluster, before, chart, &values, rendering));
    is_send(from_manifests(
        cluster,
        before,
        Title::default(),
        Vec::new(),
    ));
    is_send(observe(cluster, before.clone(), desired));
    is_send(execute(cluster, plan, options, &ignore));
    is_send(uninstall(cluster, id, &[], options, &ignore));
    is_send(rollback(cluster, id, None, options, &ignore));
}
