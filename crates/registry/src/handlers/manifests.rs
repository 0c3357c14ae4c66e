//! Pulls, pushes and deletion of manifests and tags.

use std::sync::Arc;

use http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, HeaderName, LOCATION};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use outrigger_oci::{Algorithm, MAX_MANIFEST, is_tag};

use super::blobs::DIGEST_HEADER;
use super::{is_read, read_body};
use crate::answer::{Answer, Failure, bytes_answer, empty, set};
use crate::body::Body;
use crate::route::ManifestReference;
use crate::server::Context;
use crate::store::StoreError;

const SUBJECT: HeaderName = HeaderName::from_static("oci-subject");
const TAG: HeaderName = HeaderName::from_static("oci-tag");

pub(super) async fn handle(
    context: &Arc<Context>,
    request: Request<Incoming>,
    repository: String,
    reference: ManifestReference,
) -> Result<Answer, Failure> {
    if let ManifestReference::InvalidDigest(text) = &reference {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "DIGEST_INVALID",
            format!("{text:?} is not a supported digest"),
        ));
    }
    match request.method() {
        method if is_read(method) => {
            get(context, repository, reference, method == Method::HEAD).await
        }
        &Method::PUT => put(context, request, repository, reference).await,
        &Method::DELETE => {
            context
                .blocking(move |store| match &reference {
                    ManifestReference::Digest(digest) => store.delete_manifest(&repository, digest),
                    ManifestReference::Tag(tag) | ManifestReference::InvalidDigest(tag) => {
                        store.delete_tag(&repository, tag)
                    }
                })
                .await?;
            Ok(empty(StatusCode::ACCEPTED))
        }
        _ => Err(Failure::method()),
    }
}

async fn get(
    context: &Arc<Context>,
    repository: String,
    reference: ManifestReference,
    is_head: bool,
) -> Result<Answer, Failure> {
    let manifest = context
        .blocking(move |store| {
            let digest = match reference {
                ManifestReference::Digest(digest) => digest,
                ManifestReference::Tag(tag) | ManifestReference::InvalidDigest(tag) => {
                    store.resolve_tag(&repository, &tag)?
                }
            };
            store.manifest(&repository, &digest)
        })
        .await?;
    let digest = manifest.digest.to_string();
    let length = manifest.bytes.len().to_string();
    let mut answer = bytes_answer(StatusCode::OK, &manifest.media_type, manifest.bytes);
    if is_head {
        *answer.body_mut() = Body::empty();
        set(&mut answer, CONTENT_LENGTH, &length);
    }
    set(&mut answer, ETAG, &format!("\"{digest}\""));
    set(&mut answer, DIGEST_HEADER, &digest);
    Ok(answer)
}

async fn put(
    context: &Arc<Context>,
    request: Request<Incoming>,
    repository: String,
    reference: ManifestReference,
) -> Result<Answer, Failure> {
    let media_type = request
        .headers()
        .get(CONTENT_TYPE)
        .and_then(|kind| kind.to_str().ok())
        .map(str::to_owned);
    let tags: Vec<String> = tag_parameters(&request)?;
    let mut body = read_body(context, request.into_body(), MAX_MANIFEST).await?;
    let bytes = std::mem::take(&mut body.bytes);
    let name = repository.clone();
    let mut stored_tags = tags.clone();
    let manifest = context
        .blocking(move |store| {
            let algorithm = match &reference {
                ManifestReference::Digest(digest) => digest.algorithm(),
                _ => Algorithm::Sha256,
            };
            if let ManifestReference::Digest(expected) = &reference {
                let found = outrigger_oci::Digest::with(algorithm, &bytes);
                if found != *expected {
                    let (expected, found) = (expected.to_string(), found.to_string());
                    return Err(StoreError::DigestInvalid { expected, found });
                }
            }
            if let ManifestReference::Tag(tag) = reference {
                stored_tags.push(tag);
            }
            store.put_tagged(
                &name,
                &bytes,
                media_type.as_deref(),
                algorithm,
                &stored_tags,
            )
        })
        .await?;
    drop(body);
    let mut answer = empty(StatusCode::CREATED);
    set(
        &mut answer,
        LOCATION,
        &format!("/v2/{repository}/manifests/{}", manifest.digest),
    );
    set(&mut answer, DIGEST_HEADER, &manifest.digest.to_string());
    set(&mut answer, CONTENT_LENGTH, "0");
    if let Some(subject) = &manifest.parsed.subject {
        set(&mut answer, SUBJECT, &subject.digest.to_string());
    }
    for tag in &tags {
        if let Ok(value) = tag.parse() {
            answer.headers_mut().append(TAG, value);
        }
    }
    Ok(answer)
}

/// The most tags of one push.
const MAX_TAGS: usize = 100;

/// Further tags of a push, as `tag` parameters.
fn tag_parameters(request: &Request<Incoming>) -> Result<Vec<String>, Failure> {
    let query = request.uri().query().unwrap_or_default();
    let parameters = url::form_urlencoded::parse(query.as_bytes());
    let tags: Vec<String> = parameters
        .filter(|(key, _)| key == "tag")
        .map(|(_, tag)| tag.into_owned())
        .collect();
    if tags.len() > MAX_TAGS || !tags.iter().all(|tag| is_tag(tag)) {
        return Err(Failure::new(
            StatusCode::BAD_REQUEST,
            "TAG_INVALID",
            "a tag of the query is invalid, or there are too many",
        ));
    }
    Ok(tags)
}
