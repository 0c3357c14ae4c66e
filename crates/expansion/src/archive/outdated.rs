//! Chunks that an earlier package left beside a new one of the same name. Together they would be no package.

use std::io;
use std::path::{Path, PathBuf};

use super::chunk::read_header;
use super::output::folder_of;

/// Removes the chunks with the name of a package that it does not have: `demo.tar.zst.004` of one that has three. A file
/// that only has such a name, and does not begin like that chunk, is not touched.
pub(crate) fn remove_outdated_chunks(target: &Path, written: &[PathBuf]) -> io::Result<()> {
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    for entry in fs_err::read_dir(folder_of(target))? {
        let entry = entry?;
        let file = entry.file_name();
        let number = file.to_str().and_then(|file| number_of(file, &name));
        let Some(number) = number else { continue };
        let is_written = written.iter().any(|path| path.file_name() == Some(&*file));
        if is_written || !entry.file_type()?.is_file() {
            continue;
        }
        let header = read_header(&entry.path())?;
        if header.is_some_and(|header| header.is_ok_and(|header| header.number == number)) {
            fs_err::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// The number of a chunk whose name is written as `chunk_path` writes it.
fn number_of(file: &str, target: &str) -> Option<u32> {
    let text = file.strip_prefix(target)?.strip_prefix('.')?;
    let number: u32 = text.parse().ok()?;
    (format!("{number:03}") == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_chunks_have_a_number() {
        let number = |file: &str| number_of(file, "demo.tar.zst");
        assert_eq!(number("demo.tar.zst.004"), Some(4));
        assert_eq!(number("demo.tar.zst.1234"), Some(1234));
        for other in [
            "demo.tar.zst",
            "demo.tar.zst.4",
            "demo.tar.zst.0004",
            "demo.tar.zst.+04",
            "demo.tar.zst.old",
            "other.tar.zst.004",
        ] {
            assert_eq!(number(other), None, "{other}");
        }
    }
}
