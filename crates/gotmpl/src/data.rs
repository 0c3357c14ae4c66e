//! The bytes of a file: shared, at hand or read when they are first looked at.

use std::fmt;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

type Read = Box<dyn FnOnce() -> Vec<u8> + Send>;

/// Shared bytes. Who loads many files of which few are looked at may leave them for later.
#[derive(Clone)]
pub struct Data(Arc<LazyLock<Vec<u8>, Read>>);

impl Data {
    /// Bytes that `read` gives, which is asked once and only if it is needed.
    pub fn later(read: impl FnOnce() -> Vec<u8> + Send + 'static) -> Self {
        Self(Arc::new(LazyLock::new(Box::new(read))))
    }

    /// Whether both share the same bytes, not only equal ones.
    pub(crate) fn is(&self, other: &Self) -> bool {
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
        let data = Self::later(move || bytes);
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
        &self.0
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
    fn bytes_are_read_once_and_only_if_looked_at() {
        let reads = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&reads);
        let data = Data::later(move || {
            count.fetch_add(1, Ordering::Relaxed);
            b"text".to_vec()
        });
        let copy = data.clone();
        assert_eq!(reads.load(Ordering::Relaxed), 0);
        assert_eq!(*copy, b"text");
        assert_eq!(data, Data::from(b"text".to_vec()));
        assert_eq!(reads.load(Ordering::Relaxed), 1);
    }
}
