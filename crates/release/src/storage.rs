//! Storage of release records: Helm's Secrets in the namespace of the release.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::{DeleteParams, GetParams, ListParams, PostParams, Preconditions};
use kube::core::Request;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::id::ReleaseId;
use crate::record::secret::{self, Found, Write};
use crate::record::{DecodeError, Record, Status};

/// Part reads at a time.
const CONCURRENT_READS: usize = 4;

/// The last revision: none can follow it.
pub(crate) const LAST_REVISION: u32 = u32::MAX;

type BuiltRequest = Result<http::Request<Vec<u8>>, kube::core::request::Error>;

/// A revision and its status, from the labels of its Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RevisionStatus {
    pub(crate) revision: u32,
    pub(crate) status: Status,
}

fn secrets(release: &ReleaseId) -> Request {
    Request::new(format!("/api/v1/namespaces/{}/secrets", release.namespace))
}

fn failed(verb: &'static str, name: &str) -> impl FnOnce(kube::Error) -> Error {
    move |source| Error::Storage {
        verb,
        name: name.to_owned(),
        source,
    }
}

async fn send(cluster: &Cluster, request: BuiltRequest) -> Result<Value, kube::Error> {
    cluster
        .request(request.map_err(kube::Error::BuildRequest)?)
        .await
}

fn selector(release: &ReleaseId) -> ListParams {
    ListParams::default().labels(&format!("owner=helm,name={}", release.name))
}

async fn list(
    cluster: &Cluster,
    release: &ReleaseId,
    request: BuiltRequest,
) -> Result<Vec<Value>, Error> {
    let list = send(cluster, request).await;
    let mut list = list.map_err(failed(
        "list",
        &format!("{}*", secret::prefix(&release.name)),
    ))?;
    Ok(match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    })
}

/// Whether the existence cache shows that the release has no record.
pub(crate) fn is_known_absent(cluster: &Cluster, release: &ReleaseId) -> bool {
    let prefix = secret::prefix(&release.name);
    let existence = cluster.existence();
    existence.is_prefix_absent("v1", "Secret", &release.namespace, &prefix)
}

/// All revisions, oldest first, by the metadata of their Secrets.
pub(crate) async fn list_revisions(
    cluster: &Cluster,
    release: &ReleaseId,
) -> Result<Vec<RevisionStatus>, Error> {
    let request = secrets(release).list_metadata(&selector(release));
    let secrets = list(cluster, release, request).await?;
    let mut revisions: Vec<RevisionStatus> = secrets
        .iter()
        .filter(|secret| secret::is_named_as_labeled(secret, &release.name))
        .filter_map(revision_status)
        .collect();
    revisions.sort_by_key(|revision| revision.revision);
    Ok(revisions)
}

fn revision_status(secret: &Value) -> Option<RevisionStatus> {
    let labels = &secret["metadata"]["labels"];
    let version = labels["version"].as_str()?;
    Some(RevisionStatus {
        revision: revision_number(version)?,
        status: Status::parse(labels["status"].as_str().unwrap_or_default()),
    })
}

/// The number of a revision. One that is too large counts as [`LAST_REVISION`], so that it is not overlooked.
fn revision_number(text: &str) -> Option<u32> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| text.parse().unwrap_or(LAST_REVISION))
}

/// The names of the Secrets with revisions that have no successor.
pub(crate) async fn list_last_revisions(
    cluster: &Cluster,
    release: &ReleaseId,
) -> Result<Vec<String>, Error> {
    let request = secrets(release).list_metadata(&selector(release));
    let secrets = list(cluster, release, request).await?;
    let is_last = |secret: &&Value| {
        let status = revision_status(secret);
        status.is_some_and(|status| status.revision == LAST_REVISION)
            && secret::is_named_as_labeled(secret, &release.name)
    };
    let names = secrets.iter().filter(is_last);
    let names = names.filter_map(|secret| secret["metadata"]["name"].as_str());
    Ok(names.map(str::to_owned).collect())
}

/// A record, or what is known of one that cannot be decoded.
pub(crate) type StoredRecord = Result<Record, (RevisionStatus, DecodeError)>;

/// All records, oldest first, without their parts.
pub(crate) async fn read_all(
    cluster: &Cluster,
    release: &ReleaseId,
) -> Result<Vec<StoredRecord>, Error> {
    let request = secrets(release).list(&selector(release));
    let secrets = list(cluster, release, request).await?;
    let secrets = secrets.iter();
    let named = secrets.filter(|secret| secret::is_named_as_labeled(secret, &release.name));
    let mut records: Vec<(RevisionStatus, StoredRecord)> = named
        .filter_map(|secret| {
            let status = revision_status(secret)?;
            let record = secret::decode_revision(secret, release, status.revision);
            Some((status, record.map_err(|error| (status, error))))
        })
        .collect();
    records.sort_by_key(|(status, _)| status.revision);
    Ok(records.into_iter().map(|(_, record)| record).collect())
}

/// Whether a Secret has the name of the record of a revision.
pub(crate) async fn exists(
    cluster: &Cluster,
    release: &ReleaseId,
    revision: u32,
) -> Result<bool, Error> {
    let name = secret::name(&release.name, revision);
    Ok(get(cluster, release, &name).await?.is_some())
}

/// The record of a revision, with its parts if all of them exist.
pub(crate) async fn read(
    cluster: &Cluster,
    release: &ReleaseId,
    revision: u32,
) -> Result<Option<Record>, Error> {
    let name = secret::name(&release.name, revision);
    let Some(first) = get(cluster, release, &name).await? else {
        return Ok(None);
    };
    let record =
        secret::decode_revision(&first, release, revision).map_err(|source| Error::Record {
            name: name.clone(),
            source,
        })?;
    let count = secret::part_count(&first);
    if count == 0 {
        return Ok(Some(record));
    }
    let parts = stream::iter(0..count).map(|number| async move {
        let name = secret::part_name(&release.name, revision, number);
        let part = get(cluster, release, &name).await?;
        Ok::<_, Error>(part.as_ref().and_then(secret::part_data))
    });
    let parts: Vec<Option<Vec<u8>>> = parts.buffered(CONCURRENT_READS).try_collect().await?;
    let parts: Option<Vec<Vec<u8>>> = parts.into_iter().collect();
    // Even without valid parts the record lists all objects.
    let complete = parts.and_then(|parts| secret::merge_parts(record.clone(), &parts).ok());
    Ok(Some(complete.unwrap_or(record)))
}

async fn get(cluster: &Cluster, release: &ReleaseId, name: &str) -> Result<Option<Value>, Error> {
    match send(cluster, secrets(release).get(name, &GetParams::default())).await {
        Ok(secret) => Ok(Some(secret)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(failed("read", name)(error)),
    }
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum CreateError {
    #[error("the record of the revision already exists")]
    AlreadyExists,
    #[error("the record of the revision exists, and is damaged")]
    Damaged,
    #[error("another Secret has the name of the record")]
    Foreign,
    #[error("the namespace of the release does not exist")]
    NamespaceNotFound,
    #[error(transparent)]
    Storage(Error),
}

/// Creates the record of a new revision, and notes its resource version.
pub(crate) async fn create(
    cluster: &Cluster,
    record: &mut Record,
    now: Timestamp,
) -> Result<(), CreateError> {
    let encoded = secret::encode(record, Write::Create, now);
    let name = secret::name(&record.id.name, record.revision);
    let created = post(cluster, &record.id, &encoded.secret).await;
    // Whatever the response, the record may exist now: the next run must not rely on its absence.
    let namespace = Some(record.id.namespace.as_str());
    cluster.existence().apply("v1", "Secret", namespace, &name);
    let first = match created {
        Ok(secret) => secret,
        Err(kube::Error::Api(status)) if status.code == 409 => {
            return Err(identify_existing(cluster, record, &name).await);
        }
        Err(kube::Error::Api(status)) if status.code == 404 => {
            return Err(CreateError::NamespaceNotFound);
        }
        Err(error) => return Err(CreateError::Storage(failed("create", &name)(error))),
    };
    record.resource_version = version(&first);
    write_parts(cluster, record, &encoded.parts, &first)
        .await
        .map_err(CreateError::Storage)
}

/// Why a record could not be created.
async fn identify_existing(cluster: &Cluster, record: &Record, name: &str) -> CreateError {
    match get(cluster, &record.id, name).await {
        // It was deleted meanwhile; the caller retries.
        Ok(None) => CreateError::AlreadyExists,
        Ok(Some(secret)) => match secret::identify(&secret, &record.id, record.revision) {
            Found::Record => CreateError::AlreadyExists,
            Found::Damaged => CreateError::Damaged,
            Found::Foreign => CreateError::Foreign,
        },
        Err(error) => CreateError::Storage(error),
    }
}

/// Replaces the record of a revision. Returns the new resource version.
pub(crate) async fn update(
    cluster: &Cluster,
    record: &Record,
    now: Timestamp,
) -> Result<Option<String>, Error> {
    let encoded = secret::encode(record, Write::Update, now);
    let name = secret::name(&record.id.name, record.revision);
    let first = put(cluster, &record.id, &name, &encoded.secret).await;
    let first = first.map_err(failed("update", &name))?;
    write_parts(cluster, record, &encoded.parts, &first).await?;
    Ok(version(&first))
}

/// Like [`update`], unless somebody else has written the record since: then the release is theirs. Notes the new resource
/// version.
pub(crate) async fn update_own(
    cluster: &Cluster,
    record: &mut Record,
    now: Timestamp,
) -> Result<(), Error> {
    let mut encoded = secret::encode(record, Write::Update, now);
    if let Some(version) = &record.resource_version {
        encoded.secret["metadata"]["resourceVersion"] = Value::from(version.as_str());
    }
    let name = secret::name(&record.id.name, record.revision);
    let first = match put(cluster, &record.id, &name, &encoded.secret).await {
        Ok(first) => first,
        Err(kube::Error::Api(status)) if status.code == 409 => {
            return Err(Error::RecordChanged(record.id.to_string()));
        }
        Err(error) => return Err(failed("update", &name)(error)),
    };
    record.resource_version = version(&first);
    write_parts(cluster, record, &encoded.parts, &first).await
}

fn version(secret: &Value) -> Option<String> {
    let version = &secret["metadata"]["resourceVersion"];
    version.as_str().map(str::to_owned)
}

async fn post(
    cluster: &Cluster,
    release: &ReleaseId,
    secret: &Value,
) -> Result<Value, kube::Error> {
    let request = secrets(release).create(&PostParams::default(), secret.to_string().into_bytes());
    send(cluster, request).await
}

async fn put(
    cluster: &Cluster,
    release: &ReleaseId,
    name: &str,
    secret: &Value,
) -> Result<Value, kube::Error> {
    let data = secret.to_string().into_bytes();
    let request = secrets(release).replace(name, &PostParams::default(), data);
    send(cluster, request).await
}

/// Creates the parts of a record, or replaces them if they exist.
async fn write_parts(
    cluster: &Cluster,
    record: &Record,
    parts: &[Vec<u8>],
    first: &Value,
) -> Result<(), Error> {
    for (number, data) in parts.iter().enumerate() {
        let name = secret::part_name(&record.id.name, record.revision, number);
        let part = secret::part(record, number, data, first);
        let written = match post(cluster, &record.id, &part).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {
                put(cluster, &record.id, &name, &part).await
            }
            written => written,
        };
        written.map_err(failed("create", &name))?;
    }
    Ok(())
}

/// Deletes a record. The garbage collector deletes its parts, which it owns.
pub(crate) async fn delete(
    cluster: &Cluster,
    release: &ReleaseId,
    revision: u32,
) -> Result<(), Error> {
    delete_named(cluster, release, &secret::name(&release.name, revision)).await
}

/// Deletes a record, unless somebody else has written it since.
pub(crate) async fn delete_own(cluster: &Cluster, record: &Record) -> Result<(), Error> {
    let name = secret::name(&record.id.name, record.revision);
    let preconditions = Preconditions {
        resource_version: record.resource_version.clone(),
        uid: None,
    };
    let parameters = DeleteParams::background().preconditions(preconditions);
    match send(cluster, secrets(&record.id).delete(&name, &parameters)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => {
            Err(Error::RecordChanged(record.id.to_string()))
        }
        Err(error) => Err(failed("delete", &name)(error)),
    }
}

pub(crate) async fn delete_named(
    cluster: &Cluster,
    release: &ReleaseId,
    name: &str,
) -> Result<(), Error> {
    let request = secrets(release).delete(name, &DeleteParams::background());
    match send(cluster, request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(failed("delete", name)(error)),
    }
}
