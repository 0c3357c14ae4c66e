//! Suggests the name of an object that exists for one that does not.

use std::fmt::Debug;

use kube::Api;
use kube::api::ListParams;
use outrigger_apimachinery::nearest::nearest;
use serde::de::DeserializeOwned;

use crate::report::hinted;

/// The error of a request, with the most similar name as a hint if the object does not exist.
pub(crate) async fn suggest<K>(
    api: &Api<K>,
    name: &str,
    error: kube::Error,
    explain: impl Fn(&kube::Error, Option<&str>) -> anyhow::Error,
) -> anyhow::Error
where
    K: Clone + Debug + DeserializeOwned,
{
    let explained = explain(&error, Some(name));
    match error {
        kube::Error::Api(status) if status.code == 404 => did_you_mean(api, name, explained).await,
        _ => explained,
    }
}

/// The error about an object that does not exist, with the most similar name as a hint.
pub(crate) async fn did_you_mean<K>(api: &Api<K>, name: &str, error: anyhow::Error) -> anyhow::Error
where
    K: Clone + Debug + DeserializeOwned,
{
    let hint = similar_name(api, name).await;
    hinted(
        error,
        hint.map(|similar| format!("did you mean {similar}?")),
    )
}

async fn similar_name<K>(api: &Api<K>, name: &str) -> Option<String>
where
    K: Clone + Debug + DeserializeOwned,
{
    let list = api.list_metadata(&ListParams::default()).await.ok()?;
    let objects = list.items.iter();
    let names = objects.filter_map(|object| object.metadata.name.as_deref());
    let names: Vec<&str> = names.collect();
    nearest(name, &names).map(str::to_owned)
}
