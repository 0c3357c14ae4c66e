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
use super::gzip;
use super::list::List;
use crate::server::Body;

/// Smaller responses are not compressed.
pub(super) const COMPRESS_FROM: usize = 128 * 1024;
/// The longest warning in characters.
const MAX_WARNING: usize = 1024;

/// The content of a response.
#[derive(Debug)]
pub(crate) enum Content {
    /// Serialized JSON.
    Json(Bytes),
    Value(Value),
    List(List),
    /// The JSON lines of a watch: neither compressed nor pretty-printed.
    Stream(Body),
    Text(String),
    Nothing,
}

impl Content {
    fn respond(self, accept: Accept) -> Result<Response<Body>, Status> {
        Ok(match self {
            Self::Json(bytes) if accept.format == Format::Json && !accept.pretty => {
                whole(bytes, "application/json", accept.gzip)
            }
            Self::Json(bytes) => {
                let value: Value = serde_json::from_slice(&bytes).map_err(Status::internal)?;
                rendered(&value, accept)?
            }
            Self::Value(value) => rendered(&value, accept)?,
            Self::List(list) => list.render(accept)?,
            Self::Stream(body) if accept.format == Format::Protobuf => {
                with_type(body, "application/vnd.kubernetes.protobuf;stream=watch")
            }
            Self::Stream(body) => with_type(body, "application/json"),
            Self::Nothing => Response::new(Body::empty()),
            Self::Text(text) => {
                let mut response = with_type(Body::full(text), "text/plain; charset=utf-8");
                let nosniff = HeaderValue::from_static("nosniff");
                response
                    .headers_mut()
                    .insert("x-content-type-options", nosniff);
                response
            }
        })
    }
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
        let mut response = match self.content.respond(accept) {
            Ok(response) => response,
            Err(status) => return failure(&status).render(Accept::any(), warnings),
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

fn rendered(value: &Value, accept: Accept) -> Result<Response<Body>, Status> {
    if accept.format == Format::Protobuf
        && let Some(bytes) = outrigger_protobuf::encode(value)
    {
        let content_type = outrigger_protobuf::MEDIA_TYPE;
        return Ok(whole(bytes.into(), content_type, accept.gzip));
    }
    let (bytes, content_type) = match accept.format {
        Format::Yaml => (
            outrigger_goyaml::try_write_json(value).map_err(Status::internal)?,
            "application/yaml",
        ),
        Format::Json if accept.pretty => (
            serde_json::to_vec_pretty(value).map_err(Status::internal)?,
            "application/json",
        ),
        Format::Json | Format::Protobuf => (
            serde_json::to_vec(value).map_err(Status::internal)?,
            "application/json",
        ),
    };
    Ok(whole(bytes.into(), content_type, accept.gzip))
}

pub(super) fn whole(bytes: Bytes, content_type: &'static str, gzip: bool) -> Response<Body> {
    if gzip && bytes.len() > COMPRESS_FROM {
        return compressed(Body::full(gzip::whole(&bytes)), content_type);
    }
    with_type(Body::full(bytes), content_type)
}

/// A response with a body that is compressed.
pub(super) fn compressed(body: Body, content_type: &'static str) -> Response<Body> {
    let mut response = with_type(body, content_type);
    let headers = response.headers_mut();
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    headers.insert(VARY, HeaderValue::from_static("Accept-Encoding"));
    response
}

pub(super) fn with_type(body: Body, content_type: &'static str) -> Response<Body> {
    let length = body.length();
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    if let Some(length) = length {
        headers.insert(CONTENT_LENGTH, length.into());
    }
    response
}
