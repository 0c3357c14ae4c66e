//! Lists.

use std::sync::Arc;

use serde_json::Value as Json;

use super::{Value, json};
use crate::error::Error;
use crate::meter::Meter;
use crate::schema::{ListType, Schema};

/// A list.
#[derive(Debug, Clone)]
pub enum List<'v> {
    Items(Arc<Vec<Value<'v>>>),
    /// Two lists one after the other, so that an addition copies nothing.
    Concat(Arc<Concat<'v>>),
    Json(&'v [Json]),
    /// With the schema of the list.
    Typed(&'v [Json], &'v Schema),
}

/// Two lists one after the other.
#[derive(Debug)]
pub struct Concat<'v> {
    first: List<'v>,
    second: List<'v>,
    length: usize,
    depth: usize,
}

/// Deeper concatenations are copied.
const MAX_DEPTH: usize = 64;

impl<'v> List<'v> {
    pub fn len(&self) -> usize {
        match self {
            Self::Items(items) => items.len(),
            Self::Concat(concat) => concat.length,
            Self::Json(items) | Self::Typed(items, _) => items.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(crate) fn is_typed(&self) -> bool {
        matches!(self, Self::Typed(..))
    }

    fn depth(&self) -> usize {
        match self {
            Self::Concat(concat) => concat.depth,
            _ => 0,
        }
    }

    /// The element at an index, which must be less than the length.
    pub(crate) fn get(&self, index: usize) -> Option<Result<Value<'v>, Error>> {
        match self {
            Self::Items(items) => items.get(index).cloned().map(Ok),
            Self::Concat(concat) => match index.checked_sub(concat.first.len()) {
                None => concat.first.get(index),
                Some(index) => concat.second.get(index),
            },
            Self::Json(items) => items.get(index).map(|item| Ok(json::untyped(item))),
            Self::Typed(items, schema) => {
                let item = items.get(index)?;
                Some(match schema.items() {
                    Some(items) => json::typed(item, items),
                    None => Err(Error::function(
                        "invalid array type, expected Items with a non-empty Schema",
                    )),
                })
            }
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = Result<Value<'v>, Error>> + '_ {
        (0..self.len()).map_while(|index| self.get(index))
    }

    /// All elements; fails if one does not conform to the schema.
    pub(crate) fn to_vec(&self, meter: &mut Meter) -> Result<Vec<Value<'v>>, Error> {
        meter.work(self.len())?;
        self.iter().collect()
    }

    /// `self + other`. Sets and lists with keys merge, as server-side apply does.
    pub(crate) fn add(self, other: Self, meter: &mut Meter) -> Result<Self, Error> {
        if let Self::Items(mut items) = self {
            if let Some(unique) = Arc::get_mut(&mut items) {
                // The accumulator of a comprehension.
                meter.work(other.len())?;
                for item in other.iter() {
                    unique.push(item?);
                }
                return Ok(Self::Items(items));
            }
            return Self::Items(items).concat(other, meter);
        }
        if let Self::Typed(_, schema) = &self {
            match schema.list_type() {
                ListType::Atomic => {}
                ListType::Set => return self.merge(&other, &[], meter),
                ListType::Map(keys) => return self.merge(&other, keys, meter),
            }
        }
        self.concat(other, meter)
    }

    fn concat(self, other: Self, meter: &mut Meter) -> Result<Self, Error> {
        if self.is_empty() {
            return Ok(other);
        }
        if other.is_empty() {
            return Ok(self);
        }
        let depth = self.depth().max(other.depth()).saturating_add(1);
        if depth > MAX_DEPTH {
            let mut items = self.to_vec(meter)?;
            items.extend(other.to_vec(meter)?);
            return Ok(Self::Items(Arc::new(items)));
        }
        Ok(Self::Concat(Arc::new(Concat {
            length: self.len().saturating_add(other.len()),
            first: self,
            second: other,
            depth,
        })))
    }

    /// Appends the items that are new. Items of lists with keys replace those with the same keys.
    fn merge(&self, other: &Self, keys: &[String], meter: &mut Meter) -> Result<Self, Error> {
        let mut items = self.to_vec(meter)?;
        for item in other.iter() {
            let item = item?;
            let mut position = None;
            for (i, existing) in items.iter().enumerate() {
                if is_same(existing, &item, keys, meter)? {
                    position = Some(i);
                    break;
                }
            }
            match position.and_then(|position| items.get_mut(position)) {
                Some(existing) if !keys.is_empty() => *existing = item,
                Some(_) => {}
                None => items.push(item),
            }
        }
        Ok(Self::Items(Arc::new(items)))
    }
}

/// Whether two items of a set, or of a list with keys, are the same one.
pub(super) fn is_same(
    one: &Value<'_>,
    other: &Value<'_>,
    keys: &[String],
    meter: &mut Meter,
) -> Result<bool, Error> {
    if keys.is_empty() {
        return super::compare::equal(one, other, meter);
    }
    let (Value::Map(one), Value::Map(other)) = (one, other) else {
        return Ok(false);
    };
    for key in keys {
        let found = [one, other].map(|map| map.find_text(key));
        let is_equal = match found {
            [None, None] => true,
            [Some(one), Some(other)] => super::compare::equal(&one?, &other?, meter)?,
            _ => false,
        };
        if !is_equal {
            return Ok(false);
        }
    }
    Ok(true)
}
