//! Regular expressions that schemas hold, in the words that both Go and Rust know.

/// A name of one part, as namespaces have it.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A name of several parts, as Helm's releases have it.
pub(crate) const DNS_NAME: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A span of time as Go writes it, such as `1m30s`.
pub(crate) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";

/// Where a repository may be.
pub(crate) const REPOSITORY_URL: &str = "^(https?|file|oci)://.+$";
