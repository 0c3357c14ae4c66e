//! Archives that are rejected.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_chart::{Profile, from_archive};
use tar::{Builder, EntryType, Header};

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";

fn header(path: &[u8], kind: EntryType, size: u64) -> Header {
    let mut header = Header::new_gnu();
    header.as_mut_bytes()[..path.len()].copy_from_slice(path);
    header.set_entry_type(kind);
    header.set_size(size);
    header.set_mode(0o644);
    header.set_mtime(0);
    header.set_cksum();
    header
}

fn archive(entries: &[(&str, EntryType, &[u8])]) -> Vec<u8> {
    let mut tar = Builder::new(GzEncoder::new(Vec::new(), Compression::fast()));
    for (path, kind, data) in entries {
        let header = header(path.as_bytes(), *kind, data.len() as u64);
        tar.append(&header, *data).unwrap();
    }
    tar.into_inner().unwrap().finish().unwrap()
}

#[track_caller]
fn assert_rejected(bytes: &[u8], helm3: &str, helm4: &str) {
    for (profile, expected) in [(Profile::Helm3, helm3), (Profile::Helm4, helm4)] {
        let error = from_archive(bytes, profile, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), expected, "{profile:?}");
    }
}

#[track_caller]
fn assert_path_rejected(path: &str, expected: &str) {
    let bytes = archive(&[
        ("c/Chart.yaml", EntryType::Regular, CHART.as_bytes()),
        (path, EntryType::Regular, b"x"),
    ]);
    assert_rejected(&bytes, expected, expected);
}

#[test]
fn accepts_a_valid_chart() {
    let bytes = archive(&[
        ("c/", EntryType::Directory, b""),
        ("c/Chart.yaml", EntryType::Regular, CHART.as_bytes()),
        ("c\\templates\\a.yaml", EntryType::Regular, b"a: 1"),
    ]);
    let chart = from_archive(&bytes, Profile::Helm4, &mut |_| {}).unwrap();
    assert_eq!(chart.name(), "c");
    assert_eq!(chart.templates[0].name, "templates/a.yaml");
}

#[test]
fn rejects_paths_outside_the_chart() {
    assert_path_rejected(
        "c/../../etc/passwd",
        "chart illegally references parent directory",
    );
    assert_path_rejected("c//etc/passwd", "chart illegally contains absolute paths");
    assert_path_rejected("c/c:/windows", "chart contains illegally named files");
    assert_path_rejected(
        "c",
        "chart illegally contains content outside the base directory: \"c\"",
    );
    assert_path_rejected(
        "Chart.yaml",
        "chart illegally contains content outside the base directory: \"Chart.yaml\"",
    );
    assert_path_rejected("Chart.yaml/x", "chart yaml not in base directory");
}

#[test]
fn rejects_links_and_devices() {
    for kind in [
        EntryType::Symlink,
        EntryType::Link,
        EntryType::Char,
        EntryType::Fifo,
    ] {
        let bytes = archive(&[
            ("c/Chart.yaml", EntryType::Regular, CHART.as_bytes()),
            ("c/link", kind, b""),
        ]);
        let expected = "chart archive contains \"c/link\", which is a link or a device";
        assert_rejected(&bytes, expected, expected);
    }
}

#[test]
fn rejects_a_file_over_the_size_limit() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let header = header(b"c/big", EntryType::Regular, 5 * 1024 * 1024 + 1);
    gzip.write_all(header.as_bytes()).unwrap();
    let expected = "decompressed chart file \"c/big\" is larger than the maximum file size 5242880";
    assert_rejected(&gzip.finish().unwrap(), expected, expected);
}

#[test]
fn rejects_a_decompression_bomb_by_its_header() {
    // 10 GiB according to the header, but only a few bytes of data.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let header = header(b"c/bomb", EntryType::Regular, 10 << 30);
    gzip.write_all(header.as_bytes()).unwrap();
    gzip.write_all(&[0; 4096]).unwrap();
    assert_rejected(
        &gzip.finish().unwrap(),
        "decompressed chart is larger than the maximum file size 104857600",
        "decompressed chart is larger than the maximum size 104857600",
    );
}

#[test]
fn rejects_truncated_and_invalid_streams() {
    let bytes = archive(&[("c/Chart.yaml", EntryType::Regular, CHART.as_bytes())]);
    assert_rejected(
        &bytes[..bytes.len() / 2],
        "unexpected EOF",
        "unexpected EOF",
    );
    assert_rejected(
        b"plain text",
        "gzip: invalid header",
        "gzip: invalid header",
    );
    assert_rejected(b"", "EOF", "EOF");
    assert_rejected(
        &archive(&[]),
        "no files in chart archive",
        "no files in chart archive",
    );
}

#[test]
fn rejects_an_archive_without_a_chart() {
    let bytes = archive(&[("c/values.yaml", EntryType::Regular, b"a: 1")]);
    assert_rejected(
        &bytes,
        "Chart.yaml file is missing",
        "unable to detect chart version, no Chart.yaml found",
    );
}
