//! Pulls of blobs, whole and in parts, and their deletion.

use std::sync::Arc;

use http::header::{
    ACCEPT_RANGES, CACHE_CONTROL, CONTENT_LENGTH, CONTENT_RANGE, CONTENT_TYPE, ETAG, HeaderName,
    RANGE,
};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;

use super::{is_read, parse_digest};
use crate::answer::{Answer, Failure, empty, set};
use crate::body::Body;
use crate::server::Context;
use crate::store::StoreError;

pub(super) const DIGEST_HEADER: HeaderName = HeaderName::from_static("docker-content-digest");

pub(super) async fn handle(
    context: &Arc<Context>,
    request: Request<Incoming>,
    repository: String,
    digest: &str,
) -> Result<Answer, Failure> {
    let digest = parse_digest(digest)?;
    match request.method() {
        method if is_read(method) => {}
        &Method::DELETE => {
            context
                .blocking(move |store| store.unlink_blob(&repository, &digest))
                .await?;
            return Ok(empty(StatusCode::ACCEPTED));
        }
        _ => return Err(Failure::method()),
    }
    let is_head = request.method() == Method::HEAD;
    let range = request
        .headers()
        .get(RANGE)
        .and_then(|range| range.to_str().ok())
        .map(str::to_owned);
    let name = digest.to_string();
    let (body, part, size) = context
        .blocking(move |store| {
            let blob = store.open_blob(&repository, &digest)?;
            let part = range.map_or(Part::Whole, |range| parse_range(&range, blob.size));
            let body = match part {
                _ if is_head => Body::empty(),
                Part::Whole => file_body(blob.file, 0, blob.size)?,
                Part::Bytes { first, last } => file_body(blob.file, first, last - first + 1)?,
                Part::Unsatisfiable => Body::empty(),
            };
            Ok((body, part, blob.size))
        })
        .await?;
    let mut answer = empty(StatusCode::OK);
    let length = match part {
        Part::Whole => size,
        Part::Bytes { first, last } => {
            *answer.status_mut() = StatusCode::PARTIAL_CONTENT;
            set(
                &mut answer,
                CONTENT_RANGE,
                &format!("bytes {first}-{last}/{size}"),
            );
            last - first + 1
        }
        Part::Unsatisfiable => {
            let failure = Failure::new(
                StatusCode::RANGE_NOT_SATISFIABLE,
                "SIZE_INVALID",
                "the range is outside of the blob",
            );
            return Err(failure.with(CONTENT_RANGE, format!("bytes */{size}")));
        }
    };
    set(&mut answer, CONTENT_LENGTH, &length.to_string());
    set(&mut answer, CONTENT_TYPE, "application/octet-stream");
    set(&mut answer, ACCEPT_RANGES, "bytes");
    set(&mut answer, CACHE_CONTROL, "max-age=31536000");
    set(&mut answer, ETAG, &format!("\"{name}\""));
    set(&mut answer, DIGEST_HEADER, &name);
    *answer.body_mut() = body;
    Ok(answer)
}

fn file_body(file: std::fs::File, start: u64, length: u64) -> Result<Body, StoreError> {
    Body::file(file, start, length).map_err(|source| StoreError::Io {
        path: "blobs".into(),
        source,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Bytes { first: u64, last: u64 },
    Unsatisfiable,
}

/// Parses a `Range` header. Several ranges, and other units, are answered with the whole blob.
fn parse_range(text: &str, size: u64) -> Part {
    let Some(range) = text
        .strip_prefix("bytes=")
        .filter(|range| !range.contains(','))
    else {
        return Part::Whole;
    };
    let Some((first, last)) = range.split_once('-') else {
        return Part::Whole;
    };
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let end = size.saturating_sub(1);
    let (first, last) = match (number(first), number(last)) {
        (Some(first), Some(last)) if first > last => return Part::Unsatisfiable,
        (Some(first), Some(last)) => (first, last.min(end)),
        (Some(first), None) if last.is_empty() => (first, end),
        (None, Some(0)) => return Part::Unsatisfiable,
        (None, Some(length)) if first.is_empty() => (size.saturating_sub(length), end),
        _ => return Part::Whole,
    };
    if first >= size {
        Part::Unsatisfiable
    } else {
        Part::Bytes { first, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_those_of_http() {
        let bytes = |first, last| Part::Bytes { first, last };
        let rows = [
            ("bytes=0-0", bytes(0, 0)),
            ("bytes=5-", bytes(5, 9)),
            ("bytes=-3", bytes(7, 9)),
            ("bytes=-30", bytes(0, 9)),
            ("bytes=8-100", bytes(8, 9)),
            ("bytes=10-", Part::Unsatisfiable),
            ("bytes=5-4", Part::Unsatisfiable),
            ("bytes=-0", Part::Unsatisfiable),
            ("bytes=0-1,3-4", Part::Whole),
            ("items=0-1", Part::Whole),
            ("bytes=18446744073709551616-", Part::Whole),
            ("bytes=x-y", Part::Whole),
        ];
        for (text, part) in rows {
            assert_eq!(parse_range(text, 10), part, "{text}");
        }
        assert_eq!(parse_range("bytes=0-", 0), Part::Unsatisfiable);
    }
}
