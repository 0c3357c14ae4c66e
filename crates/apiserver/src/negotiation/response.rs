//! Responses: rendered in the negotiated format, compressed if large.

use bytes::Bytes;
use http::header::{
    CACHE_CONTROL, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER, VARY, WARNING,
};
use http::{HeaderName, HeaderValue, Response, StatusCode};
use outrigger_apimachinery::status::Status;
use serde::Serialize;
use serde_json::Value;

use super::accept::{Accept, Format};
use crate::server::Body;

/// Smaller responses are not compressed.
const COMPRESS_FROM: usize = 128 * 1024;
/// The longest warning in characters.
const MAX_WARNING: usize = 1024;

/// The content of a response.
#[derive(Debug)]
pub(crate) enum Content {
    /// Serialized JSON.
    Json(Bytes),
    /// JSON that is concatenated while it is sent.
    Pieces(Body),
    Value(Value),
    /// The JSON lines of a watch: neither compressed nor pretty-printed.
    Stream(Body),
    Text(String),
    Nothing,
}

/// A response before content negotiation.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) code: StatusCode,
    pub(crate) content: Content,
    pub(crate) headers: Vec<(HeaderName, HeaderValue)>,
}

impl ApiResponse {
    pub(crate) fn new(code: StatusCode, content: Content) -> Self {
        Self {
            code,
            content,
            headers: Vec::new(),
        }
    }

    pub(crate) fn ok(content: Content) -> Self {
        Self::new(StatusCode::OK, content)
    }

    pub(crate) fn value(code: StatusCode, value: &impl Serialize) -> Self {
        let bytes = serde_json::to_vec(value).unwrap_or_default();
        Self::new(code, Content::Json(bytes.into()))
    }

    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((name, value));
        }
        self
    }

    pub(crate) fn render(self, accept: Accept, warnings: &[String]) -> Response<Body> {
        let mut response = match self.content {
            Content::Json(bytes) if accept.format == Format::Json && !accept.pretty => {
                whole(bytes, "application/json", accept.gzip)
            }
            Content::Pieces(body) if accept.format == Format::Json && !accept.pretty => {
                pieces(body, accept.gzip)
            }
            Content::Json(bytes) => formatted(&bytes, accept),
            Content::Pieces(body) => formatted(&body.into_bytes(), accept),
            Content::Value(value) => rendered(&value, accept),
            Content::Stream(body) if accept.format == Format::Protobuf => {
                with_type(body, "application/vnd.kubernetes.protobuf;stream=watch")
            }
            Content::Stream(body) => with_type(body, "application/json"),
            Content::Nothing => Response::new(Body::empty()),
            Content::Text(text) => {
                let mut response = with_type(Body::full(text), "text/plain; charset=utf-8");
                let nosniff = HeaderValue::from_static("nosniff");
                response
                    .headers_mut()
                    .insert("x-content-type-options", nosniff);
                response
            }
        };
        *response.status_mut() = self.code;
        let headers = response.headers_mut();
        headers
            .entry(CACHE_CONTROL)
            .or_insert(HeaderValue::from_static("no-cache, private"));
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        // Warnings with control characters are not valid in headers and are dropped.
        let fits = |warning: &&String| !warning.chars().any(char::is_control);
        for warning in warnings.iter().filter(fits) {
            if let Ok(value) = HeaderValue::from_str(&warning_text(warning)) {
                headers.append(WARNING, value);
            }
        }
        response
    }
}

/// An error response.
pub(crate) fn failure(status: &Status) -> ApiResponse {
    let code = StatusCode::from_u16(status.code()).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = ApiResponse::value(code, status);
    if let Some(seconds) = status.retry_after() {
        response = response.header(RETRY_AFTER, &seconds.to_string());
    }
    response
}

pub(crate) fn text(code: StatusCode, text: impl Into<String>) -> ApiResponse {
    ApiResponse::new(code, Content::Text(text.into()))
}

/// The value of a warning header: `299 - "text"`.
fn warning_text(text: &str) -> String {
    let text: String = text.chars().take(MAX_WARNING).collect();
    let text = text.replace('\\', "\\\\").replace('"', "\\\"");
    format!("299 - \"{text}\"")
}

fn formatted(json: &[u8], accept: Accept) -> Response<Body> {
    match serde_json::from_slice::<Value>(json) {
        Ok(value) => rendered(&value, accept),
        // Our own JSON always parses.
        Err(_) => whole(Bytes::copy_from_slice(json), "application/json", false),
    }
}

fn rendered(value: &Value, accept: Accept) -> Response<Body> {
    if accept.format == Format::Protobuf
        && let Some(bytes) = outrigger_protobuf::encode(value)
    {
        return whole(bytes.into(), outrigger_protobuf::MEDIA_TYPE, accept.gzip);
    }
    let (bytes, content_type) = match accept.format {
        Format::Yaml => (outrigger_goyaml::write_json(value), "application/yaml"),
        Format::Json if accept.pretty => (
            serde_json::to_vec_pretty(value).unwrap_or_default(),
            "application/json",
        ),
        Format::Json | Format::Protobuf => (
            serde_json::to_vec(value).unwrap_or_default(),
            "application/json",
        ),
    };
    whole(bytes.into(), content_type, accept.gzip)
}

fn whole(bytes: Bytes, content_type: &'static str, gzip: bool) -> Response<Body> {
    if gzip && bytes.len() > COMPRESS_FROM {
        return compressed(&bytes, content_type);
    }
    with_type(Body::full(bytes), content_type)
}

fn pieces(body: Body, gzip: bool) -> Response<Body> {
    let is_large = body
        .length()
        .is_some_and(|length| length > COMPRESS_FROM as u64);
    if gzip && is_large {
        return compressed(&body.into_bytes(), "application/json");
    }
    with_type(body, "application/json")
}

fn compressed(bytes: &[u8], content_type: &'static str) -> Response<Body> {
    use std::io::Write as _;
    let out = Vec::with_capacity(bytes.len() / 8);
    let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::fast());
    // Writing to memory does not fail.
    let _ = encoder.write_all(bytes);
    let zipped = encoder.finish().unwrap_or_default();
    let mut response = with_type(Body::full(zipped), content_type);
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

fn with_type(body: Body, content_type: &'static str) -> Response<Body> {
    let length = body.length();
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    response
}
