//! Where does a plugin's work happen, and as whom? A cluster by its kubeconfig, a service account by impersonation.
//!
//! A kubeconfig from a Secret may name a server and credentials, nothing else: what would run programs or read files of
//! this machine is refused.

use std::collections::HashMap;
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use http::{HeaderName, HeaderValue, Request, Response};
use k8s_openapi::api::core::v1::Secret;
use kube::client::Body;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use outrigger_api::plugin::Plugin;
use outrigger_release::{Cluster, ExistenceCache};

use crate::objects::Place;
use crate::references::{Reference, Source, Version};
use crate::world;

/// How long the version of a server is believed.
const BELIEVED_FOR: Duration = Duration::from_mins(10);

const CONNECT_WITHIN: Duration = Duration::from_secs(10);

/// Why a cluster cannot be worked on.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("Secret {namespace}/{name}, which has the kubeconfig of its cluster, does not exist")]
    Missing { namespace: String, name: String },
    #[error("Secret {namespace}/{name} has no key \"{key}\" with a kubeconfig")]
    NoKey {
        namespace: String,
        name: String,
        key: String,
    },
    /// The parser's own words could quote what is secret.
    #[error("the kubeconfig in Secret {namespace}/{name} cannot be read")]
    Unreadable { namespace: String, name: String },
    #[error(
        "the kubeconfig in Secret {namespace}/{name} must not use {what}: only a server, certificate data and a token are taken"
    )]
    Refused {
        namespace: String,
        name: String,
        what: &'static str,
    },
    #[error("the service account name \"{0}\" cannot be used")]
    BadAccount(String),
    #[error("failed to read Secret {namespace}/{name}")]
    Read {
        namespace: String,
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error(transparent)]
    Cluster(#[from] outrigger_release::Error),
}

impl Error {
    /// Whether it may come right without a change of the plugin.
    pub(crate) fn is_missing(&self) -> bool {
        matches!(self, Self::Missing { .. } | Self::NoKey { .. })
    }
}

/// Where a plugin is worked on.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub(crate) cluster: Cluster,
    /// The version of its server.
    pub(crate) kube_version: String,
    /// The Secret that was read for it.
    pub(crate) read: Option<(Reference, Version)>,
}

/// A client and what it was made from.
struct Made {
    version: String,
    cluster: Cluster,
    kube_version: Option<(String, Instant)>,
}

/// All clusters that are worked on.
pub(crate) struct Targets {
    client: Client,
    /// What the watches tell of the cluster that the controller is in.
    presence: Arc<ExistenceCache>,
    made: Mutex<HashMap<(Place, Option<String>), Made>>,
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
            presence: Arc::default(),
            made: Mutex::default(),
        }
    }

    /// Where to tell what there is at a place; nowhere if nobody asks.
    pub(crate) fn presence(&self, place: &Place) -> Option<Arc<ExistenceCache>> {
        (*place == Place::Here).then(|| Arc::clone(&self.presence))
    }

    /// The cluster of a plugin, for the account that it names.
    pub(crate) async fn of(&self, plugin: &Plugin) -> Result<Target, Error> {
        let place = world::place(plugin);
        let account = plugin.spec.service_account_name.as_ref();
        let user = account.map(|name| {
            let namespace = plugin.namespace();
            format!("system:serviceaccount:{namespace}:{name}")
        });
        let (secret, read) = match &place {
            Place::Here => (None, None),
            Place::Remote {
                namespace, secret, ..
            } => {
                let (secret, read) = self.secret(namespace, secret).await?;
                (Some(secret), Some(read))
            }
        };
        let version = read.as_ref().and_then(|(_, version)| version.clone());
        let version = version.unwrap_or_default();
        let slot = (place, user);
        let cluster = match self.known(&slot, &version) {
            Some(cluster) => cluster,
            None => self.make(&slot, version, secret.as_ref()).await?,
        };
        let kube_version = self.kube_version(&slot, &cluster).await?;
        Ok(Target {
            cluster,
            kube_version,
            read,
        })
    }

    /// A client for a place, as the controller itself, for watching.
    pub(crate) async fn client(&self, place: &Place) -> Result<Client, Error> {
        let Place::Remote {
            namespace, secret, ..
        } = place
        else {
            return Ok(self.client.clone());
        };
        let (secret, (_, version)) = self.secret(namespace, secret).await?;
        let slot = (place.clone(), None);
        let version = version.unwrap_or_default();
        let cluster = match self.known(&slot, &version) {
            Some(cluster) => cluster,
            None => self.make(&slot, version, Some(&secret)).await?,
        };
        Ok(cluster.client().clone())
    }

    fn known(&self, slot: &(Place, Option<String>), version: &str) -> Option<Cluster> {
        let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let made = made.get(slot).filter(|made| made.version == version)?;
        Some(made.cluster.clone())
    }

    async fn make(
        &self,
        slot: &(Place, Option<String>),
        version: String,
        secret: Option<&Secret>,
    ) -> Result<Cluster, Error> {
        let (place, user) = slot;
        let client = match (place, secret) {
            (
                Place::Remote {
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
        // An account must see for itself what it may see.
        let presence = self.presence(place).filter(|_| user.is_none());
        let cluster = Cluster::with_existence_cache(client, presence.unwrap_or_default());
        let made = Made {
            version,
            cluster: cluster.clone(),
            kube_version: None,
        };
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.insert(slot.clone(), made);
        Ok(cluster)
    }

    /// The version of a server, asked for now and then only.
    async fn kube_version(
        &self,
        slot: &(Place, Option<String>),
        cluster: &Cluster,
    ) -> Result<String, Error> {
        {
            let made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
            let known = made.get(slot).and_then(|made| made.kube_version.as_ref());
            if let Some((version, since)) = known
                && since.elapsed() < BELIEVED_FOR
            {
                return Ok(version.clone());
            }
        }
        let version = cluster.capabilities().await?.kube_version.version;
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.get_mut(slot) {
            made.kube_version = Some((version.clone(), Instant::now()));
        }
        Ok(version)
    }

    async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<(Secret, (Reference, Version)), Error> {
        let api: Api<Secret> = Api::namespaced(self.client.clone(), namespace);
        let secret = api.get_opt(name).await.map_err(|source| Error::Read {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            source,
        })?;
        let Some(secret) = secret else {
            return Err(Error::Missing {
                namespace: namespace.to_owned(),
                name: name.to_owned(),
            });
        };
        let reference = Reference {
            source: Source::Secret,
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
        return Err(Error::NoKey {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            key: key.to_owned(),
        });
    };
    let unreadable = || Error::Unreadable {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
    };
    let text = std::str::from_utf8(&data.0).map_err(|_| unreadable())?;
    let kubeconfig = Kubeconfig::from_yaml(text).map_err(|_| unreadable())?;
    if let Some(what) = forbidden(&kubeconfig) {
        return Err(Error::Refused {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            what,
        });
    }
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await;
    let mut config = config.map_err(|_| unreadable())?;
    config.connect_timeout = Some(CONNECT_WITHIN);
    Client::try_from(config).map_err(|_| unreadable())
}

/// What a kubeconfig of somebody else must not make this machine do.
fn forbidden(kubeconfig: &Kubeconfig) -> Option<&'static str> {
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
    users.into_iter().find_map(forbidden_for_user)
}

fn forbidden_for_user(user: &AuthInfo) -> Option<&'static str> {
    let uses = [
        (user.exec.is_some(), "exec"),
        (user.auth_provider.is_some(), "an auth-provider"),
        (user.token_file.is_some(), "a tokenFile"),
        (
            user.client_certificate.is_some(),
            "a client-certificate file",
        ),
        (user.client_key.is_some(), "a client-key file"),
    ];
    uses.into_iter()
        .find_map(|(is_used, what)| is_used.then_some(what))
}

/// The same way to a server, as somebody else.
fn impersonating(client: Client, user: &str) -> Result<Client, Error> {
    let header = HeaderValue::from_str(user).map_err(|_| Error::BadAccount(user.to_owned()))?;
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
        assert_eq!(forbidden(&Kubeconfig::from_yaml(&text).unwrap()), expected);
    }

    #[test]
    fn a_kubeconfig_cannot_run_programs_or_read_files_here() {
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
