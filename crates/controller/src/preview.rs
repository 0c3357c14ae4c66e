//! What would be done if a plugin stood like this? The same way as the real thing, up to the plan.

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, Client};
use outrigger_api::plugin::Plugin;
use outrigger_api::repository::Repository;
use outrigger_release::Plan;
use outrigger_repository::Fetcher;
use tokio::sync::mpsc;

use crate::Options;
use crate::act;
use crate::context::Context;
use crate::observe::{self, Looked};
use crate::sources::{Repositories, Sources};
use crate::trouble::Trouble;
use crate::watches::{DEFAULTS_NAME, DEFAULTS_NAMESPACE, registry};

/// Why there is no plan: what the conditions of the plugin would say.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Problem {
    pub reason: &'static str,
    pub message: String,
}

/// Works out what the controller would do to a plugin. Nothing is changed.
pub async fn preview(client: Client, options: Options, plugin: &Plugin) -> Result<Plan, Problem> {
    let repositories = Repositories::default();
    let all: Api<Repository> = Api::all(client.clone());
    for repository in all
        .list(&ListParams::default())
        .await
        .map_err(|error| unread(&error))?
    {
        repositories.set(repository);
    }
    let defaults: Api<ConfigMap> = Api::namespaced(client.clone(), DEFAULTS_NAMESPACE);
    let defaults = defaults
        .get_opt(DEFAULTS_NAME)
        .await
        .map_err(|error| unread(&error))?;
    let sources = Sources {
        client: client.clone(),
        fetcher: Fetcher::new(options.fetcher.clone()),
        repositories,
    };
    let (news, _) = mpsc::channel(1);
    let ctx = Context::new(client, options, sources, news);
    ctx.set_cluster_registry(defaults.as_ref().and_then(registry));
    let wanted = observe::wanted(&ctx, plugin, &mut Looked::default()).await?;
    Ok(act::plan(&ctx.options, plugin, &wanted).await?)
}

fn unread(error: &kube::Error) -> Problem {
    Problem {
        reason: "Unreachable",
        message: error.to_string(),
    }
}

impl From<Trouble> for Problem {
    fn from(trouble: Trouble) -> Self {
        let obstacle = match trouble {
            Trouble::Wait(obstacle)
            | Trouble::Refuse(obstacle)
            | Trouble::Failed { obstacle, .. }
            | Trouble::Unanswered { obstacle, .. } => obstacle,
            Trouble::Superseded => {
                crate::decide::Obstacle::new("Superseded", "it changed meanwhile")
            }
        };
        Self {
            reason: obstacle.reason,
            message: obstacle.message,
        }
    }
}
