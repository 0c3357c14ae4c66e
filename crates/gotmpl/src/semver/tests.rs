//! Versions and ranges against the library that Helm uses.
