//! Installs the CRDs and waits until the server serves them.

use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt as _};

use crate::status::FIELD_MANAGER;

const ESTABLISHED_WITHIN: Duration = Duration::from_secs(30);

/// Why the kinds are not served.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to apply CustomResourceDefinition {name}")]
    Apply {
        name: String,
        #[source]
        source: kube::Error,
    },
    #[error("failed to watch CustomResourceDefinition {name}")]
    Watch {
        name: String,
        #[source]
        source: kube::runtime::wait::Error,
    },
    #[error("CustomResourceDefinition {name} is not established after {ESTABLISHED_WITHIN:?}")]
    TimedOut { name: String },
}

/// Applies our CRDs and, with `compat`, those of KubeGems and TKEStack.
pub async fn install(client: &Client, compat: bool) -> Result<(), Error> {
    let mut crds = outrigger_api::definitions();
    if compat {
        crds.extend(outrigger_api::compat::definitions());
    }
    let api: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    for crd in &crds {
        let name = crd.name_any();
        let applied = api.patch(&name, &parameters, &Patch::Apply(crd)).await;
        applied.map_err(|source| Error::Apply { name, source })?;
    }
    for crd in &crds {
        let name = crd.name_any();
        let established = await_condition(api.clone(), &name, conditions::is_crd_established());
        match tokio::time::timeout(ESTABLISHED_WITHIN, established).await {
            Ok(Ok(_)) => {}
            Ok(Err(source)) => return Err(Error::Watch { name, source }),
            Err(_) => return Err(Error::TimedOut { name }),
        }
    }
    Ok(())
}
