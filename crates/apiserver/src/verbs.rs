//! What can be done with objects: one file for each verb, one generic path for all kinds.

mod binding;
mod call;
mod callbacks;
mod collection;
mod connect;
mod create;
mod decode;
mod delete;
mod eviction;
mod find;
mod get;
mod list;
mod names;
mod page;
mod patch;
mod present;
mod scale;
mod shown;
mod token;
mod update;
mod watch;
mod write;

pub(crate) use call::Call;
pub(crate) use delete::{Deleted, delete_object};
pub(crate) use find::{Found, find};
pub(crate) use names::{RandomError, random_suffix, random_uid};
pub(crate) use write::{store_failure, write_value};

use outrigger_apimachinery::status::Status;

use crate::negotiate::Answer;

/// Does what a request asks for.
pub(crate) async fn run(call: &mut Call<'_>) -> Result<Answer, Status> {
    if let Some(deprecation) = call.kind.deprecation.clone() {
        call.warn(deprecation);
    }
    let subresource = call.place.subresource.to_string();
    match (subresource.as_str(), call.verb) {
        ("" | "status" | "approval" | "ephemeralcontainers" | "resize", "get") => get::run(call),
        ("", "list") => list::run(call),
        ("", "watch") => watch::run(call),
        ("", "create") => create::run(call).await,
        ("", "delete") => delete::run(call).await,
        ("", "deletecollection") => collection::run(call).await,
        ("scale", _) => scale::run(call).await,
        ("token", _) => token::run(call),
        ("eviction", _) => eviction::run(call).await,
        ("binding", _) => binding::run(call).await,
        ("log", _) => connect::log(call),
        ("" | "status" | "finalize" | "approval" | "ephemeralcontainers", "update") => {
            update::run(call).await
        }
        ("" | "status" | "finalize" | "approval" | "ephemeralcontainers", "patch") => {
            patch::run(call).await
        }
        _ => Err(connect::refused(call)),
    }
}
