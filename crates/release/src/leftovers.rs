//! What an uninstall leaves in the cluster, although it belongs to the release: objects that are kept, the volumes of
//! stateful sets, the custom resource definitions of the chart's `crds` directory, and the namespace. Helm leaves them too.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_chart::Profile;
use outrigger_chart::manifest::split;
use serde::Deserialize;
use serde_json::Value;

use crate::cluster::Cluster;
use crate::desired::parse_objects;
use crate::error::Error;
use crate::history::{History, load_history};
use crate::id::{ObjectId, ReleaseId};
use crate::record::StoredChart;
use crate::uninstall::{KeptObject, Target, find_targets};

/// What an uninstall of the release would leave. `inventory` is that of [`crate::uninstall`].
pub async fn leftovers(
    cluster: &Cluster,
    id: &ReleaseId,
    inventory: &[ObjectId],
) -> Result<Vec<KeptObject>, Error> {
    let history = load_history(cluster, id).await?;
    let targets = find_targets(cluster, &history, inventory).await?;
    remaining(cluster, &history, &targets).await
}

/// What stays if the targets are deleted. Forbidden reads are not an error: they would only make the list longer.
pub(crate) async fn remaining(
    cluster: &Cluster,
    history: &History,
    targets: &[Target],
) -> Result<Vec<KeptObject>, Error> {
    let mut kept: Vec<KeptObject> = targets.iter().filter_map(Target::kept_object).collect();
    for target in targets.iter().filter(|target| target.kept.is_none()) {
        kept.extend(permitted(claims(cluster, target).await)?.unwrap_or_default());
    }
    for crd in history.last().iter().flat_map(|last| crds(&last.chart)) {
        if permitted(cluster.get(&crd).await)?.flatten().is_some() {
            kept.push(KeptObject {
                object: crd,
                reason: "deleting it would delete all objects of its kind".to_owned(),
            });
        }
    }
    let namespace = namespace(history.id());
    let is_deleted = targets.iter().any(|target| target.id == namespace);
    if !is_deleted
        && permitted(cluster.get(&namespace).await)?
            .flatten()
            .is_some()
    {
        kept.push(KeptObject {
            object: namespace,
            reason: "it may have other objects".to_owned(),
        });
    }
    Ok(kept)
}

fn namespace(release: &ReleaseId) -> ObjectId {
    ObjectId {
        api_version: "v1".to_owned(),
        kind: "Namespace".to_owned(),
        namespace: None,
        name: release.namespace.clone(),
    }
}

fn permitted<T>(result: Result<T, Error>) -> Result<Option<T>, Error> {
    match result {
        Ok(value) => Ok(Some(value)),
        Err(error) if error.is_forbidden() => Ok(None),
        Err(error) => Err(error),
    }
}

/// The claims that a stateful set created and does not delete.
async fn claims(cluster: &Cluster, target: &Target) -> Result<Vec<KeptObject>, Error> {
    let spec = &target.live["spec"];
    let templates = spec["volumeClaimTemplates"].as_array();
    let policy = &spec["persistentVolumeClaimRetentionPolicy"]["whenDeleted"];
    if target.id.kind != "StatefulSet" || templates.is_none() || policy == "Delete" {
        return Ok(Vec::new());
    }
    let prefixes: Vec<String> = templates
        .into_iter()
        .flatten()
        .filter_map(|template| template["metadata"]["name"].as_str())
        .map(|template| format!("{template}-{}-", target.id.name))
        .collect();
    let claim = |name: &str| ObjectId {
        api_version: "v1".to_owned(),
        kind: "PersistentVolumeClaim".to_owned(),
        namespace: target.id.namespace.clone(),
        name: name.to_owned(),
    };
    let list = cluster.list(&claim("")).await?.unwrap_or_default();
    let names = list["items"].as_array().into_iter().flatten();
    let names = names.filter_map(|item| item["metadata"]["name"].as_str());
    let names = names.filter(|name| is_claim_of(name, &prefixes));
    Ok(names
        .map(|name| KeptObject {
            object: claim(name),
            reason: format!("it has the data of StatefulSet {}", target.id.name),
        })
        .collect())
}

/// Whether a name is one of the prefixes and an ordinal.
fn is_claim_of(name: &str, prefixes: &[String]) -> bool {
    let mut ordinals = prefixes
        .iter()
        .filter_map(|prefix| name.strip_prefix(prefix.as_str()));
    ordinals.any(|ordinal| ordinal.parse::<u32>().is_ok())
}

/// The definitions in the `crds` directory of a stored chart.
fn crds(chart: &StoredChart) -> Vec<ObjectId> {
    #[derive(Deserialize)]
    struct Files {
        #[serde(default)]
        files: Option<Vec<File>>,
    }
    #[derive(Deserialize)]
    struct File {
        name: String,
        #[serde(default)]
        data: Option<String>,
    }
    let files = serde_json::from_str::<Files>(chart.json()).ok();
    let files = files.and_then(|files| files.files).unwrap_or_default();
    let files = files
        .into_iter()
        .filter(|file| file.name.starts_with("crds/"));
    let mut crds = BTreeSet::new();
    for file in files {
        let data = STANDARD.decode(file.data.unwrap_or_default());
        let text = String::from_utf8(data.unwrap_or_default()).unwrap_or_default();
        for document in split::documents(&text, Profile::Helm4) {
            let objects: Vec<Value> = parse_objects(&file.name, document).unwrap_or_default();
            let objects = objects.iter().map(ObjectId::of);
            crds.extend(objects.filter(|id| id.kind == "CustomResourceDefinition"));
        }
    }
    crds.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn claims_are_recognized_by_template_set_and_ordinal() {
        let prefixes = ["data-db-".to_owned()];
        assert!(is_claim_of("data-db-0", &prefixes));
        assert!(!is_claim_of("data-db-backup", &prefixes));
        assert!(!is_claim_of("data-web-0", &prefixes));
    }

    #[test]
    fn definitions_are_read_from_the_stored_chart() {
        let crd = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata: {name: a.example.com}\n";
        let file = |name: &str| json!({"name": name, "data": STANDARD.encode(crd)});
        let chart = json!({"metadata": {"name": "a"}, "files": [file("crds/a.yaml"), file("other/b.yaml")]});
        let names: Vec<String> = crds(&StoredChart::from_json(chart.to_string()))
            .into_iter()
            .map(|id| id.name)
            .collect();
        assert_eq!(names, ["a.example.com"]);
    }
}
