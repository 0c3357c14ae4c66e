//! What is built: reproducible, complete, and the same as its folder.

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;

use outrigger_expansion::build::{BuildOptions, Error, WriteOptions, plan};
use outrigger_expansion::{EntryKind, Package, scan, verify};
use outrigger_oci::{Client, Options};

use crate::corpus::listing;
use crate::sample::{Sample, block_on, build_folder, extract_to, open_package, progress, reader};

#[test]
fn the_same_folder_is_the_same_bytes_and_extracting_it_loses_nothing() {
    let (one, two) = (Sample::new(), Sample::new());
    two.mode("expansion.yaml", 0o600);
    two.mode("hooks/pre-install", 0o711);
    let first = fs_err::read(one.build("a.tar.zst")).unwrap();
    assert!(first == fs_err::read(one.build("b.tar.zst")).unwrap());
    assert!(first == fs_err::read(two.build("a.tar.zst")).unwrap());
    // The extracted folder has an OCI layout instead of the archive, and yields the same package.
    extract_to(&one.path("a.tar.zst"), None, &one.path("extracted"));
    let again = one.path("again.tar.zst");
    build_folder(
        &one.path("extracted"),
        &again,
        &BuildOptions::default(),
        None,
    )
    .unwrap();
    assert!(first == fs_err::read(again).unwrap());
    assert_eq!(listing(&verify(&scan(&one.path("extracted")).unwrap())), "");
    let hook = fs_err::metadata(one.path("extracted/hooks/pre-install")).unwrap();
    assert_eq!(hook.permissions().mode() & 0o777, 0o755);
}

#[test]
fn a_built_package_is_the_package_of_its_folder() {
    let sample = Sample::new();
    let opened = open_package(&sample.build("a.tar.zst")).unwrap();
    assert_eq!(listing(&verify(&opened.scanned)), "");
    let (built, _) = Package::read(&opened.scanned);
    let (folder, _) = Package::read(&scan(&sample.source()).unwrap());
    assert_eq!(built, folder);
    let built = opened.built.unwrap();
    assert_eq!(built.root.title(), "sample 1.0.0");
    let names: Vec<&String> = built.lock.images().keys().collect();
    assert_eq!(names, ["example.com/side:1", "example.com/web:1"]);
    // Two manifests; two configurations and two layers, of which the images share one.
    let count = |kind| {
        built
            .lock
            .entries()
            .filter(|entry| entry.kind == kind)
            .count()
    };
    assert_eq!((count(EntryKind::Manifest), count(EntryKind::Blob)), (2, 4));
}

#[test]
fn other_programs_can_read_a_package() {
    let sample = Sample::new();
    let bytes = fs_err::read(sample.build("a.tar.zst")).unwrap();
    let plain = zstd::decode_all(&bytes[..]).unwrap();
    let mut archive = tar::Archive::new(&plain[..]);
    let mut paths = Vec::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        if path == "values.yaml" {
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            assert_eq!(text, "port: 80\n");
        }
        assert_eq!(
            (
                entry.header().mtime().unwrap(),
                entry.header().uid().unwrap()
            ),
            (0, 0)
        );
        paths.push(path);
    }
    assert_eq!(paths[..2], [".outrigger/root.json", ".outrigger/lock.json"]);
    assert_eq!(paths[2], "charts/web/Chart.yaml");
    assert!(paths.last().unwrap().starts_with("images/blobs/sha256/"));
}

#[test]
fn images_that_the_archive_lacks_are_looked_up_and_named() {
    let sample = Sample::new();
    sample.define(
        "example.com/side:1]",
        "example.com/side:1, \"127.0.0.1:1/gone:1\"]",
    );
    let target = sample.path("a.tar.zst");
    let error =
        build_folder(&sample.source(), &target, &BuildOptions::default(), None).unwrap_err();
    let archive = sample.source().join("images.tar");
    let expected = format!(
        "failed to find the image 127.0.0.1:1/gone:1, which {} lacks",
        archive.display()
    );
    assert_eq!(error.to_string(), expected);
    assert!(!target.exists());
    // Nothing temporary is left, either.
    assert_eq!(fs_err::read_dir(sample.folder.path()).unwrap().count(), 1);
}

#[test]
fn a_folder_with_fatal_findings_is_not_built() {
    let sample = Sample::new();
    sample.define("example.com/web:1, ", "");
    let target = sample.path("a.tar.zst");
    let error =
        build_folder(&sample.source(), &target, &BuildOptions::default(), None).unwrap_err();
    let Error::Findings { findings, .. } = error else {
        panic!("{error}");
    };
    let found = listing(&findings);
    let expected = "fatal: charts/web: Pod web runs example.com/web:1, which is not in images\n";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_package_is_not_built_of_a_package() {
    let sample = Sample::new();
    let built = sample.build("a.tar.zst");
    let error = build_folder(
        &built,
        &sample.path("b.tar.zst"),
        &BuildOptions::default(),
        None,
    );
    assert!(matches!(error.unwrap_err(), Error::AlreadyBuilt(_)));
}

#[test]
fn images_of_other_platforms_are_left_out_or_missed() {
    let sample = Sample::new();
    let options = BuildOptions {
        platforms: vec!["linux/amd64".parse().unwrap()],
        ..BuildOptions::default()
    };
    sample.build_with("a.tar.zst", &options, None);
    let root = reader(&sample.path("a.tar.zst")).unwrap().root().clone();
    assert_eq!(root.platforms, ["linux/amd64"]);
}

#[test]
fn a_folder_is_never_extracted_over_another_one() {
    let sample = Sample::new();
    let built = sample.build("a.tar.zst");
    let existing = sample.path("existing");
    fs_err::create_dir(&existing).unwrap();
    let error = outrigger_expansion::extract(reader(&built).unwrap(), None, &existing).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{} already exists", existing.display())
    );
}

/// A damaged package leaves nothing: its content is verified before the folder gets its name.
#[test]
fn a_damaged_package_is_not_extracted() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let mut bytes = fs_err::read(&path).unwrap();
    // The digest at the end, so that the damage is found when all else was written.
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    fs_err::write(&path, bytes).unwrap();
    let target = sample.path("extracted");
    outrigger_expansion::extract(reader(&path).unwrap(), None, &target).unwrap_err();
    let mut left: Vec<_> = fs_err::read_dir(sample.folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    left.sort();
    assert_eq!(left, ["a.tar.zst", "sample"]);
}

/// What is canceled stops at its next bytes, and leaves nothing.
#[test]
fn building_can_be_canceled() {
    let sample = Sample::new();
    let target = sample.path("a.tar.zst");
    let error = block_on(async {
        let client = Client::new(Options::default());
        let plan = plan(&sample.source(), &client, &BuildOptions::default()).await;
        let canceled = progress();
        canceled.cancel();
        let written = plan
            .unwrap()
            .write(&target, WriteOptions::default(), &canceled);
        written.await.unwrap_err()
    });
    assert!(matches!(error, Error::Write { .. }), "{error}");
    assert_eq!(fs_err::read_dir(sample.folder.path()).unwrap().count(), 1);
}

/// The same when it is read.
#[test]
fn reading_can_be_canceled() {
    let sample = Sample::new();
    let path = sample.build("a.tar.zst");
    let canceled = progress();
    canceled.cancel();
    assert!(outrigger_expansion::open(&path, None, &canceled).is_err());
    let counted = progress();
    outrigger_expansion::open(&path, None, &counted).unwrap();
    let size = fs_err::metadata(&path).unwrap().len();
    // The digest at the end is not counted.
    assert_eq!(counted.bytes(), (size - 79, size));
}
