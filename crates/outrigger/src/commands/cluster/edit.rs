//! Changes and deletes clusters. One that mirrors an object of TKEStack follows it, so that the object is changed.

use kube::api::DeleteParams;
use outrigger_api::cluster::Cluster;
use outrigger_api::compat::tkestack_cluster;
use outrigger_cluster::lifecycle;

use super::{clusters, explain};
use crate::commands::plugin::connect::Connection;
use crate::commands::plugin::edit::{edit_object, force_removal};
use crate::commands::plugin::origin::Origin;
use crate::commands::similar_name;
use crate::report::note;

pub(crate) async fn get(connection: &Connection, name: &str) -> anyhow::Result<Cluster> {
    let api = clusters(connection);
    match api.get(name).await {
        Ok(cluster) => Ok(cluster),
        Err(error) => Err(similar_name::suggest(&api, name, error, explain).await),
    }
}

/// Changes a cluster, or the object that it mirrors.
pub(crate) async fn edit(
    connection: &Connection,
    cluster: &Cluster,
    dry_run: bool,
    change: impl Fn(&mut Cluster) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    // The object of a mirror that is being deleted is gone.
    let origin = Origin::of(cluster).filter(|_| !lifecycle::is_deleted(cluster));
    let Some(origin) = origin else {
        let api = clusters(connection);
        let edited = edit_object(&api, name, dry_run, change, explain).await;
        return edited.map(drop);
    };
    let client = connection.client.clone();
    let edited = origin.edit(client, dry_run, |object| {
        let mut result = Ok(());
        let changed = tkestack_cluster::change(object, |cluster| result = change(cluster));
        result.map(|()| changed)
    });
    edited.await?;
    note(&format!("changed {origin}, which cluster {name} mirrors"));
    Ok(())
}

/// Deletes a cluster, or the object that it mirrors. `force` lets it go even if its machines cannot be cleaned up.
pub(super) async fn delete(
    connection: &Connection,
    cluster: &Cluster,
    force: bool,
    dry_run: bool,
) -> anyhow::Result<()> {
    let name = cluster.metadata.name.as_deref().unwrap_or_default();
    let api = clusters(connection);
    if force {
        // The controller reads the annotation from the cluster, also from one that mirrors an object.
        force_removal(&api, name, dry_run, explain).await?;
    }
    let parameters = DeleteParams {
        dry_run,
        ..DeleteParams::default()
    };
    let deleted = match Origin::of(cluster) {
        Some(origin) => {
            note(&format!("deleting {origin}, which cluster {name} mirrors"));
            origin.delete(connection.client.clone(), &parameters).await
        }
        None => api.delete(name, &parameters).await.map(drop),
    };
    match deleted {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        result => result.map_err(|error| explain(&error, Some(name))),
    }
}
