//! Does the cluster have exactly the objects that plugins of the small chart should have?

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client, ResourceExt};

/// What the small chart has one of, beside config maps.
const SINGLE: &[(&str, &str, &str)] = &[
    ("", "v1", "ServiceAccount"),
    ("", "v1", "Secret"),
    ("", "v1", "Service"),
    ("rbac.authorization.k8s.io", "v1", "Role"),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding"),
    ("networking.k8s.io", "v1", "NetworkPolicy"),
    ("", "v1", "LimitRange"),
    ("policy", "v1", "PodDisruptionBudget"),
];

/// What a plugin should be like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    Installed { maps: usize, word: u32 },
    Off,
}

/// What was asked for so far, by name.
pub(crate) type Plan = BTreeMap<String, Wanted>;

/// The cluster has what the plan asks for and nothing else.
pub(crate) async fn check(client: &Client, plan: &Plan) -> anyhow::Result<()> {
    let installed: BTreeMap<&str, (usize, u32)> = plan
        .iter()
        .filter_map(|(name, wanted)| match wanted {
            Wanted::Installed { maps, word } => Some((name.as_str(), (*maps, *word))),
            Wanted::Off => None,
        })
        .collect();
    let ours = ListParams::default().labels("app.kubernetes.io/managed-by=Helm");

    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let found: BTreeMap<String, String> = maps
        .list(&ours)
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
    ensure!(
        found == expected,
        "config maps are {found:?}, not {expected:?}"
    );

    let expected: BTreeSet<String> = installed.keys().map(|name| (*name).to_owned()).collect();
    for (group, version, kind) in SINGLE {
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
        let objects: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let objects = objects.list_metadata(&ours).await?;
        let found: BTreeSet<String> = objects.iter().map(ResourceExt::name_any).collect();
        ensure!(found == expected, "{kind}: {found:?}, not {expected:?}");
    }
    check_records(client, &expected).await
}

/// Each installed plugin has one record that says so, none is half done, and nothing else has records.
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
            "{} is left behind",
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
                "two records of {} are deployed",
                label("name")
            );
        }
    }
    ensure!(
        deployed == *expected,
        "deployed are {deployed:?}, not {expected:?}"
    );
    Ok(())
}
