//! Fetches the chart or the manifests of a plugin: from a URL, from a named Repository, or from the first Repository
//! that has the chart.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_api::reason::Reason;
use outrigger_api::repository::Repository;
use outrigger_repository::{
    Access, Error as FetchError, Fetched, Fetcher, Manifests, Origin, Request, Wait, WaitObserver,
    redacted,
};

use crate::observe::{AwaitedInput, ReportAwaited};

/// The Repository objects, kept up to date by a watch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repositories {
    table: Arc<RwLock<HashMap<String, Repository>>>,
}

impl Repositories {
    pub(crate) fn replace(&self, table: HashMap<String, Repository>) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// Returns whether the spec changed.
    pub(crate) fn set(&self, repository: Repository) -> bool {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        let spec = repository.spec.clone();
        let before = table.insert(repository.name_any(), repository);
        before.is_none_or(|before| before.spec != spec)
    }

    pub(crate) fn remove(&self, name: &str) {
        let mut table = self.table.write().unwrap_or_else(PoisonError::into_inner);
        table.remove(name);
    }

    fn find(&self, name: &str) -> Option<Repository> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        table.get(name).cloned()
    }

    /// All repositories, in search order.
    fn by_priority(&self) -> Vec<Repository> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Repository> = table.values().cloned().collect();
        all.sort_by_key(|repository| (repository.spec.priority, repository.name_any()));
        all
    }
}

/// Why the chart or the manifests could not be fetched.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Repository {0} does not exist")]
    RepositoryNotFound(String),
    #[error("spec.repo is not set, and no Repository exists to search for chart {0}")]
    NoRepositories(String),
    /// As Helm names the charts of its repositories.
    #[error("no Repository has a chart {repository}/{chart}, but {repository} is one")]
    RepositoryInName { repository: String, chart: String },
    #[error("Secret {namespace}/{name} of Repository {repository} does not exist")]
    SecretNotFound {
        repository: String,
        namespace: String,
        name: String,
    },
    #[error("failed to read Secret {namespace}/{name} of Repository {repository}")]
    ReadSecret {
        repository: String,
        namespace: String,
        name: String,
        #[source]
        source: kube::Error,
    },
    /// From the URL of a plugin.
    #[error(transparent)]
    Url(FetchError),
    /// From the mirror of the URL of a plugin.
    #[error(transparent)]
    Mirror(FetchError),
    #[error("failed to fetch from Repository {repository}")]
    Repository {
        repository: String,
        origin: Origin,
        #[source]
        source: FetchError,
    },
    /// From one of all repositories, for a plugin without a source.
    #[error("failed to search Repository {repository} for chart {chart}")]
    Search {
        repository: String,
        chart: String,
        #[source]
        source: FetchError,
    },
}

impl Error {
    /// The error of a source that is not known as a Repository.
    fn of_url(fetcher: &Fetcher, url: &str, source: FetchError) -> Self {
        if fetcher.is_mirrored(url) {
            Self::Mirror(source)
        } else {
            Self::Url(source)
        }
    }

    pub(crate) fn of_repository(
        fetcher: &Fetcher,
        repository: &Repository,
        source: FetchError,
    ) -> Self {
        let origin = if fetcher.is_mirrored(&repository.spec.url) {
            Origin::Mirror
        } else {
            Origin::Repository
        };
        Self::Repository {
            repository: repository.name_any(),
            origin,
            source,
        }
    }

    /// Whether a Repository is missing. A watch reports when it is created.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::RepositoryNotFound(_) | Self::NoRepositories(_))
    }

    pub(crate) fn fetch_error(&self) -> Option<&FetchError> {
        match self {
            Self::Url(error) | Self::Mirror(error) => Some(error),
            Self::Repository { source, .. } | Self::Search { source, .. } => Some(source),
            _ => None,
        }
    }

    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::ReadSecret { .. } => true,
            error => error.fetch_error().is_some_and(FetchError::is_transient),
        }
    }

    pub(crate) fn reason(&self) -> Reason {
        match self {
            Self::RepositoryNotFound(_) | Self::NoRepositories(_) => Reason::RepositoryMissing,
            Self::RepositoryInName { .. } => Reason::ChartNotFound,
            Self::SecretNotFound { .. } | Self::ReadSecret { .. } => Reason::CredentialsMissing,
            Self::Url(source)
            | Self::Mirror(source)
            | Self::Repository { source, .. }
            | Self::Search { source, .. } => source.reason(),
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Url(error) => error.hint_at(Origin::Url),
            Self::Mirror(error) => error.hint_at(Origin::Mirror),
            Self::Repository { source, origin, .. } => source.hint_at(*origin),
            Self::Search { .. } => Some(
                "repair or remove that Repository, or name another one in spec.repo (--repo NAME)"
                    .to_owned(),
            ),
            Self::RepositoryInName { repository, chart } => Some(format!(
                "use {chart} as the chart and {repository} as spec.repo: CHART {chart}, --repo {repository}"
            )),
            _ => None,
        }
    }
}

/// What was fetched for a plugin.
#[derive(Debug, Clone)]
pub(crate) enum SourceContent {
    Chart(Fetched),
    /// Files with manifests; `None` if all manifests are in the spec.
    Manifests(Option<Manifests>),
}

impl SourceContent {
    pub(crate) fn digest(&self) -> Option<&str> {
        match self {
            Self::Chart(fetched) => Some(&fetched.digest),
            Self::Manifests(files) => files.as_ref().map(|files| files.digest.as_str()),
        }
    }

    pub(crate) fn version(&self) -> Option<&str> {
        match self {
            Self::Chart(fetched) => Some(&fetched.version),
            Self::Manifests(_) => None,
        }
    }
}

/// Fetches from repositories, with the credentials of the Repository objects.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) client: Client,
    pub(crate) fetcher: Fetcher,
    pub(crate) repositories: Repositories,
}

impl Sources {
    pub(crate) async fn fetch(
        &self,
        plugin: &Plugin,
        report: ReportAwaited<'_>,
    ) -> Result<SourceContent, Error> {
        let repo = plugin.spec.repo.as_deref().filter(|repo| !repo.is_empty());
        if plugin.spec.kind == PluginKind::Manifests {
            let Some(repo) = repo else {
                return Ok(SourceContent::Manifests(None));
            };
            let (request, repository) = self.request(plugin, repo, report).await?;
            let files = self.fetcher.fetch_manifests(&request).await;
            let files = files.map_err(|error| self.failed(repo, repository.as_ref(), error))?;
            return Ok(SourceContent::Manifests(Some(files)));
        }
        match repo {
            Some(repo) => {
                let (request, repository) = self.request(plugin, repo, report).await?;
                let chart = self.fetcher.fetch(&request).await;
                let chart = chart.map_err(|error| self.failed(repo, repository.as_ref(), error))?;
                Ok(SourceContent::Chart(chart))
            }
            None => self.search(plugin, report).await.map(SourceContent::Chart),
        }
    }

    /// The error of the source of a plugin: a Repository, or a URL.
    fn failed(&self, repo: &str, repository: Option<&Repository>, error: FetchError) -> Error {
        match repository {
            Some(repository) => Error::of_repository(&self.fetcher, repository, error),
            None => Error::of_url(&self.fetcher, repo, error),
        }
    }

    /// Fetches from the first repository that has the chart. One that cannot be read is not skipped: the chart of a later
    /// one may be another.
    async fn search(&self, plugin: &Plugin, report: ReportAwaited<'_>) -> Result<Fetched, Error> {
        let chart = plugin.chart_name();
        let mut not_found = Error::NoRepositories(chart.to_owned());
        for repository in self.repositories.by_priority() {
            let request = self
                .request_for_repository(plugin, &repository, report)
                .await?;
            match self.fetcher.fetch(&request).await {
                Err(error @ FetchError::NotFound { .. }) => not_found = Error::Url(error),
                Err(source) => {
                    return Err(Error::Search {
                        repository: repository.name_any(),
                        chart: chart.to_owned(),
                        source,
                    });
                }
                Ok(fetched) => return Ok(fetched),
            }
        }
        match chart.split_once('/') {
            Some((repository, chart)) if self.repositories.find(repository).is_some() => {
                Err(Error::RepositoryInName {
                    repository: repository.to_owned(),
                    chart: chart.to_owned(),
                })
            }
            _ => Err(not_found),
        }
    }

    async fn request(
        &self,
        plugin: &Plugin,
        repo: &str,
        report: ReportAwaited<'_>,
    ) -> Result<(Request, Option<Repository>), Error> {
        let is_name = !repo.contains("://") && !repo.starts_with(['/', '.']);
        if is_name {
            let repository = self.repositories.find(repo);
            let repository =
                repository.ok_or_else(|| Error::RepositoryNotFound(repo.to_owned()))?;
            let request = self.request_for_repository(plugin, &repository, report);
            return Ok((request.await?, Some(repository)));
        }
        let observer = observe(redacted(repo), report);
        let request = Request {
            observer,
            ..Self::build_request(plugin, repo, Access::default())
        };
        Ok((request, None))
    }

    async fn request_for_repository(
        &self,
        plugin: &Plugin,
        repository: &Repository,
        report: ReportAwaited<'_>,
    ) -> Result<Request, Error> {
        let url = redacted(&repository.spec.url);
        let name = repository.name_any();
        let observer = observe(format!("Repository {name} ({url})"), report);
        let access = self.access(repository).await?;
        Ok(Request {
            observer,
            ..Self::build_request(plugin, &repository.spec.url, access)
        })
    }

    fn build_request(plugin: &Plugin, repo: &str, access: Access) -> Request {
        Request {
            repo: repo.to_owned(),
            chart: plugin.chart_name().to_owned(),
            version: plugin.spec.version.clone().filter(|text| !text.is_empty()),
            path: plugin.spec.path.clone().filter(|text| !text.is_empty()),
            access,
            observer: WaitObserver::default(),
        }
    }

    /// The credentials of a repository.
    pub(crate) async fn access(&self, repository: &Repository) -> Result<Access, Error> {
        let Some(reference) = &repository.spec.secret_ref else {
            return Ok(Access::default());
        };
        let api: Api<Secret> = Api::namespaced(self.client.clone(), &reference.namespace);
        let (namespace, name) = (reference.namespace.clone(), reference.name.clone());
        let repository = repository.name_any();
        let secret = match api.get_opt(&reference.name).await {
            Ok(Some(secret)) => secret,
            Ok(None) => {
                return Err(Error::SecretNotFound {
                    repository,
                    namespace,
                    name,
                });
            }
            Err(source) => {
                return Err(Error::ReadSecret {
                    repository,
                    namespace,
                    name,
                    source,
                });
            }
        };
        let data = secret.data.unwrap_or_default();
        Ok(Access::from_data(|key| {
            data.get(key).map(|bytes| bytes.0.as_slice())
        }))
    }
}

/// Reports what the fetch from a source waits for, at first the source itself.
fn observe(source: String, report: ReportAwaited<'_>) -> WaitObserver {
    report(AwaitedInput::Source(source.clone()));
    let report = Arc::clone(report);
    WaitObserver::new(move |wait| {
        let source = source.clone();
        report(match wait {
            Wait::Response => AwaitedInput::Source(source),
            Wait::Index => AwaitedInput::Index(source),
            Wait::Turn(turn) => AwaitedInput::Turn {
                source,
                requests: turn.to_string(),
            },
        });
    })
}
