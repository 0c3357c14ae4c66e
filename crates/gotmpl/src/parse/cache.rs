//! Parsed files by their text: a library chart that several subcharts bring along is parsed once, and so is a
//! chart that is rendered again.

use std::collections::HashMap;
use std::sync::Arc;

use super::{ParseError, parse};
use crate::data::Data;
use crate::function::Dialect;
use crate::ir::Parsed;

/// Text that is kept at most, if nothing else is said.
const DEFAULT_BYTES: usize = 64 << 20;

/// Remembers what it parsed. Files of any name share the parse of their text.
#[derive(Debug)]
pub struct ParseCache {
    files: HashMap<Key, Vec<Arc<Parsed>>>,
    bytes: usize,
    max_bytes: usize,
}

/// Texts with different keys differ; texts with one key are compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Key {
    length: usize,
    /// Some bytes of the middle and the end. Many files begin alike.
    sample: [u8; 32],
    dialect: (bool, bool),
}

impl Default for ParseCache {
    fn default() -> Self {
        Self::new(DEFAULT_BYTES)
    }
}

impl ParseCache {
    /// Keeps up to so many bytes of text.
    pub fn new(max_bytes: usize) -> Self {
        Self {
            files: HashMap::new(),
            bytes: 0,
            max_bytes,
        }
    }

    /// Like [`parse`], but from memory if the text was parsed before.
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
        self.keep(key, &parsed);
        Ok(parsed)
    }

    /// How many texts it remembers.
    pub fn len(&self) -> usize {
        self.files.values().map(Vec::len).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.files.is_empty()
    }

    /// Takes over what another cache remembers.
    pub fn absorb(&mut self, other: Self) {
        for (key, files) in other.files {
            for parsed in files {
                self.keep(key.clone(), &parsed);
            }
        }
    }

    fn keep(&mut self, key: Key, parsed: &Arc<Parsed>) {
        if self.bytes + key.length > self.max_bytes {
            self.files.clear();
            self.bytes = 0;
        }
        self.bytes += key.length;
        self.files.entry(key).or_default().push(Arc::clone(parsed));
    }
}

/// One of the files that has this text, under this name.
fn reuse(known: &[Arc<Parsed>], name: &str, source: &Data) -> Option<Arc<Parsed>> {
    let has_text = |parsed: &&Arc<Parsed>| {
        let known = &parsed.tree.source;
        known.is(source) || known == source
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
        let places = [length / 2, length.saturating_sub(sample.len() / 2)];
        for (part, place) in sample.chunks_mut(16).zip(places) {
            let bytes = source.get(place..).unwrap_or_default();
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
    fn a_text_is_parsed_once_under_any_name() {
        let mut cache = ParseCache::default();
        let mut parse = |name, text: &str| cache.parse(name, &text.into(), &Dialect::HELM_4);
        let first = parse("one", TEXT).expect("it parses");
        let again = parse("one", TEXT).expect("it parses");
        let other = parse("two", TEXT).expect("it parses");
        assert!(Arc::ptr_eq(&first, &again));
        assert!(same_tree(&first, &other) && other.name() == "two");
    }

    #[test]
    fn other_texts_dialects_and_names_of_their_own_are_parsed_anew() {
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
    fn a_cache_takes_over_what_another_parsed() {
        let (mut one, mut two) = (ParseCache::default(), ParseCache::default());
        let first = two
            .parse("one", &TEXT.into(), &Dialect::HELM_4)
            .expect("it parses");
        one.absorb(two);
        let again = one
            .parse("one", &TEXT.into(), &Dialect::HELM_4)
            .expect("it parses");
        assert!(Arc::ptr_eq(&first, &again));
    }

    #[test]
    fn parsed_files_can_go_to_other_threads() {
        fn check<T: Send + Sync>(_: &T) {}
        check(&ParseCache::default());
    }

    #[test]
    fn the_cache_forgets_when_it_is_full() {
        let mut cache = ParseCache::new(TEXT.len());
        let first = cache.parse("one", &TEXT.into(), &Dialect::HELM_4);
        let _ = cache.parse("one", &"other".into(), &Dialect::HELM_4);
        let again = cache.parse("one", &TEXT.into(), &Dialect::HELM_4);
        let (first, again) = (first.expect("it parses"), again.expect("it parses"));
        assert!(!same_tree(&first, &again));
    }
}
