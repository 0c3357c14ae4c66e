//! Tokens for service accounts.

use std::sync::Arc;

use http::StatusCode;
use outrigger_apimachinery::status::Status;
use outrigger_structural::merge::{FieldManager, Kind, Writer};

use super::call::Call;
use super::{decode, present};
use crate::negotiate::{Answer, Content};
use crate::request::{WriteOptions, manager_or_agent};

const VERSION: &str = "authentication.k8s.io/v1";

/// How long a token is good for if nobody says.
const DEFAULT_SECONDS: i64 = 3600;

fn field_manager() -> FieldManager {
    let schema = decode::foreign_schema(VERSION, "TokenRequest");
    let kind = Kind {
        api_version: VERSION.to_owned(),
        name: "TokenRequest".to_owned(),
        schemas: [(VERSION.to_owned(), schema)].into(),
    };
    FieldManager::new(Arc::new(kind), "token", &[])
}

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let options = WriteOptions::parse(&call.query, "CreateOptions", false)?;
    let mut request = decode::foreign(call, VERSION, "TokenRequest")?;
    if request["spec"]["expirationSeconds"].is_null() {
        request["spec"]["expirationSeconds"] = DEFAULT_SECONDS.into();
    }
    let account = call.state.store.get(&call.key()?);
    let account = account.ok_or_else(|| call.not_found(call.name()))?;
    let account = present::stored_value(&account)?;
    let manager = manager_or_agent(&options.field_manager, call.user_agent());
    let writer = Writer {
        manager: &manager,
        now: &call.state.now_text(),
    };
    let request = field_manager().update(None, request, writer);
    let managed = request["metadata"].get("managedFields").cloned();
    let mut answer = call
        .state
        .auth
        .issue_token(call.namespace(), &account, request)?;
    if let Some(managed) = managed {
        decode::metadata_of(&mut answer).insert("managedFields".to_owned(), managed);
    }
    Ok(Answer::new(StatusCode::CREATED, Content::Value(answer)))
}
