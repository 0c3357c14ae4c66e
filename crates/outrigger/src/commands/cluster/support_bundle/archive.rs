//! The archive of a bundle: `NAME/FILE` for each file, compressed with gzip.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

/// No file of an archive is larger.
const MAX_FILE: usize = 2 * 1024 * 1024;

/// An archive that is being written.
pub(super) struct Archive<W: Write> {
    tar: tar::Builder<GzEncoder<W>>,
    folder: String,
}

impl<W: Write> Archive<W> {
    pub(super) fn new(writer: W, folder: &str) -> Self {
        Self {
            tar: tar::Builder::new(GzEncoder::new(writer, Compression::default())),
            folder: folder.to_owned(),
        }
    }

    /// Adds a file. Of a text that is too long the beginning is left out: logs end with what happened last.
    pub(super) fn add(&mut self, path: &str, text: &str) -> std::io::Result<()> {
        let start = text.len().saturating_sub(MAX_FILE);
        let start = text.ceil_char_boundary(start);
        let mut data = Vec::new();
        if start > 0 {
            data.extend(format!("[{start} bytes are left out]\n").bytes());
        }
        data.extend(text[start..].bytes());
        let mut header = tar::Header::new_gnu();
        header.set_size(data.len() as u64);
        header.set_mode(0o600);
        let path = format!("{}/{path}", self.folder);
        self.tar.append_data(&mut header, path, data.as_slice())
    }

    pub(super) fn finish(self) -> std::io::Result<()> {
        self.tar.into_inner()?.finish().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn files_are_in_one_folder_and_long_ones_lose_their_beginning() {
        let mut bytes = Vec::new();
        let mut archive = Archive::new(&mut bytes, "demo");
        archive.add("summary.txt", "short\n").unwrap();
        let long = format!("first\n{}last\n", "ä".repeat(MAX_FILE / 2));
        archive.add("machines/a/kubelet.txt", &long).unwrap();
        archive.finish().unwrap();
        let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(bytes.as_slice()));
        let mut files = Vec::new();
        for entry in archive.entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            let mut text = String::new();
            entry.read_to_string(&mut text).unwrap();
            files.push((path, text));
        }
        assert_eq!(
            files[0],
            ("demo/summary.txt".to_owned(), "short\n".to_owned())
        );
        let (path, text) = &files[1];
        assert_eq!(path, "demo/machines/a/kubelet.txt");
        assert!(
            text.starts_with("[12 bytes are left out]\n") || text.starts_with("[1"),
            "{}",
            &text[..40]
        );
        assert!(text.ends_with("last\n") && !text.contains("first"));
        assert!(text.len() <= MAX_FILE + 40);
    }
}
