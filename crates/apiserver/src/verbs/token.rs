//! The `token` subresource of service accounts.

use std::sync::Arc;

use http::StatusCode;
use outrigger_apimachinery::status::Status;
use outrigger_structural::merge::{FieldManager, Kind, Writer};

use super::request_context::RequestContext;
use super::{decode, response};
use crate::negotiation::{ApiResponse, Content};
use crate::request::{WriteOptions, manager_or_agent};

const VERSION: &str = "authentication.k8s.io/v1";

/// The default lifetime of a token.
const DEFAULT_SECONDS: i64 = 3600;

fn field_manager() -> FieldManager {
    let schema = decode::schema_of(VERSION, "TokenRequest");
    let kind = Kind {
        api_version: VERSION.to_owned(),
        name: "TokenRequest".to_owned(),
        schemas: [(VERSION.to_owned(), schema)].into(),
    };
    FieldManager::new(Arc::new(kind), "token", &[])
}

pub(super) fn run(ctx: &mut RequestContext<'_>) -> Result<ApiResponse, Status> {
    let options = WriteOptions::parse(&ctx.query, "CreateOptions", false)?;
    let mut request = decode::object_as(ctx, VERSION, "TokenRequest", options.validation)?;
    let spec = &mut request["spec"];
    if spec["expirationSeconds"].is_null() {
        spec["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    let account = ctx.state.store.get(&ctx.key()?);
    let account = account.ok_or_else(|| ctx.not_found(ctx.name()))?;
    let account = response::stored_value(&account)?;
    let manager = manager_or_agent(&options.field_manager, ctx.user_agent());
    let writer = Writer {
        manager: &manager,
        now: &ctx.state.now_text(),
    };
    let request = field_manager().update(None, request, writer);
    let managed = request["metadata"].get("managedFields").cloned();
    let mut issued = ctx
        .state
        .auth
        .issue_token(ctx.namespace(), &account, request)?;
    if let Some(managed) = managed {
        decode::metadata_of(&mut issued).insert("managedFields".to_owned(), managed);
    }
    Ok(ApiResponse::new(
        StatusCode::CREATED,
        Content::Value(issued),
    ))
}
