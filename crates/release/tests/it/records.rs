//! Release records that are damaged, or whose revision is the last possible one.

use outrigger_release::{Options, Revision, Status, list_revisions, read_unlisted_revision};
use serde_json::{Value, json};

use crate::charts::web;
use crate::harness::Harness;

const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const RECORD: &str = "/api/v1/namespaces/default/secrets/sh.helm.release.v1.web.v1";
const MERGE: &str = "application/merge-patch+json";

async fn release_secrets(harness: &Harness) -> Vec<String> {
    let list = harness.get(SECRETS).await.unwrap();
    let names = list["items"].as_array().unwrap().iter();
    let names = names.map(|secret| secret["metadata"]["name"].as_str().unwrap().to_owned());
    names
        .filter(|name| name.starts_with("sh.helm.release."))
        .collect()
}

/// Revisions are numbers of 32 bits. The next one never is revision 0 or 1 again.
#[tokio::test]
async fn no_revision_follows_the_last_one() {
    for last in ["4294967295", "4294967296", "99999999999999999999"] {
        let harness = Harness::start().await;
        let options = Options::default();
        harness.deploy(&web(), &json!({}), &options).await.unwrap();
        let name = format!("sh.helm.release.v1.web.v{last}");
        let mut secret = harness.get(RECORD).await.unwrap();
        let mut labels = secret["metadata"]["labels"].take();
        labels["version"] = last.into();
        labels["status"] = "failed".into();
        secret["metadata"] = json!({"name": name, "labels": labels});
        harness
            .send("POST", SECRETS, "application/json", &secret)
            .await;

        let values = json!({"map": "two"});
        let error = harness.deploy(&web(), &values, &options).await.unwrap_err();
        assert_eq!(
            error.full_message(),
            format!("no revision can follow that of Secret default/{name}; delete the Secret")
        );
        let record = RECORD.rsplit('/').next().unwrap();
        assert_eq!(release_secrets(&harness).await, [record, &name]);
        let path = format!("{SECRETS}/{name}");
        harness
            .send("DELETE", &path, "application/json", &json!({}))
            .await;
        let outcome = harness.deploy(&web(), &values, &options).await.unwrap();
        assert_eq!(outcome.revision, 2, "{last}");
        harness.stop().await;
    }
}

async fn only_revision(harness: &Harness) -> Revision {
    let mut revisions = list_revisions(&harness.cluster, &harness.id).await.unwrap();
    assert_eq!(revisions.len(), 1, "{revisions:?}");
    revisions.remove(0)
}

#[tokio::test]
async fn a_damaged_record_is_listed_as_damaged() {
    let harness = Harness::start().await;
    let options = Options::default();
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    assert_eq!(
        only_revision(&harness).await.description,
        "Install complete"
    );
    let damage = json!({"data": {"release": "Z2FyYmFnZQ=="}});
    harness.send("PATCH", RECORD, MERGE, &damage).await;
    let revision = only_revision(&harness).await;
    assert_eq!((revision.revision, revision.status), (1, Status::Deployed));
    assert!(
        revision
            .description
            .starts_with("release record is damaged: "),
        "{revision:?}"
    );
    harness.stop().await;
}

#[tokio::test]
async fn a_record_without_its_labels_is_found_by_its_name() {
    let harness = Harness::start().await;
    let options = Options::default();
    harness.deploy(&web(), &json!({}), &options).await.unwrap();
    let find = async || {
        let found = read_unlisted_revision(&harness.cluster, &harness.id, 1).await;
        found.unwrap().map(|revision| revision.description)
    };
    let labels = json!({"metadata": {"labels": {"owner": Value::Null}}});
    harness.send("PATCH", RECORD, MERGE, &labels).await;
    let revisions = list_revisions(&harness.cluster, &harness.id).await.unwrap();
    assert_eq!(revisions, []);
    let description = "release record is damaged: it lacks the labels of a release record";
    assert_eq!(find().await.as_deref(), Some(description));
    harness
        .send("DELETE", RECORD, "application/json", &json!({}))
        .await;
    assert_eq!(find().await, None);
    harness.stop().await;
}
