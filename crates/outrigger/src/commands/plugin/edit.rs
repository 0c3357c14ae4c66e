//! Changes a plugin in the cluster, and retries on conflicts.

use std::fmt::Debug;

use kube::api::PostParams;
use kube::{Api, ResourceExt};
use outrigger_api::annotation::FORCE;
use outrigger_api::compat::ForeignKind;
use outrigger_api::plugin::Plugin;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::connect::explain;
use super::origin::Origin;
use crate::commands::similar_name;
use crate::report::note;

const MAX_ATTEMPTS: usize = 5;

pub(super) const FIELD_MANAGER: &str = "outrigger";

pub(crate) fn parameters(dry_run: bool) -> PostParams {
    PostParams {
        dry_run,
        field_manager: Some(FIELD_MANAGER.to_owned()),
    }
}

/// Changes the plugin, or the object that it mirrors. Returns the plugin, which the mirror may not have updated yet.
pub(super) async fn edit(
    api: &Api<Plugin>,
    name: &str,
    dry_run: bool,
    change: impl Fn(&mut Plugin) -> anyhow::Result<()>,
) -> anyhow::Result<Plugin> {
    let explain = |error: &kube::Error, name: Option<&str>| explain_in(api, error, name);
    let plugin = match api.get(name).await {
        Ok(plugin) => plugin,
        Err(error) => return Err(similar_name::suggest(api, name, error, explain).await),
    };
    let mirrored = Origin::of(&plugin).zip(ForeignKind::mirrored_by(&plugin));
    let Some((origin, kind)) = mirrored else {
        return edit_plugin(api, name, dry_run, change).await;
    };
    let client = api.clone().into_client();
    let changed = origin.edit(client, dry_run, |object| {
        let mut result = Ok(());
        let changed = kind.change(object, |plugin| result = change(plugin));
        result.map(|()| changed)
    });
    changed.await?;
    note(&format!("changed {origin}, which plugin {name} mirrors"));
    Ok(plugin)
}

/// Gets the plugin, changes it and replaces it. Does not write if nothing changes.
pub(super) async fn edit_plugin(
    api: &Api<Plugin>,
    name: &str,
    dry_run: bool,
    change: impl Fn(&mut Plugin) -> anyhow::Result<()>,
) -> anyhow::Result<Plugin> {
    let explain = |error: &kube::Error, name: Option<&str>| explain_in(api, error, name);
    edit_object(api, name, dry_run, change, explain).await
}

/// Explains an error of a request for a plugin, which is named with its namespace.
fn explain_in(api: &Api<Plugin>, error: &kube::Error, name: Option<&str>) -> anyhow::Error {
    let namespace = api.namespace().unwrap_or_default();
    let qualified = name.map(|name| format!("{namespace}/{name}"));
    explain(error, qualified.as_deref())
}

/// Gets an object, changes it and replaces it. Does not write if nothing changes.
pub(crate) async fn edit_object<K>(
    api: &Api<K>,
    name: &str,
    dry_run: bool,
    change: impl Fn(&mut K) -> anyhow::Result<()>,
    explain: impl Fn(&kube::Error, Option<&str>) -> anyhow::Error,
) -> anyhow::Result<K>
where
    K: Clone + PartialEq + Debug + DeserializeOwned + Serialize,
{
    let mut attempts = 0;
    loop {
        attempts += 1;
        let before = match api.get(name).await {
            Ok(before) => before,
            Err(error) => return Err(similar_name::suggest(api, name, error, explain).await),
        };
        let mut object = before.clone();
        change(&mut object)?;
        if object == before {
            return Ok(before);
        }
        match api.replace(name, &parameters(dry_run), &object).await {
            Ok(object) => return Ok(object),
            Err(kube::Error::Api(status)) if status.code == 409 && attempts < MAX_ATTEMPTS => {}
            Err(error) => return Err(explain(&error, Some(name))),
        }
    }
}

/// Annotates an object for its controller: it is let go even if what it stands for cannot be cleaned up.
pub(crate) async fn force_removal<K>(
    api: &Api<K>,
    name: &str,
    dry_run: bool,
    explain: impl Fn(&kube::Error, Option<&str>) -> anyhow::Error,
) -> anyhow::Result<()>
where
    K: Clone + PartialEq + Debug + DeserializeOwned + Serialize + ResourceExt,
{
    let annotate = |object: &mut K| {
        let annotations = object.annotations_mut();
        annotations.insert(FORCE.to_owned(), "true".to_owned());
        Ok(())
    };
    let annotated = edit_object(api, name, dry_run, annotate, explain).await;
    annotated.map(drop)
}
