//! The annotations that Outrigger reads.

/// On a custom resource definition: the prefix of names that are generated for objects without a name.
pub const GENERATED_NAME_PREFIX: &str = "outrigger.dev/generated-name-prefix";

/// On a plugin, `"true"`: its dependents are removed first when it is disabled or deleted.
pub const CASCADE: &str = "outrigger.dev/cascade";

/// On a plugin, `"true"`: it is removed even if it has dependents or objects that cannot be deleted, unless it is required. On a cluster or
/// machine that is being deleted: it is removed even if its machines cannot be cleaned up.
pub const FORCE: &str = "outrigger.dev/force";

/// On a plugin, `"true"`: it is not installed, upgraded, repaired or uninstalled. Its health is reported. If it is deleted,
/// its release stays.
pub const SUSPEND: &str = "outrigger.dev/suspend";

/// On a plugin: the change of its spec to this generation is a rollback to this revision, as `REVISION@GENERATION`.
pub const ROLLBACK: &str = "outrigger.dev/rollback";

/// On a plugin: a new value, such as the current time, requests a reconcile at once, without backoff and with a new look
/// at the repository. The status repeats the value when it is done.
pub const RECONCILE: &str = "outrigger.dev/reconcile";

/// On a repository: a new value, such as the current time, requests that its index is read again. The status repeats the
/// value when it is done.
pub const REFRESH: &str = "outrigger.dev/refresh";

/// On a cluster: a new value, such as the current time, tries steps again that failed or wait for another try.
pub const RETRY: &str = "outrigger.dev/retry";

/// On a cluster: a new value, such as the current time, renews the certificates of its control plane. `status.requests` has
/// the value when that is done.
pub const RENEW_CERTIFICATES: &str = "outrigger.dev/renew-certificates";

/// On a cluster: the digest of the backup that its control planes are restored from, which they have already, and a new value
/// each time, as `DIGEST@TIME`. `status.requests` has the value when that is done.
pub const RESTORE: &str = "outrigger.dev/restore";

/// On a cluster: the version that it may be downgraded to. Any other version that is older than the installed one is refused.
pub const ALLOW_DOWNGRADE: &str = "outrigger.dev/allow-downgrade";

/// On a machine, `"true"`: it does not come back. It is removed from its cluster without being reached.
pub const LOST: &str = "outrigger.dev/lost";

/// On a node that is drained for an upgrade: pods may run on it again after it. A node that was cordoned before has none.
pub const DRAINED: &str = "outrigger.dev/drained";

/// On a cluster of `outrigger up`, `"true"`: its machines are stand-ins, processes that the command starts on the loopback
/// addresses of the spec.
pub const STAND_IN_MACHINES: &str = "outrigger.dev/stand-in-machines";

/// The digest of the manifest that `outrigger up` applied: as long as the file is the same, what was changed since stays.
pub const APPLIED_DIGEST: &str = "outrigger.dev/applied-digest";
