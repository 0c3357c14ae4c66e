//! Archives that Go writes in several ways, and broken ones.

use super::*;

fn header(name: &[u8], kind: u8, size: u64) -> Vec<u8> {
    let mut block = vec![0; BLOCK];
    block[..name.len()].copy_from_slice(name);
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[156] = kind;
    block[257..265].copy_from_slice(b"ustar  \0");
    with_checksum(block)
}

fn with_checksum(mut block: Vec<u8>) -> Vec<u8> {
    block[148..156].fill(b' ');
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn padded(data: &[u8]) -> Vec<u8> {
    let mut data = data.to_vec();
    data.resize(data.len().next_multiple_of(BLOCK), 0);
    data
}

/// The names and contents of all entries.
fn read(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    let mut reader = Reader::new(archive);
    let mut entries = Vec::new();
    let text = |error: Error| error.to_string();
    while let Some(header) = reader.next_entry().map_err(text)? {
        let name = String::from_utf8_lossy(&header.name).into_owned();
        entries.push((name, reader.read_file().map_err(text)?));
    }
    Ok(entries)
}

#[test]
fn long_names_replace_the_name_of_the_next_entry() {
    let name = "n".repeat(300);
    let archive = [
        header(b"././@LongLink", kind::GNU_LONG_NAME, 301),
        padded(format!("{name}\0").as_bytes()),
        header(b"short", kind::REGULAR, 1),
        padded(b"x"),
        header(b"other", kind::REGULAR, 0),
    ]
    .concat();
    let expected = vec![(name, b"x".to_vec()), ("other".to_owned(), Vec::new())];
    assert_eq!(read(&archive), Ok(expected));
}

#[test]
fn special_files_are_limited_to_a_mebibyte() {
    for kind in [kind::GNU_LONG_NAME, kind::GNU_LONG_LINK, kind::EXTENDED] {
        let size = MAX_SPECIAL_FILE as u64 + 1;
        let archive = [header(b"x", kind, size), vec![b'x'; 2 * MAX_SPECIAL_FILE]].concat();
        let error = read(&archive).unwrap_err();
        assert_eq!(error, "archive/tar: header field too long");
    }
}

#[test]
fn sparse_files_of_the_old_format_are_read() {
    let sparse = |fragments: &[(u64, u64)], real_size: u64, data: &[u8]| {
        let mut block = header(b"s", kind::GNU_SPARSE, data.len() as u64);
        for (index, (offset, length)) in fragments.iter().enumerate() {
            let at = 386 + index * 24;
            let entry = format!("{offset:011o}\0{length:011o}\0");
            block[at..at + 24].copy_from_slice(entry.as_bytes());
        }
        block[483..495].copy_from_slice(format!("{real_size:011o}\0").as_bytes());
        [with_checksum(block), padded(data)].concat()
    };
    let expected = vec![("s".to_owned(), b"\0ab\0c".to_vec())];
    assert_eq!(read(&sparse(&[(1, 2), (4, 1)], 5, b"abc")), Ok(expected));
    for (fragments, real_size, data, error) in [
        (&[(4, 1), (1, 2)][..], 5, "abc", "invalid tar header"),
        (&[(1, 2), (4, 2)], 5, "abcd", "invalid tar header"),
        (
            &[(1, 3)],
            5,
            "ab",
            "sparse file references non-existent data",
        ),
        (
            &[(1, 2)],
            5,
            "abc",
            "sparse file contains unreferenced data",
        ),
    ] {
        let found = read(&sparse(fragments, real_size, data.as_bytes()));
        assert_eq!(found, Err(format!("archive/tar: {error}")));
    }
}

#[test]
fn every_truncation_is_an_error_or_the_end() {
    let archive = [
        header(b"a", kind::REGULAR, 3),
        padded(b"abc"),
        vec![0; 2 * BLOCK],
    ]
    .concat();
    for end in 0..archive.len() {
        let expected = match end {
            0 => Ok(0),
            1..BLOCK => Err("unexpected end of file".to_owned()),
            // The padding of the last entry and the zeros may be missing.
            _ if end < BLOCK + 3 => Err("unexpected end of file".to_owned()),
            _ if end > 2 * BLOCK && end < 4 * BLOCK && end != 3 * BLOCK => {
                Err("unexpected end of file".to_owned())
            }
            _ => Ok(1),
        };
        let found = read(&archive[..end]).map(|entries| entries.len());
        assert_eq!(found, expected, "{end}");
    }
}
