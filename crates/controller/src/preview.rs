//! Previews what the controller would do to a plugin: the same steps as a reconcile, up to the plan.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client};
use outrigger_api::cluster::Cluster;
use outrigger_api::plugin::Plugin;
use outrigger_api::reason::Reason;
use outrigger_api::repository::Repository;
use outrigger_release::Plan;
use outrigger_repository::Fetcher;
use tokio::sync::mpsc;

use crate::Options;
use crate::act;
use crate::conditions::Cause;
use crate::context::Context;
use crate::error::ReconcileError;
use crate::named_cluster::NamedCluster;
use crate::observe::{self, AwaitedReporter, ResolvedInputs};
use crate::references::ReadVersions;
use crate::release_ref::ClusterRef;
use crate::sources::{Repositories, Sources};
use crate::watches::{DEFAULTS_NAME, DEFAULTS_NAMESPACE, default_registry};

/// Why there is no plan, as the conditions of the plugin would report it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct PreviewError {
    /// `None` if no condition would report it.
    pub reason: Option<Reason>,
    pub message: String,
}

/// What the controller would do to a plugin.
#[derive(Debug, Clone)]
pub struct Preview {
    pub plan: Plan,
    /// Why the API server would refuse it, if it would.
    pub refusal: Option<PreviewError>,
}

/// Plans what the controller would do to a plugin, and asks the API server whether it would accept it. Nothing is changed.
pub async fn dry_run(
    client: Client,
    options: Options,
    plugin: &Plugin,
) -> Result<Preview, PreviewError> {
    let (ctx, inputs) = resolve(client, options, plugin).await?;
    let plan = act::plan(&ctx.options, plugin, &inputs).await?;
    let refusal = act::dry_run(&ctx.options, plugin, &inputs, &plan).await;
    Ok(Preview {
        plan,
        refusal: refusal.err().map(PreviewError::from),
    })
}

/// Plans what the controller would do to a plugin. Nothing is changed.
pub async fn preview(
    client: Client,
    options: Options,
    plugin: &Plugin,
) -> Result<Plan, PreviewError> {
    let (ctx, inputs) = resolve(client, options, plugin).await?;
    Ok(act::plan(&ctx.options, plugin, &inputs).await?)
}

async fn resolve(
    client: Client,
    options: Options,
    plugin: &Plugin,
) -> Result<(Context, ResolvedInputs), PreviewError> {
    let repositories = Repositories::default();
    let api: Api<Repository> = Api::all(client.clone());
    let list = api.list(&ListParams::default()).await;
    for repository in list.map_err(|error| unreachable(&error))? {
        repositories.set(repository);
    }
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), DEFAULTS_NAMESPACE);
    let defaults = api.get_opt(DEFAULTS_NAME).await;
    let defaults = defaults.map_err(|error| unreachable(&error))?;
    let sources = Sources {
        client: client.clone(),
        fetcher: Fetcher::new(options.fetcher.clone()),
        repositories,
    };
    let (events, _) = mpsc::channel(1);
    let ctx = Context::new(client, options, sources, events);
    if let ClusterRef::Named(name) = ClusterRef::of(plugin) {
        let api: Api<Cluster> = Api::all(ctx.client.clone());
        let cluster = api.get_opt(&name).await;
        let cluster = cluster.map_err(|error| unreachable(&error))?;
        let cluster = cluster.as_ref().map(NamedCluster::of);
        ctx.targets.set_named(&name, cluster);
    }
    ctx.set_cluster_registry(defaults.as_ref().and_then(default_registry));
    let ignore: AwaitedReporter = Arc::new(|_| ());
    let inputs = observe::resolve_inputs(&ctx, plugin, &mut ReadVersions::new(), &ignore).await?;
    Ok((ctx, inputs))
}

fn unreachable(error: &kube::Error) -> PreviewError {
    PreviewError {
        reason: Some(Reason::Unreachable),
        message: error.to_string(),
    }
}

impl From<ReconcileError> for PreviewError {
    fn from(error: ReconcileError) -> Self {
        let Cause { reason, message } = match error {
            ReconcileError::Wait(cause)
            | ReconcileError::Busy(cause)
            | ReconcileError::Awaited(cause)
            | ReconcileError::Rejected(cause)
            | ReconcileError::Failed { cause, .. }
            | ReconcileError::Transient { cause, .. } => cause,
            ReconcileError::Superseded => {
                return Self {
                    reason: None,
                    message: error.to_string(),
                };
            }
        };
        Self {
            reason: Some(reason),
            message,
        }
    }
}
