//! A thousand of it.

use anyhow::ensure;
use futures::future::try_join_all;
use serde_json::json;

use super::target::{DEFINITIONS, Target, definition};
use crate::apiserver::CONFIG_MAPS;

/// `ConfigMaps` each of which is owned by the next, the last one by the first; one is deleted in the foreground.
pub(super) async fn owner_cycle(target: &Target) -> anyhow::Result<String> {
    const OWNERS: usize = 1_000;
    let create = async |number: usize| -> anyhow::Result<String> {
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("o{number}")}});
        let answer = target.post(CONFIG_MAPS, &object).await?;
        answer.expect(&[201])?;
        Ok(answer.body["metadata"]["uid"]
            .as_str()
            .unwrap_or_default()
            .to_owned())
    };
    let mut uids = Vec::new();
    for chunk in (0..OWNERS).collect::<Vec<_>>().chunks(50) {
        uids.extend(try_join_all(chunk.iter().map(|number| create(*number))).await?);
    }
    for number in 0..OWNERS {
        let owner = (number + 1) % OWNERS;
        let patch = json!({"metadata": {"ownerReferences": [{
            "apiVersion": "v1", "kind": "ConfigMap", "name": format!("o{owner}"), "uid": uids[owner],
            "blockOwnerDeletion": true,
        }]}});
        let path = format!("{CONFIG_MAPS}/o{number}");
        let answer = target
            .send(
                "PATCH",
                &path,
                "application/merge-patch+json",
                patch.to_string(),
            )
            .await?;
        answer.expect(&[200])?;
    }
    let path = format!("{CONFIG_MAPS}/o0?propagationPolicy=Foreground");
    target.delete(&path).await?.expect(&[200, 202])?;
    loop {
        let list = target.get(&format!("{CONFIG_MAPS}?limit=2000")).await?;
        let items = list.body["items"].as_array();
        let left = items.map_or(0, |items| {
            let names = items
                .iter()
                .filter_map(|item| item["metadata"]["name"].as_str());
            names.filter(|name| name.starts_with('o')).count()
        });
        if left == 0 {
            return Ok(format!("{OWNERS} objects were deleted"));
        }
        tokio::task::yield_now().await;
    }
}

pub(super) async fn definitions(target: &Target) -> anyhow::Result<String> {
    const DEFINITIONS_COUNT: usize = 300;
    for number in 0..DEFINITIONS_COUNT {
        let spec = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        let object = definition(&format!("k{number}s"), &spec);
        target.post(DEFINITIONS, &object).await?.expect(&[201])?;
    }
    let groups = target.get("/apis/attack.example.com/v1").await?;
    groups.expect(&[200])?;
    let resources = groups.body["resources"].as_array().map_or(0, Vec::len);
    target.get("/openapi/v3").await?.expect(&[200])?;
    ensure!(resources > 0, "discovery serves none of them");
    Ok(format!("{DEFINITIONS_COUNT} definitions"))
}

/// Selectors as long as a request can have, all of whose requirements differ.
pub(super) async fn long_selectors(target: &Target) -> anyhow::Result<String> {
    const REQUESTS: usize = 4;
    let list = |item: &dyn Fn(usize) -> String| {
        let items: Vec<_> = (0..4_500).map(item).collect();
        items.join(",")
    };
    let selectors = [
        list(&|number| format!("k{number}=v")),
        list(&|number| format!("!k{number}")),
        format!("k+in+({})", list(&|number| format!("v{number}"))),
        format!("k+notin+({})", list(&|number| format!("v{number}"))),
        list(&|_| "k!=v".to_owned()),
    ];
    let mut total = 0;
    for selector in &selectors {
        let path = format!("{CONFIG_MAPS}?labelSelector={selector}");
        ensure!(
            path.len() < 60_000,
            "the selector is too long: {}",
            path.len()
        );
        total += path.len();
        let requests = (0..REQUESTS).map(|_| target.get(&path));
        for answer in try_join_all(requests).await? {
            answer.expect(&[200])?;
        }
    }
    Ok(format!(
        "{REQUESTS} lists for each of {} selectors of {} KB",
        selectors.len(),
        total / selectors.len() / 1000
    ))
}

pub(super) async fn selectors(target: &Target) -> anyhow::Result<String> {
    let mut last = String::new();
    let many = "a=b,".repeat(10_000) + "a=b";
    let set = format!("a+in+({})", "x,".repeat(20_000) + "x");
    for selector in [many.as_str(), &set, &"(".repeat(10_000), "a!,,,", "%ff%fe"] {
        for name in ["labelSelector", "fieldSelector"] {
            let path = format!("{CONFIG_MAPS}?{name}={selector}");
            // Longer request targets are refused by the transport.
            if path.len() < 60_000 {
                last = target.get(&path).await?.expect(&[200, 400, 414, 431])?;
            }
        }
    }
    Ok(last)
}
