//! Validates custom resources against their structural schema, with the errors of kube-apiserver.

use outrigger_apimachinery::status::field::{self, ErrorType};
use serde_json::{Map, Value};

use super::rules::{has_rules, validate_rules};
use super::{AdditionalProperties, Pattern, SchemaRef, Type};
pub(super) use correlate::{Correlated, OldItems};
use result::{ValidationError, ValidationResult};

mod correlate;
pub(crate) mod formats;
mod lists;
mod number;
mod resources;
mod result;

pub use lists::validate_list_uniqueness;
pub use resources::validate_embedded_resources;

/// Validates all of a custom resource except its metadata. Ratcheting: with an old object, errors in unchanged values
/// are ignored.
pub fn validate_custom_resource(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let mut errors = validate_schema(new, old, schema);
    errors.extend(validate_embedded_resources(new, schema));
    let had_errors = old.is_some_and(|old| !validate_list_uniqueness(old, schema).is_empty());
    if !had_errors {
        errors.extend(validate_list_uniqueness(new, schema));
    }
    add_rule_errors(errors, new, old, schema)
}

/// Adds the errors of the validation rules, which are evaluated only if the values have the right types.
fn add_rule_errors(
    mut errors: Vec<field::Error>,
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let is_blocking = |error: &field::Error| {
        matches!(
            error.type_,
            ErrorType::NotSupported
                | ErrorType::Required
                | ErrorType::TooLong
                | ErrorType::TooMany
                | ErrorType::TypeInvalid
        )
    };
    if !errors.iter().any(is_blocking) {
        errors.extend(validate_rules(new, old, schema));
    } else if has_rules(schema) {
        let detail = "some validation rules were not checked because the object was invalid; correct the existing \
                      errors to complete validation";
        errors.push(field::Error::invalid("", Value::Null, detail));
    }
    errors
}

/// Validates a write to the status subresource.
pub fn validate_custom_resource_status(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let mut errors = Vec::new();
    if let (Some(new), Some(schema)) = (new.get("status"), schema.property("status")) {
        let old = old.and_then(|old| old.get("status"));
        errors.extend(validate_schema_at("status", new, old, schema));
    }
    let had_errors = old.is_some_and(|old| !validate_list_uniqueness(old, schema).is_empty());
    if !had_errors {
        errors.extend(validate_list_uniqueness(new, schema));
    }
    add_rule_errors(errors, new, old, schema)
}

/// Validates types and value constraints, with ratcheting if there is an old object.
pub fn validate_schema(
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    validate_schema_at("", new, old, schema)
}

/// Like [`validate_schema`], for the value of a field such as `status`.
pub fn validate_schema_at(
    field: &str,
    new: &Value,
    old: Option<&Value>,
    schema: SchemaRef<'_>,
) -> Vec<field::Error> {
    let old = old.map(|old| Correlated::new(new, old, schema));
    let input = Input {
        path: "",
        value: new,
        old: old.as_ref(),
        schema,
    };
    let errors = input.ratchet().errors.into_iter();
    errors.map(|error| error.into_field_error(field)).collect()
}

/// A value to validate.
#[derive(Clone, Copy)]
struct Input<'a> {
    path: &'a str,
    value: &'a Value,
    old: Option<&'a Correlated<'a>>,
    schema: SchemaRef<'a>,
}

impl Input<'_> {
    /// Ignores the errors of an unchanged value.
    fn ratchet(self) -> ValidationResult {
        let mut result = self.validate();
        if !result.is_valid() && self.old.is_some_and(Correlated::is_equal) {
            result.errors.clear();
        }
        result
    }

    fn validate(self) -> ValidationResult {
        let Self {
            path,
            value,
            schema,
            ..
        } = self;
        let mut result = ValidationResult::default();
        if value.is_null() {
            result.merge(check_type(path, value, schema));
            result.merge(check_enum(path, value, schema));
            return result;
        }
        let format = formats::supported_format(schema);
        let mut add = |part: ValidationResult| {
            result.merge(part);
            result.matches += 1;
        };
        if schema.type_ != Type::Any || schema.int_or_string || !format.is_empty() {
            add(check_type(path, value, schema));
        }
        add(self.junctors());
        match value {
            Value::String(text) => {
                add(check_string(path, text, schema));
                if formats::is_string_format(format) {
                    add(formats::validate(path, format, text));
                }
            }
            Value::Number(number) => add(number::validate(path, number, format, schema)),
            Value::Array(items) => add(self.list(items)),
            Value::Object(_) | Value::Bool(_) | Value::Null => {}
        }
        add(check_enum(path, value, schema));
        if let Value::Object(fields) = value {
            add(self.object(fields));
        }
        result.matches += 1;
        result
    }

    /// `anyOf`, `oneOf`, `allOf`, `not`.
    fn junctors(self) -> ValidationResult {
        let Self { path, schema, .. } = self;
        let mut result = ValidationResult::default();
        let Some(validation) = &schema.node().value_validation else {
            result.matches += 1;
            return result;
        };
        let of = |id: usize| {
            let schema = schema.at(id);
            Self { schema, ..self }.validate()
        };
        if !validation.any_of.is_empty() {
            result.merge(any_of(path, validation.any_of.iter().map(|id| of(*id))));
        }
        if !validation.one_of.is_empty() {
            result.merge(one_of(path, validation.one_of.iter().map(|id| of(*id))));
        }
        if !validation.all_of.is_empty() {
            let mut valid = 0;
            for id in &validation.all_of {
                let branch = of(*id);
                valid += usize::from(branch.is_valid());
                result.merge(branch);
            }
            if valid != validation.all_of.len() {
                let none = if valid == 0 { ". None validated" } else { "" };
                result.add(ValidationError::general(format!(
                    "{path:?} must validate all the schemas (allOf){none}"
                )));
            }
        }
        if validation.not.is_some_and(|id| of(id).is_valid()) {
            result.add(ValidationError::general(format!(
                "{path:?} must not validate the schema (not)"
            )));
        }
        result.matches += 1;
        result
    }

    fn list(self, items: &[Value]) -> ValidationResult {
        let Self {
            path, old, schema, ..
        } = self;
        let mut result = ValidationResult::default();
        if let Some(item_schema) = schema.items() {
            let old_items = old.and_then(Correlated::items);
            for (i, item) in items.iter().enumerate() {
                let old = old.and_then(|old| old.item(old_items.as_ref(), i));
                let path = format!("{path}[{i}]");
                let input = Input {
                    path: &path,
                    value: item,
                    old: old.as_ref(),
                    schema: item_schema,
                };
                result.merge(input.ratchet());
            }
        }
        result.matches += 1;
        let Some(validation) = &schema.node().value_validation else {
            return result;
        };
        let size = count(items.len());
        if let Some(min) = validation.min_items.filter(|min| size < *min) {
            let text = format!("should have at least {min} items");
            result.add(ValidationError::at(path, ErrorType::Invalid, size, text));
        }
        if let Some(max) = validation.max_items.filter(|max| size > *max) {
            result.add(ValidationError::too_many(
                path,
                size,
                max,
                &format!("should have at most {max} items"),
            ));
        }
        let is_repeated = |i: usize| items[..i].contains(&items[i]);
        if validation.unique_items && (1..items.len()).any(is_repeated) {
            result.add(ValidationError::at(
                path,
                ErrorType::Invalid,
                "",
                "shouldn't contain duplicates",
            ));
        }
        result
    }

    fn object(self, fields: &Map<String, Value>) -> ValidationResult {
        let Self {
            path, old, schema, ..
        } = self;
        let mut result = ValidationResult::default();
        let validation = schema.node().value_validation.as_deref();
        let size = count(fields.len());
        if let Some(min) = validation
            .and_then(|validation| validation.min_properties)
            .filter(|min| size < *min)
        {
            let text = format!("should have at least {min} properties");
            result.add(ValidationError::at(path, ErrorType::Invalid, size, text));
        }
        if let Some(max) = validation
            .and_then(|validation| validation.max_properties)
            .filter(|max| size > *max)
        {
            let text = format!("should have at most {max} properties");
            result.add(ValidationError::too_many(path, size, max, &text));
        }
        for (name, value) in fields
            .iter()
            .filter(|(name, _)| schema.property(name).is_none())
        {
            if schema.node().additional == AdditionalProperties::Forbidden {
                let text = format!("{path}.{name} in body is a forbidden property");
                result.add(ValidationError::with_message(
                    path,
                    ErrorType::Invalid,
                    name.as_str(),
                    text,
                ));
            } else if let Some(additional) = schema.additional() {
                let old = old.and_then(|old| old.field(name));
                let path = format!("{path}.{name}");
                let input = Input {
                    path: &path,
                    value,
                    old: old.as_ref(),
                    schema: additional,
                };
                result.merge(input.ratchet());
            }
        }
        for (name, property) in schema.properties() {
            let Some(value) = fields.get(name) else {
                continue;
            };
            let is_type = path.is_empty() && matches!(name, "apiVersion" | "kind");
            let old = old.filter(|_| !is_type).and_then(|old| old.field(name));
            let path = if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            };
            let input = Input {
                path: &path,
                value,
                old: old.as_ref(),
                schema: property,
            };
            result.merge(input.ratchet());
        }
        for name in validation
            .into_iter()
            .flat_map(|validation| &validation.required)
        {
            if !fields.contains_key(name) {
                result.add(ValidationError::required(&format!("{path}.{name}")));
            }
        }
        result
    }
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

/// Requires one valid branch. If there is none, reports the errors of the branch with the most matches.
fn any_of(path: &str, branches: impl Iterator<Item = ValidationResult>) -> ValidationResult {
    let mut best: Option<ValidationResult> = None;
    for branch in branches {
        if branch.is_valid() {
            return branch;
        }
        if best
            .as_ref()
            .is_none_or(|best| branch.matches > best.matches)
        {
            best = Some(branch);
        }
    }
    let mut result = ValidationResult::default();
    result.add(ValidationError::general(format!(
        "{path:?} must validate at least one schema (anyOf)"
    )));
    result.merge(best.unwrap_or_default());
    result
}

fn one_of(path: &str, branches: impl Iterator<Item = ValidationResult>) -> ValidationResult {
    let mut best: Option<ValidationResult> = None;
    let mut first_valid: Option<ValidationResult> = None;
    let mut valid = 0;
    for branch in branches {
        if branch.is_valid() {
            valid += 1;
            best = None;
            first_valid.get_or_insert(branch);
        } else if valid == 0
            && best
                .as_ref()
                .is_none_or(|best| branch.matches > best.matches)
        {
            best = Some(branch);
        }
    }
    if valid == 1 {
        return first_valid.unwrap_or_default();
    }
    let found = match valid {
        0 => "Found none valid".to_owned(),
        several => format!("Found {several} valid alternatives"),
    };
    let mut result = ValidationResult::default();
    let text = format!("{path:?} must validate one and only one schema (oneOf). {found}");
    result.add(ValidationError::general(text));
    result.merge(best.unwrap_or_default());
    result
}

pub(super) fn type_name(type_: Type) -> &'static str {
    match type_ {
        Type::Any | Type::Scalar => "",
        Type::Object => "object",
        Type::Array => "array",
        Type::String => "string",
        Type::Integer => "integer",
        Type::Number => "number",
        Type::Boolean => "boolean",
    }
}

fn check_type(path: &str, value: &Value, schema: SchemaRef<'_>) -> ValidationResult {
    let mut result = ValidationResult::default();
    let expected = schema.type_;
    let is_int_or_string = schema.int_or_string && expected == Type::Any;
    let found = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_match = match (expected, value) {
        (_, Value::Null) if is_int_or_string => schema.nullable,
        (_, Value::Number(number)) if is_int_or_string => number::is_integer(number),
        (_, _) if is_int_or_string => value.is_string(),
        (Type::Any | Type::Scalar, _) | (Type::Number, Value::Number(_)) => true,
        (_, Value::Null) => schema.nullable,
        (Type::Integer, Value::Number(number)) => number::is_integer(number),
        _ => found == type_name(expected),
    };
    let format = formats::supported_format(schema);
    let is_text = matches!(value, Value::String(_) | Value::Array(_));
    if is_match || (is_text && expected == Type::String && !format.is_empty()) {
        result.matches += 1;
        return result;
    }
    // go-openapi compares a declared format with the format of the value, if it has one.
    let (expected, found) = match value {
        _ if is_int_or_string => ("integer,string", found),
        Value::String(_) | Value::Array(_) | Value::Null => (type_name(expected), found),
        _ if format.is_empty() => (type_name(expected), found),
        Value::Number(number) => (format, if number.is_i64() { "int64" } else { "float64" }),
        Value::Bool(_) | Value::Object(_) => (format, ""),
    };
    let text = format!("must be of type {expected}: {found:?}");
    result.add(ValidationError::at(
        path,
        ErrorType::TypeInvalid,
        found,
        text,
    ));
    result
}

fn check_enum(path: &str, value: &Value, schema: SchemaRef<'_>) -> ValidationResult {
    let mut result = ValidationResult::default();
    let Some(validation) = schema
        .node()
        .value_validation
        .as_ref()
        .filter(|validation| !validation.enum_.is_empty())
    else {
        return result;
    };
    let allowed = &validation.enum_;
    let is_same = |allowed: &Value| match (allowed, value) {
        (Value::Number(a), Value::Number(b)) => a.as_f64() == b.as_f64(),
        (allowed, value) => allowed == value && !value.is_null(),
    };
    if !allowed.iter().any(is_same) {
        result.add(ValidationError::not_supported(path, value.clone(), allowed));
    }
    result
}

fn check_string(path: &str, text: &str, schema: SchemaRef<'_>) -> ValidationResult {
    let mut result = ValidationResult::default();
    let Some(validation) = &schema.node().value_validation else {
        return result;
    };
    let length = count(text.chars().count());
    if let Some(max) = validation.max_length.filter(|max| length > *max) {
        result.add(ValidationError::too_long(path, max));
    } else if let Some(min) = validation.min_length.filter(|min| length < *min) {
        let detail = format!("should be at least {min} chars long");
        result.add(ValidationError::at(path, ErrorType::Invalid, text, detail));
    } else if let Some(pattern) = &validation.pattern
        && let Some(detail) = mismatch(pattern, text)
    {
        result.add(ValidationError::at(path, ErrorType::Invalid, text, detail));
    }
    result
}

/// Why a text does not match a pattern; none if it does.
fn mismatch(pattern: &Pattern, text: &str) -> Option<String> {
    let program = outrigger_cel::regex_program(&pattern.regex);
    match program.map(|program| program.is_match(text)) {
        Ok(Some(true)) => None,
        Ok(Some(false)) => Some(format!("should match '{}'", pattern.text)),
        Ok(None) => Some(format!(
            "is too long to be matched with '{}' within Outrigger's limit",
            pattern.text
        )),
        Err(error) => Some(error.to_string()),
    }
}
