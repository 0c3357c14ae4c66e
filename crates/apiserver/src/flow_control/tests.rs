//! Requests of different clients, and the seats that they get.

use serde_json::{Value, json};

use super::*;
use crate::auth::Target;

/// The flow control of a new cluster with more objects.
fn flow_control(more_schemas: &[Value], more_levels: &[Value]) -> FlowControl {
    let of = |wanted: &str, more: &[Value]| -> Vec<Value> {
        let default = objects().filter(|(plural, _)| *plural == wanted);
        let default = default.map(|(_, mut object)| {
            object["metadata"]["uid"] = object["metadata"]["name"].clone();
            object
        });
        default.chain(more.iter().cloned()).collect()
    };
    let control = FlowControl::default();
    control.configure(
        &of("flowschemas", more_schemas),
        &of("prioritylevelconfigurations", more_levels),
    );
    control
}

fn user(name: &str, groups: &[&str]) -> UserInfo {
    UserInfo {
        name: name.to_owned(),
        groups: groups.iter().map(|&group| group.to_owned()).collect(),
        ..UserInfo::default()
    }
}

const READ_POD: Attributes<'static> = Attributes {
    verb: "get",
    target: Target::Resource {
        group: "",
        version: "v1",
        resource: "pods",
        subresource: "",
        namespace: "default",
        name: "p",
    },
};

#[track_caller]
fn check(user: &UserInfo, attributes: &Attributes<'_>, schema: &str, level: &str) {
    let flow = flow_control(&[], &[]).classify(user, attributes).unwrap();
    assert_eq!([&flow.schema, &flow.level.uid], [schema, level]);
}

#[test]
fn the_default_schemas_assign_requests_to_levels() {
    let anonymous = UserInfo::anonymous();
    let check_path = |user, path, schema, level| {
        let target = Target::Path(path);
        check(
            user,
            &Attributes {
                verb: "get",
                target,
            },
            schema,
            level,
        );
    };
    check(&UserInfo::internal(), &READ_POD, "exempt", "exempt");
    check_path(&anonymous, "/healthz", "probes", "exempt");
    check_path(&anonymous, "/version", "global-default", "global-default");
    let person = user("jane", &["system:authenticated"]);
    check(&person, &READ_POD, "global-default", "global-default");
    check_path(&person, "/version", "global-default", "global-default");
    let account = UserInfo::service_account("shop", "web", "1");
    check(&account, &READ_POD, "service-accounts", "workload-low");
    let account = UserInfo::service_account("kube-system", "web", "1");
    let schema = "kube-system-service-accounts";
    check(&account, &READ_POD, schema, "workload-high");
    let node = user("system:node:a", &["system:nodes", "system:authenticated"]);
    check(&node, &READ_POD, "system-nodes", "system");
    let target = Target::Resource {
        group: "",
        version: "v1",
        resource: "nodes",
        subresource: "status",
        namespace: "",
        name: "a",
    };
    let attributes = Attributes {
        verb: "patch",
        target,
    };
    check(&node, &attributes, "system-node-high", "node-high");
}

fn level(name: &str, shares: u32, response: &Value) -> Value {
    json!({
        "metadata": {"name": name, "uid": name},
        "spec": {
            "type": "Limited",
            "limited": {"nominalConcurrencyShares": shares, "limitResponse": response},
        },
    })
}

fn schema(level: &str, precedence: u32, users: &[&str], paths: &[&str]) -> Value {
    let subject = |name: &&str| json!({"kind": "User", "user": {"name": name}});
    json!({
        "metadata": {"name": "s", "uid": "s"},
        "spec": {
            "matchingPrecedence": precedence,
            "priorityLevelConfiguration": {"name": level},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [{
                "subjects": users.iter().map(subject).collect::<Vec<_>>(),
                "nonResourceRules": [{"verbs": ["*"], "nonResourceURLs": paths}],
            }],
        },
    })
}

fn get(path: &'static str) -> Attributes<'static> {
    let target = Target::Path(path);
    Attributes {
        verb: "get",
        target,
    }
}

#[test]
fn a_schema_without_its_level_does_not_apply() {
    let schemas = [schema("gone", 1, &["*"], &["*"])];
    let control = flow_control(&schemas, &[]);
    let flow = control.classify(&UserInfo::anonymous(), &get("/version"));
    assert_eq!(flow.unwrap().schema, "global-default");
}

#[test]
fn paths_match_as_a_whole_or_below_a_prefix() {
    let levels = [level("l", 1, &json!({"type": "Reject"}))];
    let control = flow_control(&[schema("l", 1, &["a"], &["/version", "/logs/*"])], &levels);
    let matches = |path| {
        let flow = control.classify(&user("a", &[]), &get(path));
        flow.is_some_and(|flow| flow.schema == "s")
    };
    assert!(matches("/version") && matches("/logs/x"));
    assert!(!matches("/version/x") && !matches("/logs"));
}

/// The level of [`level`] alone: all seats are its own.
fn only(response: &Value) -> FlowControl {
    let control = FlowControl::default();
    let schemas = [schema("l", 1, &["*"], &["*"])];
    control.configure(&schemas, &[level("l", 1, response)]);
    control
}

fn flow_of(control: &FlowControl, name: &str) -> Flow {
    control.classify(&user(name, &[]), &get("/x")).unwrap()
}

async fn take_all(control: &FlowControl, name: &str) -> Vec<Seat> {
    let flow = flow_of(control, name);
    let mut seats = Vec::new();
    for _ in 0..TOTAL_SEATS {
        seats.push(flow.begin().await.unwrap());
    }
    seats
}

fn waiting(control: &FlowControl) -> usize {
    control.metrics()[0].1.queued
}

/// A request that waits for a seat.
async fn wait(control: &FlowControl, name: &str) -> tokio::task::JoinHandle<Option<Seat>> {
    let (flow, before) = (flow_of(control, name), waiting(control));
    let wait = tokio::spawn(async move { flow.begin().await });
    while waiting(control) == before {
        tokio::task::yield_now().await;
    }
    wait
}

#[tokio::test]
async fn a_level_rejects_what_exceeds_its_seats() {
    let control = only(&json!({"type": "Reject"}));
    let seats = take_all(&control, "a").await;
    let flow = flow_of(&control, "b");
    assert!(flow.begin().await.is_none());
    let (_, metrics) = &control.metrics()[0];
    assert_eq!((metrics.executing, metrics.rejected), (600, 1));
    drop(seats);
    assert!(flow.begin().await.is_some());
}

#[tokio::test]
async fn a_flow_with_many_requests_does_not_delay_another_one() {
    let queuing = json!({"queues": 2, "handSize": 1, "queueLengthLimit": 3});
    let control = only(&json!({"type": "Queue", "queuing": queuing}));
    let mut seats = take_all(&control, "busy").await;
    let mut busy = Vec::new();
    for _ in 0..3 {
        busy.push(wait(&control, "busy").await);
    }
    assert!(
        flow_of(&control, "busy").begin().await.is_none(),
        "its queue is full"
    );
    let other = wait(&control, "other").await;
    drop(seats.pop());
    let other = other.await.unwrap();
    assert!(other.is_some());
    assert!(
        busy.iter().all(|wait| !wait.is_finished()),
        "they came first, but have 599 seats"
    );
    drop(other);
    assert!(busy.remove(0).await.unwrap().is_some());
}

#[tokio::test]
async fn requests_whose_clients_leave_free_the_queue_and_lose_no_seat() {
    let queuing = json!({"queues": 1, "handSize": 1, "queueLengthLimit": 1});
    let control = only(&json!({"type": "Queue", "queuing": queuing}));
    let mut seats = take_all(&control, "a").await;
    let left = wait(&control, "a").await;
    left.abort();
    assert!(left.await.is_err());
    let next = wait_after_abandoned(&control).await;
    drop(seats.pop());
    assert!(next.await.unwrap().is_some());
    drop(seats);
    assert_eq!(control.metrics()[0].1.executing, 0);
}

/// The queue still contains the abandoned request, so that its length does not change.
async fn wait_after_abandoned(control: &FlowControl) -> tokio::task::JoinHandle<Option<Seat>> {
    let flow = flow_of(control, "a");
    let wait = tokio::spawn(async move { flow.begin().await });
    for _ in 0..10 {
        tokio::task::yield_now().await;
    }
    assert!(!wait.is_finished(), "it waits");
    wait
}

#[tokio::test]
async fn a_new_configuration_keeps_what_is_executed() {
    let control = only(&json!({"type": "Reject"}));
    let seats = take_all(&control, "a").await;
    let schemas = [schema("l", 1, &["*"], &["*"])];
    let half = [
        level("l", 1, &json!({"type": "Reject"})),
        level("other", 1, &json!({"type": "Reject"})),
    ];
    control.configure(&schemas, &half);
    let (_, metrics) = &control.metrics()[0];
    assert_eq!((metrics.nominal_seats, metrics.executing), (Some(300), 600));
    drop(seats);
    assert_eq!(control.metrics()[0].1.executing, 0);
}
