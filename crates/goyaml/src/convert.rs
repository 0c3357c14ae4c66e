//! The conversion of a decoded document to JSON: checks of keys, numbers and depth, and the text of keys.

use std::borrow::Cow;

use crate::Builder;
use crate::build::{build_scalar, unique};
use crate::document::{Decoded, Document};
use crate::error::Error;
use crate::fast_path::{MAX_JSON_DEPTH, bool_key, float_key};
use crate::go_syntax::go_syntax;
use crate::resolve::Resolved;

/// Whether the value at an index is decoded into a string, which every number can be.
pub(crate) type BecomesText<'f> = &'f dyn Fn(usize) -> bool;

impl Document<'_> {
    /// Reports the errors of the conversion in Go's order. Returns the depth of the document.
    pub(crate) fn check(&self, becomes_text: BecomesText<'_>) -> Result<usize, Error> {
        let depth = self.check_keys()?;
        self.check_numbers(becomes_text)?;
        if depth > MAX_JSON_DEPTH {
            return Err(Error::Depth);
        }
        Ok(depth)
    }

    /// Checks the keys, and returns the depth. Go visits entries in random order, this function in document order.
    fn check_keys(&self) -> Result<usize, Error> {
        let mut deepest = 0;
        let mut left = vec![(None, self.root, 1)];
        while let Some((key, at, depth)) = left.pop() {
            if let Some(key) = key {
                self.check_key(key, at)?;
            }
            match &self.values[at] {
                Decoded::Scalar(..) => continue,
                Decoded::List(items) => {
                    left.extend(items.iter().rev().map(|&item| (None, item, depth + 1)));
                }
                Decoded::Map(entries) => {
                    let entries = entries.iter().rev();
                    left.extend(entries.map(|&(key, value)| (Some(key), value, depth + 1)));
                }
            }
            deepest = deepest.max(depth);
        }
        Ok(deepest)
    }

    fn check_key(&self, key: usize, value: usize) -> Result<(), Error> {
        let ty = match self.values[key] {
            Decoded::Scalar(Resolved::Null, _) => "%!s(<nil>)",
            Decoded::Scalar(Resolved::Uint(_), _) => "uint64",
            _ => return Ok(()),
        };
        Err(Error::KeyType {
            ty,
            key: go_syntax(&self.values, key),
            value: go_syntax(&self.values, value),
        })
    }

    /// Reports a number that JSON does not have, in the order of the encoder.
    fn check_numbers(&self, becomes_text: BecomesText<'_>) -> Result<(), Error> {
        let is_special = |value: &Decoded<'_>| matches!(value, Decoded::Scalar(Resolved::Float(number), _) if !number.is_finite());
        if !self.values.iter().any(is_special) {
            return Ok(());
        }
        let mut left = vec![self.root];
        while let Some(at) = left.pop() {
            match &self.values[at] {
                Decoded::Scalar(Resolved::Float(number), _)
                    if !number.is_finite() && !becomes_text(at) =>
                {
                    return Err(Error::UnsupportedNumber(match *number {
                        f64::INFINITY => "+Inf",
                        f64::NEG_INFINITY => "-Inf",
                        _ => "NaN",
                    }));
                }
                Decoded::Scalar(..) => {}
                Decoded::List(items) => left.extend(items.iter().rev()),
                Decoded::Map(_) => {
                    let entries = self.sorted_entries(at);
                    left.extend(entries.iter().rev().map(|(_, value)| value));
                }
            }
        }
        Ok(())
    }

    /// The entries of a map with unique string keys, sorted.
    pub(crate) fn sorted_entries(&self, map: usize) -> Vec<(Cow<'_, str>, usize)> {
        let Decoded::Map(entries) = &self.values[map] else {
            return Vec::new();
        };
        let entries = entries
            .iter()
            .map(|&(key, value)| (self.key_text(key), value))
            .collect();
        let mut entries = unique(entries);
        entries.sort_by(|a, b| a.0.cmp(&b.0));
        entries
    }

    pub(crate) fn key_text(&self, key: usize) -> Cow<'_, str> {
        match &self.values[key] {
            Decoded::Scalar(Resolved::Bool(value), _) => bool_key(*value),
            Decoded::Scalar(Resolved::Int(value), _) => Cow::Owned(value.to_string()),
            Decoded::Scalar(Resolved::Float(value), _) => Cow::Owned(float_key(*value)),
            Decoded::Scalar(_, text) => Cow::Borrowed(text),
            _ => Cow::Borrowed(""),
        }
    }

    /// Builds the document, which must have passed [`Self::check`].
    pub(crate) fn build<B: Builder>(&self, builder: &mut B) -> B::Value {
        let mut left = vec![Task::Start(self.root)];
        let mut built: Vec<B::Value> = Vec::new();
        while let Some(task) = left.pop() {
            match task {
                Task::Start(at) => match &self.values[at] {
                    Decoded::Scalar(resolved, text) => {
                        built.push(build_scalar(builder, Cow::Borrowed(text), *resolved));
                    }
                    Decoded::List(items) => {
                        left.push(Task::Finish(at));
                        left.extend(items.iter().rev().map(|&item| Task::Start(item)));
                    }
                    Decoded::Map(entries) => {
                        left.push(Task::Finish(at));
                        left.extend(entries.iter().rev().map(|&(_, value)| Task::Start(value)));
                    }
                },
                Task::Finish(at) => {
                    let value = self.finish(at, builder, &mut built);
                    built.push(value);
                }
            }
        }
        match built.pop() {
            Some(value) => value,
            None => builder.null(),
        }
    }

    fn finish<B: Builder>(
        &self,
        at: usize,
        builder: &mut B,
        built: &mut Vec<B::Value>,
    ) -> B::Value {
        match &self.values[at] {
            Decoded::List(items) => {
                let start = built.len() - items.len();
                builder.list(built.split_off(start))
            }
            Decoded::Map(entries) => {
                let start = built.len() - entries.len();
                let values = built.split_off(start);
                let keys = entries.iter().map(|&(key, _)| self.key_text(key));
                builder.map(unique(keys.zip(values).collect()))
            }
            Decoded::Scalar(..) => builder.null(),
        }
    }
}

enum Task {
    Start(usize),
    /// All members are built.
    Finish(usize),
}
