//! Proves at compile time that the futures of all operations are `Send`.

use serde_json::{Map, Value};

use crate::progress::ignore;
use crate::{
    ChartSummary, Cluster, Desired, History, Options, Plan, ReleaseId, RenderOptions, execute,
    from_manifests, load_history, observe, render, rollback, uninstall,
};

fn is_send<T: Send>(_: T) {}

#[expect(dead_code, reason = "compiling it is the proof")]
fn all_operations_are_send(
    cluster: &Cluster,
    id: &ReleaseId,
    (history, desired, plan): (&History, &Desired, Plan),
    chart: &std::sync::Arc<outrigger_chart::Chart>,
    (render_options, options): (&RenderOptions, &Options),
) {
    let values: Map<String, Value> = Map::new();
    is_send(load_history(cluster, id));
    is_send(render(cluster, history, chart, &values, render_options));
    is_send(from_manifests(
        cluster,
        history,
        ChartSummary::default(),
        Vec::new(),
    ));
    is_send(observe(cluster, history.clone(), desired));
    is_send(crate::dry_run(cluster, &plan, options));
    is_send(execute(cluster, plan, options, &ignore));
    is_send(uninstall(cluster, id, &[], options, &ignore));
    is_send(rollback(cluster, id, None, options, &ignore));
}
