//! Pagination: selects the objects of a page and issues continue tokens.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use outrigger_apimachinery::status::Status;
use outrigger_store::{Key, Object, Snapshot};
use outrigger_structural::schema::strict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request_context::RequestContext;
use super::response;
use crate::request::{ListOptions, Match};

const TOO_OLD: &str = "The provided continue parameter is too old to display a consistent list result. You can start a new list without the continue parameter.";

/// A page of a list.
#[derive(Debug)]
pub(super) struct Page {
    pub(super) objects: Vec<Arc<Object>>,
    pub(super) revision: u64,
    pub(super) continue_token: Option<String>,
    /// `remainingItemCount`.
    pub(super) remaining: Option<usize>,
}

/// A continue token, as the real server encodes it.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Token {
    v: String,
    rv: i64,
    start: String,
}

const TOKEN_VERSION: &str = "meta.k8s.io/v1";

/// The objects of one page of a list.
pub(super) fn select(ctx: &RequestContext<'_>, options: &ListOptions) -> Result<Page, Status> {
    let (snapshot, after) = snapshot(ctx, options)?;
    let scope = scope(ctx, options)?;
    let mut objects = Vec::new();
    let mut remaining = 0;
    let mut rest = snapshot.list_after(&scope, after.as_ref());
    while let Some(object) = rest.next() {
        if !matches(options, object)? {
            continue;
        }
        objects.push(Arc::clone(object));
        if options.limit > 0 && objects.len() == options.limit {
            // Like the real server, this does not apply selectors.
            remaining = rest.count();
            break;
        }
    }
    let mut page = Page {
        objects,
        revision: snapshot.revision(),
        continue_token: None,
        remaining: None,
    };
    if remaining > 0 {
        if !options.has_selector() {
            page.remaining = Some(remaining);
        }
        ctx.state.store.retain(&snapshot);
        page.continue_token = page
            .objects
            .last()
            .map(|last| token(snapshot.revision(), last.key()));
    }
    Ok(page)
}

/// The scope of a list; a field selector for `metadata.name` restricts it.
pub(super) fn scope(
    ctx: &RequestContext<'_>,
    options: &ListOptions,
) -> Result<outrigger_store::Scope, Status> {
    let scope = ctx.scope()?;
    Ok(match options.fields.exact("metadata.name") {
        Some(name) => scope.named(name),
        None => scope,
    })
}

/// Whether an object matches the selectors. Label selectors need no parsing.
pub(super) fn matches(options: &ListOptions, object: &Object) -> Result<bool, Status> {
    matches_parsed(options, object, || {
        response::stored_value(object).map(Arc::new)
    })
}

/// Like [`matches`], for a caller that may know the parsed object.
pub(super) fn matches_parsed(
    options: &ListOptions,
    object: &Object,
    parsed: impl FnOnce() -> Result<Arc<Value>, Status>,
) -> Result<bool, Status> {
    let metadata = object.metadata();
    if !options.labels.is_empty() && !options.labels.matches_by(|name| metadata.label(name)) {
        return Ok(false);
    }
    if options.fields.is_empty() || options.fields.selects_by_name_only() {
        let key = object.key();
        return Ok(options.fields.matches_names(key.namespace(), key.name()));
    }
    Ok(options.fields.matches(&*parsed()?))
}

fn token(revision: u64, last: &Key) -> String {
    let token = Token {
        v: TOKEN_VERSION.to_owned(),
        rv: i64::try_from(revision).unwrap_or(i64::MAX),
        start: format!("{}/{}\0", last.namespace(), last.name()),
    };
    URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).unwrap_or_default())
}

/// The snapshot of a list, and the key after which the page begins.
fn snapshot(
    ctx: &RequestContext<'_>,
    options: &ListOptions,
) -> Result<(Snapshot, Option<Key>), Status> {
    let store = &ctx.state.store;
    if !options.continue_token.is_empty() {
        if options.revision.is_some_and(|revision| revision > 0) {
            let why = "specifying resource version is not allowed when using continue";
            return Err(Status::bad_request(why));
        }
        let (revision, key) = parse_token(ctx, &options.continue_token)?;
        let current = store.revision();
        let snapshot = match revision {
            None => store.snapshot(),
            Some(revision) if revision > current => {
                return Err(Status::too_large_resource_version(revision, current));
            }
            Some(revision) => store
                .snapshot_at(revision)
                .map_err(|_| Status::expired(TOO_OLD))?,
        };
        return Ok((snapshot, Some(key)));
    }
    let current = store.snapshot();
    let revision = options.revision.filter(|revision| *revision > 0);
    let Some(revision) = revision else {
        return Ok((current, None));
    };
    if revision > current.revision() {
        return Err(Status::too_large_resource_version(
            revision,
            current.revision(),
        ));
    }
    let is_exact = match options.version_match {
        Some(wanted) => wanted == Match::Exact,
        // The first page of a paginated list is at exactly that revision.
        None => options.limit > 0,
    };
    if !is_exact {
        return Ok((current, None));
    }
    let snapshot = store.snapshot_at(revision);
    let snapshot = snapshot
        .map_err(|_| Status::expired("The resourceVersion for the provided list is too old."))?;
    Ok((snapshot, None))
}

fn parse_token(ctx: &RequestContext<'_>, text: &str) -> Result<(Option<u64>, Key), Status> {
    let refused = |why: &str| {
        Status::bad_request(format!(
            "invalid continue token: continue key is not valid: {why}"
        ))
    };
    let bytes = URL_SAFE_NO_PAD
        .decode(text.trim_end_matches('='))
        .map_err(|error| refused(&error.to_string()))?;
    strict::parse(&bytes).map_err(|error| refused(&error.to_string()))?;
    let token: Token =
        serde_json::from_slice(&bytes).map_err(|error| refused(&error.to_string()))?;
    if token.v != TOKEN_VERSION {
        let why = format!("server does not recognize this encoded version {}", token.v);
        return Err(refused(&why));
    }
    let start = token.start.trim_end_matches('\0');
    let (namespace, name) = start.split_once('/').unwrap_or(("", start));
    let key = ctx.resource.key(namespace, name);
    let key = key.map_err(|error| refused(&error.to_string()))?;
    let revision = u64::try_from(token.rv)
        .ok()
        .filter(|revision| *revision > 0);
    Ok((revision, key))
}
