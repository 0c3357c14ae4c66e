//! The `Content-Type` header.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use outrigger_apimachinery::status::{Details, Reason, Status};

const BODIES: [&str; 3] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
];
const JSON_PATCH: &str = "application/json-patch+json";
const MERGE_PATCH: &str = "application/merge-patch+json";
const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";
const APPLY_PATCH: &str = "application/apply-patch+yaml";

/// The format of an object in a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyFormat {
    Json,
    Yaml,
    Protobuf,
}

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    Json,
    Merge,
    Strategic,
    Apply,
}

fn media_type(headers: &HeaderMap) -> String {
    let header = headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok());
    let header = header.unwrap_or_default();
    let media_type = header.split(';').next().unwrap_or_default();
    media_type.trim().to_ascii_lowercase()
}

/// The format of the request body; JSON if there is no header. Custom resources do not support protobuf, although a
/// real server lists it.
pub(crate) fn body_format(headers: &HeaderMap, is_custom: bool) -> Result<BodyFormat, Status> {
    match media_type(headers).as_str() {
        "" | "application/json" => Ok(BodyFormat::Json),
        "application/yaml" => Ok(BodyFormat::Yaml),
        "application/vnd.kubernetes.protobuf" if is_custom => {
            Err(Status::unsupported_media_type(&BODIES[..2]))
        }
        "application/vnd.kubernetes.protobuf" => Ok(BodyFormat::Protobuf),
        _ => Err(Status::unsupported_media_type(&BODIES)),
    }
}

/// The type of the patch. Custom resources do not support strategic merge patches.
pub(crate) fn patch_type(headers: &HeaderMap, is_custom: bool) -> Result<PatchType, Status> {
    match media_type(headers).as_str() {
        JSON_PATCH => Ok(PatchType::Json),
        MERGE_PATCH => Ok(PatchType::Merge),
        APPLY_PATCH => Ok(PatchType::Apply),
        STRATEGIC_PATCH if !is_custom => Ok(PatchType::Strategic),
        _ if is_custom => Err(Status::unsupported_media_type(&[
            JSON_PATCH,
            MERGE_PATCH,
            APPLY_PATCH,
        ])),
        _ => {
            let message = "415: Unsupported Media Type";
            Err(Status::new(Reason::UnsupportedMediaType, message).with_details(Details::default()))
        }
    }
}
