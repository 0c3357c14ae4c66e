//! What runs on machines to take a backup, and to check whether one can be restored.

use kube::ResourceExt as _;
use outrigger_api::annotation::RESTORE;
use outrigger_api::cluster::Cluster;
use outrigger_api::step::FlowName;

use super::work::{Work, text};
use crate::backup::{Backup, Description, KEYS};
use crate::lifecycle::annotated_request;

/// Where a machine has the backup that it is restored from.
pub fn restored_file(digest: &str) -> String {
    format!("/var/lib/outrigger/node/restore/{digest}.tar")
}

/// Shell text that prints a backup.
pub fn take(cluster: &Cluster, description: &Description) -> String {
    let json = serde_json::to_string(description).expect("texts and numbers can be serialized");
    let work = Work::new("take a backup", include_str!("scripts/backup.sh"))
        .with("CLUSTER", cluster.uid().unwrap_or_default())
        .with("KEYS", KEYS.join(" "))
        .with("DESCRIPTION", json);
    text(&work)
}

/// Shell text that fails if a machine cannot be restored from a backup. It changes nothing.
pub fn check(cluster: &Cluster, backup: &Backup) -> String {
    // The data from before, the snapshot, what is made of it, and the file.
    let needed = backup.snapshot.saturating_mul(4) / 1024;
    let script = include_str!("scripts/restore_check.sh");
    let work = Work::new("check that the machine can be restored", script)
        .with("CLUSTER", cluster.uid().unwrap_or_default())
        .with("CA", &backup.ca)
        .with("NEEDED", needed.to_string());
    text(&work)
}

/// The digest of the backup that a user asks to restore; an error if it is none.
pub(super) fn requested(cluster: &Cluster) -> Option<Result<&str, String>> {
    let request = annotated_request(cluster, FlowName::Restore)?;
    let digest = request.split('@').next().unwrap_or(request);
    let is_digest = digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit());
    Some(if is_digest {
        Ok(digest)
    } else {
        Err(format!(
            "the annotation {RESTORE} has no digest of a backup; outrigger cluster restore sets it"
        ))
    })
}

#[cfg(test)]
mod tests {
    use outrigger_api::cluster::ClusterSpec;

    use super::*;

    fn asked(value: Option<String>) -> Cluster {
        let mut cluster = Cluster::new("a", ClusterSpec::default());
        let annotations = value.map(|value| [(RESTORE.to_owned(), value)].into());
        cluster.metadata.annotations = annotations;
        cluster
    }

    #[test]
    fn a_request_has_the_digest_of_the_backup_and_nothing_that_is_a_path() {
        let digest = "a1".repeat(32);
        let cluster = asked(Some(format!("{digest}@2026-11-19T12:00:00Z")));
        assert_eq!(requested(&cluster), Some(Ok(digest.as_str())));
        assert_eq!(requested(&asked(None)), None);
        for value in [
            "../../etc/passwd".to_owned(),
            "x".repeat(64),
            digest[1..].to_owned(),
        ] {
            let cluster = asked(Some(value.clone()));
            assert!(requested(&cluster).unwrap().is_err(), "{value}");
        }
    }

    #[test]
    fn scripts_have_what_they_need_and_quote_it() {
        let mut cluster = asked(None);
        cluster.metadata.name = Some("it's".to_owned());
        cluster.metadata.uid = Some("uid-1".to_owned());
        let description = Description::new(&cluster, "cp1", jiff::Timestamp::UNIX_EPOCH);
        let text = take(&cluster, &description);
        assert!(text.contains("CLUSTER=uid-1\n"), "{text}");
        assert!(text.contains("\"cluster\":\"it'\\''s\""), "{text}");
        let backup = Backup {
            description,
            ca: "c".repeat(64),
            snapshot: 1 << 30,
            digest: String::new(),
        };
        assert!(check(&cluster, &backup).contains("NEEDED=4194304\n"));
    }
}
