//! Requests to a server in process.

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use outrigger_apiserver::server::{Body, Options, Server, Service};
use serde_json::Value;

pub(crate) async fn server() -> Server {
    Server::open(Options::in_memory()).await.unwrap()
}

pub(crate) async fn send(
    service: &Service,
    method: Method,
    path: &str,
    kind: &str,
    body: &Value,
) -> http::Response<Body> {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", kind);
    service
        .handle(request.body(Full::new(Bytes::from(body))).unwrap())
        .await
}

pub(crate) async fn request(
    service: &Service,
    method: Method,
    path: &str,
    body: &Value,
) -> (StatusCode, Value) {
    let kind = if method == Method::PATCH {
        "application/merge-patch+json"
    } else {
        "application/json"
    };
    read(send(service, method, path, kind, body).await).await
}

pub(crate) async fn read(response: http::Response<Body>) -> (StatusCode, Value) {
    let code = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}
