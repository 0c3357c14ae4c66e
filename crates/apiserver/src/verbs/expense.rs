//! Whether a request may take more than a few milliseconds, estimated from the size of what it reads.

use outrigger_builtin::kinds::convert;
use outrigger_store::Object;

use super::request_context::RequestContext;
use crate::controllers;
use crate::negotiation::{Format, View};

/// How many bytes are parsed, merged and serialized in a few milliseconds.
const MAX_WRITTEN: usize = 32 * 1024;
/// How many bytes are parsed, filtered or compressed in a few milliseconds.
const MAX_READ: usize = 256 * 1024;

/// Whether a request must run on a thread for expensive requests.
pub(crate) fn is_expensive(ctx: &RequestContext<'_>) -> bool {
    match ctx.verb {
        "get" => !is_sent_as_stored(ctx) && stored_size(ctx) > MAX_READ,
        "list" | "watch" => {
            let selectors = selectors(ctx);
            let reads = !is_sent_as_stored(ctx) || selectors > 0;
            // Every object is compared with all requirements.
            reads && exceeds(ctx, MAX_READ.div_ceil(selectors.div_ceil(256).max(1)))
        }
        "deletecollection" => true,
        _ if controllers::compiles(&ctx.kind) || compiles_schema(ctx) => true,
        _ => ctx.body.len().saturating_add(stored_size(ctx)) > MAX_WRITTEN,
    }
}

/// Whether a custom resource is the first one that is written with its schema, which must be compiled.
fn compiles_schema(ctx: &RequestContext<'_>) -> bool {
    let is_compiled = || ctx.state.schemas.has(&ctx.kind, &ctx.info.subresource);
    ctx.kind.custom.is_some() && ctx.verb != "delete" && !is_compiled()
}

/// Whether objects are sent without being parsed, converted or compressed.
fn is_sent_as_stored(ctx: &RequestContext<'_>) -> bool {
    let accept = &ctx.accept;
    let is_stored_json = accept.view == View::Object && accept.format == Format::Json;
    is_stored_json
        && !accept.pretty
        && !accept.gzip
        && ctx.kind.custom.is_none()
        && !convert::needed(&ctx.kind)
}

/// The length of the selectors.
fn selectors(ctx: &RequestContext<'_>) -> usize {
    let length = |name| ctx.query.text(name).len();
    length("fieldSelector").saturating_add(length("labelSelector"))
}

/// The size of the object that the path names.
fn stored_size(ctx: &RequestContext<'_>) -> usize {
    if ctx.name().is_empty() {
        return 0;
    }
    let key = ctx.key();
    let object = key.ok().and_then(|key| ctx.state.store.get(&key));
    object.map_or(0, |object| object.bytes().len())
}

/// Whether the objects of the collection have more bytes than this.
fn exceeds(ctx: &RequestContext<'_>, max: usize) -> bool {
    let Ok(scope) = ctx.scope() else {
        return false;
    };
    let snapshot = ctx.state.store.snapshot();
    let mut left = max;
    snapshot.list(&scope).any(|object| {
        match left.checked_sub(size_of(object)) {
            Some(rest) => left = rest,
            None => return true,
        }
        false
    })
}

fn size_of(object: &Object) -> usize {
    object.bytes().len()
}
