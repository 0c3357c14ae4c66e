//! Tests against real peers. `make e2e` installs them first.

mod e2e_kubernetes;
