//! In which form the body of a request is.

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

/// How an object is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyForm {
    Json,
    Yaml,
    Protobuf,
}

/// How a patch is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchForm {
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

/// The form of an object. A request that does not say sends JSON. Custom resources are not sent as protobuf.
pub(crate) fn body_form(headers: &HeaderMap, is_custom: bool) -> Result<BodyForm, Status> {
    match media_type(headers).as_str() {
        "" | "application/json" => Ok(BodyForm::Json),
        "application/yaml" => Ok(BodyForm::Yaml),
        "application/vnd.kubernetes.protobuf" if !is_custom => Ok(BodyForm::Protobuf),
        _ if is_custom => Err(Status::unsupported_media_type(&BODIES[..2])),
        _ => Err(Status::unsupported_media_type(&BODIES)),
    }
}

/// The form of a patch. Strategic patches know the lists of built-in kinds only.
pub(crate) fn patch_form(headers: &HeaderMap, is_custom: bool) -> Result<PatchForm, Status> {
    match media_type(headers).as_str() {
        JSON_PATCH => Ok(PatchForm::Json),
        MERGE_PATCH => Ok(PatchForm::Merge),
        APPLY_PATCH => Ok(PatchForm::Apply),
        STRATEGIC_PATCH if !is_custom => Ok(PatchForm::Strategic),
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
