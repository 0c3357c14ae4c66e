//! The `Host` header of HTTP/1 requests, checked as Go's `net/http` does before a request is handled.

use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HOST};
use http::{HeaderValue, Method, Request, Response, StatusCode, Version};

use crate::server::Body;

/// Punctuation in hosts, ports and IPv6 zones.
const PUNCTUATION: &[u8] = b"!$%&()*+,-.:;=[']_~";

/// The response to a request whose `Host` header is missing, repeated or malformed. HTTP/2 needs none.
pub(super) fn reject<B>(request: &Request<B>) -> Option<Response<Body>> {
    if request.version() > Version::HTTP_11 {
        return None;
    }
    let mut hosts = request.headers().get_all(HOST).iter();
    let is_optional = request.version() < Version::HTTP_11 || request.method() == Method::CONNECT;
    let message = match (hosts.next(), hosts.next()) {
        (_, Some(_)) => "400 Bad Request",
        (Some(host), None) if !host.as_bytes().iter().copied().all(is_allowed) => {
            "400 Bad Request: malformed Host header"
        }
        (None, None) if !is_optional => "400 Bad Request: missing required Host header",
        _ => return None,
    };
    let mut response = Response::new(Body::full(Bytes::from_static(message.as_bytes())));
    *response.status_mut() = StatusCode::BAD_REQUEST;
    let headers = response.headers_mut();
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    headers.insert(CONTENT_TYPE, content_type);
    headers.insert(CONNECTION, HeaderValue::from_static("close"));
    Some(response)
}

fn is_allowed(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || PUNCTUATION.contains(&byte)
}
