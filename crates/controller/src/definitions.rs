//! The definitions of the kinds: put into a cluster, and waited for until it serves them.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};

use crate::status::MANAGER;

/// How long a server may take to serve a new kind.
const WITHIN: Duration = Duration::from_secs(30);

/// Why the kinds are not there.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to apply the definition {name}")]
    Apply {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("failed to wait for the definition {name}")]
    Wait {
        name: String,
        #[source]
        source: kube::runtime::wait::Error,
    },
    #[error("the server does not serve {name} after {WITHIN:?}")]
    Late { name: String },
}

/// Brings our definitions up to date, and with `compat` those of KubeGems and TKEStack.
pub async fn install(client: &Client, compat: bool) -> Result<(), Error> {
    let mut all = outrigger_api::definitions();
    if compat {
        all.extend(outrigger_api::compat::definitions());
    }
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply(MANAGER).force();
    for definition in &all {
        let name = definition.name_any();
        let applied = api
            .patch(&name, &parameters, &Patch::Apply(definition))
            .await;
        applied.map_err(|source| Error::Apply { name, source })?;
    }
    for definition in &all {
        let name = definition.name_any();
        let served = await_condition(api.clone(), &name, conditions::is_crd_established());
        match tokio::time::timeout(WITHIN, served).await {
            Ok(Ok(_)) => {}
            Ok(Err(source)) => return Err(Error::Wait { name, source }),
            Err(_) => return Err(Error::Late { name }),
        }
    }
    Ok(())
}
