//! The cluster that a plugin is installed in, and the account: a kubeconfig from a Secret, an impersonated service
//! account.
//!
//! A kubeconfig from a Secret may name a server and credentials, nothing else: one that would run programs or read local
//! files is rejected.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request, Response};
use k8s_openapi::api::core::v1::Secret;
use kube::client::Body;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_release::{Cluster, ExistenceCache};

use crate::references::{ReadVersion, Reference, ReferenceKind};
use crate::release_ref::ClusterRef;

/// How long the version of a server is cached.
const KUBE_VERSION_TTL: Duration = Duration::from_mins(10);

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
    /// The Secret that the kubeconfig was read from.
    pub(crate) read: Option<(Reference, ReadVersion)>,
}

/// The key of a cached cluster: the cluster, and the user to impersonate.
type CacheKey = (ClusterRef, Option<String>);

struct CachedCluster {
    /// The resource version of the Secret with the kubeconfig.
    secret_version: String,
    cluster: Cluster,
    kube_version: Option<(String, Instant)>,
}

/// The clients of all target clusters.
pub(crate) struct Targets {
    client: Client,
    /// Which objects exist in the local cluster, according to the watches.
    existence: Arc<ExistenceCache>,
    clusters: Mutex<HashMap<CacheKey, CachedCluster>>,
}

impl fmt::Debug for Targets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Targets").finish_non_exhaustive()
    }
}

impl Targets {
    pub(crate) fn new(client: Client) -> Self {
        Self {
            client,
            existence: Arc::default(),
            clusters: Mutex::default(),
        }
    }

    /// Where the watches of a cluster record which objects exist. Only used for the local cluster.
    pub(crate) fn existence_cache(&self, cluster: &ClusterRef) -> Option<Arc<ExistenceCache>> {
        (*cluster == ClusterRef::Local).then(|| Arc::clone(&self.existence))
    }

    /// Connects to the cluster of a plugin, as the service account that it names.
    pub(crate) async fn resolve(&self, plugin: &Plugin) -> Result<Target, Error> {
        let cluster_ref = ClusterRef::of(plugin);
        let account = plugin.spec.service_account_name.as_ref();
        let user = account.map(|name| {
            let namespace = plugin.namespace();
            format!("system:serviceaccount:{namespace}:{name}")
        });
        let (secret, read) = match &cluster_ref {
            ClusterRef::Local => (None, None),
            ClusterRef::Remote {
                namespace, secret, ..
            } => {
                let (secret, read) = self.read_secret(namespace, secret).await?;
                (Some(secret), Some(read))
            }
        };
        let version = read.as_ref().and_then(|(_, version)| version.clone());
        let key = (cluster_ref, user);
        let cluster = self
            .cached_or_connect(&key, version.unwrap_or_default(), secret.as_ref())
            .await?;
        let kube_version = self.kube_version(&key, &cluster).await?;
        Ok(Target {
            cluster,
            kube_version,
            read,
        })
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
        let ClusterRef::Remote {
            namespace, secret, ..
        } = cluster_ref
        else {
            return Ok(self.client.clone());
        };
        let (secret, (_, version)) = self.read_secret(namespace, secret).await?;
        let key = (cluster_ref.clone(), None);
        let cluster = self
            .cached_or_connect(&key, version.unwrap_or_default(), Some(&secret))
            .await?;
        Ok(cluster.client().clone())
    }

    async fn cached_or_connect(
        &self,
        key: &CacheKey,
        secret_version: String,
        secret: Option<&Secret>,
    ) -> Result<Cluster, Error> {
        let cached = self
            .lock()
            .get(key)
            .filter(|cached| cached.secret_version == secret_version)
            .map(|cached| cached.cluster.clone());
        match cached {
            Some(cluster) => Ok(cluster),
            None => self.connect(key, secret_version, secret).await,
        }
    }

    async fn connect(
        &self,
        key: &CacheKey,
        secret_version: String,
        secret: Option<&Secret>,
    ) -> Result<Cluster, Error> {
        let (cluster_ref, user) = key;
        let client = match (cluster_ref, secret) {
            (
                ClusterRef::Remote {
                    namespace,
                    secret: name,
                    key,
                },
                Some(secret),
            ) => remote_client(namespace, name, key, secret).await?,
            _ => self.client.clone(),
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

    async fn read_secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<(Secret, (Reference, ReadVersion)), Error> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api
            .get_opt(name)
            .await
            .map_err(|source| Error::ReadSecret {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
                source,
            })?;
        let Some(secret) = secret else {
            return Err(Error::SecretNotFound {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            });
        };
        let reference = Reference {
            kind: ReferenceKind::Secret,
            namespace: namespace.to_owned(),
            name: name.to_owned(),
        };
        let version = secret.metadata.resource_version.clone();
        Ok((secret, (reference, version)))
    }
}

async fn remote_client(
    namespace: &str,
    name: &str,
    key: &str,
    secret: &Secret,
) -> Result<Client, Error> {
    let data = secret.data.as_ref().and_then(|data| data.get(key));
    let Some(data) = data else {
        return Err(Error::KeyNotFound {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            key: key.to_owned(),
        });
    };
    let invalid = || Error::InvalidKubeconfig {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let text = std::str::from_utf8(&data.0).map_err(|_| invalid())?;
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| invalid())?;
    if let Some(field) = forbidden_field(&kubeconfig) {
        return Err(Error::ForbiddenField {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            field,
        });
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|_| invalid())?;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    Client::try_from(config).map_err(|_| invalid())
}

/// The first field that would run a program or read a file on this node.
fn forbidden_field(kubeconfig: &Kubeconfig) -> Option<&'static str> {
    let clusters = kubeconfig
        .clusters
        .iter()
        .filter_map(|named| named.cluster.as_ref());
    for cluster in clusters {
        if cluster.certificate_authority.is_some() {
            return Some("a certificate-authority file");
        }
    }
    let users = kubeconfig
        .auth_infos
        .iter()
        .filter_map(|named| named.auth_info.as_ref());
    users.into_iter().find_map(forbidden_user_field)
}

fn forbidden_user_field(user: &AuthInfo) -> Option<&'static str> {
    let fields = [
        (user.exec.is_some(), "exec"),
        (user.auth_provider.is_some(), "an auth-provider"),
        (user.token_file.is_some(), "a tokenFile"),
        (
            user.client_certificate.is_some(),
            "a client-certificate file",
        ),
        (user.client_key.is_some(), "a client-key file"),
    ];
    fields
        .into_iter()
        .find_map(|(is_used, field)| is_used.then_some(field))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(user: &str, cluster: &str, expected: Option<&str>) {
        let text = format!(
            "apiVersion: v1\nkind: Config\nclusters: [{{name: a, cluster: {{server: https://x{cluster}}}}}]\nusers: [{{name: a, user: {{{user}}}}}]\n"
        );
        assert_eq!(
            forbidden_field(&Kubeconfig::from_yaml(&text).unwrap()),
            expected
        );
    }

    #[test]
    fn a_kubeconfig_cannot_run_programs_or_read_local_files() {
        check("token: x", "", None);
        check("exec: {command: evil, apiVersion: v1}", "", Some("exec"));
        check("tokenFile: /etc/passwd", "", Some("a tokenFile"));
        check("client-key: /etc/key", "", Some("a client-key file"));
        check(
            "token: x",
            ", certificate-authority: /etc/ca",
            Some("a certificate-authority file"),
        );
    }
}
