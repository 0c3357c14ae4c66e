//! YAML exactly as Helm reads and writes it: go-yaml v2 behind the JSON conversion of sigs.k8s.io/yaml.
//!
//! Pure: bytes in, values or text out. This crate has no value type of its own: a reader gives a [`Builder`],
//! a writer drives an emitter.

use std::borrow::Cow;

/// Makes the caller's values out of a parsed document, after the conversion to JSON: keys are strings,
/// merge keys are applied, aliases are expanded (each use is built anew), of equal keys the last one stays.
pub trait Builder {
    type Value;

    fn null(&mut self) -> Self::Value;
    fn bool(&mut self, value: bool) -> Self::Value;
    fn int(&mut self, value: i64) -> Self::Value;
    /// An integer above `i64::MAX`.
    fn uint(&mut self, value: u64) -> Self::Value;
    fn float(&mut self, value: f64) -> Self::Value;
    fn string(&mut self, value: Cow<'_, str>) -> Self::Value;
    fn list(&mut self, items: Vec<Self::Value>) -> Self::Value;
    /// Entries in document order, keys unique.
    fn map(&mut self, entries: Vec<(Cow<'_, str>, Self::Value)>) -> Self::Value;
}
