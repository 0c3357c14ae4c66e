//! Headers of archives that Go's reader and other readers may understand differently. The expected results are those of
//! Helm 3.17.3 and Helm 4.2.4.

use std::io::Write;
use std::ops::Range;

use flate2::Compression;
use flate2::write::GzEncoder;
use outrigger_chart::{Profile, from_archive};
use tar::{EntryType, Header};

const CHART: &str = "apiVersion: v2\nname: c\nversion: 1.0.0\n";
const INVALID: Result<&str, &str> = Err("archive/tar: invalid tar header");

const MODE: Range<usize> = 100..108;
const UID: Range<usize> = 108..116;
const SIZE: Range<usize> = 124..136;
const MTIME: Range<usize> = 136..148;
const DEVICE_MAJOR: Range<usize> = 329..337;

fn header(name: &str, kind: u8, size: usize) -> Header {
    let mut header = Header::new_ustar();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.set_entry_type(EntryType::new(kind));
    header.set_size(size as u64);
    header.set_mode(0o644);
    header.set_cksum();
    header
}

/// A header and its data, with padding.
fn entry(header: &Header, data: &[u8]) -> Vec<u8> {
    let mut bytes = [header.as_bytes(), data].concat();
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

fn packed(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    let chart = entry(&header("c/Chart.yaml", b'0', CHART.len()), CHART.as_bytes());
    gzip.write_all(&chart).unwrap();
    gzip.write_all(&entries.concat()).unwrap();
    gzip.write_all(&[0; 1024]).unwrap();
    gzip.finish().unwrap()
}

/// The contents of the only template in a chart.
#[track_caller]
fn check(entries: &[Vec<u8>], expected: Result<&str, &str>) {
    let bytes = packed(entries);
    for profile in [Profile::Helm3, Profile::Helm4] {
        let found = from_archive(&bytes, profile, &mut |_| {});
        let found = found.map(|chart| String::from_utf8_lossy(&chart.templates[0].data).into());
        let found: Result<String, String> = found.map_err(|error| error.to_string());
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, expected, "{profile:?}");
    }
}

/// A template of four bytes after an extended header.
#[track_caller]
fn check_extended(records: &[u8], expected: Result<&str, &str>) {
    let extended = entry(&header("c/x", b'x', records.len()), records);
    let file = entry(&header("c/templates/a", b'0', 4), b"data");
    check(&[extended, file], expected);
}

#[track_caller]
fn check_record(record: &str, expected: Result<&str, &str>) {
    let length = record.len() + 3;
    let length = length + length.to_string().len() - 1;
    check_extended(format!("{length} {record}\n").as_bytes(), expected);
}

#[track_caller]
fn check_field(field: Range<usize>, value: &[u8], expected: Result<&str, &str>) {
    let mut header = header("c/templates/a", b'0', 4);
    header.as_mut_bytes()[field].copy_from_slice(value);
    header.set_cksum();
    check(&[entry(&header, b"data")], expected);
}

#[test]
fn a_negative_or_invalid_size_in_an_extended_header_is_rejected() {
    check_record("size=-1", INVALID);
    check_record("size=x", INVALID);
    check_record("size=4x", INVALID);
    check_record("size=0x4", INVALID);
    check_record("size=9223372036854775808", INVALID);
    check_record("size=99999999999999999999", INVALID);
    check_record("size=+3", Ok("dat"));
    check_record("size=3", Ok("dat"));
    check_record("size=", Ok("data"));
}

#[test]
fn invalid_times_and_owners_in_an_extended_header_are_rejected() {
    check_record("mtime=x", INVALID);
    check_record("mtime=1.x", INVALID);
    check_record("atime=1e9", INVALID);
    check_record("ctime=99999999999999999999", INVALID);
    check_record("uid=-", INVALID);
    check_record("gid=1.5", INVALID);
    check_record("mtime=-1.5", Ok("data"));
    check_record("uid=-5", Ok("data"));
    check_record("comment=\0", Ok("data"));
}

#[test]
fn malformed_records_of_an_extended_header_are_rejected() {
    check_record("size", INVALID);
    check_record("=1", INVALID);
    check_record("path=c/templates/b\0c", INVALID);
    check_record("a\0b=1", INVALID);
    check_extended(b"99 size=3\n", INVALID);
    check_extended(b"3 a=1\n", INVALID);
    check_extended(b"-9 size=3\n", INVALID);
    check_extended(b"10 size=3", INVALID);
    check_extended(b"\n", INVALID);
}

#[test]
fn the_last_of_equal_records_and_headers_is_used() {
    check_extended(b"10 size=1\n10 size=3\n", Ok("dat"));
    check_extended(b"21 comment=a\n size=1\n10 size=3\n", Ok("dat"));
    let extended = |records: &[u8]| entry(&header("c/x", b'x', records.len()), records);
    let file = entry(&header("c/templates/a", b'0', 4), b"data");
    check(
        &[extended(b"10 size=1\n"), extended(b"10 size=3\n"), file],
        Ok("dat"),
    );
}

#[test]
fn invalid_numbers_in_a_header_are_rejected() {
    check_field(SIZE, &[0xff; 12], INVALID);
    check_field(SIZE, b"\x80\x01\0\0\0\0\0\0\0\0\0\x04", INVALID);
    check_field(SIZE, b"\x80\0\0\0\x80\0\0\0\0\0\0\x04", INVALID);
    check_field(SIZE, b"\x80\0\0\0\0\0\0\0\0\0\0\x04", Ok("data"));
    check_field(SIZE, b"0000000000x\0", INVALID);
    check_field(SIZE, b"-00000000004", INVALID);
    check_field(MODE, b"9999999\0", INVALID);
    check_field(MODE, b"\xff\xff\xff\xff\xff\xff\xff\xff", Ok("data"));
    check_field(UID, b"rootroot", INVALID);
    check_field(UID, b" 7 \0\0\0\0\0", Ok("data"));
    check_field(
        MTIME,
        b"\x80\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff",
        INVALID,
    );
    check_field(MTIME, &[0xff; 12], Ok("data"));
    check_field(DEVICE_MAJOR, b"x\0\0\0\0\0\0\0", INVALID);
}

#[test]
fn the_data_of_a_folder_is_not_skipped() {
    // The size of a folder has no meaning, so what follows is the next header.
    let mut folder = header("c/templates/", b'5', 512);
    folder.set_cksum();
    let file = entry(&header("c/templates/a", b'0', 4), b"data");
    check(&[entry(&folder, b""), file], Ok("data"));
}

#[test]
fn a_block_after_a_block_of_zeros_is_rejected() {
    let file = entry(&header("c/templates/a", b'0', 4), b"data");
    check(&[vec![0; 512], file], INVALID);
}

#[test]
fn sparse_files_are_read_with_their_holes() {
    let records = b"22 GNU.sparse.major=1\n22 GNU.sparse.minor=0\n25 GNU.sparse.realsize=8\n33 GNU.sparse.name=c/templates/a\n";
    let extended = entry(&header("c/x", b'x', records.len()), records);
    let mut data = b"1\n2\n4\n".to_vec();
    data.resize(512, 0);
    data.extend_from_slice(b"data");
    let file = entry(&header("c/templates/sparse", b'0', data.len()), &data);
    check(&[extended.clone(), file], Ok("\0\0data\0\0"));
    let mut data = b"1\n6\n4\n".to_vec();
    data.resize(512, 0);
    data.extend_from_slice(b"data");
    let file = entry(&header("c/templates/sparse", b'0', data.len()), &data);
    check(&[extended, file], INVALID);
}
