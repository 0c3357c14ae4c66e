//! The cluster that a plugin is installed in, and the account: a kubeconfig from a Secret, which a Cluster may name, an
//! impersonated service account.
//!
//! A kubeconfig from a Secret may name a server and credentials, nothing else: one that would run programs or read local
//! files is rejected.

mod bounded_body;
mod foreign_responses;
mod kubeconfig;

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request, Response};
use k8s_openapi::api::core::v1::Secret;
use kube::client::{Body, ClientBuilder};
use kube::{Api, Client};
use outrigger_api::cluster::KUBECONFIG_KEY;
use outrigger_api::plugin::Plugin;
use outrigger_release::{Cluster, ExistenceCache};
use tokio::sync::Semaphore;

use self::foreign_responses::ReplaceForeignResponses;
use self::kubeconfig::SecretKey;
use crate::metrics::Metrics;
use crate::named_cluster::{self, NamedCluster, Unavailable};
use crate::references::{ReadVersions, Reference, ReferenceKind};
use crate::release_ref::ClusterRef;
use crate::trust::Trust;

/// How long the version of a server is cached.
const KUBE_VERSION_TTL: Duration = Duration::from_mins(10);

/// Concurrent actions on one remote cluster.
const REMOTE_SLOTS: usize = 16;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a target cluster cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Secret {namespace}/{name} with the kubeconfig of the cluster does not exist")]
    SecretNotFound { namespace: String, name: String },
    #[error("Secret {namespace}/{name} has no key \"{key}\" with a kubeconfig")]
    KeyNotFound {
        namespace: String,
        name: String,
        key: String,
    },
    /// Without the source: the parser's message could quote a secret.
    #[error("the kubeconfig in Secret {namespace}/{name} is not valid")]
    InvalidKubeconfig { namespace: String, name: String },
    #[error(
        "the kubeconfig in Secret {namespace}/{name} must not use {field}: only a server, certificate data and a token are allowed"
    )]
    ForbiddenField {
        namespace: String,
        name: String,
        field: &'static str,
    },
    #[error("the kubeconfig in Secret {namespace}/{name} must not name {reason}")]
    ForbiddenServer {
        namespace: String,
        name: String,
        reason: &'static str,
    },
    #[error("service account \"{0}\" is not a valid name")]
    InvalidAccount(String),
    #[error("failed to read Secret {namespace}/{name}")]
    ReadSecret {
        namespace: String,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
    #[error(transparent)]
    Cluster(#[from] outrigger_release::Error),
}

impl Error {
    /// Whether the Secret or its key is missing. A watch reports when it is created.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::SecretNotFound { .. } | Self::KeyNotFound { .. })
    }
}

/// The cluster that a plugin is installed in.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) cluster: Cluster,
    /// The version of its server.
    pub(crate) kube_version: String,
}

/// The key of a cached cluster: the cluster, and the user to impersonate.
type CacheKey = (ClusterRef, Option<String>);

struct CachedCluster {
    /// The resource version of the Secret with the kubeconfig.
    secret_version: String,
    cluster: Cluster,
    /// The address of the server, if it is remote.
    server: Option<String>,
    kube_version: Option<(String, Instant)>,
}

/// The clients of all target clusters.
pub(crate) struct Targets {
    client: Client,
    metrics: Arc<Metrics>,
    trust: Trust,
    /// Which objects exist in the local cluster, according to the watches.
    existence: Arc<ExistenceCache>,
    clusters: Mutex<HashMap<CacheKey, CachedCluster>>,
    /// The Clusters that plugins can target by name.
    named: Mutex<HashMap<String, NamedCluster>>,
    remote_slots: Mutex<HashMap<ClusterRef, Arc<Semaphore>>>,
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets").finish_non_exhaustive()
    }
}

impl Targets {
    pub(crate) fn new(client: Client, metrics: Arc<Metrics>, trust: Trust) -> Self {
        Self {
            client,
            metrics,
            trust,
            existence: Arc::default(),
            clusters: Mutex::default(),
            named: Mutex::default(),
            remote_slots: Mutex::default(),
        }
    }

    /// Sets what is known about a Cluster; `None` if it does not exist. If that changed, its clients are dropped: its kubeconfig
    /// may be another one.
    pub(crate) fn set_named(&self, name: &str, cluster: Option<NamedCluster>) {
        let mut named = self.lock_named();
        if named.get(name) == cluster.as_ref() {
            return;
        }
        match cluster {
            Some(cluster) => drop(named.insert(name.to_owned(), cluster)),
            None => drop(named.remove(name)),
        }
        let is_other =
            |cluster: &ClusterRef| !matches!(cluster, ClusterRef::Named(other) if other == name);
        self.lock().retain(|(cluster, _), _| is_other(cluster));
    }

    /// The slots for actions on a remote cluster. `None` for the local one, whose actions use those of the queue. A
    /// cluster that does not respond thus delays only its own plugins.
    pub(crate) fn remote_slots(&self, cluster: &ClusterRef) -> Option<Arc<Semaphore>> {
        if *cluster == ClusterRef::Local {
            return None;
        }
        let slots = self.remote_slots.lock();
        let mut slots = slots.unwrap_or_else(PoisonError::into_inner);
        slots.retain(|_, slots| Arc::strong_count(slots) > 1);
        let new = || Arc::new(Semaphore::new(REMOTE_SLOTS));
        Some(Arc::clone(slots.entry(cluster.clone()).or_insert_with(new)))
    }

    /// Where the watches of a cluster record which objects exist. Only used for the local cluster.
    pub(crate) fn existence_cache(&self, cluster: &ClusterRef) -> Option<Arc<ExistenceCache>> {
        (*cluster == ClusterRef::Local).then(|| Arc::clone(&self.existence))
    }

    /// Connects to the cluster of a plugin, as the service account that it names.
    pub(crate) async fn resolve(&self, plugin: &Plugin) -> Result<Target, Error> {
        self.resolve_reading(plugin, &mut ReadVersions::new()).await
    }

    /// Like [`Self::resolve`]. Adds the Secret with the kubeconfig to `read`, also if it is not valid.
    pub(crate) async fn resolve_reading(
        &self,
        plugin: &Plugin,
        read: &mut ReadVersions,
    ) -> Result<Target, Error> {
        let cluster_ref = ClusterRef::of(plugin);
        let user = self.account(plugin).map(|name| {
            let namespace = plugin.namespace();
            format!("system:serviceaccount:{namespace}:{name}")
        });
        if let ClusterRef::Named(name) = &cluster_ref {
            let named = self.lock_named();
            named_cluster::kubeconfig(named.get(name), name, plugin.namespace())?;
        }
        let key = (cluster_ref, user);
        let cluster = self.cached_or_connect(&key, read).await?;
        let kube_version = self.kube_version(&key, &cluster).await?;
        Ok(Target {
            cluster,
            kube_version,
        })
    }

    /// The service account that a plugin is installed as. A kubeconfig has credentials of its own, so that the default
    /// account does not apply to it.
    fn account<'a>(&'a self, plugin: &'a Plugin) -> Option<&'a String> {
        let own = plugin.spec.service_account_name.as_ref();
        let default = self.trust.default_service_account.as_ref();
        own.or_else(|| default.filter(|_| plugin.spec.cluster.is_none()))
    }

    async fn remote_client(
        &self,
        from: &SecretKey,
        secret: &Secret,
    ) -> Result<(Client, String), Error> {
        let config = kubeconfig::load(from, secret, self.trust.clusters).await?;
        let server = outrigger_repository::redacted(&config.cluster_url.to_string());
        let builder = ClientBuilder::try_from(config).map_err(|_| Error::InvalidKubeconfig {
            namespace: from.namespace.clone(),
            name: from.name.clone(),
        })?;
        let builder = builder.with_layer(&ReplaceForeignResponses);
        let client = builder.with_layer(&self.metrics.layer()).build();
        Ok((client, server))
    }

    /// The server of a remote cluster that was connected to.
    pub(crate) fn server(&self, cluster: &ClusterRef) -> Option<String> {
        let clusters = self.lock();
        clusters.get(&(cluster.clone(), None))?.server.clone()
    }

    /// A client for the watches of a cluster, with the rights of the controller. `None` if the cluster cannot be
    /// reached, which reconciles of its plugins report.
    pub(crate) async fn watch_client(&self, cluster: &ClusterRef) -> Option<Client> {
        let client = self.client(cluster).await;
        client
            .inspect_err(|error| tracing::info!(%error, "failed to connect to cluster"))
            .ok()
    }

    async fn client(&self, cluster_ref: &ClusterRef) -> Result<Client, Error> {
        let key = (cluster_ref.clone(), None);
        let mut read = ReadVersions::new();
        let cluster = self.cached_or_connect(&key, &mut read).await?;
        Ok(cluster.client().clone())
    }

    /// The Secret with the kubeconfig of a remote cluster.
    fn kubeconfig(&self, cluster_ref: &ClusterRef) -> Result<Option<SecretKey>, Error> {
        Ok(match cluster_ref {
            ClusterRef::Local => None,
            ClusterRef::Remote {
                namespace,
                secret,
                key,
            } => Some(SecretKey {
                namespace: namespace.clone(),
                name: secret.clone(),
                key: key.clone(),
            }),
            ClusterRef::Named(name) => {
                let named = self.lock_named();
                let cluster = named.get(name);
                let cluster = cluster.ok_or_else(|| Unavailable::NotFound(name.clone()))?;
                let secret = cluster.kubeconfig()?;
                Some(SecretKey {
                    namespace: secret.namespace.clone(),
                    name: secret.name.clone(),
                    key: KUBECONFIG_KEY.to_owned(),
                })
            }
        })
    }

    async fn cached_or_connect(
        &self,
        key: &CacheKey,
        read: &mut ReadVersions,
    ) -> Result<Cluster, Error> {
        let remote = match self.kubeconfig(&key.0)? {
            None => None,
            Some(from) => {
                let secret = self.read_secret(&from, read).await?;
                Some((from, secret))
            }
        };
        let secret = remote.as_ref().map(|(_, secret)| &secret.metadata);
        let version = secret.and_then(|metadata| metadata.resource_version.clone());
        let version = version.unwrap_or_default();
        let cached = self
            .lock()
            .get(key)
            .filter(|cached| cached.secret_version == version)
            .map(|cached| cached.cluster.clone());
        match cached {
            Some(cluster) => Ok(cluster),
            None => self.connect(key, version, remote).await,
        }
    }

    async fn connect(
        &self,
        key: &CacheKey,
        secret_version: String,
        remote: Option<(SecretKey, Secret)>,
    ) -> Result<Cluster, Error> {
        let (cluster_ref, user) = key;
        let (client, server) = match remote {
            Some((from, secret)) => {
                let (client, server) = self.remote_client(&from, &secret).await?;
                (client, Some(server))
            }
            None => (self.client.clone(), None),
        };
        let client = match user {
            Some(user) => impersonating(client, user)?,
            None => client,
        };
        // The watches see more than an impersonated account may.
        let existence = self.existence_cache(cluster_ref).filter(|_| user.is_none());
        let cluster = Cluster::with_existence_cache(client, existence.unwrap_or_default());
        let cached = CachedCluster {
            secret_version,
            cluster: cluster.clone(),
            server,
            kube_version: None,
        };
        self.lock().insert(key.clone(), cached);
        Ok(cluster)
    }

    /// The version of the server, cached for [`KUBE_VERSION_TTL`].
    async fn kube_version(&self, key: &CacheKey, cluster: &Cluster) -> Result<String, Error> {
        {
            let clusters = self.lock();
            let cached = clusters
                .get(key)
                .and_then(|cached| cached.kube_version.as_ref());
            if let Some((version, since)) = cached
                && since.elapsed() < KUBE_VERSION_TTL
            {
                return Ok(version.clone());
            }
        }
        let version = cluster.capabilities().await?.kube_version.version;
        if let Some(cached) = self.lock().get_mut(key) {
            cached.kube_version = Some((version.clone(), Instant::now()));
        }
        Ok(version)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<CacheKey, CachedCluster>> {
        self.clusters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_named(&self) -> MutexGuard<'_, HashMap<String, NamedCluster>> {
        self.named.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn read_secret(
        &self,
        from: &SecretKey,
        read: &mut ReadVersions,
    ) -> Result<Secret, Error> {
        let SecretKey {
            namespace, name, ..
        } = from;
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api.get_opt(name).await;
        let secret = secret.map_err(|source| Error::ReadSecret {
            namespace: namespace.clone(),
            name: name.clone(),
            source,
        })?;
        let Some(secret) = secret else {
            return Err(Error::SecretNotFound {
                namespace: namespace.clone(),
                name: name.clone(),
            });
        };
        let reference = Reference {
            kind: ReferenceKind::Secret,
            namespace: namespace.clone(),
            name: name.clone(),
        };
        read.push((reference, secret.metadata.resource_version.clone()));
        Ok(secret)
    }
}

/// A client that impersonates a user.
fn impersonating(client: Client, user: &str) -> Result<Client, Error> {
    let header = HeaderValue::from_str(user).map_err(|_| Error::InvalidAccount(user.to_owned()))?;
    let namespace = client.default_namespace().to_owned();
    Ok(Client::new(
        Impersonating {
            client,
            user: header,
        },
        namespace,
    ))
}

#[derive(Clone)]
struct Impersonating {
    client: Client,
    user: HeaderValue,
}

impl tower_service::Service<Request<Body>> for Impersonating {
    type Response = Response<Body>;
    type Error = kube::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, kube::Error>> + Send>>;

    fn poll_ready(&mut self, _context: &mut Context<'_>) -> Poll<Result<(), kube::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let name = HeaderName::from_static("impersonate-user");
        request.headers_mut().insert(name, self.user.clone());
        let client = self.client.clone();
        Box::pin(async move { client.send(request).await })
    }
}
