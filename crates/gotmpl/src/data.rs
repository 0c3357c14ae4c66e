//! The bytes of a file: shared, and loaded on first use.

use std::fmt;
use std::io;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type Read = Box<dyn FnOnce() -> Contents + Send>;

/// Shared bytes, perhaps loaded lazily: a chart may have many files of which templates use few.
///
/// The bytes of a file that cannot be read are empty, and [`Self::read_error`] has the reason: whoever uses lazy data
/// must check it before using the result.
#[derive(Clone)]
pub struct Data(Arc<LazyLock<Contents, Read>>);

struct Contents {
    bytes: Vec<u8>,
    error: Option<io::Error>,
}

impl Data {
    /// Bytes that `read` returns. It is called at most once, on first use.
    pub fn lazy(read: impl FnOnce() -> io::Result<Vec<u8>> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(|| match read() {
            Ok(bytes) => Contents { bytes, error: None },
            Err(error) => Contents {
                bytes: Vec::new(),
                error: Some(error),
            },
        }))))
    }

    /// Why the bytes could not be read, if they were used.
    pub fn read_error(&self) -> Option<&io::Error> {
        LazyLock::get(&self.0)?.error.as_ref()
    }

    pub(crate) fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl From<&[u8]> for Data {
    fn from(bytes: &[u8]) -> Self {
        bytes.to_vec().into()
    }
}

impl From<&str> for Data {
    fn from(text: &str) -> Self {
        text.as_bytes().into()
    }
}

impl From<Vec<u8>> for Data {
    fn from(bytes: Vec<u8>) -> Self {
        let data = Self::lazy(move || Ok(bytes));
        LazyLock::force(&data.0);
        data
    }
}

impl Default for Data {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl Deref for Data {
    type Target = Vec<u8>;

    fn deref(&self) -> &Vec<u8> {
        &self.0.bytes
    }
}

impl PartialEq for Data {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Data {}

impl fmt::Debug for Data {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.escape_ascii().to_string(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn reads_lazy_bytes_once_and_on_first_use() {
        let reads = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reads);
        let data = Data::lazy(move || {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(b"text".to_vec())
        });
        let copy = data.clone();
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        assert_eq!(*copy, b"text");
        assert_eq!(data, Data::from(b"text".to_vec()));
        assert_eq!(reads.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_failed_read_is_reported_once_the_bytes_are_used() {
        let data = Data::lazy(|| Err(io::ErrorKind::NotFound.into()));
        assert!(data.read_error().is_none());
        assert!(data.is_empty());
        let error = data.read_error().map(io::Error::kind);
        assert_eq!(error, Some(io::ErrorKind::NotFound));
    }
}
