//! `outrigger cluster show`: prints the details of one cluster.

use jiff::Timestamp;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use outrigger_api::cluster::{Cluster, Features};
use outrigger_api::condition::Condition;
use outrigger_api::flow_status::HookStatus;
use outrigger_api::machine::Machine;
use serde::Serialize;

use super::row::{ClusterRow, cluster_row};
use super::{edit, machines};
use crate::age;
use crate::arguments::{Output, OutputFlag};
use crate::commands::machine::list::{MachineRow, machine_row};
use crate::commands::plugin::connect::{Connection, ServerFlags};
use crate::printer::{Field, Printer, Row};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster show cls-1
  outrigger cluster show cls-1 -o yaml";

/// The newest events that are printed.
const MAX_EVENTS: usize = 10;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    #[command(flatten)]
    server: ServerFlags,
    #[command(flatten)]
    output: OutputFlag,
}

/// A cluster with everything that belongs to it. It has no credentials.
#[derive(Debug, Serialize)]
struct ClusterDetails {
    #[serde(flatten)]
    cluster: ClusterRow,
    features: Features,
    machines: Vec<MachineRow>,
    conditions: Vec<Condition>,
    hooks: Vec<HookStatus>,
    events: Vec<EventRow>,
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct ConditionRow<'a>(&'a Condition);

impl Row for ConditionRow<'_> {
    const HEADERS: &'static [&'static str] = &["CONDITION", "STATUS", "REASON", "AGE", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        let condition = self.0;
        vec![
            condition.kind.clone(),
            format!("{:?}", condition.status),
            condition.reason.clone(),
            age::since_text(Some(&condition.last_transition_time)),
            condition.message.clone(),
        ]
    }
}

#[derive(Debug, Serialize)]
#[serde(transparent)]
struct HookRow<'a>(&'a HookStatus);

impl Row for HookRow<'_> {
    const HEADERS: &'static [&'static str] = &["HOOK", "MACHINE", "EXIT CODE", "AGE"];

    fn cells(&self) -> Vec<String> {
        let hook = self.0;
        let code = hook.exit_code.map(|code| code.to_string());
        vec![
            hook.name.clone(),
            hook.machine.clone(),
            code.unwrap_or_else(|| "-".to_owned()),
            age::since_text(Some(&hook.finished)),
        ]
    }
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EventRow {
    object: String,
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    message: String,
    count: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    last_seen: Option<String>,
}

impl Row for EventRow {
    const HEADERS: &'static [&'static str] = &["AGE", "EVENT", "REASON", "OBJECT", "MESSAGE"];

    fn cells(&self) -> Vec<String> {
        let times = match self.count {
            1 => String::new(),
            count => format!(" (x{count})"),
        };
        vec![
            age::since_text(self.last_seen.as_deref()),
            self.kind.clone(),
            self.reason.clone(),
            self.object.clone(),
            format!("{}{times}", self.message),
        ]
    }
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let connection = args.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    let machines = machines(&connection, &args.name).await?;
    let events = events(&connection, &cluster, &machines).await;
    let details = details(&cluster, &machines, events);
    match args.output.output {
        Output::Table => print(&cluster, &details, printer),
        format => printer.value(format, &details),
    }
}

fn details(cluster: &Cluster, machines: &[Machine], events: Vec<EventRow>) -> ClusterDetails {
    let status = cluster.status.clone().unwrap_or_default();
    let of_machines = machines.iter().filter_map(|it| it.status.as_ref());
    let of_machines = of_machines.flat_map(|status| status.hooks.clone());
    let mut hooks: Vec<HookStatus> = status.hooks.into_iter().chain(of_machines).collect();
    hooks.sort_by(|a, b| a.finished.cmp(&b.finished));
    ClusterDetails {
        cluster: cluster_row(cluster),
        features: cluster.spec.features.clone(),
        machines: machines.iter().map(machine_row).collect(),
        conditions: status.conditions,
        hooks,
        events,
    }
}

fn print(cluster: &Cluster, details: &ClusterDetails, printer: &Printer) -> anyhow::Result<()> {
    printer.fields(&fields(cluster, &details.cluster))?;
    section(&details.machines, printer)?;
    let conditions: Vec<ConditionRow<'_>> = details.conditions.iter().map(ConditionRow).collect();
    section(&conditions, printer)?;
    let hooks: Vec<HookRow<'_>> = details.hooks.iter().map(HookRow).collect();
    section(&hooks, printer)?;
    section(&details.events, printer)
}

/// A table after an empty line, unless it has no rows.
fn section<T: Row + Serialize>(rows: &[T], printer: &Printer) -> anyhow::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    printer.line("")?;
    printer.list(Output::Table, rows)
}

fn fields(cluster: &Cluster, row: &ClusterRow) -> Vec<Field> {
    let (spec, features) = (&cluster.spec, &cluster.spec.features);
    let or_empty = |text: &Option<String>| text.clone().unwrap_or_default();
    let time = |time: Option<String>| {
        let with_age = |time: String| format!("{time} ({} ago)", age::since_text(Some(&time)));
        time.map(with_age).unwrap_or_default()
    };
    let deleted = cluster.metadata.deletion_timestamp.as_ref();
    let hooks: Vec<&str> = features.hooks.keys().map(String::as_str).collect();
    let files = match features.files.len() {
        0 => String::new(),
        count => count.to_string(),
    };
    vec![
        Field::new("Name", &row.name),
        Field::new("Display name", or_empty(&spec.display_name)),
        Field::new("Phase", format!("{:?}", row.phase)).color(row.phase_color()),
        Field::new("Message", &row.message),
        Field::new("Created", time(row.created.clone())),
        Field::new("Deleted", time(deleted.map(|it| it.0.to_string()))),
        Field::new("Origin", or_empty(&row.origin)),
        Field::new("Type", format!("{:?}", row.kind)),
        Field::new("Version", row.version()),
        Field::new("Provider", &row.provider),
        Field::new("Pod network", or_empty(&spec.cluster_cidr)),
        Field::new("Services", or_empty(&spec.service_cidr)),
        Field::new("Flow", or_empty(&row.flow)),
        Field::new("Step", or_empty(&row.step)),
        Field::new("Machines", row.machines()),
        Field::new("Files", files),
        Field::new("Hooks", hooks.join(", ")),
        Field::new("Skipped", features.skip_conditions.join(", ")),
        Field::new("Delegated", features.delegate_conditions.join(", ")),
    ]
}

/// The newest events about a cluster and its machines, oldest first. None if they cannot be read: they are an addition.
pub(super) async fn events(
    connection: &Connection,
    cluster: &Cluster,
    machines: &[Machine],
) -> Vec<EventRow> {
    let api: Api<Event> = Api::all(connection.client.clone());
    let list = api.list(&ListParams::default()).await;
    let events = list.map(|list| list.items).unwrap_or_default();
    newest(events, cluster, machines)
}

fn newest(mut events: Vec<Event>, cluster: &Cluster, machines: &[Machine]) -> Vec<EventRow> {
    let uids = machines.iter().map(ResourceExt::uid);
    let uids: Vec<String> = uids.chain([cluster.uid()]).flatten().collect();
    events.retain(|event| {
        let uid = event.regarding.as_ref().and_then(|it| it.uid.as_ref());
        uid.is_some_and(|uid| uids.contains(uid))
    });
    events.sort_by_key(last_seen);
    let surplus = events.len().saturating_sub(MAX_EVENTS);
    events.iter().skip(surplus).map(event_row).collect()
}

fn event_row(event: &Event) -> EventRow {
    let name = event.regarding.as_ref().and_then(|it| it.name.clone());
    EventRow {
        object: name.unwrap_or_default(),
        kind: event.type_.clone().unwrap_or_default(),
        reason: event.reason.clone().unwrap_or_default(),
        message: event.note.clone().unwrap_or_default(),
        count: event.series.as_ref().map_or(1, |series| series.count),
        last_seen: last_seen(event).map(|time| time.to_string()),
    }
}

fn last_seen(event: &Event) -> Option<Timestamp> {
    let series = event.series.as_ref();
    let last = series.map(|series| series.last_observed_time.0);
    last.or_else(|| event.event_time.as_ref().map(|time| time.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn details_have_machines_conditions_hooks_and_events_and_no_credentials() {
        let hook = |name: &str, finished: &str| json!({"name": name, "machine": "m", "attempt": "1", "exitCode": 3, "finished": finished});
        let cluster: Cluster = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a", "uid": "1"},
            "spec": {"version": "1.35.0", "machines": [{"ip": "10.0.0.1", "password": "c2VjcmV0"}]},
            "status": {
                "conditions": [{
                    "type": "Accepted", "status": "True", "reason": "Valid", "lastTransitionTime": "2026-01-01T00:00:00Z",
                }],
                "hooks": [hook("PreClusterInstall", "2026-01-01T00:00:02Z")],
            },
        }))
        .unwrap();
        let machine: Machine = serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Machine", "metadata": {"name": "m", "uid": "2"},
            "spec": {"cluster": "a", "ip": "10.0.0.1", "password": "c2VjcmV0"},
            "status": {"hooks": [hook("PreInstall", "2026-01-01T00:00:01Z")]},
        }))
        .unwrap();
        let event = |uid: &str| {
            let event = json!({
                "metadata": {}, "eventTime": "2026-01-01T00:00:00.000000Z", "reason": "StepFailed", "type": "Warning",
                "note": "no", "regarding": {"uid": uid, "name": "m"},
            });
            serde_json::from_value::<Event>(event).unwrap()
        };
        let machines = [machine];
        let events = newest(vec![event("2"), event("3")], &cluster, &machines);
        let details = details(&cluster, &machines, events);
        let value = serde_json::to_value(&details).unwrap();
        assert!(!value.to_string().contains("c2VjcmV0"), "{value}");
        assert_eq!(value["machines"][0]["name"], "m");
        assert_eq!(value["hooks"][0]["name"], "PreInstall");
        assert_eq!(value["events"].as_array().map(Vec::len), Some(1));
        assert_eq!(HookRow(&details.hooks[1]).cells()[2], "3");
        assert_eq!(ConditionRow(&details.conditions[0]).cells()[1], "True");
    }
}
