//! Where does a plugin's chart come from? A place that it names, a Repository, or the first Repository that has it.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Plugin, PluginKind};
use outrigger_api::repository::Repository;
use outrigger_repository::{Access, Error as FetchError, Fetched, Fetcher, Manifests, Request};

/// The Repository objects, as a watch keeps them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Repositories {
    table: Arc<RwLock<HashMap<String, Repository>>>,
}

impl Repositories {
    pub(crate) fn replace(&self, table: HashMap<String, Repository>) {
        *self.table.write().unwrap_or_else(PoisonError::into_inner) = table;
    }

    /// True if more than its status changed.
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

    /// All of them; those that win come first.
    fn in_order(&self) -> Vec<Repository> {
        let table = self.table.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<Repository> = table.values().cloned().collect();
        all.sort_by_key(|repository| (repository.spec.priority, repository.name_any()));
        all
    }
}

/// Why there is no chart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("there is no Repository {0}")]
    NoRepository(String),
    #[error("no repo is named, and there is no Repository that could have the chart {0}")]
    NoRepositories(String),
    #[error("Secret {namespace}/{name} of Repository {repository} does not exist")]
    NoSecret {
        repository: String,
        namespace: String,
        name: String,
    },
    #[error("failed to read Secret {namespace}/{name} of Repository {repository}")]
    Secret {
        repository: String,
        namespace: String,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error(transparent)]
    Fetch(#[from] FetchError),
}

impl Error {
    /// Whether it may come right without a change of the plugin, by an event that we see.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::NoRepository(_) | Self::NoRepositories(_))
    }

    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Fetch(error) => error.is_transient(),
            Self::Secret { .. } => true,
            _ => false,
        }
    }

    pub(crate) fn reason(&self) -> &'static str {
        match self {
            Self::NoRepository(_) | Self::NoRepositories(_) => "RepositoryMissing",
            Self::NoSecret { .. } | Self::Secret { .. } => "CredentialsMissing",
            Self::Fetch(error) => error.reason(),
        }
    }

    pub(crate) fn hint(&self) -> Option<String> {
        match self {
            Self::Fetch(error) => error.hint(),
            _ => None,
        }
    }
}

/// What a plugin is made of.
#[derive(Debug, Clone)]
pub(crate) enum Material {
    Chart(Fetched),
    /// Files with objects; none if all objects are in the plugin itself.
    Manifests(Option<Manifests>),
}

impl Material {
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

/// All places that charts come from.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) client: Client,
    pub(crate) fetcher: Fetcher,
    pub(crate) repositories: Repositories,
}

impl Sources {
    pub(crate) async fn fetch(&self, plugin: &Plugin) -> Result<Material, Error> {
        let repo = plugin.spec.repo.as_deref().filter(|repo| !repo.is_empty());
        if plugin.spec.kind == PluginKind::Manifests {
            let Some(repo) = repo else {
                return Ok(Material::Manifests(None));
            };
            let request = self.request(plugin, repo).await?;
            let files = self.fetcher.fetch_manifests(&request).await?;
            return Ok(Material::Manifests(Some(files)));
        }
        match repo {
            Some(repo) => {
                let request = self.request(plugin, repo).await?;
                Ok(Material::Chart(self.fetcher.fetch(&request).await?))
            }
            None => self.search(plugin).await.map(Material::Chart),
        }
    }

    /// The first repository that has the chart.
    async fn search(&self, plugin: &Plugin) -> Result<Fetched, Error> {
        let mut missing = Error::NoRepositories(plugin.chart_name().to_owned());
        for repository in self.repositories.in_order() {
            let request = self.request_at(plugin, &repository).await?;
            match self.fetcher.fetch(&request).await {
                Err(error @ FetchError::NotFound { .. }) => missing = error.into(),
                result => return Ok(result?),
            }
        }
        Err(missing)
    }

    async fn request(&self, plugin: &Plugin, repo: &str) -> Result<Request, Error> {
        let is_name = !repo.contains("://") && !repo.starts_with(['/', '.']);
        if is_name {
            let repository = self.repositories.find(repo);
            let repository = repository.ok_or_else(|| Error::NoRepository(repo.to_owned()))?;
            return self.request_at(plugin, &repository).await;
        }
        Ok(Self::request_to(plugin, repo, Access::default()))
    }

    async fn request_at(&self, plugin: &Plugin, repository: &Repository) -> Result<Request, Error> {
        let access = self.access(repository).await?;
        Ok(Self::request_to(plugin, &repository.spec.url, access))
    }

    fn request_to(plugin: &Plugin, repo: &str, access: Access) -> Request {
        Request {
            repo: repo.to_owned(),
            chart: plugin.chart_name().to_owned(),
            version: plugin.spec.version.clone().filter(|text| !text.is_empty()),
            path: plugin.spec.path.clone().filter(|text| !text.is_empty()),
            access,
        }
    }

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
                return Err(Error::NoSecret {
                    repository,
                    namespace,
                    name,
                });
            }
            Err(source) => {
                return Err(Error::Secret {
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
