//! Tests that need peers; `make e2e` runs them.
