//! Cases that a real kube-apiserver 1.36 answered, replayed without it, and laws.
#![expect(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    reason = "a test ends where something is missing"
)]

mod decode;
mod defaults;
mod definitions;
mod kinds;
mod laws;
mod replay;
mod robustness;
mod rules;
mod scale;

use replay::check_file;

#[test]
fn server_side_apply_is_as_recorded() {
    check_file("ssa.json");
}

#[test]
fn random_sequences_of_writes_are_as_recorded() {
    check_file("random.json");
}

#[test]
fn patches_are_as_recorded() {
    check_file("patch.json");
}

#[test]
fn validation_is_as_recorded() {
    check_file("validation.json");
}

#[test]
fn scaling_is_as_recorded() {
    check_file("scale.json");
}
