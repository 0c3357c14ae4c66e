//! Streams a backup of the running server: a file for an empty data folder.

use std::io::Read as _;
use std::path::Path;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderName, StatusCode};
use outrigger_apimachinery::status::Status;
use outrigger_store::Store;

use super::{Body, State};
use crate::negotiation::{ApiResponse, Content};
use crate::verbs::random_uid;

/// The path of the endpoint. Like all paths without a rule, it is for administrators.
pub const PATH: &str = "/outrigger.dev/backup";
/// The headers that describe the backup.
pub const REVISION: HeaderName = HeaderName::from_static("outrigger-resource-version");
pub const OBJECTS: HeaderName = HeaderName::from_static("outrigger-objects");
/// The size in bytes: a client with fewer has not got all.
pub const SIZE: HeaderName = HeaderName::from_static("outrigger-size");

const CHUNK: usize = 256 * 1024;

/// The backup as a stream. Only one is written at a time.
pub(super) async fn respond(state: &State) -> Result<ApiResponse, Status> {
    let _guard = state.backups.lock().await;
    let Some(folder) = state.store.folder() else {
        return Err(Status::bad_request(
            "the server keeps all objects in memory only",
        ));
    };
    let path = folder.join(format!("backup-{}.redb", random_uid()?));
    let store = state.store.clone();
    let written = tokio::task::spawn_blocking(move || write(&store, &path)).await;
    let (backup, file) = written.map_err(Status::internal)??;
    let size = file.metadata().map_err(Status::internal)?.len();
    let body = Body::stream(chunks(file));
    let response = ApiResponse::new(StatusCode::OK, Content::Stream(body));
    Ok(response
        .header(CONTENT_TYPE, "application/octet-stream")
        .header(REVISION, &backup.revision.to_string())
        .header(OBJECTS, &backup.objects.to_string())
        .header(SIZE, &size.to_string()))
}

/// Writes a backup and opens it. The file has no name then, so that nothing is left of it whatever happens.
fn write(store: &Store, path: &Path) -> Result<(outrigger_store::Backup, fs_err::File), Status> {
    let backup = store.backup(path).map_err(Status::internal)?;
    let file = fs_err::File::open(path);
    fs_err::remove_file(path).map_err(Status::internal)?;
    Ok((backup, file.map_err(Status::internal)?))
}

/// The content of a file. A read error ends the stream, and the client finds out by the size.
fn chunks(file: fs_err::File) -> impl futures::Stream<Item = Bytes> {
    futures::stream::unfold(file, |mut file| async move {
        let read = tokio::task::spawn_blocking(move || {
            let mut chunk = Vec::with_capacity(CHUNK);
            let limit = u64::try_from(CHUNK).unwrap_or(u64::MAX);
            file.by_ref().take(limit).read_to_end(&mut chunk)?;
            Ok::<_, std::io::Error>((Bytes::from(chunk), file))
        });
        match read.await {
            Ok(Ok((chunk, file))) if !chunk.is_empty() => Some((chunk, file)),
            Ok(Err(error)) => {
                tracing::error!(%error, "failed to read a backup");
                None
            }
            Ok(Ok(_)) | Err(_) => None,
        }
    })
}
