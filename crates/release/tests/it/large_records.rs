//! Releases whose record does not fit into one Secret.

use outrigger_release::{Options, get_release};
use serde_json::json;

use crate::charts::chart;
use crate::harness::Harness;

/// Text that hardly compresses.
fn noise(characters: usize, seed: u64) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._";
    let mut state = seed;
    let letters = (0..characters).map(|_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        char::from(LETTERS[usize::try_from(state >> 58).unwrap()])
    });
    letters.collect()
}

#[tokio::test]
async fn a_release_over_one_mebibyte_is_installed_upgraded_rolled_back_and_uninstalled() {
    let harness = Harness::start().await;
    let options = Options::default();
    let maps: String = (0..2)
        .map(|number| {
            format!(
                "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m{number}}}\ndata: {{text: {:?}, version: {{{{ .Values.v | quote }}}}}}\n",
                noise(560_000, number)
            )
        })
        .collect();
    let chart = chart(&[("templates/maps.yaml", &maps)]);
    harness
        .deploy(&chart, &json!({"v": "1"}), &options)
        .await
        .unwrap();
    let record = get_release(&harness.cluster, &harness.id, None)
        .await
        .unwrap();
    assert!(!record.is_truncated);
    assert!(record.manifest.len() > 1_100_000);
    let part = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.web.v1.part0";
    assert!(harness.get(part).await.is_some());
    harness
        .deploy(&chart, &json!({"v": "2"}), &options)
        .await
        .unwrap();
    outrigger_release::rollback(&harness.cluster, &harness.id, Some(1), &options, &|_| {})
        .await
        .unwrap();
    let map = harness
        .get("/api/v1/namespaces/default/configmaps/m1")
        .await
        .unwrap();
    assert_eq!(map["data"]["version"], "1");
    assert_eq!(harness.objects().await.len(), 2);
    // Without its parts, the record still lists all objects.
    harness
        .send(
            "DELETE",
            &part.replace(".v1.part0", ".v3.part0"),
            "application/json",
            &json!({}),
        )
        .await;
    let record = get_release(&harness.cluster, &harness.id, None)
        .await
        .unwrap();
    assert!(record.is_truncated);
    harness.uninstall(&options).await.unwrap();
    assert!(harness.objects().await.is_empty());
    harness.stop().await;
}
