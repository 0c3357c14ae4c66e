//! Strategic merge patch.

use std::collections::HashSet;

use outrigger_gostd::fmt::sprint_json;
use outrigger_gostd::strconv::quote;
use serde_json::{Map, Value};

use super::Error;
use crate::patch::merge::drop_nulls;
use crate::schema::value::go_type;
use crate::schema::{PatchMeta, SchemaRef};

mod lists;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

type Object = Map<String, Value>;

pub(super) fn apply(
    original: Object,
    patch: Object,
    schema: SchemaRef<'_>,
) -> Result<Object, Error> {
    merge_objects(original, patch, schema)
}

fn internal(text: impl Into<String>) -> Error {
    Error::Internal(text.into())
}

/// `expected a []interface {}, but received a string`
fn type_error(expected: &str, actual: &Value) -> Error {
    let actual = match actual {
        Value::Null => "%!s(<nil>)",
        other => go_type(other),
    };
    internal(format!("expected a {expected}, but received a {actual}"))
}

fn no_merge_key(item: &Object, key: &str) -> Error {
    let item = sprint_json(&Value::Object(item.clone()));
    internal(format!(
        "map: {item} does not contain declared merge key: {key}"
    ))
}

fn unknown_directive(directive: &Value, object: &Object) -> Error {
    let object = sprint_json(&Value::Object(object.clone()));
    internal(format!(
        "unknown patch type: {} in map: {object}",
        sprint_json(directive)
    ))
}

/// The schema of a field and its patch strategy.
fn lookup<'s>(schema: SchemaRef<'s>, name: &str) -> Result<(SchemaRef<'s>, PatchMeta), Error> {
    if let Some(property) = schema.property(name) {
        return Ok((property, property.patch.clone()));
    }
    if let Some(additional) = schema.additional() {
        return Ok((additional, PatchMeta::default()));
    }
    let definition = schema.node().name.as_deref().unwrap_or_default();
    let name = quote(name);
    let kind = definition.rsplit('.').next().unwrap_or_default();
    Err(internal(format!(
        "unable to find api field in struct {kind} for the json field {name}"
    )))
}

fn merge_objects(
    mut original: Object,
    mut patch: Object,
    schema: SchemaRef<'_>,
) -> Result<Object, Error> {
    match patch
        .get(DIRECTIVE)
        .map(|directive| (directive.as_str(), directive))
    {
        None => {}
        Some((Some("replace"), _)) => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some((Some("delete"), _)) => return Ok(Object::new()),
        Some((_, directive)) => return Err(unknown_directive(directive, &patch)),
    }
    retain_keys(&mut original, &mut patch)?;
    merge_ordered_lists(&mut original, &mut patch, schema)?;
    for (name, value) in patch {
        let (name, is_deletion) = match name.strip_prefix(DELETE_FROM_LIST) {
            Some(rest) => (list_name(rest).ok_or_else(invalid_deletion)?, true),
            None => (name, false),
        };
        merge_field(&mut original, name, value, schema, is_deletion)?;
    }
    Ok(original)
}

fn invalid_deletion() -> Error {
    Error::BadRequest("invalid patch format of primitive list".to_owned())
}

fn invalid_order() -> Error {
    Error::BadRequest("invalid patch format of setElementOrder list".to_owned())
}

/// The list name that follows `$setElementOrder/` or `$deleteFromPrimitiveList/`.
fn list_name(rest: &str) -> Option<String> {
    rest.strip_prefix('/').map(str::to_owned)
}

fn merge_field(
    original: &mut Object,
    name: String,
    value: Value,
    schema: SchemaRef<'_>,
    is_deletion: bool,
) -> Result<(), Error> {
    if value.is_null() {
        original.remove(&name);
        return Ok(());
    }
    let merged = match (original.remove(&name), value) {
        (Some(Value::Object(current)), Value::Object(patch)) => {
            let (schema, meta) = lookup(schema, &name)?;
            Value::Object(if meta.replace {
                patch
            } else {
                merge_objects(current, patch, schema)?
            })
        }
        (Some(Value::Array(current)), Value::Array(patch)) => {
            let (list, meta) = lookup(schema, &name)?;
            Value::Array(if meta.merge || is_deletion {
                lists::merge(current, patch, list, meta.merge_key.as_deref(), is_deletion)?
            } else {
                patch
            })
        }
        (Some(current), _) if is_deletion => current,
        (None, _) if is_deletion => return Ok(()),
        (_, mut patch) => {
            drop_nulls(&mut patch);
            match without_directives(patch) {
                Some(patch) => patch,
                None => return Ok(()),
            }
        }
    };
    original.insert(name, merged);
    Ok(())
}

/// Removes the fields that `$retainKeys` does not list.
fn retain_keys(original: &mut Object, patch: &mut Object) -> Result<(), Error> {
    let invalid = || Error::BadRequest("invalid patch format of retainKeys".to_owned());
    let Some(retain) = patch.remove(RETAIN_KEYS) else {
        return Ok(());
    };
    let Value::Array(retain) = retain else {
        return Err(invalid());
    };
    let retain: HashSet<&str> = retain.iter().filter_map(Value::as_str).collect();
    let is_retained = |name: &str| retain.contains(name);
    let is_listed = patch.iter().all(|(name, value)| {
        value.is_null()
            || name.starts_with(DELETE_FROM_LIST)
            || name.starts_with(SET_ORDER)
            || is_retained(name)
    });
    if !is_listed {
        return Err(invalid());
    }
    original.retain(|name, _| is_retained(name));
    Ok(())
}

/// Merges the lists for which the patch has `$setElementOrder`.
fn merge_ordered_lists(
    original: &mut Object,
    patch: &mut Object,
    schema: SchemaRef<'_>,
) -> Result<(), Error> {
    let orders: Vec<String> = patch
        .keys()
        .filter(|name| name.starts_with(SET_ORDER))
        .cloned()
        .collect();
    for key in orders {
        let Some(order) = patch.remove(&key) else {
            continue;
        };
        let Value::Array(order) = order else {
            return Err(type_error("[]interface {}", &order));
        };
        let name = key
            .strip_prefix(SET_ORDER)
            .and_then(list_name)
            .ok_or_else(invalid_order)?;
        let array = |value: Option<&Value>| match value {
            None => Ok(None),
            Some(Value::Array(items)) => Ok(Some(items.clone())),
            Some(other) => Err(type_error("[]interface {}", other)),
        };
        let (current, changes) = (array(original.get(&name))?, array(patch.get(&name))?);
        let (list, meta) = lookup(schema, &name)?;
        let merge_key = meta.merge_key.as_deref();
        lists::check_order(changes.as_deref().unwrap_or_default(), &order, merge_key)?;
        let live = current.clone().unwrap_or_default();
        let merged = match (current, &changes) {
            (None, None) => continue,
            (Some(current), None) => current,
            (None, Some(changes)) => {
                let changes = changes.iter().cloned();
                changes.filter_map(without_directives).collect()
            }
            (Some(current), Some(changes)) if meta.merge => {
                lists::merge(current, changes.clone(), list, merge_key, false)?
            }
            (Some(_), Some(changes)) => changes.clone(),
        };
        let sorted = lists::order(merged, &order, &live, merge_key, changes.as_deref())?;
        patch.remove(&name);
        original.insert(name, Value::Array(sorted));
    }
    Ok(())
}

/// A value to add as it is, without directives, which have nothing to act on.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(fields) if fields.contains_key(DIRECTIVE) => None,
        Value::Object(fields) => {
            let fields = fields.into_iter();
            let kept = fields.filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(
            items.into_iter().filter_map(without_directives).collect(),
        )),
        scalar => Some(scalar),
    }
}
