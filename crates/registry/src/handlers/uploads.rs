//! Pushes of blobs: at once, in one stream or in chunks, mounted from another repository, or canceled.

use std::sync::Arc;
use std::time::Duration;

use http::header::{CONTENT_LENGTH, CONTENT_RANGE, HeaderName, LOCATION, RANGE};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use outrigger_oci::{Digest, is_repository_path};
use tokio::sync::mpsc;

use super::blobs::DIGEST_HEADER;
use super::{next_chunk, parse_digest, query, read_chunk};
use crate::answer::{Answer, Failure, empty, set};
use crate::server::Context;
use crate::store::{StoreError, Upload};

/// Chunks between the connection and the thread that hashes and writes them.
const QUEUE: usize = 4;

/// How long a thread waits for a client.
const IDLE: Duration = Duration::from_millis(100);

const UPLOAD_ID: HeaderName = HeaderName::from_static("docker-upload-uuid");

pub(super) async fn start(
    context: &Arc<Context>,
    request: Request<Incoming>,
    repository: String,
) -> Result<Answer, Failure> {
    if request.method() != Method::POST {
        return Err(Failure::method());
    }
    let parameters = query(&request);
    if let Some(digest) = parameters.get("mount") {
        let digest = parse_digest(digest)?;
        let from = parameters
            .get("from")
            .filter(|from| !from.is_empty())
            .cloned();
        if from.as_ref().is_none_or(|from| is_repository_path(from)) {
            let (name, mounted) = (repository.clone(), digest.clone());
            if context
                .blocking(move |store| store.mount(&name, from.as_deref(), &mounted))
                .await?
            {
                return Ok(created(&repository, &digest));
            }
        }
    }
    let name = repository.clone();
    let upload = context
        .blocking(move |store| store.start_upload(&name))
        .await?;
    match parameters.get("digest") {
        Some(digest) => {
            let digest = parse_digest(digest)?;
            receive(context, &upload, request).await?;
            commit(context, upload, repository, digest).await
        }
        None => Ok(progress(StatusCode::ACCEPTED, &repository, &upload)),
    }
}

pub(super) async fn handle(
    context: &Arc<Context>,
    request: Request<Incoming>,
    repository: String,
    id: String,
) -> Result<Answer, Failure> {
    let name = repository.clone();
    let upload = context
        .blocking(move |store| store.upload(&name, &id))
        .await?;
    match *request.method() {
        Method::GET => Ok(progress(StatusCode::NO_CONTENT, &repository, &upload)),
        Method::DELETE => {
            context.blocking(move |_| upload.cancel()).await?;
            Ok(empty(StatusCode::NO_CONTENT))
        }
        Method::PATCH => {
            check_range(&request, &upload, &repository)?;
            receive(context, &upload, request).await?;
            Ok(progress(StatusCode::ACCEPTED, &repository, &upload))
        }
        Method::PUT => {
            let digest = query(&request).remove("digest");
            let digest = parse_digest(digest.as_deref().unwrap_or_default())?;
            check_range(&request, &upload, &repository)?;
            receive(context, &upload, request).await?;
            commit(context, upload, repository, digest).await
        }
        _ => Err(Failure::method()),
    }
}

/// A chunk must begin where the upload ends.
fn check_range(
    request: &Request<Incoming>,
    upload: &Upload,
    repository: &str,
) -> Result<(), Failure> {
    let Some(range) = request.headers().get(CONTENT_RANGE) else {
        return Ok(());
    };
    let invalid = |message: &str| {
        let failure = Failure::new(
            StatusCode::RANGE_NOT_SATISFIABLE,
            "BLOB_UPLOAD_INVALID",
            message,
        );
        failure
            .with(LOCATION, location(repository, upload))
            .with(RANGE, range_of(upload.size()))
    };
    let range = range.to_str().unwrap_or_default();
    let range = range.strip_prefix("bytes ").unwrap_or(range);
    let range = range.split('/').next().unwrap_or(range);
    let bounds = range
        .split_once('-')
        .and_then(|(first, last)| Some((first.parse::<u64>().ok()?, last.parse::<u64>().ok()?)));
    let Some((first, last)) = bounds.filter(|(first, last)| first <= last) else {
        return Err(invalid("the range is not valid"));
    };
    if announced(request).is_some_and(|length| Some(length) != (last - first).checked_add(1)) {
        return Err(invalid("the range differs from the length of the body"));
    }
    if first != upload.size() {
        return Err(invalid("the range does not begin at the end of the upload"));
    }
    Ok(())
}

/// The length of a body, if the client says it.
fn announced(request: &Request<Incoming>) -> Option<u64> {
    let length = request.headers().get(CONTENT_LENGTH)?;
    length.to_str().ok()?.parse().ok()
}

/// Appends the body to the upload. What arrived before a failure is kept.
async fn receive(
    context: &Arc<Context>,
    upload: &Upload,
    request: Request<Incoming>,
) -> Result<(), Failure> {
    let mut announced = announced(&request).unwrap_or_default();
    let mut body = request.into_body();
    while let Some(first) = next_chunk(&mut body).await? {
        let _permit = context.uploads.acquire().await.ok();
        let (sender, mut receiver) = mpsc::channel(QUEUE);
        // The queue is empty, so this cannot fail.
        let _ = sender.try_send(first);
        let appender = upload.clone();
        let expected = std::mem::take(&mut announced);
        let writing = tokio::task::spawn_blocking(move || {
            appender.append(expected, &mut || receiver.blocking_recv())
        });
        let forwarded = forward(&mut body, sender).await;
        writing.await.unwrap_or(Err(StoreError::Canceled))?;
        if forwarded? == Forwarded::All {
            return Ok(());
        }
    }
    Ok(())
}

/// Why a body is not forwarded any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Forwarded {
    All,
    /// The client is slow. It must not keep others from the threads of uploads.
    Idle,
}

/// Forwards a body until it ends, or pauses.
async fn forward(
    body: &mut Incoming,
    sender: mpsc::Sender<bytes::Bytes>,
) -> Result<Forwarded, Failure> {
    while let Ok(chunk) = tokio::time::timeout(IDLE, read_chunk(body)).await {
        let Some(chunk) = chunk? else {
            return Ok(Forwarded::All);
        };
        // The writer ends early if it failed.
        if sender.send(chunk).await.is_err() {
            return Ok(Forwarded::All);
        }
    }
    Ok(Forwarded::Idle)
}

async fn commit(
    context: &Arc<Context>,
    upload: Upload,
    repository: String,
    digest: Digest,
) -> Result<Answer, Failure> {
    let answer = created(&repository, &digest);
    context
        .blocking(move |_| upload.commit(&repository, &digest))
        .await?;
    Ok(answer)
}

fn created(repository: &str, digest: &Digest) -> Answer {
    let mut answer = empty(StatusCode::CREATED);
    set(
        &mut answer,
        LOCATION,
        &format!("/v2/{repository}/blobs/{digest}"),
    );
    set(&mut answer, DIGEST_HEADER, &digest.to_string());
    set(&mut answer, CONTENT_LENGTH, "0");
    answer
}

fn progress(status: StatusCode, repository: &str, upload: &Upload) -> Answer {
    let mut answer = empty(status);
    set(&mut answer, LOCATION, &location(repository, upload));
    set(&mut answer, RANGE, &range_of(upload.size()));
    set(&mut answer, UPLOAD_ID, &upload.id);
    if status != StatusCode::NO_CONTENT {
        set(&mut answer, CONTENT_LENGTH, "0");
    }
    answer
}

fn location(repository: &str, upload: &Upload) -> String {
    format!("/v2/{repository}/blobs/uploads/{}", upload.id)
}

/// The range of the bytes that arrived. An empty upload has the range `0-0`, too.
fn range_of(size: u64) -> String {
    format!("0-{}", size.saturating_sub(1))
}
