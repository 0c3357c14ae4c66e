//! `path`, and `path/filepath` on Unix, where both agree: functions on slash-separated paths.

mod lexical;
mod pattern;

pub use pattern::{BadPattern, matches};

/// `path.Base`
pub fn base(path: &str) -> &str {
    lexical::base(path)
}

/// `path.Ext`
pub fn ext(path: &str) -> &str {
    lexical::ext(path)
}

/// `path.Clean`: the shortest equivalent path, by lexical processing alone.
pub fn clean(path: &str) -> String {
    lexical::clean(path)
}

/// `path.Join` of two elements of which the first is not empty.
pub fn join(dir: &str, name: &str) -> String {
    clean(&format!("{dir}/{name}"))
}

/// The same functions for bytes that need not be UTF-8.
pub mod bytes {
    use super::lexical;

    /// `path.Base`
    pub fn base(path: &[u8]) -> &[u8] {
        lexical::base(path)
    }

    /// `path.Dir`
    pub fn dir(path: &[u8]) -> Vec<u8> {
        lexical::dir(path)
    }

    /// `path.Ext`
    pub fn ext(path: &[u8]) -> &[u8] {
        lexical::ext(path)
    }

    /// `path.IsAbs`
    pub fn is_abs(path: &[u8]) -> bool {
        lexical::is_abs(path)
    }

    /// `path.Clean`
    pub fn clean(path: &[u8]) -> Vec<u8> {
        lexical::clean(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cleans_paths_like_go() {
        let cases = [
            ("", "."),
            ("a//b", "a/b"),
            ("a/./b/..", "a"),
            ("../a", "../a"),
            ("a/../../b", "../b"),
            ("/../a", "/a"),
            ("a/..", "."),
            ("/", "/"),
        ];
        for (path, expected) in cases {
            assert_eq!(clean(path), expected, "{path}");
            assert_eq!(bytes::clean(path.as_bytes()), expected.as_bytes(), "{path}");
        }
    }

    #[test]
    fn splits_off_base_dir_and_ext_like_go() {
        assert_eq!(base(""), ".");
        assert_eq!(base("a/b/"), "b");
        assert_eq!(base("///"), "/");
        assert_eq!(bytes::dir(b"a/b/"), b"a/b");
        assert_eq!(bytes::dir(b"a"), b".");
        assert_eq!(ext("charts/x-1.2.tgz"), ".tgz");
        assert_eq!(ext("a.b/c"), "");
    }
}
