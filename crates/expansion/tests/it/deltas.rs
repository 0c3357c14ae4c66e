//! Deltas: what they carry, and that they are nothing without their base.

use outrigger_expansion::{Package, open, scan, verify};

use crate::corpus::listing;
use crate::sample::{Sample, extract_to, noise, open_package, progress, reader};

/// The package, built twice: with a layer, a file and a program that changed.
fn changed() -> (Sample, std::path::PathBuf, std::path::PathBuf) {
    let sample = Sample::new();
    let base = sample.build("base.tar.zst");
    sample.images(&[3, 5]);
    sample.write("files/opt/tool", noise(6, 1400));
    sample.define("version: 1.0.0", "version: 1.1.0");
    let delta = sample.build_delta("delta.tar.zst", &base);
    (sample, base, delta)
}

#[test]
fn a_delta_with_its_base_is_the_package() {
    let (sample, base, delta) = changed();
    let complete = sample.build("complete.tar.zst");
    let opened = open(&delta, Some(&base), &progress()).unwrap();
    assert_eq!(listing(&verify(&opened.scanned)), "");
    assert_eq!(opened.scanned, open_package(&complete).unwrap().scanned);
    let (package, _) = Package::read(&opened.scanned);
    let (folder, _) = Package::read(&scan(&sample.source()).unwrap());
    assert_eq!(package, folder);
    extract_to(&delta, Some(&base), &sample.path("one"));
    extract_to(&complete, None, &sample.path("two"));
    assert_eq!(
        scan(&sample.path("one")).unwrap().entries,
        scan(&sample.path("two")).unwrap().entries
    );
}

#[test]
fn a_delta_carries_what_changed_only() {
    let (sample, base, delta) = changed();
    let size = |path: &std::path::Path| fs_err::metadata(path).unwrap().len();
    let complete = size(&sample.build("complete.tar.zst"));
    // The layer of 6000 bytes, the file of 1400, and the documents.
    assert!(size(&delta) < 6000 + 1400 + 5000, "{}", size(&delta));
    assert!(size(&delta) < complete, "{complete}");
    let lock = reader(&delta).unwrap().lock().clone();
    let carried: Vec<String> = lock
        .entries()
        .filter(|entry| !entry.in_base && !entry.path.starts_with("images/"))
        .map(|entry| entry.path)
        .collect();
    assert_eq!(carried, ["expansion.yaml", "files/opt/tool"]);
    let unchanged = sample.build("same.tar.zst");
    let nothing = sample.build_delta("nothing.tar.zst", &unchanged);
    assert_eq!(reader(&nothing).unwrap().lock().size(true), 0);
    open(&nothing, Some(&unchanged), &progress()).unwrap();
    drop(base);
}

/// A file that several entries have is in the base once, or under another name.
#[test]
fn content_moves_between_files() {
    let sample = Sample::new();
    let base = sample.build("base.tar.zst");
    let tool = noise(2, 3000);
    sample.write("files/opt/tool", &tool);
    sample.write("files/etc/copy", &tool);
    sample.define("[etc/app.conf,", "[etc/app.conf, etc/copy,");
    let delta = sample.build_delta("delta.tar.zst", &base);
    extract_to(&delta, Some(&base), &sample.path("extracted"));
    for path in [
        "files/opt/tool",
        "files/etc/copy",
        "provider/1.36.4/amd64/bin/tool",
    ] {
        assert!(
            fs_err::read(sample.path("extracted").join(path)).unwrap() == tool,
            "{path}"
        );
    }
    let opened = open(&delta, Some(&base), &progress()).unwrap();
    assert_eq!(opened.scanned.bytes("files/etc/copy"), Some(&tool[..]));
}

#[test]
fn a_delta_needs_exactly_its_base() {
    let (sample, base, delta) = changed();
    let error = |path: &std::path::Path, base: Option<&std::path::Path>| {
        let error = open(path, base, &progress()).unwrap_err();
        error
            .to_string()
            .replace(&sample.folder.path().display().to_string(), "")
    };
    let digest = reader(&base).unwrap().digest();
    assert_eq!(
        error(&delta, None),
        "/delta.tar.zst is a delta of package sample 1.0.0, which is needed to read it"
    );
    let complete = sample.build("complete.tar.zst");
    let found = reader(&complete).unwrap().digest();
    assert_eq!(
        error(&delta, Some(&complete)),
        format!(
            "/complete.tar.zst is package sample 1.1.0 ({found}), but the delta needs package sample 1.0.0 ({digest})"
        )
    );
    assert_eq!(
        error(&complete, Some(&base)),
        "/complete.tar.zst is not a delta, and needs no base"
    );
    assert_eq!(
        error(&sample.source(), Some(&base)),
        "/sample is not a delta, and needs no base"
    );
    let options = outrigger_expansion::build::BuildOptions {
        base: Some(delta),
        ..Default::default()
    };
    let target = sample.path("x.tar.zst");
    let built = crate::sample::build_folder(&sample.source(), &target, &options, None);
    let text = crate::sample::chain(&built.unwrap_err());
    assert!(
        text.contains("is a delta itself, so that it cannot be a base"),
        "{text}"
    );
}

/// The base is verified as a whole before anything of the delta is used.
#[test]
fn a_damaged_base_is_found() {
    let (sample, base, delta) = changed();
    let mut bytes = fs_err::read(&base).unwrap();
    let at = bytes.len() - 2000;
    bytes[at] ^= 4;
    fs_err::write(&base, bytes).unwrap();
    let error = open(&delta, Some(&base), &progress())
        .unwrap_err()
        .to_string();
    assert!(error.contains("base.tar.zst"), "{error}");
    drop(sample);
}
