//! Replays cases that a real kube-apiserver 1.36 answered, and tests laws of server-side apply.
#![expect(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    reason = "tests fail on missing data"
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
fn server_side_apply_matches_the_recording() {
    check_file("ssa.json");
}

#[test]
fn random_sequences_of_writes_match_the_recording() {
    check_file("random.json");
}

#[test]
fn patches_match_the_recording() {
    check_file("patch.json");
}

#[test]
fn validation_matches_the_recording() {
    check_file("validation.json");
}

#[test]
fn scaling_matches_the_recording() {
    check_file("scale.json");
}
