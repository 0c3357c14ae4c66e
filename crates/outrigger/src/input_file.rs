//! Reads the files that users name, and stdin, within a limit: the wrong file must not exhaust the memory.

use std::io::{self, Read};
use std::path::Path;

use crate::commands::size::Size;

/// The largest file: as much as Helm accepts for a whole chart.
pub(crate) const MAX_BYTES: u64 = 100 << 20;

/// Reads a file or a named pipe.
pub(crate) fn read(path: &Path) -> io::Result<Vec<u8>> {
    // Without the wrapper, whose reader initializes the buffer first.
    let (file, _) = fs_err::File::open(path)?.into_parts();
    let name = path.display().to_string();
    if file.metadata()?.len() > MAX_BYTES {
        return Err(too_large(&name));
    }
    read_to_limit(file, &name)
}

/// Reads a file of text.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
    let why = |error| {
        io::Error::new(
            io::ErrorKind::InvalidData,
            format!("{}: {error}", path.display()),
        )
    };
    String::from_utf8(read(path)?).map_err(why)
}

pub(crate) fn read_stdin() -> io::Result<Vec<u8>> {
    read_to_limit(io::stdin().lock(), "stdin")
}

/// Reads text from stdin.
pub(crate) fn read_stdin_text() -> io::Result<String> {
    let why = |error| io::Error::new(io::ErrorKind::InvalidData, format!("stdin: {error}"));
    String::from_utf8(read_stdin()?).map_err(why)
}

fn read_to_limit(from: impl Read, name: &str) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = from.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    read.map_err(|error| io::Error::new(error.kind(), format!("failed to read {name}: {error}")))?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(too_large(name));
    }
    Ok(bytes)
}

fn too_large(name: &str) -> io::Error {
    let limit = Size::from(MAX_BYTES);
    io::Error::new(
        io::ErrorKind::FileTooLarge,
        format!("{name} is larger than the limit of {limit}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_beyond_the_limit_are_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("values.yaml");
        fs_err::write(&path, "a: 1").unwrap();
        assert_eq!(read(&path).unwrap(), b"a: 1");
        assert_eq!(read_text(&path).unwrap(), "a: 1");
        let file = fs_err::File::create(&path).unwrap();
        file.set_len(10 << 30).unwrap();
        for path in [&*path, Path::new("/dev/zero")] {
            let error = read(path).unwrap_err().to_string();
            let expected = format!("{} is larger than the limit of 100.0 MiB", path.display());
            assert_eq!(error, expected);
        }
    }

    #[test]
    fn errors_name_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let error = read(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
        assert!(
            error
                .to_string()
                .contains(&folder.path().display().to_string())
        );
        fs_err::write(folder.path().join("a"), b"\xff").unwrap();
        let error = read_text(&folder.path().join("a")).unwrap_err();
        assert!(error.to_string().contains("invalid utf-8"), "{error}");
    }
}
