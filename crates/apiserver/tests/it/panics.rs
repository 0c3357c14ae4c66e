//! Panics of one request or of one controller: the others go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::{Method, StatusCode};
use http_body_util::BodyExt as _;
use jiff::Timestamp;
use outrigger_apiserver::loopback::{Client, ResourcePath};
use outrigger_apiserver::server::{Options, Server, Simulation};
use outrigger_store::watch::Event;
use outrigger_store::{Resource, Scope};
use serde_json::{Value, json};

use crate::requests::{request, send, server};

#[derive(Debug)]
struct Broken;

#[expect(clippy::panic, reason = "that is the point")]
impl Simulation for Broken {
    fn warnings(&self, _: &Value, _: Option<&Value>) -> Vec<String> {
        Vec::new()
    }

    fn pod_log(&self, _: &Value, _: &str) -> Option<String> {
        panic!("no log today");
    }
}

#[tokio::test]
async fn a_request_that_panics_is_answered_like_by_the_real_server_and_counted() {
    let server = server().await;
    server.attach_simulation(Arc::new(Broken));
    let service = server.service();
    let pods = "/api/v1/namespaces/default/pods";
    let pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "x"}]}});
    request(&service, Method::POST, pods, &pod).await;
    let path = format!("{pods}/p/log");
    let response = send(&service, Method::GET, &path, "", &Value::Null).await;
    assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
    let body = response.into_body().collect().await.unwrap().to_bytes();
    assert_eq!(
        body,
        "This request caused apiserver to panic. Look in the logs for details.\n"
    );
    let metrics = send(&service, Method::GET, "/metrics", "", &Value::Null).await;
    let metrics = metrics.into_body().collect().await.unwrap().to_bytes();
    let metrics = String::from_utf8(metrics.to_vec()).unwrap();
    assert!(
        metrics.contains("\napiserver_request_aborts_total 1\n"),
        "{metrics}"
    );
    let (code, _) = request(&service, Method::GET, &format!("{pods}/p"), &Value::Null).await;
    assert_eq!(code, StatusCode::OK);
    server.close().await;
}

static CLOCK_IS_BROKEN: AtomicBool = AtomicBool::new(false);

/// Panics once.
fn now() -> Timestamp {
    assert!(
        !CLOCK_IS_BROKEN.swap(false, Ordering::SeqCst),
        "the clock is broken"
    );
    Timestamp::now()
}

#[tokio::test]
async fn a_controller_that_panics_tries_again() {
    let options = Options {
        now,
        ..Options::in_memory()
    };
    let server = Server::open(options).await.unwrap();
    let client = Client::new(server.service(), "test");
    let namespace = ResourcePath::all("v1", "namespaces").named("n");
    let object = json!({"metadata": {"name": "n"}});
    client.create(&namespace, &object).await.unwrap();
    let deleted = client.delete(&namespace, &Value::Null).await.unwrap();
    assert_eq!(deleted["status"]["phase"], "Terminating");
    // The namespace controller deletes the contents of the namespace next, and asks for the time.
    CLOCK_IS_BROKEN.store(true, Ordering::SeqCst);
    let namespaces = Scope::resource(&Resource::new("", "namespaces").unwrap());
    let store = server.store();
    let mut watcher = store.watch(namespaces, store.revision()).unwrap();
    let gone = async { while !matches!(*watcher.next().await.unwrap(), Event::Deleted { .. }) {} };
    let waited = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert_eq!(waited, Ok(()));
    assert!(!CLOCK_IS_BROKEN.load(Ordering::SeqCst), "nothing panicked");
    server.close().await;
}
