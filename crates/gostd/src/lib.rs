//! The parts of Go's standard library whose behaviour users of Helm and Kubernetes see, and Masterminds semver.
//!
//! Modules are named after Go's packages, functions after Go's functions. Results and error messages are byte for byte
//! those of the Go releases that build Helm and Kubernetes. What depends on Go's value model (`reflect`) is in `gotmpl`.
//!
//! Pure: no file system, no clock, no network.

pub mod base32;
pub mod base64;
pub mod fmt;
pub mod json;
pub mod path;
pub mod regexp;
pub mod semver;
pub mod strconv;
pub mod tar;
pub mod template;
pub mod time;
pub mod unicode;
pub mod url;
