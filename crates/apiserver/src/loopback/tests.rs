//! The client against a service that echoes the request.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::task::{Context, Poll};

use serde_json::json;

use super::*;

/// Responds with the request, or with an error or events, depending on the path.
#[derive(Clone)]
struct Echo;

impl Service<Request<Full<Bytes>>> for Echo {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let header = |name| {
            request
                .headers()
                .get(name)
                .map(|value| value.to_str().unwrap().to_owned())
        };
        let path = request.uri().to_string();
        let (code, text) = if path.contains("missing") {
            let status = json!({"kind": "Status", "message": "not there", "reason": "NotFound", "code": 404});
            (404, status.to_string())
        } else if path.contains("watch=true") {
            let event =
                |kind: &str, object: Value| json!({"type": kind, "object": object}).to_string();
            let events = [
                event("ADDED", json!({"a": 1})),
                event("BOOKMARK", json!({"metadata": {"resourceVersion": "7"}})),
                event("DELETED", json!({"a": 1})),
                event(
                    "ERROR",
                    json!({"code": 410, "reason": "Expired", "message": "too old"}),
                ),
            ];
            (200, events.join("\n") + "\n")
        } else {
            let echo = json!({"method": request.method().as_str(), "path": path, "type": header(CONTENT_TYPE), "agent": header(USER_AGENT)});
            (200, echo.to_string())
        };
        let response = Response::builder()
            .status(code)
            .body(Full::new(text.into()));
        ready(Ok(response.unwrap()))
    }
}

#[tokio::test]
async fn sends_api_requests() {
    let client = Client::new(Echo, "me");
    let pod = ResourcePath::all("v1", "pods").in_namespace("n").named("a");
    let got = client.get(&pod).await.unwrap();
    assert_eq!(
        got,
        json!({"method": "GET", "path": "/api/v1/namespaces/n/pods/a", "type": null, "agent": "me"})
    );
    let created = client.create(&pod, &json!({})).await.unwrap();
    assert_eq!(created["path"], "/api/v1/namespaces/n/pods");
    let patched = client.patch_status(&pod, &json!({})).await.unwrap();
    assert_eq!(patched["path"], "/api/v1/namespaces/n/pods/a/status");
    assert_eq!(patched["type"], "application/merge-patch+json");
    let applied = client
        .with_manager("you")
        .patch(&pod, Patch::Apply, &json!({}))
        .await
        .unwrap();
    assert_eq!(
        applied["path"],
        "/api/v1/namespaces/n/pods/a?force=true&fieldManager=you"
    );
}

#[tokio::test]
async fn returns_an_error_response_as_an_error() {
    let error = Client::new(Echo, "me")
        .get(&ResourcePath::all("v1", "pods").named("missing"))
        .await
        .unwrap_err();
    assert!(error.is_not_found());
    assert_eq!(error.to_string(), "the server returned 404: not there");
}

#[tokio::test]
async fn a_watch_returns_events_until_an_error() {
    let mut watch = Client::new(Echo, "me")
        .watch(&ResourcePath::all("v1", "pods"), "")
        .await
        .unwrap();
    assert_eq!(
        watch.next().await.unwrap(),
        Some(WatchEvent::Applied(json!({"a": 1})))
    );
    assert_eq!(
        watch.next().await.unwrap(),
        Some(WatchEvent::Bookmark("7".to_owned()))
    );
    assert_eq!(
        watch.next().await.unwrap(),
        Some(WatchEvent::Deleted(json!({"a": 1})))
    );
    assert_eq!(watch.next().await.unwrap_err().code(), Some(410));
    assert_eq!(watch.next().await.unwrap(), None);
}
