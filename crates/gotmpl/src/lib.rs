//! Go text/template with Go's value model, Sprig and Helm's function table.
//!
//! Pure: no file system, no clock, no network. Whatever a template needs from outside comes through
//! [`function::Host`].

pub mod fmt;
pub mod function;
pub mod functions;
pub mod json;
pub mod semver;
pub mod value;
