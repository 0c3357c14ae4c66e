//! Responses, and the error codes of the distribution specification.

use bytes::Bytes;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, WWW_AUTHENTICATE};
use http::{Response, StatusCode};
use serde_json::json;

use crate::body::Body;
use crate::store::StoreError;

pub(crate) type Answer = Response<Body>;

/// An error for a client.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) status: StatusCode,
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Further headers, such as a challenge or the range of an upload
    pub(crate) headers: Vec<(HeaderName, String)>,
}

impl Failure {
    pub(crate) fn new(status: StatusCode, code: &'static str, message: impl Into<String>) -> Self {
        Self {
            status,
            code,
            message: message.into(),
            headers: Vec::new(),
        }
    }

    pub(crate) fn with(mut self, name: HeaderName, value: String) -> Self {
        self.headers.push((name, value));
        self
    }

    pub(crate) fn unauthorized(challenge: String) -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "UNAUTHORIZED",
            "authentication required",
        )
        .with(WWW_AUTHENTICATE, challenge)
    }

    pub(crate) fn method() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "UNSUPPORTED",
            "the method is not supported here",
        )
    }

    pub(crate) fn answer(self) -> Answer {
        let body = json!({"errors": [{"code": self.code, "message": self.message}]}).to_string();
        let mut answer = json_answer(self.status, body);
        for (name, value) in self.headers {
            set(&mut answer, name, &value);
        }
        answer
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let message = error.to_string();
        match error {
            StoreError::BlobUnknown(_) => Self::new(StatusCode::NOT_FOUND, "BLOB_UNKNOWN", message),
            StoreError::ManifestUnknown(_) => {
                Self::new(StatusCode::NOT_FOUND, "MANIFEST_UNKNOWN", message)
            }
            StoreError::NameUnknown(_) => Self::new(StatusCode::NOT_FOUND, "NAME_UNKNOWN", message),
            StoreError::UploadUnknown => {
                Self::new(StatusCode::NOT_FOUND, "BLOB_UPLOAD_UNKNOWN", message)
            }
            StoreError::UploadBusy => {
                Self::new(StatusCode::CONFLICT, "BLOB_UPLOAD_INVALID", message)
            }
            StoreError::DigestInvalid { .. } => {
                Self::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", message)
            }
            StoreError::ManifestInvalid(_) => {
                Self::new(StatusCode::BAD_REQUEST, "MANIFEST_INVALID", message)
            }
            StoreError::ManifestBlobUnknown(_) => {
                Self::new(StatusCode::BAD_REQUEST, "MANIFEST_BLOB_UNKNOWN", message)
            }
            StoreError::Quota { .. } | StoreError::Full | StoreError::IndexTooLarge { .. } => {
                Self::new(StatusCode::INSUFFICIENT_STORAGE, "DENIED", message)
            }
            StoreError::TooLarge { .. } => {
                Self::new(StatusCode::PAYLOAD_TOO_LARGE, "SIZE_INVALID", message)
            }
            StoreError::Io { .. }
            | StoreError::InUse(_)
            | StoreError::Foreign(_)
            | StoreError::IgnoresCase(_)
            | StoreError::Canceled => {
                tracing::error!(
                    "{message}: {}",
                    std::error::Error::source(&error)
                        .map(ToString::to_string)
                        .unwrap_or_default()
                );
                Self::new(
                    StatusCode::INTERNAL_SERVER_ERROR,
                    "UNKNOWN",
                    "the registry failed to access its storage",
                )
            }
        }
    }
}

pub(crate) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

pub(crate) fn json_answer(status: StatusCode, body: impl Into<Bytes>) -> Answer {
    bytes_answer(status, "application/json", body)
}

pub(crate) fn bytes_answer(status: StatusCode, media_type: &str, body: impl Into<Bytes>) -> Answer {
    let body = body.into();
    let mut answer = empty(status);
    set(&mut answer, CONTENT_TYPE, media_type);
    set(&mut answer, CONTENT_LENGTH, &body.len().to_string());
    *answer.body_mut() = Body::full(body);
    answer
}

/// Sets a header. Values that are not valid in a header are left out.
pub(crate) fn set(answer: &mut Answer, name: HeaderName, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        answer.headers_mut().insert(name, value);
    }
}
