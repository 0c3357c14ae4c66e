//! The log of an operator: two files, of which the older one is dropped.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The largest file.
const MAX_BYTES: u64 = 1 << 20;

/// A log of bounded size. Clones write to the same file.
#[derive(Debug, Clone)]
pub(super) struct BoundedLog {
    path: PathBuf,
    /// Held while a piece is written.
    writing: Arc<Mutex<()>>,
}

impl BoundedLog {
    pub(super) fn new(path: PathBuf) -> Self {
        Self {
            path,
            writing: Arc::default(),
        }
    }

    /// Writes all output of a pipe.
    pub(super) async fn copy(&self, pipe: Option<impl AsyncRead + Unpin>) {
        let Some(mut pipe) = pipe else { return };
        let mut buffer = vec![0; 16 << 10];
        while let Ok(read) = pipe.read(&mut buffer).await {
            if read == 0 {
                return;
            }
            self.write(&buffer[..read]);
        }
    }

    pub(super) fn line(&self, text: &str) {
        self.write(format!("{text}\n").as_bytes());
    }

    /// A log that cannot be written, because the disk is full, holds up nothing.
    fn write(&self, bytes: &[u8]) {
        let _writing = self.writing.lock().unwrap_or_else(PoisonError::into_inner);
        let size = fs_err::metadata(&self.path).map_or(0, |metadata| metadata.len());
        if size + bytes.len() as u64 > MAX_BYTES {
            let _ = fs_err::rename(&self.path, self.path.with_extension("log.1"));
        }
        let mut options = fs_err::OpenOptions::new();
        if let Ok(mut file) = options.append(true).create(true).open(&self.path) {
            let _ = file.write_all(bytes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_log_never_exceeds_its_limit() {
        let folder = tempfile::tempdir().unwrap();
        let log = BoundedLog::new(folder.path().join("operator.log"));
        let output = vec![b'x'; 5 << 20];
        log.copy(Some(&output[..])).await;
        let files = fs_err::read_dir(folder.path()).unwrap();
        let sizes = files.map(|file| file.unwrap().metadata().unwrap().len());
        let sizes: Vec<u64> = sizes.collect();
        assert_eq!(sizes.len(), 2);
        assert!(sizes.iter().all(|size| *size <= MAX_BYTES), "{sizes:?}");
    }
}
