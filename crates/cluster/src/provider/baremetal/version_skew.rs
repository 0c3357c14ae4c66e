//! Which versions a cluster can be upgraded to: kubeadm takes the next minor version at most, and never goes back.

use outrigger_api::cluster::Cluster;
use outrigger_gostd::semver::Version;

use crate::lifecycle::{
    desired_version, installed_version, is_deleted, plain_version, upgrading_version,
};

/// Why the version of the spec cannot be installed over the one that the cluster has.
pub(super) fn refused(cluster: &Cluster) -> Option<String> {
    if is_deleted(cluster) {
        return None;
    }
    let desired = desired_version(cluster);
    if let Some(begun) = upgrading_version(cluster).filter(|begun| is_older(desired, begun)) {
        return Some(format!(
            "an upgrade to {begun} has begun, and kubeadm cannot go back to {desired}; set it to {begun} again"
        ));
    }
    let installed = installed_version(cluster)?;
    if is_older(desired, installed) {
        return Some(format!(
            "kubeadm cannot go back from {installed} to {desired}; restore a backup of etcd on new machines instead"
        ));
    }
    let (from, to) = (
        Version::parse(installed).ok()?,
        Version::parse(desired).ok()?,
    );
    let next = from.minor.saturating_add(1);
    let is_supported = to.major == from.major && to.minor <= next;
    (!is_supported).then(|| {
        format!(
            "{desired} is more than one minor version after the installed {installed}; upgrade to {}.{next} first",
            from.major
        )
    })
}

fn is_older(version: &str, other: &str) -> bool {
    let parsed = Version::parse(version).ok().zip(Version::parse(other).ok());
    parsed.is_some_and(|(version, other)| version.compare(&other).is_lt())
}

/// How many minor versions a kubelet may be behind the API server.
const MAX_KUBELET_SKEW: u64 = 3;

/// Why a kubelet cannot belong to a cluster that is upgraded to a version.
pub(super) fn refused_kubelet(kubelet: &str, desired: &str) -> Option<String> {
    let kubelet = plain_version(kubelet);
    if is_older(desired, kubelet) {
        return Some(format!(
            "kubelet has version {kubelet}, newer than {desired}"
        ));
    }
    let (from, to) = (Version::parse(kubelet).ok()?, Version::parse(desired).ok()?);
    let is_supported = to.major == from.major && to.minor - from.minor <= MAX_KUBELET_SKEW;
    (!is_supported).then(|| {
        format!(
            "kubelet has version {kubelet}, more than {MAX_KUBELET_SKEW} minor versions before {desired}"
        )
    })
}

/// Whether a version has another minor version than the installed one.
pub(super) fn is_minor_upgrade(cluster: &Cluster) -> bool {
    let minor = |version: &str| Version::parse(version).ok().map(|it| (it.major, it.minor));
    let installed = installed_version(cluster).and_then(minor);
    installed != minor(desired_version(cluster))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn cluster(version: &str, status: &Value) -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a"},
            "spec": {"version": version}, "status": status,
        }))
        .unwrap()
    }

    #[track_caller]
    fn check(installed: &str, desired: &str, expected: Option<&str>) {
        let refused = refused(&cluster(desired, &json!({"version": installed})));
        assert_eq!(refused.is_some(), expected.is_some(), "{refused:?}");
        let part = expected.unwrap_or_default();
        assert!(refused.unwrap_or_default().contains(part), "{part}");
    }

    #[test]
    fn a_patch_and_the_next_minor_version_are_supported() {
        check("1.36.4", "1.36.5", None);
        check("1.36.4", "v1.37.0", None);
        check("1.36.4", "1.36.4", None);
        assert_eq!(refused(&cluster("1.36.4", &json!({}))), None);
    }

    #[test]
    fn a_minor_version_cannot_be_skipped() {
        check("1.36.4", "1.38.0", Some("upgrade to 1.37 first"));
        check("1.36.4", "2.0.0", Some("upgrade to 1.37 first"));
    }

    #[test]
    fn kubeadm_never_goes_back() {
        check("1.36.4", "1.36.3", Some("cannot go back from 1.36.4"));
        let begun = json!({
            "version": "1.36.4", "flow": {"name": "Upgrade", "run": "2-Upgrade-1.37.0"},
        });
        let refused = |version| refused(&cluster(version, &begun));
        assert!(
            refused("1.36.4")
                .unwrap()
                .contains("set it to 1.37.0 again")
        );
        assert_eq!(refused("1.37.1"), None);
        assert_eq!(refused("1.37.0"), None);
    }

    #[test]
    fn a_minor_upgrade_is_told_from_a_patch() {
        let status = json!({"version": "1.36.4"});
        assert!(is_minor_upgrade(&cluster("1.37.0", &status)));
        assert!(!is_minor_upgrade(&cluster("1.36.5", &status)));
    }

    #[test]
    fn a_kubelet_is_up_to_three_minor_versions_older_and_never_newer() {
        assert_eq!(refused_kubelet("v1.36.4", "1.37.0"), None);
        assert_eq!(refused_kubelet("v1.34.1", "1.37.0"), None);
        assert_eq!(refused_kubelet("v1.37.0", "1.37.0"), None);
        let old = refused_kubelet("v1.33.9", "1.37.0").unwrap();
        assert!(old.contains("more than 3 minor versions"), "{old}");
        let new = refused_kubelet("v1.37.1", "1.37.0").unwrap();
        assert!(new.contains("newer than 1.37.0"), "{new}");
        assert!(refused_kubelet("v1.37.0", "2.0.0").is_some());
    }
}
