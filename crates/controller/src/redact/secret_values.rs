//! The values in one version of a Secret, in all forms in which a message may quote them.
//!
//! A Secret can have tens of thousands of values, and each has many forms. They are computed once for all plugins that use the
//! Secret, when the first message is redacted, and not on a thread that other tasks wait for.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use serde_json::Value;

use super::forms;
use crate::task;

/// Shorter values occur in any message; they are left alone.
const MIN_LENGTH: usize = 3;

/// The maximum size of the data, in bytes. The API server allows 1 MiB.
const MAX_DATA: usize = 2 << 20;

/// The maximum size of all forms of the values, in bytes.
const MAX_FORMS: usize = 64 << 20;

/// A version of a Secret, and the key that is used, if not all are.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct SecretVersion {
    pub(crate) uid: String,
    pub(crate) resource_version: String,
    pub(crate) key: Option<String>,
}

/// The versions that are in use.
#[derive(Debug, Default)]
pub(crate) struct SecretCache {
    versions: Mutex<HashMap<SecretVersion, Weak<SecretValues>>>,
}

impl SecretCache {
    /// The values of a version. `data` is called if it is not known.
    pub(crate) fn get(
        &self,
        version: SecretVersion,
        data: impl FnOnce() -> Vec<Vec<u8>>,
    ) -> Arc<SecretValues> {
        let versions = self.versions.lock();
        let mut versions = versions.unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = versions.get(&version).and_then(Weak::upgrade) {
            return known;
        }
        versions.retain(|_, values| values.strong_count() > 0);
        let values = Arc::new(SecretValues::new(data()));
        versions.insert(version, Arc::downgrade(&values));
        values
    }
}

/// The values in the data of a Secret. Data that is YAML stands for its strings and numbers.
pub(crate) struct SecretValues {
    data: Vec<Vec<u8>>,
    /// Computed when it is needed; `None` if it would be too large.
    forms: OnceLock<Option<Forms>>,
}

impl fmt::Debug for SecretValues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SecretValues").finish_non_exhaustive()
    }
}

impl SecretValues {
    pub(super) fn new(data: Vec<Vec<u8>>) -> Self {
        Self {
            data,
            forms: OnceLock::new(),
        }
    }

    /// The values that a text in lower case contains; `None` if there are too many to search for.
    pub(super) fn found_in(&self, lower: &str, trigrams: &Trigrams) -> Option<Vec<&str>> {
        let size = self.data.iter().map(Vec::len).sum();
        let found = || {
            let forms = self.forms.get_or_init(|| Forms::of(&self.data, size));
            let forms = forms.as_ref()?.iter();
            let found = forms.filter(|form| trigrams.may_contain(form) && lower.contains(*form));
            Some(found.collect())
        };
        task::run_blocking(size, found)
    }
}

/// Texts in one allocation, with ASCII letters in lower case.
#[derive(Default)]
struct Forms {
    text: String,
    /// The ends of the texts.
    ends: Vec<usize>,
}

impl Forms {
    fn of(data: &[Vec<u8>], size: usize) -> Option<Self> {
        let mut forms = Self::default();
        if size > MAX_DATA {
            return None;
        }
        for bytes in data {
            let Ok(text) = std::str::from_utf8(bytes) else {
                continue;
            };
            forms.add_text(text)?;
            if let Ok(value) = outrigger_goyaml::parse_json(bytes) {
                forms.add_leaves(&value)?;
            }
        }
        Some(forms)
    }

    fn iter(&self) -> impl Iterator<Item = &str> {
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends);
        ranges.map(|(start, end)| &self.text[start..*end])
    }

    /// Adds the strings and numbers of a document. `None` if that is too much.
    fn add_leaves(&mut self, value: &Value) -> Option<()> {
        match value {
            Value::Null | Value::Bool(_) => Some(()),
            Value::Number(number) => {
                let mut texts = forms::of_number(number).into_iter();
                texts.try_for_each(|text| self.add_text(&text))
            }
            Value::String(text) => self.add_text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.add_leaves(item)),
            Value::Object(fields) => fields.values().try_for_each(|item| self.add_leaves(item)),
        }
    }

    /// Adds a text and its lines, in all forms.
    fn add_text(&mut self, text: &str) -> Option<()> {
        let whole = [text, text.trim()].into_iter();
        let lines = text.lines().map(str::trim);
        let mut last = "";
        for part in whole.chain(lines) {
            if part == last || part.chars().nth(MIN_LENGTH - 1).is_none() {
                continue;
            }
            last = part;
            let mut forms = forms::of_text(part);
            for form in &mut forms {
                form.make_ascii_lowercase();
            }
            forms.sort_unstable();
            forms.dedup();
            for form in forms {
                self.text.push_str(&form);
                self.ends.push(self.text.len());
            }
            if self.text.len() > MAX_FORMS {
                return None;
            }
        }
        Some(())
    }
}

/// Which sequences of three bytes a text contains. Tells quickly that a text does not contain most values.
pub(super) struct Trigrams(Vec<u64>);

/// The number of bits. Different trigrams may share one.
const TRIGRAM_BITS: usize = 1 << 18;

impl Trigrams {
    pub(super) fn of(text: &str) -> Self {
        let mut bits = vec![0; TRIGRAM_BITS / 64];
        for trigram in text.as_bytes().windows(3) {
            let at = position(trigram);
            bits[at / 64] |= 1 << (at % 64);
        }
        Self(bits)
    }

    /// False if the text does not contain the value.
    fn may_contain(&self, value: &str) -> bool {
        let is_set = |trigram: &[u8]| {
            let at = position(trigram);
            self.0[at / 64] & (1 << (at % 64)) != 0
        };
        value.as_bytes().windows(3).all(is_set)
    }
}

fn position(trigram: &[u8]) -> usize {
    let number = trigram
        .iter()
        .fold(0, |number, byte| number << 8 | usize::from(*byte));
    number.wrapping_mul(0x9e37_79b1) % TRIGRAM_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_once_and_kept_as_long_as_it_is_used() {
        let cache = SecretCache::default();
        let version = SecretVersion {
            uid: "u".to_owned(),
            resource_version: "1".to_owned(),
            key: None,
        };
        let first = cache.get(version.clone(), || vec![b"hunter2".to_vec()]);
        let second = cache.get(version.clone(), || unreachable!("it is known"));
        assert!(Arc::ptr_eq(&first, &second));
        drop((first, second));
        let third = cache.get(version, || vec![b"other".to_vec()]);
        assert!(third.data == [b"other"]);
    }

    /// A legal Secret with 70,000 values froze the controller for seconds.
    #[test]
    fn many_values_are_searched_for_in_one_go() {
        let items: Vec<String> = (0..70_000).map(|n| format!("- v{n:06}")).collect();
        let values = SecretValues::new(vec![items.join("\n").into_bytes()]);
        let search = |text: &str| {
            values
                .found_in(text, &Trigrams::of(text))
                .map(|it| it.len())
        };
        assert_eq!(search("nothing to be found here"), Some(0));
        let text = "job failed: v012345 is not valid, v065000 neither";
        assert!(search(text).is_some_and(|found| found >= 2));
    }

    #[test]
    fn data_that_is_too_large_is_not_searched() {
        let values = SecretValues::new(vec![vec![b'x'; MAX_DATA + 1]]);
        assert!(
            values
                .found_in("any text", &Trigrams::of("any text"))
                .is_none()
        );
    }
}
