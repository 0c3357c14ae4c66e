//! Requests for objects of any kind: get, list, apply, patch, delete.

use std::borrow::Cow;

use kube::api::{
    DeleteParams, GetParams, ListParams, Patch, PatchParams, Preconditions, PropagationPolicy,
};
use kube::core::Request;
use serde_json::Value;

use super::{Cluster, unknown_kind};
use crate::error::Error;
use crate::id::ObjectId;
use crate::ownership::FIELD_MANAGER;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct ApplyOptions {
    /// Take over fields that are owned by other managers.
    pub(crate) force_conflicts: bool,
    /// Fail if the object exists, so that an object created after the read is not overwritten.
    pub(crate) create_only: bool,
    /// Only ask whether the server would accept it.
    pub(crate) dry_run: bool,
}

/// A resource version that no live object has. An apply with it creates the object, or fails if it exists.
const STALE_RESOURCE_VERSION: &str = "1";

/// Retries of an apply that lost a race for a quota.
const QUOTA_RETRIES: usize = 3;

#[derive(Debug)]
pub(crate) enum DeleteOutcome {
    /// The object does not exist, or no longer exists.
    Deleted,
    /// Finalizers, or a graceful termination, are still running.
    Terminating(Box<Value>),
}

impl Cluster {
    /// The live object; none if it or its kind does not exist.
    pub(crate) async fn get(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        self.get_with(id, &GetParams::default()).await
    }

    /// Like [`Self::get`], for an object that probably does not exist. Uses the existence cache, then the watch cache of
    /// the API server. Both may be stale; [`ApplyOptions::create_only`] detects that.
    pub(crate) async fn get_probably_absent(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        if self.existence().is_absent(id) {
            return Ok(None);
        }
        match self.get_with(id, &GetParams::any()).await? {
            Some(_) => self.get(id).await,
            None => Ok(None),
        }
    }

    async fn get_with(
        &self,
        id: &ObjectId,
        parameters: &GetParams,
    ) -> Result<Option<Value>, Error> {
        let Some(url) = self.url_if_served(id).await? else {
            return Ok(None);
        };
        let request = Request::new(url).get(&segment(&id.name), parameters);
        let request = request.map_err(|error| build_failed("get", id, error))?;
        found(self.request(request).await).map_err(|source| failed("get", id, source))
    }

    /// The list of all objects of the kind and namespace of `id`.
    pub(crate) async fn list(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        let request = Request::new(self.url(id).await?).list(&ListParams::default());
        let request = request.map_err(|error| build_failed("list", id, error))?;
        found(self.request(request).await).map_err(|source| failed("list", id, source))
    }

    /// Applies an object server-side, and returns its new state.
    pub(crate) async fn apply(
        &self,
        id: &ObjectId,
        object: &Value,
        options: ApplyOptions,
    ) -> Result<Value, Error> {
        let url = self.url(id).await?;
        let mut parameters = PatchParams::apply(FIELD_MANAGER).validation_strict();
        parameters.force = options.force_conflicts;
        parameters.dry_run = options.dry_run;
        let mut object = Cow::Borrowed(object);
        if options.create_only {
            object.to_mut()["metadata"]["resourceVersion"] = STALE_RESOURCE_VERSION.into();
        }
        let mut retries = QUOTA_RETRIES;
        loop {
            let request = Request::new(url.as_str())
                .patch(&segment(&id.name), &parameters, &Patch::Apply(&*object))
                .map_err(|error| build_failed("apply", id, error))?;
            match self.request(request).await {
                Ok(object) => {
                    if options.create_only {
                        self.note_existence(id);
                    }
                    return Ok(object);
                }
                Err(kube::Error::Api(status)) if is_quota_race(&status) && retries > 0 => {
                    retries -= 1;
                }
                Err(kube::Error::Api(status)) if options.create_only && is_modified(&status) => {
                    self.note_existence(id);
                    return Err(Error::CreatedMeanwhile(Box::new(id.clone())));
                }
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    return Err(Error::Conflict {
                        object: Box::new(id.clone()),
                        message: status.message.clone(),
                    });
                }
                Err(source) => return Err(failed("apply", id, source)),
            }
        }
    }

    fn note_existence(&self, id: &ObjectId) {
        let namespace = id.namespace.as_deref();
        self.existence()
            .apply(&id.api_version, &id.kind, namespace, &id.name);
    }

    pub(crate) async fn json_patch(&self, id: &ObjectId, patch: &Value) -> Result<Value, Error> {
        let url = self.url(id).await?;
        let parameters = PatchParams {
            field_manager: Some(FIELD_MANAGER.to_owned()),
            ..PatchParams::default()
        };
        // `Patch::Json` needs a feature of kube; only the content type differs.
        let mut request = Request::new(url)
            .patch(&segment(&id.name), &parameters, &Patch::Merge(patch))
            .map_err(|error| build_failed("patch", id, error))?;
        request.headers_mut().insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static("application/json-patch+json"),
        );
        let patched = self.request(request).await;
        patched.map_err(|source| failed("patch", id, source))
    }

    /// Deletes an object with background propagation, only if it has this uid if one is given.
    pub(crate) async fn delete(
        &self,
        id: &ObjectId,
        uid: Option<&str>,
    ) -> Result<DeleteOutcome, Error> {
        let Some(url) = self.url_if_served(id).await? else {
            return Ok(DeleteOutcome::Deleted);
        };
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Background),
            preconditions: uid.map(|uid| Preconditions {
                uid: Some(uid.to_owned()),
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let request = Request::new(url)
            .delete(&segment(&id.name), &parameters)
            .map_err(|error| build_failed("delete", id, error))?;
        match self.request::<Value>(request).await {
            Ok(object) if object["metadata"]["deletionTimestamp"].is_string() => {
                Ok(DeleteOutcome::Terminating(Box::new(object)))
            }
            Ok(_) => Ok(DeleteOutcome::Deleted),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(DeleteOutcome::Deleted),
            // The uid belongs to a deleted object; another one has its name now.
            Err(kube::Error::Api(status)) if status.code == 409 && uid.is_some() => {
                Ok(DeleteOutcome::Deleted)
            }
            Err(source) => Err(failed("delete", id, source)),
        }
    }

    /// The URL path of the kind and namespace of an object.
    pub(crate) async fn url(&self, id: &ObjectId) -> Result<String, Error> {
        let (version, kind) = (&id.api_version, &id.kind);
        let resources = self.api_resources_with(version, kind).await?;
        let resource = resources
            .find(version, kind)
            .ok_or_else(|| unknown_kind(id))?;
        let root = if version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        Ok(match &id.namespace {
            Some(namespace) if resource.namespaced => {
                let (namespace, plural) = (segment(namespace), &resource.plural);
                format!("{root}/{version}/namespaces/{namespace}/{plural}")
            }
            _ => format!("{root}/{version}/{}", resource.plural),
        })
    }

    /// Like [`Self::url`]; none if the kind does not exist.
    async fn url_if_served(&self, id: &ObjectId) -> Result<Option<String>, Error> {
        match self.url(id).await {
            Err(Error::UnknownKinds(_)) => Ok(None),
            url => url.map(Some),
        }
    }
}

/// A name as a segment of a URL path. Names of objects are not valid until the server has accepted them.
pub(crate) fn segment(name: &str) -> Cow<'_, str> {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:@".contains(&byte);
    if name.bytes().all(is_plain) {
        return Cow::Borrowed(name);
    }
    let mut encoded = String::with_capacity(name.len() + 8);
    for byte in name.bytes() {
        if is_plain(byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    Cow::Owned(encoded)
}

fn found(response: Result<Value, kube::Error>) -> Result<Option<Value>, kube::Error> {
    match response {
        Ok(object) => Ok(Some(object)),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
        Err(error) => Err(error),
    }
}

/// Two writes updated the same quota; the API server asks for a retry.
fn is_quota_race(status: &kube::core::Status) -> bool {
    let quotas = "Operation cannot be fulfilled on resourcequotas";
    is_modified(status) && status.message.contains(quotas)
}

/// The resource version in the request is not that of the live object.
fn is_modified(status: &kube::core::Status) -> bool {
    status.code == 409 && status.message.contains("the object has been modified")
}

pub(super) fn failed(verb: &'static str, id: &ObjectId, source: kube::Error) -> Error {
    Error::Request {
        verb,
        object: Box::new(id.clone()),
        source,
    }
}

pub(super) fn build_failed(
    verb: &'static str,
    id: &ObjectId,
    error: kube::core::request::Error,
) -> Error {
    failed(verb, id, kube::Error::BuildRequest(error))
}
