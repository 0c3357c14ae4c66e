//! Keeps the kubeconfigs of clusters in Secrets, which are deleted with their clusters.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::Patch;
use kube::{Api, Client, Resource as _, ResourceExt as _};
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::{Cluster, KUBECONFIG_KEY};
use outrigger_api::repository::SecretReference;

use crate::status::{FIELD_MANAGER, patch_params};

/// Writes the Secret of a cluster. One that is there is replaced.
pub(super) async fn keep(
    client: &Client,
    namespace: &str,
    cluster: &Cluster,
    kubeconfig: &RedactedBytes,
) -> Result<SecretReference, String> {
    let name = format!("{}-kubeconfig", cluster.name_any());
    let data = ByteString(kubeconfig.expose().to_vec());
    let secret = Secret {
        metadata: kube::core::ObjectMeta {
            name: Some(name.clone()),
            owner_references: cluster.owner_ref(&()).map(|owner| vec![owner]),
            ..kube::core::ObjectMeta::default()
        },
        data: Some(BTreeMap::from([(KUBECONFIG_KEY.to_owned(), data)])),
        ..Secret::default()
    };
    let api: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let parameters = patch_params(FIELD_MANAGER).force();
    let written = api.patch(&name, &parameters, &Patch::Apply(&secret)).await;
    written.map_err(|error| {
        let error = crate::error::error_chain(&error);
        format!("failed to write Secret {namespace}/{name}: {error}")
    })?;
    let namespace = namespace.to_owned();
    Ok(SecretReference { name, namespace })
}
