//! Any bit that flips anywhere in a package is found, and the package is not used.

use outrigger_expansion::resign;
use outrigger_expansion::signature::{PrivateKey, sign};

use crate::sample::{Sample, chain, open_package, reader};

/// The most bytes of a package of which each has a bit flipped. Of larger ones some are left out.
const FLIPS: usize = 700;

#[test]
fn each_flipped_bit_is_found_and_what_it_damages_is_named() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let key = PrivateKey::generate().unwrap();
    let opened = reader(&path).unwrap();
    let signatures = sign(None, opened.root_bytes(), &key, None).unwrap();
    resign(opened, &signatures).unwrap();
    let bytes = fs_err::read(&path).unwrap();
    open_package(&path).unwrap();
    let damaged = sample.path("damaged.tar.zst");
    // The beginning and the end, where headers and the digest are, and bytes in between.
    let step = bytes.len() / FLIPS + 1;
    let edges = (0..200).chain(bytes.len() - 100..bytes.len());
    for at in edges.chain((0..bytes.len()).step_by(step)) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        fs_err::write(&damaged, &flipped).unwrap();
        let error = match open_package(&damaged) {
            Ok(_) => panic!("byte {at} of {} was flipped unnoticed", bytes.len()),
            Err(error) => chain(&error),
        };
        assert!(error.contains("damaged.tar.zst"), "{at}: {error}");
    }
}

#[test]
fn a_package_of_any_other_length_is_refused() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let bytes = fs_err::read(&path).unwrap();
    let damaged = sample.path("damaged.tar.zst");
    for length in (0..bytes.len()).step_by(97).chain([bytes.len() - 1]) {
        fs_err::write(&damaged, &bytes[..length]).unwrap();
        assert!(open_package(&damaged).is_err(), "{length}");
    }
    for more in [&b"\0"[..], &[0; 512], &bytes] {
        fs_err::write(&damaged, [&bytes, more].concat()).unwrap();
        let error = open_package(&damaged).unwrap_err().to_string();
        assert_eq!(
            error,
            format!("{} has data after its end", damaged.display())
        );
    }
}
