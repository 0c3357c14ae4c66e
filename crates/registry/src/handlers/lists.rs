//! Lists: tags, referrers and repositories, in pages.

use std::sync::Arc;

use http::header::{HeaderName, LINK};
use http::{Method, Request, StatusCode};
use hyper::body::Incoming;
use outrigger_oci::OCI_INDEX;
use serde_json::json;

use super::{parse_digest, query};
use crate::answer::{Answer, Failure, bytes_answer, json_answer, set};
use crate::server::Context;
use crate::store::StoreError;

/// Entries of a page, unless a client asks for fewer.
const PAGE: usize = 10_000;

const FILTERS: HeaderName = HeaderName::from_static("oci-filters-applied");

pub(super) async fn tags(
    context: &Arc<Context>,
    request: &Request<Incoming>,
    repository: String,
) -> Result<Answer, Failure> {
    check_method(request)?;
    let name = repository.clone();
    let all = context
        .blocking(move |store| {
            if !store.exists(&name) {
                return Err(StoreError::NameUnknown(name));
            }
            store.tags(&name)
        })
        .await?;
    let (page, next) = page(all, request);
    let body = json!({"name": repository, "tags": page}).to_string();
    let mut answer = json_answer(StatusCode::OK, body);
    if let Some(next) = next {
        set(
            &mut answer,
            LINK,
            &format!("</v2/{repository}/tags/list?{next}>; rel=\"next\""),
        );
    }
    Ok(answer)
}

pub(super) async fn catalog(
    context: &Arc<Context>,
    request: &Request<Incoming>,
) -> Result<Answer, Failure> {
    check_method(request)?;
    let all = context.blocking(crate::store::Store::repositories).await?;
    let (page, next) = page(all, request);
    let mut answer = json_answer(StatusCode::OK, json!({"repositories": page}).to_string());
    if let Some(next) = next {
        set(
            &mut answer,
            LINK,
            &format!("</v2/_catalog?{next}>; rel=\"next\""),
        );
    }
    Ok(answer)
}

pub(super) async fn referrers(
    context: &Arc<Context>,
    request: &Request<Incoming>,
    repository: String,
    digest: &str,
) -> Result<Answer, Failure> {
    check_method(request)?;
    let digest = parse_digest(digest)?;
    let filter = query(request).remove("artifactType");
    let mut found = context
        .blocking(move |store| store.referrers(&repository, &digest))
        .await?;
    if let Some(filter) = &filter {
        found.retain(|referrer| referrer.artifact_type.as_ref() == Some(filter));
    }
    let body = json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": found}).to_string();
    let mut answer = bytes_answer(StatusCode::OK, OCI_INDEX, body);
    if filter.is_some() {
        set(&mut answer, FILTERS, "artifactType");
    }
    Ok(answer)
}

fn check_method(request: &Request<Incoming>) -> Result<(), Failure> {
    if request.method() == Method::GET {
        Ok(())
    } else {
        Err(Failure::method())
    }
}

/// A page of a sorted list, and the query of the next one.
fn page(all: Vec<String>, request: &Request<Incoming>) -> (Vec<String>, Option<String>) {
    let parameters = query(request);
    let count = parameters
        .get("n")
        .and_then(|count| count.parse::<usize>().ok())
        .unwrap_or(PAGE)
        .min(PAGE);
    cut(all, parameters.get("last").map(String::as_str), count)
}

fn cut(mut all: Vec<String>, last: Option<&str>, count: usize) -> (Vec<String>, Option<String>) {
    if let Some(last) = last {
        let start = all.partition_point(|entry| entry.as_str() <= last);
        all.drain(..start);
    }
    let is_cut = all.len() > count;
    all.truncate(count);
    let next = all.last().filter(|_| is_cut).map(|last| {
        let mut query = url::form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("n", &count.to_string())
            .append_pair("last", last)
            .finish()
    });
    (all, next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_continue_after_the_last_entry() {
        let all = || ["a", "b", "c"].map(str::to_owned).to_vec();
        assert_eq!(
            cut(all(), None, 2),
            (
                vec!["a".to_owned(), "b".to_owned()],
                Some("n=2&last=b".to_owned())
            )
        );
        assert_eq!(cut(all(), Some("b"), 2), (vec!["c".to_owned()], None));
        assert_eq!(cut(all(), Some("bb"), 2).0, ["c"]);
        assert_eq!(cut(all(), Some("z"), 2), (Vec::new(), None));
        assert_eq!(cut(all(), None, 0), (Vec::new(), None));
    }
}
