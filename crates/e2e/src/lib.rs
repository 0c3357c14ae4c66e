//! Tests that need real peers; run them with `make e2e`.
