//! Archives that must be refused, and one that must not.

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
fn refused(bytes: &[u8], helm3: &str, helm4: &str) {
    for (profile, expected) in [(Profile::Helm3, helm3), (Profile::Helm4, helm4)] {
        let error = from_archive(bytes, profile, &mut |_| {}).unwrap_err();
        assert_eq!(error.to_string(), expected, "{profile:?}");
    }
}

#[track_caller]
fn path_refused(path: &str, expected: &str) {
    let bytes = archive(&[
        ("c/Chart.yaml", EntryType::Regular, CHART.as_bytes()),
        (path, EntryType::Regular, b"x"),
    ]);
    refused(&bytes, expected, expected);
}

#[test]
fn a_plain_chart_is_accepted() {
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
fn paths_that_escape_are_refused() {
    path_refused(
        "c/../../etc/passwd",
        "chart illegally references parent directory",
    );
    path_refused("c//etc/passwd", "chart illegally contains absolute paths");
    path_refused("c/c:/windows", "chart contains illegally named files");
    path_refused(
        "c",
        "chart illegally contains content outside the base directory: \"c\"",
    );
    path_refused(
        "Chart.yaml",
        "chart illegally contains content outside the base directory: \"Chart.yaml\"",
    );
    path_refused("Chart.yaml/x", "chart yaml not in base directory");
}

#[test]
fn links_and_devices_are_refused() {
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
        refused(&bytes, expected, expected);
    }
}

#[test]
fn a_file_that_is_too_large_is_refused() {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let header = header(b"c/big", EntryType::Regular, 5 * 1024 * 1024 + 1);
    gzip.write_all(header.as_bytes()).unwrap();
    let expected = "decompressed chart file \"c/big\" is larger than the maximum file size 5242880";
    refused(&gzip.finish().unwrap(), expected, expected);
}

#[test]
fn a_bomb_is_refused_while_it_streams() {
    // 10 GiB by its header; only a few bytes of it exist.
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let header = header(b"c/bomb", EntryType::Regular, 10 << 30);
    gzip.write_all(header.as_bytes()).unwrap();
    gzip.write_all(&[0; 4096]).unwrap();
    refused(
        &gzip.finish().unwrap(),
        "decompressed chart is larger than the maximum file size 104857600",
        "decompressed chart is larger than the maximum size 104857600",
    );
}

#[test]
fn broken_streams_are_refused() {
    let bytes = archive(&[("c/Chart.yaml", EntryType::Regular, CHART.as_bytes())]);
    refused(
        &bytes[..bytes.len() / 2],
        "unexpected EOF",
        "unexpected EOF",
    );
    refused(
        b"plain text",
        "gzip: invalid header",
        "gzip: invalid header",
    );
    refused(b"", "EOF", "EOF");
    refused(
        &archive(&[]),
        "no files in chart archive",
        "no files in chart archive",
    );
}

#[test]
fn an_archive_without_a_chart_is_refused() {
    let bytes = archive(&[("c/values.yaml", EntryType::Regular, b"a: 1")]);
    refused(
        &bytes,
        "Chart.yaml file is missing",
        "unable to detect chart version, no Chart.yaml found",
    );
}
