//! What registries can be asked: manifests and blobs.

use bytes::Bytes;
use reqwest::header::{ACCEPT as ACCEPT_HEADER, CONTENT_TYPE, HeaderMap};
use reqwest::{Method, Response, StatusCode};
use url::Url;

use crate::answer::{discard, read_limited, status_error};
use crate::auth::Scope;
use crate::client::{Call, Client};
use crate::digest::{Algorithm, Digest};
use crate::error::Error;
use crate::manifest::{ACCEPT, MAX_MANIFEST, RawManifest};
use crate::reference::{Reference, Repository};

/// An image, and the repository that it was found in.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub location: Reference,
    pub manifest: RawManifest,
}

impl Client {
    /// Finds the manifest of an image: in its mirrors first, then in its registry.
    pub async fn resolve(&self, image: &Reference) -> Result<Resolved, Error> {
        let candidates = self.candidates(image)?;
        let mut mirrors = Vec::new();
        let mut last = None;
        for location in candidates {
            match self.manifest(&location).await {
                Ok(manifest) => return Ok(Resolved { location, manifest }),
                Err(error) if location == *image => last = Some(error),
                Err(error) => {
                    tracing::debug!("{location}: {error}");
                    mirrors.push((location.to_string(), error));
                }
            }
        }
        // With mirrors only, the last of them decides, as the registry itself does otherwise.
        let last = last.or_else(|| Some(mirrors.pop()?.1));
        let last = last.unwrap_or_else(|| not_found(image));
        if mirrors.is_empty() {
            return Err(last);
        }
        Err(Error::Mirrors {
            image: image.to_string(),
            mirrors,
            source: Box::new(last),
        })
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
            let time = self.shared.options.stall_timeout;
            match read_limited(response, &call.url, MAX_MANIFEST, time).await {
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
        self.head_manifest(image, Scope::pull(image.repository().path()))
            .await
    }

    /// The digest of a manifest that is pushed unless it exists, with the token that the push needs next.
    pub(crate) async fn pushed_digest(&self, image: &Reference) -> Result<Option<Digest>, Error> {
        self.head_manifest(image, Scope::push(image.repository().path()))
            .await
    }

    async fn head_manifest(
        &self,
        image: &Reference,
        scope: Scope,
    ) -> Result<Option<Digest>, Error> {
        let mut call = self.manifest_call(Method::HEAD, image)?;
        call.scope = scope;
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
}

pub(crate) async fn expect(
    response: Response,
    url: &Url,
    expected: StatusCode,
    what: &(dyn Fn() -> String + Sync),
) -> Result<Response, Error> {
    match response.status() {
        status if status == expected => Ok(response),
        StatusCode::NOT_FOUND => {
            discard(response, url).await;
            Err(Error::NotFound { what: what() })
        }
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
