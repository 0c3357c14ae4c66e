//! Checks that the cluster has exactly the objects that the plugins of the test chart should have.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};

/// The kinds that the test chart has one object of, besides ConfigMap.
const SINGLE_OBJECTS: &[(&str, &str, &str)] = &[
    ("", "v1", "ServiceAccount"),
    ("", "v1", "Secret"),
    ("", "v1", "Service"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("", "v1", "LimitRange"),
    ("policy", "v1", "PodDisruptionBudget"),
];

/// The desired state of a plugin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DesiredPlugin {
    Installed { maps: usize, word: u32 },
    Disabled,
}

/// The desired state of all plugins, by name.
pub(super) type DesiredPlugins = BTreeMap<String, DesiredPlugin>;

/// Fails if an object is missing, differs or should not exist.
pub(super) async fn check(client: &Client, plugins: &DesiredPlugins) -> anyhow::Result<()> {
    let installed: BTreeMap<&str, (usize, u32)> = plugins
        .iter()
        .filter_map(|(name, plugin)| match plugin {
            DesiredPlugin::Installed { maps, word } => Some((name.as_str(), (*maps, *word))),
            DesiredPlugin::Disabled => None,
        })
        .collect();
    let managed = ListParams::default().labels("app.kubernetes.io/managed-by=Helm");

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let found: BTreeMap<String, String> = maps
        .list(&managed)
        .await?
        .into_iter()
        .map(|map| {
            (
                map.name_any(),
                map.data
                    .unwrap_or_default()
                    .remove("word")
                    .unwrap_or_default(),
            )
        })
        .collect();
    let expected: BTreeMap<String, String> = installed
        .iter()
        .flat_map(|(name, (maps, word))| {
            (0..*maps).map(move |number| (format!("{name}-{number}"), word.to_string()))
        })
        .collect();
    ensure!(found == expected, "ConfigMaps: {found:?}, not {expected:?}");

    let expected: BTreeSet<String> = installed.keys().map(|name| (*name).to_owned()).collect();
    for (group, version, kind) in SINGLE_OBJECTS {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let objects = objects.list_metadata(&managed).await?;
        let found: BTreeSet<String> = objects.iter().map(ResourceExt::name_any).collect();
        ensure!(found == expected, "{kind}: {found:?}, not {expected:?}");
    }
    check_records(client, &expected).await
}

/// Checks that each installed plugin has one deployed release, that no release is pending, and that there are no others.
async fn check_records(client: &Client, expected: &BTreeSet<String>) -> anyhow::Result<()> {
    let secrets: Api<Secret> = Api::default_namespaced(client.clone());
    let records = secrets
        .list_metadata(&ListParams::default().labels("owner=helm"))
        .await?;
    let mut deployed = BTreeSet::new();
    for record in &records {
        let labels = record.labels();
        let label = |name: &str| labels.get(name).map_or("", String::as_str);
        let name = label("name").to_owned();
        ensure!(
            expected.contains(&name),
            "{} is orphaned",
            record.name_any()
        );
        let status = label("status");
        ensure!(
            matches!(status, "deployed" | "superseded" | "failed"),
            "{} is {status}",
            record.name_any()
        );
        if status == "deployed" {
            ensure!(
                deployed.insert(name),
                "{} has two deployed releases",
                label("name")
            );
        }
    }
    ensure!(
        deployed == *expected,
        "deployed releases: {deployed:?}, not {expected:?}"
    );
    Ok(())
}
