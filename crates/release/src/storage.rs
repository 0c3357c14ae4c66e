//! Where records are: Secrets in the namespace of the release. One request for each thing done.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use jiff::Timestamp;
use kube::api::{DeleteParams, GetParams, ListParams, PostParams};
use kube::core::Request;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::error::Error;
use crate::id::ReleaseId;
use crate::record::secret::{self, Writing};
use crate::record::{Record, Status};

/// A revision by the labels of its Secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Mark {
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

fn invalid(verb: &'static str, name: &str, error: kube::core::request::Error) -> Error {
    failed(verb, name)(kube::Error::BuildRequest(error))
}

fn selector(release: &ReleaseId) -> ListParams {
    ListParams::default().labels(&format!("owner=helm,name={}", release.name))
}

async fn list(
    cluster: &Cluster,
    release: &ReleaseId,
    request: Result<http::Request<Vec<u8>>, kube::core::request::Error>,
) -> Result<Vec<Value>, Error> {
    let request = request.map_err(|error| invalid("list", &release.name, error))?;
    let mut list: Value = cluster
        .request(request)
        .await
        .map_err(failed("list", &release.name))?;
    Ok(match list["items"].take() {
        Value::Array(items) => items,
        _ => Vec::new(),
    })
}

/// Whether it is known without asking that there are no records.
pub(crate) fn are_none_seen(cluster: &Cluster, release: &ReleaseId) -> bool {
    let prefix = secret::prefix(&release.name);
    let presence = cluster.presence();
    presence.lacks_all("v1", "Secret", &release.namespace, &prefix)
}

/// All revisions, oldest first, without their contents.
pub(crate) async fn marks(cluster: &Cluster, release: &ReleaseId) -> Result<Vec<Mark>, Error> {
    let request = secrets(release).list_metadata(&selector(release));
    let found = list(cluster, release, request).await?;
    let mut marks: Vec<Mark> = found.iter().filter_map(mark).collect();
    marks.sort_by_key(|mark| mark.revision);
    Ok(marks)
}

fn mark(secret: &Value) -> Option<Mark> {
    let labels = &secret["metadata"]["labels"];
    Some(Mark {
        revision: labels["version"].as_str()?.parse().ok()?,
        status: Status::parse(labels["status"].as_str().unwrap_or_default()),
    })
}

/// All records, oldest first.
pub(crate) async fn all(cluster: &Cluster, release: &ReleaseId) -> Result<Vec<Record>, Error> {
    let request = secrets(release).list(&selector(release));
    let mut records = Vec::new();
    for item in list(cluster, release, request).await? {
        // As Helm, a record that cannot be read does not hide the others.
        match secret::read(&item) {
            Ok(record) => records.push(record),
            Err(reason) => {
                let name = item["metadata"]["name"].as_str().unwrap_or_default();
                tracing::warn!(record = name, reason, "a record cannot be read");
            }
        }
    }
    records.sort_by_key(|record| record.revision);
    Ok(records)
}

/// One record, whole if its parts are there; none if there is none.
pub(crate) async fn read(
    cluster: &Cluster,
    release: &ReleaseId,
    revision: u32,
) -> Result<Option<Record>, Error> {
    let name = secret::name(&release.name, revision);
    let Some(first) = get(cluster, release, &name).await? else {
        return Ok(None);
    };
    let record = secret::read(&first).map_err(|reason| Error::Record {
        name: name.clone(),
        reason,
    })?;
    let count = secret::parts(&first);
    if count == 0 {
        return Ok(Some(record));
    }
    let parts = stream::iter(0..count).map(|number| async move {
        let name = secret::part_name(&release.name, revision, number);
        let part = get(cluster, release, &name).await?;
        Ok::<_, Error>(part.as_ref().and_then(secret::part_data))
    });
    let parts: Vec<Option<Vec<u8>>> = parts.buffered(4).try_collect().await?;
    let parts: Option<Vec<Vec<u8>>> = parts.into_iter().collect();
    // Without its parts, or with wrong ones, the record still names all objects.
    let whole = parts.and_then(|parts| secret::complete(record.clone(), &parts).ok());
    Ok(Some(whole.unwrap_or(record)))
}

async fn get(cluster: &Cluster, release: &ReleaseId, name: &str) -> Result<Option<Value>, Error> {
    let request = secrets(release).get(name, &GetParams::default());
    let request = request.map_err(|error| invalid("read", name, error))?;
    match cluster.request(request).await {
        Ok(secret) => Ok(Some(secret)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(failed("read", name)(error)),
    }
}

/// Why a record was not created.
#[derive(Debug)]
pub(crate) enum NotCreated {
    /// There is one of that revision.
    Exists,
    /// The namespace of the release is missing.
    NoNamespace,
    Failed(Error),
}

/// Writes the record of a new revision.
pub(crate) async fn create(
    cluster: &Cluster,
    record: &Record,
    now: Timestamp,
) -> Result<(), NotCreated> {
    let stored = secret::store(record, Writing::Create, now);
    let name = secret::name(&record.id.name, record.revision);
    let written = post(cluster, &record.id, &stored.secret).await;
    // Whoever looks next asks.
    let namespace = Some(record.id.namespace.as_str());
    cluster.presence().add("v1", "Secret", namespace, &name);
    let first = match written {
        Ok(secret) => secret,
        Err(kube::Error::Api(status)) if status.code == 409 => return Err(NotCreated::Exists),
        Err(kube::Error::Api(status)) if status.code == 404 => return Err(NotCreated::NoNamespace),
        Err(error) => return Err(NotCreated::Failed(failed("create", &name)(error))),
    };
    write_parts(cluster, record, &stored.parts, &first)
        .await
        .map_err(NotCreated::Failed)
}

/// Writes a record in place of what is there of it.
pub(crate) async fn update(
    cluster: &Cluster,
    record: &Record,
    now: Timestamp,
) -> Result<(), Error> {
    let stored = secret::store(record, Writing::Update, now);
    let name = secret::name(&record.id.name, record.revision);
    let data = serde_json::to_vec(&stored.secret).expect("JSON has a form in JSON");
    let request = secrets(&record.id).replace(&name, &PostParams::default(), data);
    let request = request.map_err(|error| invalid("update", &name, error))?;
    let first: Value = cluster
        .request(request)
        .await
        .map_err(failed("update", &name))?;
    write_parts(cluster, record, &stored.parts, &first).await
}

async fn post(
    cluster: &Cluster,
    release: &ReleaseId,
    secret: &Value,
) -> Result<Value, kube::Error> {
    let data = serde_json::to_vec(secret).expect("JSON has a form in JSON");
    let request = secrets(release).create(&PostParams::default(), data);
    let request = request.map_err(kube::Error::BuildRequest)?;
    cluster.request(request).await
}

/// Writes the parts of a record, anew if they are there.
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
                let data = serde_json::to_vec(&part).expect("JSON has a form in JSON");
                let request = secrets(&record.id).replace(&name, &PostParams::default(), data);
                let request = request.map_err(|error| invalid("update", &name, error))?;
                cluster.request::<Value>(request).await
            }
            written => written,
        };
        written.map_err(failed("create", &name))?;
    }
    Ok(())
}

/// Removes a record. Its parts belong to it and go after it.
pub(crate) async fn delete(
    cluster: &Cluster,
    release: &ReleaseId,
    revision: u32,
) -> Result<(), Error> {
    let name = secret::name(&release.name, revision);
    let parameters = DeleteParams::background();
    let request = secrets(release).delete(&name, &parameters);
    let request = request.map_err(|error| invalid("delete", &name, error))?;
    match cluster.request::<Value>(request).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(failed("delete", &name)(error)),
    }
}
