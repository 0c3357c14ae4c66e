//! Responses of servers that a kubeconfig in a Secret names: they are bounded, and errors are replaced unless they are a
//! `Status` of Kubernetes.
//!
//! Errors end up in the status and the events of a plugin. Whoever may create plugins must not be able to read the
//! responses of arbitrary servers there.

use std::pin::Pin;
use std::task::{Context, Poll};

use http::{Request, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, Limited};
use kube::client::Body;
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::bounded_body::{Bounded, BoundedBody};

/// The maximum size of a `Status`.
const MAX_STATUS: usize = 64 << 10;

/// The maximum length of a message, in characters.
const MAX_MESSAGE: usize = 1024;

/// The body of a response, as it was or replaced.
pub(super) type AnyBody = UnsyncBoxBody<bytes::Bytes, BoxError>;

pub(super) type BoxError = Box<dyn std::error::Error + Send + Sync>;

pub(super) struct ReplaceForeignResponses;

impl<S> Layer<S> for ReplaceForeignResponses {
    type Service = ForeignServer<S>;

    fn layer(&self, service: S) -> Self::Service {
        ForeignServer(service)
    }
}

#[derive(Clone)]
pub(super) struct ForeignServer<S>(S);

impl<S, B> Service<Request<Body>> for ForeignServer<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError>,
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<AnyBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<AnyBody>, BoxError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.0.poll_ready(context).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let bounded = Bounded::of(request.uri().query());
        let response = self.0.call(request);
        Box::pin(async move {
            let response = response.await.map_err(Into::into)?;
            Ok(replaced(response, bounded).await)
        })
    }
}

async fn replaced<B>(response: Response<B>, bounded: Bounded) -> Response<AnyBody>
where
    B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let code = response.status();
    if !code.is_client_error() && !code.is_server_error() {
        let any = |body: B| body.map_err(Into::into).boxed_unsync();
        return response.map(|body| BoundedBody::new(any(body), bounded).boxed_unsync());
    }
    let (parts, body) = response.into_parts();
    let body = Limited::new(body, MAX_STATUS).collect().await;
    let status = body.ok().and_then(|body| status(&body.to_bytes()));
    let status = status.unwrap_or_else(|| unknown(code));
    let body = Full::from(status.to_string()).map_err(|never| match never {});
    Response::from_parts(parts, body.boxed_unsync())
}

/// The fields of a `Status`, if the body is one.
fn status(body: &[u8]) -> Option<Value> {
    let body: Value = serde_json::from_slice(body).ok()?;
    if body["kind"] != "Status" || body["apiVersion"] != "v1" {
        return None;
    }
    let message: String = body["message"]
        .as_str()?
        .chars()
        .take(MAX_MESSAGE)
        .collect();
    Some(json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": message, "reason": body["reason"].as_str().unwrap_or_default(),
        "code": body["code"].as_u64().unwrap_or_default(),
    }))
}

fn unknown(code: StatusCode) -> Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": format!("the server responded with status {} and no Status object", code.as_u16()),
        "reason": "", "code": code.as_u16(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_status_is_passed_on() {
        for body in [
            "root:x:0:0",
            r#"{"message": "hunter2"}"#,
            r#"{"kind": "Status", "message": "hunter2"}"#,
            "[]",
        ] {
            assert_eq!(status(body.as_bytes()), None, "{body}");
        }
        let body = r#"{"kind": "Status", "apiVersion": "v1", "message": "pods is forbidden", "code": 403, "details": {"name": "x"}}"#;
        let status = status(body.as_bytes()).unwrap();
        assert_eq!(status["message"], "pods is forbidden");
        assert_eq!(status["code"], 403);
        assert_eq!(status["details"], Value::Null);
    }
}
