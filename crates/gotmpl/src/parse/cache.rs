//! A cache of parsed files by their text: a library chart that several subcharts contain is parsed once, and so is a
//! chart that is rendered again.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ParseError, parse};
use crate::data::Data;
use crate::function::Dialect;
use crate::ir::Parsed;

/// The default limit on cached text.
const DEFAULT_BYTES: usize = 64 << 20;

/// Caches parsed files. Files with the same text share a parse tree, whatever their names.
#[derive(Debug)]
pub struct ParseCache {
    files: HashMap<Key, Vec<Arc<Parsed>>>,
    bytes: usize,
    max_bytes: usize,
}

/// A hash key: texts with the same key are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    length: usize,
    /// Bytes from the middle and the end, since many files start alike.
    sample: [u8; 32],
    dialect: (bool, bool),
}

impl Default for ParseCache {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl ParseCache {
    /// A cache of at most `max_bytes` of text.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            files: HashMap::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// [`parse`], unless the text is in the cache.
    pub fn parse(
        &mut self,
        name: &str,
        source: &Data,
        dialect: &Dialect,
    ) -> Result<Arc<Parsed>, ParseError> {
        let key = Key::new(source, dialect);
        if let Some(known) = self.files.get(&key)
            && let Some(found) = reuse(known, name, source)
        {
            return Ok(found);
        }
        let parsed = parse(name, source.clone(), dialect)?;
        self.insert(key, &parsed);
        Ok(parsed)
    }

    /// The number of cached texts.
    pub fn len(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Adds the files of another cache.
    pub fn merge(&mut self, other: Self) {
        for (key, files) in other.files {
            for parsed in files {
                self.insert(key.clone(), &parsed);
            }
        }
    }

    fn insert(&mut self, key: Key, parsed: &Arc<Parsed>) {
        if self.bytes + key.length > self.max_bytes {
            self.files.clear();
            self.bytes = 0;
        }
        self.bytes += key.length;
        self.files.entry(key).or_default().push(Arc::clone(parsed));
    }
}

/// The cached file with this text, renamed if necessary.
fn reuse(known: &[Arc<Parsed>], name: &str, source: &Data) -> Option<Arc<Parsed>> {
    let has_text = |parsed: &&Arc<Parsed>| {
        let known = &parsed.tree.source;
        known.ptr_eq(source) || known == source
    };
    let parsed = known.iter().find(has_text)?;
    if parsed.name() == name {
        return Some(Arc::clone(parsed));
    }
    parsed.renamed(name).map(Arc::new)
}

impl Key {
    fn new(source: &[u8], dialect: &Dialect) -> Self {
        let length = source.len();
        let mut sample = [0; 32];
        let offsets = [length / 2, length.saturating_sub(sample.len() / 2)];
        for (part, offset) in sample.chunks_mut(16).zip(offsets) {
            let bytes = source.get(offset..).unwrap_or_default();
            part.iter_mut()
                .zip(bytes)
                .for_each(|(to, from)| *to = *from);
        }
        Self {
            length,
            sample,
            dialect: (dialect.range_over_int, dialect.must_to_functions),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"{{ define "a" }}x{{ end }}{{ .a.b.c.d.e.f.g.h }}"#;

    fn same_tree(a: &Parsed, b: &Parsed) -> bool {
        Arc::ptr_eq(&a.tree, &b.tree)
    }

    #[test]
    fn parses_a_text_once_for_all_names() {
        let mut cache = ParseCache::default();
        let mut parse = |name, text: &str| cache.parse(name, &text.into(), &Dialect::HELM_4);
        let first = parse("one", TEXT).expect("it parses");
        let again = parse("one", TEXT).expect("it parses");
        let other = parse("two", TEXT).expect("it parses");
        assert!(Arc::ptr_eq(&first, &again));
        assert!(same_tree(&first, &other) && other.name() == "two");
    }

    #[test]
    fn parses_again_for_another_dialect_or_a_name_that_the_text_defines() {
        let mut cache = ParseCache::default();
        let first = cache.parse("one", &TEXT.into(), &Dialect::HELM_4);
        let first = first.expect("it parses");
        let older = cache.parse("one", &TEXT.into(), &Dialect::HELM_3);
        assert!(!same_tree(&first, &older.expect("it parses")));
        let error = cache.parse("a", &TEXT.into(), &Dialect::HELM_4);
        let error = error.expect_err("the file defines its own name");
        assert!(error.message.contains("multiple definition"), "{error}");
    }

    #[test]
    fn merges_the_files_of_another_cache() {
        let (mut one, mut two) = (ParseCache::default(), ParseCache::default());
        let first = two
            .parse("one", &TEXT.into(), &Dialect::HELM_4)
            .expect("it parses");
        one.merge(two);
        let again = one
            .parse("one", &TEXT.into(), &Dialect::HELM_4)
            .expect("it parses");
        assert!(Arc::ptr_eq(&first, &again));
    }

    #[test]
    fn is_send_and_sync() {
        fn check<T: Send + Sync>(_: &T) {}
        check(&ParseCache::default());
    }

    #[test]
    fn is_cleared_when_it_is_full() {
        let mut cache = ParseCache::new(TEXT.len());
        let first = cache.parse("one", &TEXT.into(), &Dialect::HELM_4);
        let _ = cache.parse("one", &"other".into(), &Dialect::HELM_4);
        let again = cache.parse("one", &TEXT.into(), &Dialect::HELM_4);
        let (first, again) = (first.expect("it parses"), again.expect("it parses"));
        assert!(!same_tree(&first, &again));
    }
}
