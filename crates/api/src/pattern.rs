//! Regular expressions in schemas, in syntax that both Go and Rust support.

/// An RFC 1123 label, such as the name of a namespace.
pub(crate) const DNS_LABEL: &str = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$";

/// A label, or `*`.
pub(crate) const DNS_LABEL_OR_ALL: &str = r"^(\*|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$";

/// An RFC 1123 subdomain, such as the name of a Helm release.
pub(crate) const DNS_NAME: &str =
    r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$";

/// A Go duration, such as `1m30s`.
pub(crate) const DURATION: &str = r"^([0-9]+(\.[0-9]+)?(ns|us|µs|ms|s|m|h))+$";

pub(crate) const REPOSITORY_URL: &str = "^(https?|file|oci)://.+$";

/// A version of Kubernetes, such as `1.34.1`, or nothing.
pub(crate) const VERSION_OR_EMPTY: &str =
    r"^(v?[0-9]+(\.[0-9]+){0,2}(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?)?$";
