//! Packages in chunks: their names and order do not matter, and what is wrong with one names it.

use std::path::PathBuf;

use outrigger_expansion::archive::MIN_CHUNK;
use outrigger_expansion::build::BuildOptions;

use crate::sample::{Sample, chain, extract_to, open_package};

/// The package in a folder of its own, in chunks.
struct Chunked {
    sample: Sample,
    folder: PathBuf,
    paths: Vec<PathBuf>,
}

fn chunked() -> Chunked {
    let sample = Sample::new();
    let folder = sample.path("chunks");
    fs_err::create_dir(&folder).unwrap();
    let written = sample.build_with(
        "chunks/a.tar.zst",
        &BuildOptions::default(),
        Some(MIN_CHUNK),
    );
    assert!(written.paths.len() >= 4, "{}", written.paths.len());
    Chunked {
        sample,
        folder,
        paths: written.paths,
    }
}

impl Chunked {
    #[track_caller]
    fn check(&self, expected: &str) {
        let folder = self.folder.display().to_string();
        let error = chain(&open_package(&self.folder).unwrap_err()).replace(&folder, "");
        assert!(error.starts_with(expected), "{error}");
    }
}

#[test]
fn chunks_are_the_package_under_any_names() {
    let chunked = chunked();
    let whole = chunked.sample.build("a.tar.zst");
    let sizes = chunked
        .paths
        .iter()
        .map(|path| fs_err::metadata(path).unwrap().len());
    assert!(
        sizes.clone().all(|size| size <= MIN_CHUNK),
        "{:?}",
        sizes.collect::<Vec<_>>()
    );
    // Names in another order than the numbers, beside a file that is no chunk.
    for (number, path) in chunked.paths.iter().enumerate() {
        fs_err::rename(path, chunked.folder.join(format!("{}.bin", 9 - number))).unwrap();
    }
    fs_err::write(chunked.folder.join("README"), "copied on Monday\n").unwrap();
    let expected = open_package(&whole).unwrap().scanned;
    assert_eq!(open_package(&chunked.folder).unwrap().scanned, expected);
    assert_eq!(
        open_package(&chunked.folder.join("9.bin")).unwrap().scanned,
        expected
    );
    extract_to(&chunked.folder, None, &chunked.sample.path("extracted"));
    // Without their first lines they are the file.
    let mut joined = Vec::new();
    for number in 0..chunked.paths.len() {
        let bytes = fs_err::read(chunked.folder.join(format!("{}.bin", 9 - number))).unwrap();
        joined.extend_from_slice(&bytes[512..]);
    }
    assert!(joined == fs_err::read(whole).unwrap());
}

#[test]
fn a_rebuild_with_fewer_chunks_removes_those_of_the_old_package_only() {
    let chunked = chunked();
    let count = chunked.paths.len();
    let foreign = [
        chunked.folder.join("b.tar.zst.004"),
        chunked.folder.join(format!("a.tar.zst.{:03}", count + 1)),
    ];
    fs_err::copy(&chunked.paths[3], &foreign[0]).unwrap();
    fs_err::write(&foreign[1], "not a chunk").unwrap();
    let rebuild = |chunk_size| {
        let options = BuildOptions::default();
        let name = "chunks/a.tar.zst";
        chunked.sample.build_with(name, &options, chunk_size).paths
    };
    let written = rebuild(Some(2 * MIN_CHUNK));
    assert!(written.len() < count && written.len() > 1, "{written:?}");
    let left = |paths: &[PathBuf]| paths.iter().filter(|path| path.exists()).count();
    assert_eq!(left(&chunked.paths), written.len());
    assert_eq!(left(&foreign), 2);
    // A copy under another name is not removed, but of the same package with other chunks.
    fs_err::remove_file(&foreign[0]).unwrap();
    open_package(&written[0]).unwrap();
    rebuild(None);
    assert_eq!(left(&chunked.paths), 0);
    assert_eq!(left(&foreign), 1);
}

#[test]
fn missing_and_repeated_chunks_are_named() {
    let chunked = chunked();
    let count = chunked.paths.len();
    fs_err::rename(&chunked.paths[1], chunked.sample.path("away")).unwrap();
    chunked.check(&format!(": chunks 2 of {count} are missing\n"));
    fs_err::rename(chunked.sample.path("away"), &chunked.paths[1]).unwrap();
    fs_err::copy(&chunked.paths[2], chunked.folder.join("b")).unwrap();
    chunked.check("/a.tar.zst.003 and /b are both chunk 3 of the package\n");
}

#[test]
fn chunks_of_another_package_are_named() {
    let chunked = chunked();
    let other = Sample::new();
    other.define("1.0.0", "2.0.0");
    let written = other.build_with("b.tar.zst", &BuildOptions::default(), Some(MIN_CHUNK));
    let foreign = chunked.folder.join("b.tar.zst.002");
    fs_err::copy(&written.paths[1], &foreign).unwrap();
    chunked.check("/b.tar.zst.002 is a chunk of another package than /a.tar.zst.001\n");
    // Who names a chunk means its package.
    open_package(&chunked.paths[0]).unwrap();
    fs_err::remove_file(&chunked.paths[1]).unwrap();
    let error = open_package(&chunked.paths[0]).unwrap_err().to_string();
    let expected = "are missing; ";
    assert!(
        error.contains(expected) && error.ends_with("is a chunk of another package"),
        "{error}"
    );
}

#[test]
fn the_chunk_that_is_damaged_is_named() {
    let chunked = chunked();
    let original = fs_err::read(&chunked.paths[1]).unwrap();
    let change = |at: usize| {
        let mut bytes = original.clone();
        bytes[at] ^= 1;
        fs_err::write(&chunked.paths[1], bytes).unwrap();
    };
    change(600);
    chunked.check("the chunk /a.tar.zst.002 is damaged: it has digest sha256:");
    change(3);
    // A file that does not begin like a chunk is none.
    let count = chunked.paths.len();
    chunked.check(&format!(": chunks 2 of {count} are missing\n"));
    change(400);
    chunked
        .check("/a.tar.zst.002 begins like a chunk of a package, but its first line is damaged\n");
    fs_err::write(&chunked.paths[1], &original[..original.len() - 1]).unwrap();
    chunked.check("the chunk /a.tar.zst.002 has ");
}

/// Wherever a bit flips in a chunk, its first line included, the package is not read.
#[test]
fn each_flipped_bit_of_a_chunk_is_found() {
    let chunked = chunked();
    let original = fs_err::read(&chunked.paths[1]).unwrap();
    for at in (0..520).chain((520..original.len()).step_by(101)) {
        let mut bytes = original.clone();
        bytes[at] ^= 1 << (at % 8);
        fs_err::write(&chunked.paths[1], bytes).unwrap();
        assert!(open_package(&chunked.folder).is_err(), "{at}");
    }
}
