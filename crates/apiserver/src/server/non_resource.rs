//! Non-resource paths: discovery, OpenAPI, version, health, metrics.
//!
//! Large documents are built on first request and cached until the kinds change.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use http::header::{ETAG, IF_NONE_MATCH};
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode};
use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kinds;
use outrigger_openapi as openapi;
use outrigger_store::Scope;
use outrigger_structural::schema::builtin;
use serde::Serialize;

use super::metrics::flow_control_text;
use super::{State, health};
use crate::discovery::{aggregated, legacy};
use crate::negotiation::{Accept, ApiResponse, Content, failure, text};
use crate::request::Query;

const GIT_VERSION: &str = "v1.36.4+embedded";

/// The cached documents of one revision of the kinds.
#[derive(Debug, Default)]
pub(crate) struct Documents {
    cached: Mutex<(u64, Vec<(String, Document)>)>,
    /// Held while a document is built, so that clients that wait for the same one do not all build it.
    building: tokio::sync::Mutex<()>,
}

#[derive(Debug, Clone)]
struct Document {
    bytes: Bytes,
    etag: String,
}

impl Documents {
    async fn get(
        &self,
        kinds: &Kinds,
        name: &str,
        build: impl FnOnce() -> Option<Document>,
    ) -> Option<Document> {
        if let Some(document) = self.find(kinds, name) {
            return Some(document);
        }
        let _building = self.building.lock().await;
        if let Some(document) = self.find(kinds, name) {
            return Some(document);
        }
        let document = build()?;
        let mut cached = self.cached();
        if cached.0 == kinds.revision {
            cached.1.push((name.to_owned(), document.clone()));
        }
        Some(document)
    }

    /// Drops the documents of older kinds.
    fn find(&self, kinds: &Kinds, name: &str) -> Option<Document> {
        let mut cached = self.cached();
        if cached.0 < kinds.revision {
            *cached = (kinds.revision, Vec::new());
        }
        let is_current = cached.0 == kinds.revision;
        let mut documents = cached.1.iter().filter(|_| is_current);
        let found = documents.find(|(path, _)| path == name);
        found.map(|(_, document)| document.clone())
    }

    fn cached(&self) -> MutexGuard<'_, (u64, Vec<(String, Document)>)> {
        self.cached.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether the document at a path may take more than a few milliseconds to build or to compress.
pub(super) fn is_expensive(path: &str) -> bool {
    path.trim_start_matches('/').starts_with("openapi")
}

/// Handles a request for a non-resource path.
pub(super) async fn handle(
    state: &Arc<State>,
    request: &Parts,
    query: &Query<'_>,
    accept: Result<Accept, Status>,
) -> Result<ApiResponse, Status> {
    let (method, headers) = (&request.method, &request.headers);
    let kinds = state.registry.snapshot();
    let trimmed = request.uri.path().trim_matches('/');
    let parts: Vec<&str> = trimmed.split('/').collect();
    let is_read = matches!(*method, Method::GET | Method::HEAD);
    if !is_read && is_read_only(&kinds, &parts) {
        return Err(Status::method_not_allowed());
    }
    Ok(match parts.as_slice() {
        ["healthz" | "livez" | "readyz", rest @ ..] => health::check(state, trimmed, rest, query),
        ["version"] => version(),
        ["metrics"] => metrics(state),
        ["metrics", "slis"] => health::metrics(state),
        ["openapi", "v2"] => swagger_document(state, &kinds, headers).await,
        ["openapi", "v3", rest @ ..] => openapi_document(state, &kinds, rest, headers).await,
        [""] => ApiResponse::value(StatusCode::OK, &serde_json::json!({"paths": paths(&kinds)})),
        ["api"] if accept.clone()?.aggregated => {
            aggregated_document(state, &kinds, aggregated::Root::Core, headers).await
        }
        ["apis"] if accept.clone()?.aggregated => {
            aggregated_document(state, &kinds, aggregated::Root::Named, headers).await
        }
        ["api"] => {
            let address = state.address.get().map_or("", String::as_str);
            discovery(accept, &legacy::api_versions(address))?
        }
        ["apis"] => discovery(accept, &legacy::api_group_list(&kinds))?,
        ["apis", group] if !group.is_empty() => match kinds.group(group) {
            Some(group) => discovery(accept, &legacy::api_group(group))?,
            None => not_found(),
        },
        ["api", version] => resources(&kinds, "", version, accept)?,
        ["apis", group, version] if !group.is_empty() => resources(&kinds, group, version, accept)?,
        _ => not_found(),
    })
}

/// Whether the path accepts only GET and HEAD. Most documents ignore the method.
fn is_read_only(kinds: &Kinds, parts: &[&str]) -> bool {
    match parts {
        ["version" | "api"] => true,
        ["api", version] => kinds.version("", version).is_some(),
        ["apis", group, version] => {
            is_built_in(kinds, group) && kinds.version(group, version).is_some()
        }
        _ => false,
    }
}

fn is_built_in(kinds: &Kinds, group: &str) -> bool {
    kinds.group(group).is_some_and(|group| {
        let mut kinds = group.versions.iter().flat_map(|version| &version.kinds);
        kinds.any(|kind| kind.custom.is_none())
    })
}

/// The response for a missing resource, which differs for built-in groups.
pub(super) fn no_such_resource(kinds: &Kinds, group: &str) -> ApiResponse {
    if is_built_in(kinds, group) {
        failure(&Status::no_such_resource())
    } else {
        not_found()
    }
}

pub(super) fn not_found() -> ApiResponse {
    text(StatusCode::NOT_FOUND, "404 page not found\n")
}

/// A discovery document, if the `Accept` header is acceptable.
fn discovery(
    accept: Result<Accept, Status>,
    document: &impl Serialize,
) -> Result<ApiResponse, Status> {
    accept.map(|_| ApiResponse::value(StatusCode::OK, document))
}

fn resources(
    kinds: &Kinds,
    group: &str,
    version: &str,
    accept: Result<Accept, Status>,
) -> Result<ApiResponse, Status> {
    match kinds.version(group, version) {
        Some(version) => discovery(accept, &legacy::api_resource_list(group, version)),
        None => Ok(no_such_resource(kinds, group)),
    }
}

fn paths(kinds: &Kinds) -> Vec<String> {
    let mut paths: Vec<String> = ["/api", "/api/v1", "/apis"].map(str::to_owned).into();
    for group in kinds.groups.iter().filter(|group| !group.name.is_empty()) {
        paths.push(format!("/apis/{}", group.name));
        for version in &group.versions {
            paths.push(format!("/apis/{}/{}", group.name, version.name));
        }
    }
    for path in [
        "/healthz",
        "/livez",
        "/metrics",
        "/metrics/slis",
        "/openapi/v2",
        "/openapi/v3",
        "/readyz",
        "/version",
    ] {
        paths.push(path.to_owned());
    }
    paths.sort();
    paths
}

async fn aggregated_document(
    state: &State,
    kinds: &Kinds,
    root: aggregated::Root,
    headers: &HeaderMap,
) -> ApiResponse {
    let name = match root {
        aggregated::Root::Core => "api",
        aggregated::Root::Named => "apis",
    };
    let document = state
        .documents
        .get(kinds, name, || {
            let list = aggregated::group_discovery_list(kinds, root);
            Some(Document {
                bytes: serde_json::to_vec(&list).ok()?.into(),
                etag: format!("\"{}\"", list.etag()),
            })
        })
        .await;
    match document {
        Some(document) => {
            let response = conditional(&document, headers);
            response
                .header(http::header::CONTENT_TYPE, aggregated::CONTENT_TYPE)
                .header(http::header::VARY, "Accept")
        }
        None => not_found(),
    }
}

/// The document, or 304 if the client has it.
fn conditional(document: &Document, headers: &HeaderMap) -> ApiResponse {
    let known = headers.get(IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let matches = known.is_some_and(|tags| {
        tags.split(',')
            .any(|tag| tag.trim().trim_start_matches("W/") == document.etag)
    });
    let response = if matches {
        ApiResponse::new(StatusCode::NOT_MODIFIED, Content::Nothing)
    } else {
        ApiResponse::ok(Content::Json(document.bytes.clone()))
    };
    response.header(ETAG, &document.etag)
}

async fn openapi_document(
    state: &State,
    kinds: &Kinds,
    rest: &[&str],
    headers: &HeaderMap,
) -> ApiResponse {
    let group_version = match rest {
        [] => {
            let index = openapi::index(kinds);
            return ApiResponse::ok(Content::Value(index))
                .header(http::header::CONTENT_TYPE, "text/plain; charset=utf-8");
        }
        ["api", version] => GroupVersion::new("", version),
        ["apis", group, version] => GroupVersion::new(group, version),
        _ => return missing_document(),
    };
    let name = openapi::document_path(group_version.group, group_version.version);
    let document = state
        .documents
        .get(kinds, &name, || {
            let definitions =
                |api_version: &str, kind: &str| builtin::definitions(api_version, kind);
            let document = openapi::document(kinds, group_version, &definitions)?;
            let version = kinds.version(group_version.group, group_version.version)?;
            Some(Document {
                bytes: serde_json::to_vec(&document).ok()?.into(),
                etag: format!("\"{}\"", openapi::hash(group_version.group, version)),
            })
        })
        .await;
    match document {
        Some(document) => conditional(&document, headers),
        None => missing_document(),
    }
}

/// `/openapi/v2` in the first acceptable media type.
async fn swagger_document(state: &State, kinds: &Kinds, headers: &HeaderMap) -> ApiResponse {
    let accept = headers.get(http::header::ACCEPT);
    let accept = accept.and_then(|accept| accept.to_str().ok());
    let clauses = accept.unwrap_or("*/*").split(',');
    let mut media_types = clauses.map(|clause| clause.split(';').next().unwrap_or_default().trim());
    let is_protobuf = media_types.find_map(|media_type| match media_type {
        "" | "*/*" | "application/*" | "application/json" => Some(false),
        media_type => openapi::v2::PROTOBUF.contains(&media_type).then_some(true),
    });
    let Some(is_protobuf) = is_protobuf else {
        return ApiResponse::new(StatusCode::NOT_ACCEPTABLE, Content::Nothing);
    };
    let (name, content_type) = if is_protobuf {
        ("openapi/v2 protobuf", openapi::v2::PROTOBUF[0])
    } else {
        ("openapi/v2", "application/json")
    };
    let document = state
        .documents
        .get(kinds, name, || {
            let definitions =
                |api_version: &str, kind: &str| builtin::definitions(api_version, kind);
            let document = openapi::v2::document(kinds, &definitions);
            let bytes = if is_protobuf {
                openapi::v2::encode(&document)
            } else {
                serde_json::to_vec(&document).ok()?
            };
            Some(Document {
                etag: format!("\"{}\"", openapi::v2::hash(kinds)),
                bytes: bytes.into(),
            })
        })
        .await;
    match document {
        Some(document) => conditional(&document, headers)
            .header(http::header::CONTENT_TYPE, content_type)
            .header(http::header::VARY, "Accept"),
        None => missing_document(),
    }
}

fn missing_document() -> ApiResponse {
    ApiResponse::new(StatusCode::NOT_FOUND, Content::Nothing)
}

fn version() -> ApiResponse {
    let version = serde_json::json!({
        "major": "1",
        "minor": "36",
        "emulationMajor": "1",
        "emulationMinor": "36",
        "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35",
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": "",
        "compiler": "rustc",
        "platform": format!("{}/{}", std::env::consts::OS, go_architecture()),
    });
    ApiResponse::ok(Content::Value(version))
}

fn go_architecture() -> &'static str {
    match std::env::consts::ARCH {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    }
}

fn metrics(state: &State) -> ApiResponse {
    let snapshot = state.store.snapshot();
    let objects = snapshot.list(&Scope::everything()).count();
    let mut metrics = state.metrics.text(snapshot.revision(), objects);
    metrics.push_str(&flow_control_text(&state.flow_control.metrics()));
    text(StatusCode::OK, metrics)
}
