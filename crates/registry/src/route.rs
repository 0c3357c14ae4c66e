//! Which operation a request asks for. Pure.

use http::Method;
use outrigger_oci::{Digest, is_repository_path, is_tag};

use crate::handlers::IndexFolder;

/// An operation of the distribution specification, or of a chart repository.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    Ping,
    Token,
    Blob {
        repository: String,
        digest: String,
    },
    StartUpload {
        repository: String,
    },
    Upload {
        repository: String,
        id: String,
    },
    Manifest {
        repository: String,
        reference: ManifestReference,
    },
    Tags {
        repository: String,
    },
    Referrers {
        repository: String,
        digest: String,
    },
    Catalog,
    ChartIndex {
        folder: IndexFolder,
    },
    ChartArchive {
        file: String,
    },
    ChartApi {
        name: Option<String>,
        version: Option<String>,
    },
    Health,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ManifestReference {
    Tag(String),
    Digest(Digest),
    /// A digest that is not valid, or of an unknown algorithm
    InvalidDigest(String),
}

/// Why a path is not that of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoRoute {
    Unknown,
    Name,
    Tag,
}

impl Route {
    pub(crate) fn parse(path: &str) -> Result<Self, NoRoute> {
        match path {
            "/v2/" | "/v2" => return Ok(Self::Ping),
            "/token" => return Ok(Self::Token),
            "/v2/_catalog" => return Ok(Self::Catalog),
            "/index.yaml" => return Ok(Self::chart_index(IndexFolder::Root)),
            "/charts/index.yaml" => return Ok(Self::chart_index(IndexFolder::Charts)),
            "/health" => return Ok(Self::Health),
            _ => {}
        }
        if let Some(file) = path.strip_prefix("/charts/") {
            let file = file.to_owned();
            return if file.contains('/') {
                Err(NoRoute::Unknown)
            } else {
                Ok(Self::ChartArchive { file })
            };
        }
        if let Some(rest) = path.strip_prefix("/api/charts") {
            return chart_api(rest).ok_or(NoRoute::Unknown);
        }
        let path = path.strip_prefix("/v2/").ok_or(NoRoute::Unknown)?;
        distribution(path)
    }

    fn chart_index(folder: IndexFolder) -> Self {
        Self::ChartIndex { folder }
    }

    /// The repository that must be accessed, if any.
    pub(crate) fn repository(&self) -> Option<&str> {
        match self {
            Self::Blob { repository, .. }
            | Self::StartUpload { repository }
            | Self::Upload { repository, .. }
            | Self::Manifest { repository, .. }
            | Self::Tags { repository }
            | Self::Referrers { repository, .. } => Some(repository),
            _ => None,
        }
    }

    /// Whether the request only reads.
    pub(crate) fn is_read(&self, method: &Method) -> bool {
        let is_upload = matches!(self, Self::StartUpload { .. } | Self::Upload { .. });
        matches!(*method, Method::GET | Method::HEAD) && !is_upload
    }
}

fn chart_api(rest: &str) -> Option<Route> {
    let mut parts = rest.trim_start_matches('/').split('/').map(str::to_owned);
    let name = parts.next().filter(|name| !name.is_empty());
    let version = parts.next().filter(|version| !version.is_empty());
    let is_valid = (rest.is_empty() || rest.starts_with('/')) && parts.next().is_none();
    is_valid.then_some(Route::ChartApi { name, version })
}

/// The path after `/v2/`: a repository of any depth, then an operation.
fn distribution(path: &str) -> Result<Route, NoRoute> {
    let parts: Vec<&str> = path.split('/').collect();
    let (repository, tail) = match parts.as_slice() {
        [name @ .., "blobs", "uploads"] | [name @ .., "blobs", "uploads", ""] => {
            (name, Tail::StartUpload)
        }
        [name @ .., "blobs", "uploads", id] => (name, Tail::Upload((*id).to_owned())),
        [name @ .., "blobs", digest] => (name, Tail::Blob((*digest).to_owned())),
        [name @ .., "manifests", reference] => (name, Tail::Manifest((*reference).to_owned())),
        [name @ .., "tags", "list"] => (name, Tail::Tags),
        [name @ .., "referrers", digest] => (name, Tail::Referrers((*digest).to_owned())),
        _ => return Err(NoRoute::Unknown),
    };
    let repository = repository.join("/");
    if !is_repository_path(&repository) {
        return Err(NoRoute::Name);
    }
    tail.route(repository)
}

enum Tail {
    StartUpload,
    Upload(String),
    Blob(String),
    Manifest(String),
    Tags,
    Referrers(String),
}

impl Tail {
    fn route(self, repository: String) -> Result<Route, NoRoute> {
        Ok(match self {
            Self::StartUpload => Route::StartUpload { repository },
            Self::Upload(id) => Route::Upload { repository, id },
            Self::Blob(digest) => Route::Blob { repository, digest },
            Self::Tags => Route::Tags { repository },
            Self::Referrers(digest) => Route::Referrers { repository, digest },
            Self::Manifest(reference) => {
                let reference = manifest_reference(reference)?;
                Route::Manifest {
                    repository,
                    reference,
                }
            }
        })
    }
}

fn manifest_reference(text: String) -> Result<ManifestReference, NoRoute> {
    if text.contains(':') {
        return Ok(match text.parse() {
            Ok(digest) => ManifestReference::Digest(digest),
            Err(_) => ManifestReference::InvalidDigest(text),
        });
    }
    if is_tag(&text) {
        Ok(ManifestReference::Tag(text))
    } else {
        Err(NoRoute::Tag)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn repositories_may_be_named_like_operations() {
        let route = Route::parse("/v2/a/blobs/manifests/tags/list").unwrap();
        assert_eq!(route.repository(), Some("a/blobs/manifests"));
        let route = Route::parse("/v2/blobs/uploads/manifests/v1").unwrap();
        assert_eq!(route.repository(), Some("blobs/uploads"));
        let route = Route::parse("/v2/a/b/blobs/uploads/").unwrap();
        assert_eq!(
            route,
            Route::StartUpload {
                repository: "a/b".to_owned()
            }
        );
    }

    #[test]
    fn paths_never_leave_the_store() {
        for path in [
            "/v2/../../etc/manifests/x",
            "/v2/a/../b/tags/list",
            "/v2//manifests/x",
            "/v2/A/manifests/x",
            "/v2/a%2f/tags/list",
            "/v2/_blobs/tags/list",
        ] {
            assert!(Route::parse(path).is_err(), "{path}");
        }
        assert_eq!(Route::parse("/v2/a/manifests/.."), Err(NoRoute::Tag));
        assert_eq!(Route::parse("/charts/../x"), Err(NoRoute::Unknown));
    }

    #[test]
    fn chart_repositories_have_the_paths_of_chartmuseum() {
        let folder = IndexFolder::Root;
        assert_eq!(
            Route::parse("/index.yaml"),
            Ok(Route::ChartIndex { folder })
        );
        let api = |name: Option<&str>, version: Option<&str>| Route::ChartApi {
            name: name.map(str::to_owned),
            version: version.map(str::to_owned),
        };
        assert_eq!(Route::parse("/api/charts"), Ok(api(None, None)));
        assert_eq!(
            Route::parse("/api/charts/web/1.0.0"),
            Ok(api(Some("web"), Some("1.0.0")))
        );
        assert_eq!(Route::parse("/api/charts/a/b/c"), Err(NoRoute::Unknown));
        assert_eq!(Route::parse("/api/chartsx"), Err(NoRoute::Unknown));
    }
}
