//! Tokens for service accounts.

use http::StatusCode;

use super::call::Call;
use super::{decode, present};
use crate::negotiate::{Answer, Content};
use crate::status::Status;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let request = decode::foreign(call, "authentication.k8s.io/v1", "TokenRequest")?;
    let account = call.state.store.get(&call.key()?);
    let account = account.ok_or_else(|| call.not_found(call.name()))?;
    let account = present::stored_value(&account)?;
    let answer = call
        .state
        .auth
        .issue_token(call.namespace(), &account, request)?;
    Ok(Answer::new(StatusCode::CREATED, Content::Value(answer)))
}
