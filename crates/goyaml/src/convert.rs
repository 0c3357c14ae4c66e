//! From a decoded document to JSON: which keys and numbers are allowed, how keys become text, how deep it may be.

use std::borrow::Cow;

use crate::Builder;
use crate::build::{make_scalar, unique};
use crate::describe::describe;
use crate::document::{Decoded, Document};
use crate::error::Error;
use crate::quick::{MAX_JSON_DEPTH, bool_key, float_key};
use crate::resolve::Resolved;

/// Whether the value at a place will be written as text, which any number has.
pub(crate) type BecomesText<'f> = &'f dyn Fn(usize) -> bool;

impl Document<'_> {
    /// The errors of the conversion, in Go's order of steps.
    pub(crate) fn check(&self, becomes_text: BecomesText<'_>) -> Result<(), Error> {
        let depth = self.check_keys()?;
        self.check_numbers(becomes_text)?;
        if depth > MAX_JSON_DEPTH {
            return Err(Error::Depth);
        }
        Ok(())
    }

    /// The depth, if all keys have a JSON form. Go visits entries in random order; here it is reading order.
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
            key: describe(&self.values, key),
            value: describe(&self.values, value),
        })
    }

    /// Looks for a number without JSON form, in the order in which JSON is written.
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

    /// The entries of a map as JSON has them: keys are text and unique, in byte order.
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

    fn key_text(&self, key: usize) -> Cow<'_, str> {
        match &self.values[key] {
            Decoded::Scalar(Resolved::Bool(value), _) => bool_key(*value),
            Decoded::Scalar(Resolved::Int(value), _) => Cow::Owned(value.to_string()),
            Decoded::Scalar(Resolved::Float(value), _) => Cow::Owned(float_key(*value)),
            Decoded::Scalar(_, text) => Cow::Borrowed(text),
            _ => Cow::Borrowed(""),
        }
    }

    /// Builds the document, which was checked before.
    pub(crate) fn build<B: Builder>(&self, builder: &mut B) -> B::Value {
        let mut left = vec![Task::Start(self.root)];
        let mut made: Vec<B::Value> = Vec::new();
        while let Some(task) = left.pop() {
            match task {
                Task::Start(at) => match &self.values[at] {
                    Decoded::Scalar(resolved, text) => {
                        made.push(make_scalar(builder, Cow::Borrowed(text), *resolved));
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
                    let value = self.finish(at, builder, &mut made);
                    made.push(value);
                }
            }
        }
        match made.pop() {
            Some(value) => value,
            None => builder.null(),
        }
    }

    fn finish<B: Builder>(&self, at: usize, builder: &mut B, made: &mut Vec<B::Value>) -> B::Value {
        match &self.values[at] {
            Decoded::List(items) => {
                let start = made.len() - items.len();
                builder.list(made.split_off(start))
            }
            Decoded::Map(entries) => {
                let start = made.len() - entries.len();
                let values = made.split_off(start);
                let keys = entries.iter().map(|&(key, _)| self.key_text(key));
                builder.map(unique(keys.zip(values).collect()))
            }
            Decoded::Scalar(..) => builder.null(),
        }
    }
}

enum Task {
    Start(usize),
    /// All members are made.
    Finish(usize),
}
