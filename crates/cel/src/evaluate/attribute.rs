//! Evaluates variables with selections and indices.

use std::borrow::Cow;

use super::{Frame, Result};
use crate::error::Error;
use crate::functions::convert::lossless_int;
use crate::plan::{Attribute, Base, Qualifier, QualifierKey};
use crate::value::Value;

/// Evaluates an attribute.
pub(super) fn evaluate<'f, 'v>(
    attribute: &'f Attribute,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let result = resolve(attribute, &[], frame);
    if !matches!(attribute.base, Base::Conditional(_)) {
        frame.meter.charge(1)?;
    }
    result
}

/// Evaluates `has()`, which costs as much as its qualifiers.
pub(super) fn test<'f, 'v>(
    attribute: &'f Attribute,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    match resolve(attribute, &[], frame)? {
        Value::Optional(value) => Ok(Value::Bool(value.is_some())),
        value => Ok(value),
    }
}

/// The value of an attribute. `outer` are the qualifiers that follow its own.
fn resolve<'f, 'v>(
    attribute: &'f Attribute,
    outer: &[&'f Qualifier],
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let mut qualifiers: Cow<'_, [&'f Qualifier]> = Cow::Borrowed(outer);
    if let Base::Conditional(conditional) = &attribute.base {
        let condition = super::evaluate(&conditional.condition, frame)?;
        let branch = match condition {
            Value::Bool(true) => &conditional.truthy,
            Value::Bool(false) => &conditional.falsy,
            _ => return Err(Error::NoSuchOverload),
        };
        if !attribute.qualifiers.is_empty() {
            let own = attribute.qualifiers.iter();
            qualifiers = own.chain(outer.iter().copied()).collect();
        }
        return resolve(branch, &qualifiers, frame);
    }
    let value = match &attribute.base {
        Base::Variable(name) => match frame.activation.find(name) {
            Some(value) => value.clone(),
            None => return Err(Error::NoSuchAttribute(name.to_string())),
        },
        Base::Slot(slot) => frame.slot(*slot)?,
        Base::Value(node) => super::evaluate(node, frame)?,
        Base::Conditional(_) => Value::Null,
    };
    if attribute.qualifiers.is_empty() && qualifiers.is_empty() {
        return Ok(value);
    }
    let qualifiers = attribute
        .qualifiers
        .iter()
        .chain(qualifiers.iter().copied());
    apply(value, qualifiers, frame)
}

fn apply<'f, 'v>(
    value: Value<'v>,
    qualifiers: impl Iterator<Item = &'f Qualifier>,
    frame: &mut Frame<'f, 'v>,
) -> Result<Value<'v>> {
    let (mut value, mut is_optional) = match value {
        Value::Optional(None) => return Ok(Value::Optional(None)),
        Value::Optional(Some(value)) => (value.as_ref().clone(), true),
        value => (value, false),
    };
    for qualifier in qualifiers {
        is_optional |= qualifier.optional;
        let key = match &qualifier.key {
            QualifierKey::Constant(key) => key.clone(),
            QualifierKey::Attribute(attribute) => resolve(attribute, &[], frame)?,
            QualifierKey::Node(node) => super::evaluate(node, frame)?,
        };
        if qualifier.test_only {
            let found = find(&value, &key, true);
            let is_present = matches!(found, Ok(Some(_)));
            if !is_optional || is_present {
                frame.meter.charge(1)?;
            }
            value = match found? {
                None if is_optional => return Ok(Value::Optional(None)),
                found => Value::Bool(found.is_some()),
            };
            continue;
        }
        let found = find(&value, &key, is_optional);
        if !is_optional || matches!(found, Ok(Some(_))) {
            frame.meter.charge(1)?;
        }
        value = match found? {
            Some(value) => value,
            None if is_optional => return Ok(Value::Optional(None)),
            None => return Err(missing(&value, &key)),
        };
    }
    Ok(if is_optional {
        Value::optional(Some(value))
    } else {
        value
    })
}

fn missing(value: &Value<'_>, key: &Value<'_>) -> Error {
    match value {
        Value::List(_) => Error::IndexOutOfBounds(key.to_string()),
        _ => Error::NoSuchKey(key.to_string()),
    }
}

/// The value at a key or index; `None` if there is none.
fn find<'v>(value: &Value<'v>, key: &Value<'v>, is_test: bool) -> Result<Option<Value<'v>>> {
    match value {
        Value::Map(map) => map.find(key).transpose(),
        Value::Object(object) => Ok(object.find(key, is_test)),
        Value::List(list) => {
            let index = match key {
                Value::Int(index) => *index,
                Value::Uint(index) => i64::try_from(*index).unwrap_or(i64::MAX),
                Value::Double(number) => lossless_int(*number).ok_or_else(|| {
                    Error::function(format!("unsupported index value {key} in list"))
                })?,
                _ => {
                    let type_ = key.type_name();
                    return Err(Error::function(format!(
                        "unsupported index type '{type_}' in list"
                    )));
                }
            };
            let index = usize::try_from(index).ok();
            index.and_then(|index| list.get(index)).transpose()
        }
        _ if is_test => Ok(None),
        _ => Err(Error::NoSuchKey(key.to_string())),
    }
}
