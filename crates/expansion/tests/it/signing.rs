//! Signatures of packages that were built.

use outrigger_expansion::build::BuildOptions;
use outrigger_expansion::signature::{Error, PrivateKey, sign, verify};
use outrigger_expansion::{archive, resign};

use crate::sample::{Sample, open_package, reader};

fn now() -> jiff::Timestamp {
    "2026-06-01T00:00:00Z".parse().unwrap()
}

fn sign_file(path: &std::path::Path, key: &PrivateKey) {
    let opened = reader(path).unwrap();
    let signatures = sign(opened.signatures(), opened.root_bytes(), key, None).unwrap();
    resign(opened, &signatures).unwrap();
}

#[test]
fn a_signature_is_added_and_the_content_stays_as_it_is() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let before = fs_err::read(&path).unwrap();
    let digest = reader(&path).unwrap().digest();
    let (one, two) = (
        PrivateKey::generate().unwrap(),
        PrivateKey::generate().unwrap(),
    );
    sign_file(&path, &one);
    sign_file(&path, &two);
    let opened = open_package(&path).unwrap().built.unwrap();
    assert!(opened.is_signed);
    assert_eq!(opened.digest, digest);
    let package = reader(&path).unwrap();
    for key in [&one, &two] {
        let trusted = [key.public()];
        verify(package.signatures(), package.root_bytes(), &trusted, now()).unwrap();
    }
    // All but the first frame and the digest at the end is the same.
    let after = fs_err::read(&path).unwrap();
    let tail = before.len() - 79 - 10_000..before.len() - 79;
    let shift = after.len() - before.len();
    assert!(before[tail.clone()] == after[tail.start + shift..tail.end + shift]);
}

/// A signature of one package does not count for another one.
#[test]
fn a_signature_of_another_package_is_refused() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let key = PrivateKey::generate().unwrap();
    sign_file(&path, &key);
    let signatures = reader(&path).unwrap().signatures().unwrap().to_vec();
    sample.define("1.0.0", "1.0.1");
    let other = sample.build("b.tar.zst");
    resign(
        reader(&other).unwrap(),
        std::str::from_utf8(&signatures).unwrap(),
    )
    .unwrap();
    let package = reader(&other).unwrap();
    let trusted = [key.public()];
    let error = verify(package.signatures(), package.root_bytes(), &trusted, now()).unwrap_err();
    assert!(matches!(error, Error::OtherDocument { .. }), "{error}");
    let unsigned = reader(&sample.build("c.tar.zst")).unwrap();
    let error = verify(
        unsigned.signatures(),
        unsigned.root_bytes(),
        &trusted,
        now(),
    );
    assert!(matches!(error.unwrap_err(), Error::Unsigned));
}

#[test]
fn a_damaged_package_is_not_signed_and_chunks_are_not_either() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let mut bytes = fs_err::read(&path).unwrap();
    // The digest at the end, so that the damage is found when all else was read.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs_err::write(&path, &bytes).unwrap();
    resign(reader(&path).unwrap(), "{}").unwrap_err();
    assert!(fs_err::read(&path).unwrap() == bytes);
    let chunks = sample.build_with(
        "b.tar.zst",
        &BuildOptions::default(),
        Some(archive::MIN_CHUNK),
    );
    let error = resign(reader(&chunks.paths[0]).unwrap(), "{}").unwrap_err();
    assert!(matches!(error, archive::Error::InChunks(_)), "{error}");
}
