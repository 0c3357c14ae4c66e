//! Copies between registries.

use std::sync::Arc;

use outrigger_oci::{
    Blob, Client, Copier, Copy, CopyOptions, Descriptor, Digest, Error, OCI_CONFIG, OCI_INDEX,
    Progress, RawManifest, Reference, Source, Totals,
};
use serde_json::json;

use crate::server::{Registry, client, content, push, push_with};

async fn copy(
    client: &Client,
    copies: &[Copy],
    options: CopyOptions,
) -> (Vec<Result<bool, Error>>, Totals) {
    let progress = Arc::new(Progress::default());
    let copier = Copier::new(client.clone(), options, Arc::clone(&progress));
    let results = copier
        .copy_all(&Source::Registry(client.clone()), copies)
        .await;
    let results = results
        .into_iter()
        .map(|result| result.map(|copied| copied.unchanged))
        .collect();
    (results, progress.totals())
}

#[tokio::test(flavor = "multi_thread")]
async fn shared_layers_are_sent_once_and_a_repeated_copy_sends_nothing() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let base = content(0, 3_000_000);
    let mut copies = Vec::new();
    for app in 0..6 {
        let name = format!("team/app{app}:1");
        push(
            &client,
            &source.image(&name),
            &[base.clone(), content(app, 200_000)],
        )
        .await;
        copies.push(Copy {
            source: source.image(&name),
            target: target.image(&name),
        });
    }
    let (results, totals) = copy(&client, &copies, CopyOptions::default()).await;
    assert!(
        results.iter().all(|result| matches!(result, Ok(false))),
        "{results:?}"
    );
    assert_eq!((totals.mounted, totals.images), (5, 6));
    assert!(totals.sent < 3_000_000 + 6 * 201_000, "{totals:?}");
    assert_eq!(target.problems(), Vec::<String>::new());
    let (results, totals) = copy(&client, &copies, CopyOptions::default()).await;
    assert!(
        results.iter().all(|result| matches!(result, Ok(true))),
        "{results:?}"
    );
    assert_eq!((totals.sent, totals.unchanged), (0, 6));
}

/// Pushes an image whose config is this JSON.
async fn push_with_config(client: &Client, image: &Reference, config: &serde_json::Value) {
    let config = config.to_string().into_bytes();
    let descriptor = Descriptor::new(OCI_CONFIG, Digest::of(&config), config.len() as u64);
    let blob = Blob::memory(config, &descriptor);
    let repository = image.repository();
    client.push_blob(repository, blob, None).await.unwrap();
    let fields = json!({"config": descriptor});
    push_with(client, image, &[content(1, 100)], &fields).await;
}

#[tokio::test]
async fn an_image_for_one_platform_is_not_taken_for_another_one() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let amd64 = json!({"os": "linux", "architecture": "amd64"});
    let any = json!({"rootfs": {}});
    push_with_config(&client, &source.image("amd64:1"), &amd64).await;
    push_with_config(&client, &source.image("any:1"), &any).await;
    let check = async |name: &str, platforms: &[&str]| {
        let platforms = platforms.iter().map(|platform| platform.parse().unwrap());
        let options = CopyOptions {
            platforms: platforms.collect(),
            ..CopyOptions::default()
        };
        let (source, target) = (source.image(name), target.image(name));
        let (mut results, _) = copy(&client, &[Copy { source, target }], options).await;
        results
            .remove(0)
            .err()
            .map(|error| std::error::Error::source(&error).unwrap().to_string())
    };
    let error = check("amd64:1", &["linux/arm64"]).await.unwrap();
    let expected = "/amd64:1 has no image for linux/arm64; it has linux/amd64";
    assert!(error.ends_with(expected), "{error}");
    let error = check("amd64:1", &["linux/amd64", "linux/arm64"])
        .await
        .unwrap();
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(check("amd64:1", &["linux/amd64"]).await, None);
    let digest = client.manifest(&source.image("amd64:1")).await;
    let pinned = format!("amd64:1@{}", digest.unwrap().digest);
    let error = check(&pinned, &["linux/arm64"]).await.unwrap();
    let expected = format!("/{pinned} has no image for linux/arm64; it has linux/amd64");
    assert!(error.ends_with(&expected), "{error}");
    // Its config says neither an operating system nor an architecture.
    assert_eq!(check("any:1", &["linux/arm64"]).await, None);
}

#[tokio::test]
async fn platforms_are_chosen_and_all_others_left_out() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let mut children = Vec::new();
    for (seed, architecture) in ["amd64", "arm64", "s390x"].into_iter().enumerate() {
        let image = source.image(&format!("app:{architecture}"));
        let manifest = push(
            &client,
            &image,
            &[content(u8::try_from(seed).unwrap(), 1000)],
        )
        .await;
        let mut child = serde_json::to_value(manifest.descriptor()).unwrap();
        child["platform"] = json!({"os": "linux", "architecture": architecture});
        children.push(child);
    }
    let index =
        json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": children}).to_string();
    let index = RawManifest::parse(index.into_bytes(), None).unwrap();
    client
        .push_manifest(&source.image("app:1"), &index)
        .await
        .unwrap();
    let check = async |platforms: &[&str], target_name: &str| {
        let options = CopyOptions {
            platforms: platforms
                .iter()
                .map(|platform| platform.parse().unwrap())
                .collect(),
            ..CopyOptions::default()
        };
        let copies = [Copy {
            source: source.image("app:1"),
            target: target.image(target_name),
        }];
        let (mut results, _) = copy(&client, &copies, options).await;
        results.remove(0)?;
        client.manifest(&target.image(target_name)).await
    };
    assert_eq!(check(&[], "all:1").await.unwrap().digest, index.digest);
    let every = ["linux/s390x", "linux/arm64", "linux/amd64"];
    assert_eq!(check(&every, "every:1").await.unwrap().digest, index.digest);
    assert!(
        !check(&["linux/arm64"], "one:1")
            .await
            .unwrap()
            .parsed
            .is_index()
    );
    let two = check(&["linux/arm64", "linux/amd64"], "two:1")
        .await
        .unwrap();
    assert_eq!(two.parsed.children().count(), 2);
    let error = check(&["linux/riscv64"], "none:1").await.unwrap_err();
    assert!(
        std::error::Error::source(&error)
            .unwrap()
            .to_string()
            .contains("linux/s390x")
    );
    assert_eq!(target.problems(), Vec::<String>::new());
}

#[tokio::test]
async fn signatures_and_other_referrers_are_copied_along() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let image = push(&client, &source.image("app:1"), &[content(1, 100)]).await;
    let subject =
        json!({"subject": image.descriptor(), "artifactType": "application/example.sbom"});
    push_with(
        &client,
        &source.image("app:sbom"),
        &[content(2, 100)],
        &subject,
    )
    .await;
    let cosign = format!("app:sha256-{}.sig", image.digest.hex());
    push(&client, &source.image(&cosign), &[content(3, 100)]).await;
    let copies = [Copy {
        source: source.image("app:1"),
        target: target.image("moved/app:1"),
    }];
    copy(&client, &copies, CopyOptions::default())
        .await
        .0
        .remove(0)
        .unwrap();
    let repository = copies[0].target.repository();
    let found = client.referrers(repository, &image.digest).await.unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].artifact_type.as_deref(),
        Some("application/example.sbom")
    );
    assert!(
        client
            .manifest(&target.image(&format!("moved/{cosign}")))
            .await
            .is_ok()
    );
}

#[tokio::test]
async fn the_signature_of_an_index_is_kept_with_all_platforms_and_reported_with_fewer() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    let mut children = Vec::new();
    for (architecture, os) in [
        ("amd64", "linux"),
        ("arm64", "linux"),
        ("unknown", "unknown"),
    ] {
        let image = source.image(&format!("app:{architecture}"));
        let manifest = push(&client, &image, &[content(1, 100)]).await;
        let mut child = serde_json::to_value(manifest.descriptor()).unwrap();
        child["platform"] = json!({"os": os, "architecture": architecture});
        children.push(child);
    }
    let index =
        json!({"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": children}).to_string();
    let index = RawManifest::parse(index.into_bytes(), None).unwrap();
    let image = source.image("app:1");
    client.push_manifest(&image, &index).await.unwrap();
    let signature = format!("app:sha256-{}.sig", index.digest.hex());
    push(&client, &source.image(&signature), &[content(3, 100)]).await;
    let check = async |platforms: &[&str], name: &str| {
        let platforms = platforms.iter().map(|platform| platform.parse().unwrap());
        let options = CopyOptions {
            platforms: platforms.collect(),
            ..CopyOptions::default()
        };
        let copies = [Copy {
            source: image.clone(),
            target: target.image(&format!("{name}:1")),
        }];
        let copier = Copier::new(client.clone(), options, Arc::new(Progress::default()));
        let source = Source::Registry(client.clone());
        let copied = copier.copy(&source, &copies[0]).await.unwrap();
        let signature = signature.replace("app:", &format!("{name}:"));
        let is_signed = client.manifest(&target.image(&signature)).await.is_ok();
        (
            copied.digest == index.digest,
            is_signed,
            copied.left_signatures,
        )
    };
    let both = ["linux/amd64", "linux/arm64"];
    assert_eq!(check(&both, "both").await, (true, true, false));
    assert_eq!(check(&["linux/amd64"], "one").await, (false, false, true));
}

#[tokio::test]
async fn one_missing_image_does_not_stop_the_others() {
    let (source, target) = (Registry::start().await, Registry::start().await);
    let client = client(&[&source.address, &target.address]);
    push(&client, &source.image("app:1"), &[content(1, 100)]).await;
    let copies = ["gone:1", "app:1"].map(|name| Copy {
        source: source.image(name),
        target: target.image(name),
    });
    let (results, _) = copy(&client, &copies, CopyOptions::default()).await;
    assert!(results[0].is_err() && results[1].is_ok(), "{results:?}");
}
