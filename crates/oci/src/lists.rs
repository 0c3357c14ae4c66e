//! Lists of registries, in pages: tags and referrers.

use std::collections::BTreeSet;

use outrigger_transport::redact;
use reqwest::header::{ACCEPT, HeaderMap, LINK};
use reqwest::{Method, StatusCode};
use serde::Deserialize;
use url::Url;

use crate::answer::read_limited;
use crate::auth::Scope;
use crate::client::{Call, Client};
use crate::digest::Digest;
use crate::error::Error;
use crate::manifest::{Descriptor, Manifest, OCI_INDEX};
use crate::reference::Repository;
use crate::registry::{expect, header};

/// The most tags of a repository that are listed.
const MAX_TAGS: usize = 250_000;

/// Pages of tags or referrers; registries may return fewer than what was asked for, and a broken one has no last page.
const MAX_PAGES: usize = 2_500;

/// The tags that are listed to learn whether an image has signatures.
const FEW_TAGS: usize = 1_000;

/// The largest page of tags or referrers.
const MAX_PAGE: u64 = 16 << 20;

#[derive(Deserialize)]
struct TagPage {
    tags: Option<Vec<String>>,
}

impl Client {
    /// All tags of a repository, sorted.
    pub async fn tags(&self, repository: &Repository) -> Result<Vec<String>, Error> {
        let mut url = self.url(
            repository.registry(),
            &format!("{}/tags/list?n=10000", repository.path()),
        )?;
        let mut tags = Vec::new();
        for pages in 1.. {
            let call = Call::new(
                Method::GET,
                repository,
                url.clone(),
                Scope::pull(repository.path()),
            );
            let (page, next) = self.page(&call, &|| repository.to_string()).await?;
            let page: TagPage = parse_page(&page, &url)?;
            let page = page.tags.unwrap_or_default();
            let is_last = page.is_empty();
            tags.extend(page);
            if tags.len() > MAX_TAGS {
                let (what, limit) = (repository.to_string(), MAX_TAGS);
                return Err(Error::TooManyTags { what, limit });
            }
            check_pages(pages, &url)?;
            match next {
                Some(next) if !is_last && next != url => url = next,
                _ => break,
            }
        }
        tags.sort();
        tags.dedup();
        Ok(tags)
    }

    /// The tags of a repository if one page has all of them; none if there are more, or if they cannot be listed.
    pub(crate) async fn few_tags(
        &self,
        repository: &Repository,
    ) -> Result<Option<BTreeSet<String>>, Error> {
        let path = format!("{}/tags/list?n={FEW_TAGS}", repository.path());
        let url = self.url(repository.registry(), &path)?;
        let scope = Scope::pull(repository.path());
        let call = Call::new(Method::GET, repository, url, scope);
        let (page, next) = match self.page(&call, &|| repository.to_string()).await {
            Ok(page) => page,
            // Whether that matters is for the requests that are needed instead.
            Err(error) => {
                tracing::debug!("the tags of {repository} cannot be listed: {error}");
                return Ok(None);
            }
        };
        let tags = serde_json::from_slice::<TagPage>(&page).ok();
        let tags = tags.and_then(|page| page.tags).unwrap_or_default();
        // A registry may cut the list without a link to the rest.
        let is_complete = next.is_none() && tags.len() < FEW_TAGS;
        Ok(is_complete.then(|| tags.into_iter().collect()))
    }

    /// The manifests whose subject is this one: signatures, attestations and the like.
    pub async fn referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        match self.listed_referrers(repository, digest).await? {
            Some(found) => Ok(found),
            None => self.tagged_referrers(repository, digest).await,
        }
    }

    /// The answer of the referrers API; none if the registry does not have it.
    pub(crate) async fn listed_referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Option<Vec<Descriptor>>, Error> {
        let mut url = self.url(
            repository.registry(),
            &format!("{}/referrers/{digest}", repository.path()),
        )?;
        let mut found: Vec<Descriptor> = Vec::new();
        for pages in 1.. {
            check_pages(pages, &url)?;
            let call = Call::new(
                Method::GET,
                repository,
                url.clone(),
                Scope::pull(repository.path()),
            );
            let (page, next) = match self
                .page(&call.header(ACCEPT, OCI_INDEX), &|| digest.to_string())
                .await
            {
                Ok(page) => page,
                Err(error) if is_unsupported(&error) => return Ok(None),
                Err(error) => return Err(error),
            };
            let page: Manifest = parse_page(&page, &url)?;
            found.extend(page.manifests.unwrap_or_default());
            match next {
                Some(next) if next != url && found.len() < crate::manifest::MAX_ENTRIES => {
                    url = next;
                }
                _ => break,
            }
        }
        Ok(Some(found))
    }

    /// Registries without the referrers API have an index with a tag that is derived from the digest.
    pub(crate) async fn tagged_referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        let tag = digest.tag();
        match self.manifest(&repository.with_tag(&tag)?).await {
            Ok(manifest) => Ok(manifest.parsed.manifests.unwrap_or_default()),
            Err(error) if error.is_not_found() => Ok(Vec::new()),
            Err(error) => Err(error),
        }
    }

    async fn page(
        &self,
        call: &Call<'_>,
        what: &(dyn Fn() -> String + Sync),
    ) -> Result<(Vec<u8>, Option<Url>), Error> {
        let response = self.execute(call).await?;
        let response = expect(response, &call.url, StatusCode::OK, what).await?;
        let next = next_page(response.headers(), &call.url);
        let time = self.shared.options.stall_timeout;
        let bytes = read_limited(response, &call.url, MAX_PAGE, time).await;
        Ok((bytes.map_err(|failure| failure.error)?, next))
    }
}

fn check_pages(pages: usize, url: &Url) -> Result<(), Error> {
    if pages <= MAX_PAGES {
        return Ok(());
    }
    Err(Error::InvalidAnswer {
        url: redact(url),
        reason: format!("the list has more than {MAX_PAGES} pages"),
    })
}

fn parse_page<T: serde::de::DeserializeOwned>(bytes: &[u8], url: &Url) -> Result<T, Error> {
    serde_json::from_slice(bytes).map_err(|error| Error::InvalidAnswer {
        url: redact(url),
        reason: error.to_string(),
    })
}

/// Whether a registry does not know an endpoint.
fn is_unsupported(error: &Error) -> bool {
    error.is_not_found()
        || matches!(
            error,
            Error::Status {
                status: 400 | 405 | 406 | 501,
                ..
            }
        )
}

/// The next page, on the same server only.
fn next_page(headers: &HeaderMap, url: &Url) -> Option<Url> {
    let link = header(headers, LINK.as_str())?;
    let link = link
        .split(',')
        .find(|link| link.contains("rel=\"next\"") || link.contains("rel=next"))?;
    let target = link.split_once('<')?.1.split_once('>')?.0;
    let next = url.join(target).ok()?;
    outrigger_transport::is_same_origin(&next, url).then_some(next)
}
