//! Helm charts: load, dependencies, values, schema, render, package. Bytes in, text out.
