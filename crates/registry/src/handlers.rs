//! One module per kind of operation.

mod blobs;
mod chart_upload;
mod charts;
mod lists;
mod manifests;
mod uploads;

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use outrigger_oci::Digest;
use tokio::sync::SemaphorePermit;

use crate::answer::{Answer, Failure, empty};
use crate::route::Route;
use crate::server::Context;

pub(crate) use charts::{ChartIndex, IndexFolder, ORIGIN as CHART_ORIGIN, PREFIX as CHARTS};

/// How long a client may take to send the next part of a body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);

/// How long a body waits for others to leave the memory.
const ROOM_TIMEOUT: Duration = Duration::from_secs(10);

pub(crate) async fn dispatch(
    context: &Arc<Context>,
    route: Route,
    request: Request<Incoming>,
) -> Result<Answer, Failure> {
    match route {
        Route::Ping => Ok(crate::answer::json_answer(StatusCode::OK, "{}")),
        Route::Blob { repository, digest } => {
            blobs::handle(context, request, repository, &digest).await
        }
        Route::StartUpload { repository } => uploads::start(context, request, repository).await,
        Route::Upload { repository, id } => uploads::handle(context, request, repository, id).await,
        Route::Manifest {
            repository,
            reference,
        } => manifests::handle(context, request, repository, reference).await,
        Route::Tags { repository } => lists::tags(context, &request, repository).await,
        Route::Referrers { repository, digest } => {
            lists::referrers(context, &request, repository, &digest).await
        }
        Route::Catalog => lists::catalog(context, &request).await,
        Route::ChartIndex { folder } => charts::index(context, folder).await,
        Route::ChartArchive { file } => charts::archive(context, file).await,
        Route::ChartApi { name, version } => charts::api(context, request, name, version).await,
        Route::Token | Route::Health => Ok(empty(StatusCode::NOT_FOUND)),
    }
}

fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// The parameters of the query.
fn query(request: &Request<Incoming>) -> HashMap<String, String> {
    let query = request.uri().query().unwrap_or_default();
    url::form_urlencoded::parse(query.as_bytes())
        .into_owned()
        .collect()
}

fn parse_digest(text: &str) -> Result<Digest, Failure> {
    text.parse().map_err(|error: outrigger_oci::InvalidDigest| {
        Failure::new(StatusCode::BAD_REQUEST, "DIGEST_INVALID", error.to_string())
    })
}

/// The next part of a body; none at its end.
async fn next_chunk(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    let chunk = tokio::time::timeout(BODY_TIMEOUT, read_chunk(body)).await;
    chunk.map_err(|_| incomplete("the body did not arrive in time"))?
}

/// Waits for the next part of a body. Nothing is lost if the wait is given up.
async fn read_chunk(body: &mut Incoming) -> Result<Option<Bytes>, Failure> {
    loop {
        match body.frame().await {
            None => return Ok(None),
            Some(Err(_)) => return Err(incomplete("the body is incomplete")),
            Some(Ok(frame)) => {
                if let Ok(data) = frame.into_data()
                    && !data.is_empty()
                {
                    return Ok(Some(data));
                }
            }
        }
    }
}

fn incomplete(message: &str) -> Failure {
    Failure::new(StatusCode::BAD_REQUEST, "BLOB_UPLOAD_INVALID", message)
}

/// A body in memory, which counts there until it is dropped.
struct BodyBytes<'c> {
    bytes: Vec<u8>,
    _room: SemaphorePermit<'c>,
}

/// Reads a whole body within a limit, and within the one for all bodies.
async fn read_body(
    context: &Context,
    mut body: Incoming,
    limit: u64,
) -> Result<BodyBytes<'_>, Failure> {
    let busy = || {
        let message = "too many bodies are in memory; try again";
        let status = StatusCode::SERVICE_UNAVAILABLE;
        Failure::new(status, "TOOMANYREQUESTS", message).with(RETRY_AFTER, "1".to_owned())
    };
    let take = async |length: usize| {
        let length = u32::try_from(length).unwrap_or(u32::MAX);
        let taking = context.bodies.acquire_many(length);
        let taken = tokio::time::timeout(ROOM_TIMEOUT, taking).await;
        taken.map_err(|_| busy())?.map_err(|_| busy())
    };
    let mut room = take(0).await?;
    let mut bytes = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await? {
        if (bytes.len() + chunk.len()) as u64 > limit {
            let message = format!("the body is larger than {limit} bytes");
            return Err(Failure::new(
                StatusCode::PAYLOAD_TOO_LARGE,
                "SIZE_INVALID",
                message,
            ));
        }
        room.merge(take(chunk.len()).await?);
        bytes.extend_from_slice(&chunk);
    }
    Ok(BodyBytes { bytes, _room: room })
}
