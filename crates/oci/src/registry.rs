//! What registries can be asked: manifests, blobs, tags and referrers.

use bytes::Bytes;
use outrigger_transport::redact;
use reqwest::header::{ACCEPT as ACCEPT_HEADER, CONTENT_TYPE, HeaderMap, LINK};
use reqwest::{Method, Response, StatusCode};
use serde::Deserialize;
use url::Url;

use crate::auth::Scope;
use crate::client::{Call, Client, read_limited, status_error};
use crate::digest::{Algorithm, Digest};
use crate::error::Error;
use crate::manifest::{ACCEPT, Descriptor, MAX_MANIFEST, Manifest, OCI_INDEX, RawManifest};
use crate::reference::{Reference, Repository};

/// The most tags of a repository that are listed.
const MAX_TAGS: usize = 250_000;

/// Pages of tags or referrers; registries may return fewer than what was asked for, and a broken one has no last page.
const MAX_PAGES: usize = 2_500;

/// The largest page of tags or referrers.
const MAX_PAGE: u64 = 16 << 20;

/// An image, and the repository that it was found in.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub location: Reference,
    pub manifest: RawManifest,
}

#[derive(Deserialize)]
struct TagPage {
    tags: Option<Vec<String>>,
}

impl Client {
    /// Finds the manifest of an image: in its mirrors first, then in its registry.
    pub async fn resolve(&self, image: &Reference) -> Result<Resolved, Error> {
        let candidates = self.candidates(image)?;
        let mut last = None;
        for location in candidates {
            match self.manifest(&location).await {
                Ok(manifest) => return Ok(Resolved { location, manifest }),
                Err(error) => {
                    tracing::debug!("{location}: {error}");
                    last = Some(error);
                }
            }
        }
        Err(last.unwrap_or_else(|| not_found(image)))
    }

    /// Whether the registry of a repository answers.
    pub async fn ping(&self, repository: &Repository) -> Result<(), Error> {
        let url = self.url(repository.registry(), "")?;
        let call = Call::new(Method::GET, repository, url, Scope::pull(repository.path()));
        let response = self.execute(&call).await?;
        expect(response, &call.url, StatusCode::OK, &|| {
            repository.registry().to_owned()
        })
        .await
        .map(drop)
    }

    /// Where an image is pulled from: its mirrors, then its registry.
    pub fn candidates(&self, image: &Reference) -> Result<Vec<Reference>, Error> {
        Ok(self.shared.options.mirrors.candidates(image)?)
    }

    /// The manifest of an image. If the reference has a digest, the content is verified.
    pub async fn manifest(&self, image: &Reference) -> Result<RawManifest, Error> {
        let call = self.manifest_call(Method::GET, image)?;
        let mut attempts = 0;
        let (bytes, media_type) = loop {
            attempts += 1;
            let response = self.execute(&call).await?;
            let response =
                expect(response, &call.url, StatusCode::OK, &|| image.to_string()).await?;
            let media_type = header(response.headers(), CONTENT_TYPE.as_str());
            match read_limited(response, &call.url, MAX_MANIFEST).await {
                Ok(bytes) => break (bytes, media_type),
                Err(failure) => {
                    let backoff = &self.shared.options.backoff;
                    let Some(delay) = backoff.delay_for(attempts, failure.retry) else {
                        return Err(failure.error);
                    };
                    tokio::time::sleep(delay).await;
                }
            }
        };
        let algorithm = image.digest().map_or(Algorithm::Sha256, Digest::algorithm);
        let parsed = RawManifest::parse_with(algorithm, bytes, media_type.as_deref());
        let manifest = parsed.map_err(|source| Error::InvalidManifest {
            what: image.to_string(),
            source,
        })?;
        match image.digest() {
            Some(expected) if *expected != manifest.digest => Err(Error::DigestMismatch {
                what: image.to_string(),
                expected: expected.clone(),
                found: manifest.digest,
            }),
            _ => Ok(manifest),
        }
    }

    /// The digest of a manifest, if it exists. The registry is trusted for it, so it is only good for comparisons.
    pub async fn manifest_digest(&self, image: &Reference) -> Result<Option<Digest>, Error> {
        let call = self.manifest_call(Method::HEAD, image)?;
        let response = self.execute(&call).await?;
        match response.status() {
            StatusCode::OK => {
                let digest = header(response.headers(), "docker-content-digest");
                match digest.and_then(|digest| digest.parse().ok()) {
                    Some(digest) => Ok(Some(digest)),
                    None => Ok(Some(self.manifest(image).await?.digest)),
                }
            }
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(status_error(response, &call.url).await),
        }
    }

    fn manifest_call<'a>(&self, method: Method, image: &'a Reference) -> Result<Call<'a>, Error> {
        let repository = image.repository();
        let path = format!("{}/manifests/{}", repository.path(), image.identifier());
        let url = self.url(repository.registry(), &path)?;
        let call = Call::new(method, repository, url, Scope::pull(repository.path()));
        Ok(call.header(ACCEPT_HEADER, ACCEPT))
    }

    /// Pushes a manifest by its tag, or by its digest.
    pub async fn push_manifest(
        &self,
        image: &Reference,
        manifest: &RawManifest,
    ) -> Result<(), Error> {
        let repository = image.repository();
        let name = match (image.tag(), image.digest()) {
            (Some(tag), _) => tag.to_owned(),
            (None, _) => manifest.digest.to_string(),
        };
        let url = self.url(
            repository.registry(),
            &format!("{}/manifests/{name}", repository.path()),
        )?;
        let mut call = Call::new(Method::PUT, repository, url, Scope::push(repository.path()));
        call.body = Bytes::from(manifest.bytes.clone());
        let call = call.header(CONTENT_TYPE, &manifest.media_type);
        let response = self.execute(&call).await?;
        if !response.status().is_success() {
            return Err(status_error(response, &call.url).await);
        }
        match header(response.headers(), "docker-content-digest")
            .map(|digest| digest.parse::<Digest>())
        {
            Some(Ok(found))
                if found != manifest.digest && found.algorithm() == manifest.digest.algorithm() =>
            {
                Err(Error::DigestMismatch {
                    what: image.to_string(),
                    expected: manifest.digest.clone(),
                    found,
                })
            }
            _ => Ok(()),
        }
    }

    /// The size of a blob, if it exists.
    pub async fn blob_size(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Option<u64>, Error> {
        let url = self.url(
            repository.registry(),
            &format!("{}/blobs/{digest}", repository.path()),
        )?;
        // A token for a push is needed next, and permits this, too.
        let call = Call::new(
            Method::HEAD,
            repository,
            url,
            Scope::push(repository.path()),
        );
        let response = self.execute(&call).await?;
        match response.status() {
            StatusCode::OK => Ok(Some(content_length(response.headers()).unwrap_or_default())),
            StatusCode::NOT_FOUND => Ok(None),
            _ => Err(status_error(response, &call.url).await),
        }
    }

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

    /// The manifests whose subject is this one: signatures, attestations and the like.
    pub async fn referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
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
                .page(&call.header(ACCEPT_HEADER, OCI_INDEX), &|| {
                    digest.to_string()
                })
                .await
            {
                Ok(page) => page,
                Err(error) if is_unsupported(&error) => {
                    return self.tagged_referrers(repository, digest).await;
                }
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
        Ok(found)
    }

    /// Registries without the referrers API have an index with a tag that is derived from the digest.
    async fn tagged_referrers(
        &self,
        repository: &Repository,
        digest: &Digest,
    ) -> Result<Vec<Descriptor>, Error> {
        let tag = format!("{}-{}", digest.algorithm().name(), digest.hex());
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
        let bytes = read_limited(response, &call.url, MAX_PAGE).await;
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

pub(crate) async fn expect(
    response: Response,
    url: &Url,
    expected: StatusCode,
    what: &(dyn Fn() -> String + Sync),
) -> Result<Response, Error> {
    match response.status() {
        status if status == expected => Ok(response),
        StatusCode::NOT_FOUND => Err(Error::NotFound { what: what() }),
        _ => Err(status_error(response, url).await),
    }
}

pub(crate) fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    Some(headers.get(name)?.to_str().ok()?.to_owned())
}

/// The announced length. `reqwest` reports 0 for responses to HEAD.
fn content_length(headers: &HeaderMap) -> Option<u64> {
    header(headers, "content-length")?.parse().ok()
}

fn not_found(image: &Reference) -> Error {
    Error::NotFound {
        what: image.to_string(),
    }
}
