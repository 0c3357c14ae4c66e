//! The requests that are made for objects of any kind: get, apply, move fields, delete.

use std::borrow::Cow;

use kube::api::{DeleteParams, GetParams, Patch, PatchParams, Preconditions, PropagationPolicy};
use kube::core::Request;
use serde_json::Value;

use super::{Cluster, unknown};
use crate::error::Error;
use crate::id::ObjectId;
use crate::ownership::MANAGER;

/// How an object is applied.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Apply {
    /// Takes fields that another manager set.
    pub(crate) force: bool,
    pub(crate) dry_run: bool,
    /// Only if it is not there: nobody's object is taken that came after the look.
    pub(crate) is_new: bool,
}

/// A version that no object has any more. Who applies with it makes an object, or is told that there is one.
const LONG_GONE: &str = "1";

/// What is left of an object after it was deleted.
#[derive(Debug)]
pub(crate) enum Deleted {
    /// It was not there, or is gone.
    Gone,
    /// It goes when its finalizers or its pods are done.
    Going(Box<Value>),
}

impl Cluster {
    /// The object as it is; none if it is not there, or if its kind is not.
    pub(crate) async fn get(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        self.get_with(id, &GetParams::default()).await
    }

    /// The same for an object that is probably not there. The server need not ask its database whether it is: if it
    /// has just come, [`Apply::is_new`] finds out.
    pub(crate) async fn get_unlikely(&self, id: &ObjectId) -> Result<Option<Value>, Error> {
        if self.presence().lacks(id) {
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
        let Ok(url) = self.url(id).await else {
            self.kinds().await?;
            return Ok(None);
        };
        let request = Request::new(url).get(&id.name, parameters);
        let answer = match request {
            Ok(request) => self.request(request).await,
            Err(error) => return Err(invalid("get", id, error)),
        };
        match answer {
            Ok(object) => Ok(Some(object)),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(None),
            Err(source) => Err(failed("get", id, source)),
        }
    }

    /// Applies an object as its manager, and gives back what it became.
    pub(crate) async fn apply(
        &self,
        id: &ObjectId,
        object: &Value,
        how: Apply,
    ) -> Result<Value, Error> {
        let url = self.url(id).await?;
        let mut parameters = PatchParams::apply(MANAGER).validation_strict();
        parameters.force = how.force;
        parameters.dry_run = how.dry_run;
        let mut object = Cow::Borrowed(object);
        if how.is_new {
            object.to_mut()["metadata"]["resourceVersion"] = LONG_GONE.into();
        }
        let mut tries = 3;
        loop {
            let request = Request::new(url.as_str())
                .patch(&id.name, &parameters, &Patch::Apply(&*object))
                .map_err(|error| invalid("apply", id, error))?;
            match self.request(request).await {
                Ok(object) => {
                    if how.is_new {
                        let namespace = id.namespace.as_deref();
                        let presence = self.presence();
                        presence.add(&id.api_version, &id.kind, namespace, &id.name);
                    }
                    return Ok(object);
                }
                Err(kube::Error::Api(status)) if is_quota_race(&status) && tries > 0 => tries -= 1,
                Err(kube::Error::Api(status)) if how.is_new && is_changed(&status) => {
                    let namespace = id.namespace.as_deref();
                    let presence = self.presence();
                    presence.add(&id.api_version, &id.kind, namespace, &id.name);
                    return Err(Error::Appeared(Box::new(id.clone())));
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

    /// Changes an object by a JSON patch.
    pub(crate) async fn json_patch(&self, id: &ObjectId, patch: &Value) -> Result<Value, Error> {
        let url = self.url(id).await?;
        let parameters = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        // `Patch::Json` wants a feature of kube; the request is the same.
        let mut request = Request::new(url)
            .patch(&id.name, &parameters, &Patch::Merge(patch))
            .map_err(|error| invalid("change", id, error))?;
        request.headers_mut().insert(
            http::header::CONTENT_TYPE,
            http::HeaderValue::from_static("application/json-patch+json"),
        );
        let answer = self.request(request).await;
        answer.map_err(|source| failed("change", id, source))
    }

    /// Deletes an object, the very one with this uid if one is given; what it owns goes after it.
    pub(crate) async fn delete(&self, id: &ObjectId, uid: Option<&str>) -> Result<Deleted, Error> {
        let Ok(url) = self.url(id).await else {
            self.kinds().await?;
            return Ok(Deleted::Gone);
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
            .delete(&id.name, &parameters)
            .map_err(|error| invalid("delete", id, error))?;
        match self.request::<Value>(request).await {
            Ok(object) if object["metadata"]["deletionTimestamp"].is_string() => {
                Ok(Deleted::Going(Box::new(object)))
            }
            Ok(_) => Ok(Deleted::Gone),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(Deleted::Gone),
            // Another object of this name took its place.
            Err(kube::Error::Api(status)) if status.code == 409 && uid.is_some() => {
                Ok(Deleted::Gone)
            }
            Err(source) => Err(failed("delete", id, source)),
        }
    }

    /// Where objects like this one are.
    pub(crate) async fn url(&self, id: &ObjectId) -> Result<String, Error> {
        let kinds = self.kinds_with(&id.api_version, &id.kind).await?;
        let place = kinds
            .find(&id.api_version, &id.kind)
            .ok_or_else(|| unknown(id))?;
        let root = if id.api_version.contains('/') {
            "/apis"
        } else {
            "/api"
        };
        let version = &id.api_version;
        Ok(match &id.namespace {
            Some(namespace) if place.namespaced => {
                format!("{root}/{version}/namespaces/{namespace}/{}", place.plural)
            }
            _ => format!("{root}/{version}/{}", place.plural),
        })
    }
}

/// Two objects that count against one quota met; the server says to try again.
fn is_quota_race(status: &kube::core::Status) -> bool {
    let quotas = "Operation cannot be fulfilled on resourcequotas";
    is_changed(status) && status.message.contains(quotas)
}

/// The object has another version than the one that was named.
fn is_changed(status: &kube::core::Status) -> bool {
    status.code == 409 && status.message.contains("the object has been modified")
}

pub(super) fn failed(verb: &'static str, id: &ObjectId, source: kube::Error) -> Error {
    Error::Request {
        verb,
        object: Box::new(id.clone()),
        source,
    }
}

pub(super) fn invalid(
    verb: &'static str,
    id: &ObjectId,
    error: kube::core::request::Error,
) -> Error {
    failed(verb, id, kube::Error::BuildRequest(error))
}
