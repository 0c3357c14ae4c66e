//! Decodes request bodies into objects with defaults.

use std::sync::Arc;

use outrigger_apimachinery::status::{Status, field};
use outrigger_apimachinery::{GroupKind, GroupVersion};
use outrigger_builtin::defaults;
use outrigger_goyaml::Step;
use outrigger_protobuf as protobuf;
use outrigger_structural::schema::{self, DecodeError, Schema, builtin, strict};
use outrigger_structural::{depth, go_types};
use serde_json::{Map, Value, json};

use super::request_context::RequestContext;
use crate::negotiation::{BodyFormat, body_format, from_yaml, strict_error, strict_warnings};
use crate::request::FieldValidation;

/// How many bytes of a body an error shows.
const SHOWN: usize = 30;

/// The object of a create or an update, decoded and defaulted.
pub(super) fn object(
    ctx: &mut RequestContext<'_>,
    schema: &Schema,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let is_custom = ctx.kind.custom.is_some();
    let format = body_format(ctx.headers, is_custom)?;
    let (mut object, mut strict_errors) = parse(ctx, format, schema, validation)?;
    let unknown = complete(ctx, &mut object, schema)?;
    if is_custom || format != BodyFormat::Json {
        strict_errors.extend(unknown);
    }
    let kind = Arc::clone(&ctx.kind);
    report_strict_errors(ctx, (&kind.kind, &kind.version), strict_errors, validation)?;
    Ok(object)
}

/// An object of another kind than that of the resource: a Scale, an Eviction or a review.
pub(super) fn object_as(
    ctx: &mut RequestContext<'_>,
    api_version: &str,
    kind: &str,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let unrecognized = |why: &str| unrecognized(kind, why, &ctx.body);
    let format = body_format(ctx.headers, false)?;
    let (mut value, mut strict_errors) = match format {
        BodyFormat::Json => strict::parse_typed(&ctx.body, schema_of(api_version, kind).root())
            .map_err(|why| unrecognized(&json_error(&why)))?,
        BodyFormat::Yaml => {
            let value = yaml_value(&ctx.body).map_err(|why| unrecognized(&why))?;
            (value, yaml_strict_errors(&ctx.body, validation))
        }
        BodyFormat::Protobuf => {
            let value = protobuf::decode_as(&ctx.body, api_version, kind);
            let value = value.map_err(|error| unrecognized(&protobuf_error(&error)))?;
            (value, Vec::new())
        }
    };
    if depth::exceeds_limit(&value) {
        return Err(unrecognized(depth::EXCEEDED));
    }
    let Value::Object(fields) = &mut value else {
        return Err(unrecognized(&no_type_meta(&value)));
    };
    fields
        .entry("apiVersion")
        .or_insert_with(|| api_version.into());
    fields.entry("kind").or_insert_with(|| kind.into());
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    let (found_version, found_kind) = (text("apiVersion"), text("kind"));
    if (found_version.as_str(), found_kind.as_str()) != (api_version, kind) {
        let found = (found_version.as_str(), found_kind.as_str());
        return Err(wrong_type(ctx, found, (api_version, kind)));
    }
    let version = GroupVersion::parse(api_version).version;
    let unknown = as_go_type(api_version, kind, &mut value)
        .map_err(|why| cannot_be_handled(kind, version, &why))?;
    if format != BodyFormat::Json {
        strict_errors.extend(unknown_fields(&unknown));
    }
    report_strict_errors(ctx, (kind, version), strict_errors, validation)?;
    Ok(value)
}

/// Decodes an object as its Go type. Returns the paths of the unknown fields.
fn as_go_type(
    api_version: &str,
    kind: &str,
    object: &mut Value,
) -> Result<Vec<String>, DecodeError> {
    match go_types::of_kind(GroupVersion::parse(api_version), kind) {
        Some(id) => go_types::decode(id, object),
        None => Ok(Vec::new()),
    }
}

/// Strict decoding errors for unknown fields.
fn unknown_fields(paths: &[String]) -> Vec<String> {
    let error = |path: &String| format!("unknown field \"{path}\"");
    paths.iter().map(error).collect()
}

/// The kind that the patched object of a request is decoded as: that of the resource, or that of a subresource.
#[derive(Debug, Clone, Copy)]
pub(super) struct Target<'a> {
    pub(super) api_version: &'a str,
    pub(super) kind: &'a str,
    pub(super) schema: &'a Schema,
}

impl Target<'_> {
    /// Decodes a patched object. Returns strict decoding errors for unknown fields.
    pub(super) fn convert(
        self,
        ctx: &RequestContext<'_>,
        object: &mut Value,
    ) -> Result<Vec<String>, DecodeError> {
        if self.kind == ctx.kind.kind {
            return convert(ctx, object, self.schema);
        }
        let unknown = as_go_type(self.api_version, self.kind, object)?;
        Ok(unknown_fields(&unknown))
    }
}

/// The `DeleteOptions` in the body of a deletion.
pub(super) fn delete_options(ctx: &RequestContext<'_>) -> Result<Value, Status> {
    let bad_request = |why: String| Status::bad_request(why);
    let mut value = match body_format(ctx.headers, false)? {
        BodyFormat::Json => json_value(&ctx.body).map_err(|why| bad_request(json_error(&why)))?,
        BodyFormat::Yaml => yaml_value(&ctx.body).map_err(bad_request)?,
        BodyFormat::Protobuf => protobuf::decode_as(&ctx.body, "v1", "DeleteOptions")
            .map_err(|error| bad_request(protobuf_error(&error)))?,
    };
    if value.is_null() {
        value = json!({});
    }
    if !value.is_object() {
        return Err(bad_request(no_type_meta(&value)));
    }
    match value["kind"].as_str() {
        None | Some("" | "DeleteOptions") => {}
        Some(kind) => {
            let version = value["apiVersion"].as_str().unwrap_or_default();
            return Err(bad_request(not_registered(version, kind)));
        }
    }
    as_go_type("meta.k8s.io/v1", "DeleteOptions", &mut value)
        .map_err(|why| bad_request(why.to_string()))?;
    Ok(value)
}

/// The decoder's error for a value without `apiVersion` and `kind`.
fn no_type_meta(value: &Value) -> String {
    let found = strict::json_type(value);
    format!(
        "couldn't get version/kind; json parse error: json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
    )
}

/// The decoder's error for invalid JSON.
fn json_error(why: &DecodeError) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

/// The real server's error has the prefix of the decoding step, but not that of the conversion to JSON.
fn yaml_value(bytes: &[u8]) -> Result<Value, String> {
    from_yaml(bytes).map_err(|error| match error.step() {
        Step::Convert => error.to_string(),
        Step::Decode => error.full_text(),
    })
}

fn protobuf_error(error: &protobuf::Error) -> String {
    match error {
        protobuf::Error::NoMessage => {
            "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]"
                .to_owned()
        }
        protobuf::Error::Malformed {
            fault: protobuf::Fault::Truncated,
            ..
        } => "unexpected EOF".to_owned(),
        other => other.to_string(),
    }
}

fn not_registered(version: &str, kind: &str) -> String {
    format!(
        "no kind \"{kind}\" is registered for version \"{version}\" in scheme \"pkg/runtime/scheme.go:111\""
    )
}

/// Why an object of one kind cannot be decoded as the kind that the path names.
pub(super) fn type_error(ctx: &RequestContext<'_>, object: &Value, target: Target<'_>) -> String {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let found = (text("apiVersion"), text("kind"));
    let version = GroupVersion::parse(found.0);
    let Some(known) = ctx.kinds.kind(version.group, version.version, found.1) else {
        return not_registered(found.0, found.1);
    };
    // The real server decodes it as its own kind first.
    if let Err(error) = defaults::complete(known, &mut object.clone()) {
        return error.to_string();
    }
    if target.kind != ctx.kind.kind {
        let expected = (target.api_version, target.kind);
        return conversion_error(true, found, expected);
    }
    let (group, wanted) = (go_group(&ctx.kind.group), &ctx.kind.kind);
    format!(
        "unable to decode {}/{}, Kind={} into *{group}.{wanted}",
        version.group, version.version, found.1
    )
}

/// The Go package of a group's types.
fn go_group(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}

fn conversion_error(is_known: bool, found: (&str, &str), expected: (&str, &str)) -> String {
    if !is_known {
        return not_registered(found.0, found.1);
    }
    let group = go_group(GroupVersion::parse(expected.0).group);
    let version = GroupVersion::parse(found.0).version;
    format!(
        "converting ({version}.{}) to ({group}.{}): unknown conversion",
        found.1, expected.1
    )
}

/// Like [`wrong_type`], for custom resources, which decode any kind.
fn wrong_custom_type(
    ctx: &RequestContext<'_>,
    found: (&str, &str),
    fields: &Map<String, Value>,
) -> Status {
    let kind = &ctx.kind;
    if found.0 != kind.api_version() {
        return Status::bad_request(format!(
            "the API version in the data ({}) does not match the expected API version ({})",
            found.0,
            kind.api_version()
        ));
    }
    let name = fields
        .get("metadata")
        .and_then(|metadata| metadata["name"].as_str());
    let path = field::Path::root("kind");
    let error = field::Error::invalid(&path, found.1, format!("must be {}", kind.kind));
    let found = GroupKind::new(&kind.group, found.1);
    Status::invalid(found, name.unwrap_or_default(), &[error])
}

/// The error for an object of another kind than that of the path.
fn wrong_type(ctx: &RequestContext<'_>, found: (&str, &str), expected: (&str, &str)) -> Status {
    let version = GroupVersion::parse(found.0);
    let wanted = GroupVersion::parse(expected.0);
    let is_known = ctx
        .kinds
        .kind(version.group, version.version, found.1)
        .is_some();
    let is_older = version.group == wanted.group && version.version.contains("beta");
    if found.1 == expected.1 && (is_known || is_older) {
        return Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        ));
    }
    let why = conversion_error(is_known, found, expected);
    Status::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {why}",
        found.1, version.version, expected.1
    ))
}

fn json_value(bytes: &[u8]) -> Result<Value, DecodeError> {
    strict::parse(bytes).map(|(value, _)| value)
}

fn parse(
    ctx: &RequestContext<'_>,
    format: BodyFormat,
    schema: &Schema,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let kind = &ctx.kind;
    let unrecognized = |why: &str| unrecognized(&kind.kind, why, &ctx.body);
    let is_custom = kind.custom.is_some();
    // The real server finds version and kind before it reads the number.
    let json_failure = |why: DecodeError| match why {
        DecodeError::NumberOutOfRange(_) => cannot_be_handled(&kind.kind, &kind.version, &why),
        why => unrecognized(&json_error(&why)),
    };
    let (mut value, strict_errors) = match format {
        BodyFormat::Json if validation == FieldValidation::Ignore || is_custom => {
            strict::parse(&ctx.body).map_err(json_failure)?
        }
        BodyFormat::Json => strict::parse_typed(&ctx.body, schema.root()).map_err(json_failure)?,
        BodyFormat::Yaml => {
            let value = yaml_value(&ctx.body).map_err(|why| unrecognized(&why))?;
            (value, yaml_strict_errors(&ctx.body, validation))
        }
        BodyFormat::Protobuf => {
            let value = protobuf::decode_as(&ctx.body, &kind.api_version(), &kind.kind);
            let value = value.map_err(|error| unrecognized(&protobuf_error(&error)))?;
            (value, Vec::new())
        }
    };
    if depth::exceeds_limit(&value) {
        return Err(unrecognized(depth::EXCEEDED));
    }
    check_type(ctx, &mut value)?;
    Ok((value, strict_errors))
}

/// An error has all duplicate keys in one text; warnings are one per key.
fn yaml_strict_errors(body: &[u8], validation: FieldValidation) -> Vec<String> {
    if validation == FieldValidation::Ignore {
        return Vec::new();
    }
    match strict_error(body) {
        None => Vec::new(),
        Some(error) if validation == FieldValidation::Strict => vec![error.to_string()],
        Some(error) => strict_warnings(&error),
    }
}

/// Checks `apiVersion` and `kind`, and sets them if they are missing.
fn check_type(ctx: &RequestContext<'_>, value: &mut Value) -> Result<(), Status> {
    let kind = &ctx.kind;
    let expected = kind.api_version();
    let Value::Object(fields) = value else {
        return Err(unrecognized(&kind.kind, &no_type_meta(value), &ctx.body));
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (found_version, found_kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
    if kind.custom.is_some() && found_kind.is_empty() {
        let shown = String::from_utf8_lossy(&ctx.body).into_owned();
        let why = format!("Object 'Kind' is missing in '{shown}'");
        return Err(unrecognized(&kind.kind, &why, &ctx.body));
    }
    let given_kind = if found_kind.is_empty() {
        kind.kind.clone()
    } else {
        found_kind
    };
    let given_version = if found_version.is_empty() {
        expected.clone()
    } else {
        found_version
    };
    if (given_version.as_str(), given_kind.as_str()) != (expected.as_str(), kind.kind.as_str()) {
        let found = (given_version.as_str(), given_kind.as_str());
        return Err(match kind.custom {
            Some(_) => wrong_custom_type(ctx, found, fields),
            None => wrong_type(ctx, found, (&expected, &kind.kind)),
        });
    }
    fields.insert("apiVersion".to_owned(), expected.into());
    fields.insert("kind".to_owned(), kind.kind.clone().into());
    Ok(())
}

fn unrecognized(kind: &str, why: &str, body: &[u8]) -> Status {
    let shown = match body {
        [] => "<empty>".to_owned(),
        [b'{', ..] if body.len() > SHOWN => {
            format!("{} ...", String::from_utf8_lossy(&body[..SHOWN]))
        }
        [b'{', ..] => String::from_utf8_lossy(body).into_owned(),
        _ => {
            let shown: String = body
                .iter()
                .take(SHOWN)
                .map(|byte| format!("{byte:02x}"))
                .collect();
            let more = if body.len() > SHOWN { " ..." } else { "" };
            format!("{shown}{more}")
        }
    };
    Status::bad_request(format!(
        "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
    ))
}

/// Normalizes an object and sets its defaults. Returns strict decoding errors for unknown fields.
pub(super) fn complete(
    ctx: &RequestContext<'_>,
    object: &mut Value,
    schema: &Schema,
) -> Result<Vec<String>, Status> {
    convert(ctx, object, schema)
        .map_err(|why| cannot_be_handled(&ctx.kind.kind, &ctx.kind.version, &why))
}

fn cannot_be_handled(kind: &str, version: &str, why: &DecodeError) -> Status {
    Status::bad_request(format!(
        "{kind} in version \"{version}\" cannot be handled as a {kind}: {why}"
    ))
}

/// Like [`complete`], but leaves it to the caller to make a response of the error.
fn convert(
    ctx: &RequestContext<'_>,
    object: &mut Value,
    schema: &Schema,
) -> Result<Vec<String>, DecodeError> {
    let is_reset = |entries: &&Vec<Value>| {
        entries
            .iter()
            .all(|entry| entry.as_object().is_some_and(Map::is_empty))
    };
    let managed = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"));
    let reset = managed.and_then(Value::as_array).filter(is_reset).cloned();
    let unknown = if ctx.kind.custom.is_some() {
        let unknown = schema::coerce(object, schema.root())?;
        schema::apply_defaults(object, schema.root());
        unknown
    } else {
        defaults::complete(&ctx.kind, object)?
    };
    restore(ctx, object, reset);
    Ok(unknown_fields(&unknown))
}

/// Restores what decoding loses, and adds what the strategy of the kind adds.
fn restore(ctx: &RequestContext<'_>, object: &mut Value, reset: Option<Vec<Value>>) {
    let metadata = metadata_of(object);
    if let Some(entries) = reset {
        // An empty list resets the managed fields.
        metadata.insert("managedFields".to_owned(), entries.into());
    }
    ctx.kind.strategy.after_decode(object);
}

/// The metadata of an object, added if missing.
pub(super) fn metadata_of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.is_object() {
        *object = json!({});
    }
    let metadata = &mut object["metadata"];
    if !metadata.is_object() {
        *metadata = json!({});
    }
    match metadata {
        Value::Object(metadata) => metadata,
        _ => unreachable!("it is an object now"),
    }
}

/// Rejects unknown and duplicate fields, or warns about them.
fn report_strict_errors(
    ctx: &mut RequestContext<'_>,
    (name, version): (&str, &str),
    strict_errors: Vec<String>,
    validation: FieldValidation,
) -> Result<(), Status> {
    if strict_errors.is_empty() || validation == FieldValidation::Ignore {
        return Ok(());
    }
    if validation == FieldValidation::Strict {
        let why = strict_errors.join(", ");
        return Err(Status::bad_request(format!(
            "{name} in version \"{version}\" cannot be handled as a {name}: strict decoding error: {why}"
        )));
    }
    for error in strict_errors {
        ctx.warn(error);
    }
    Ok(())
}

/// The schema of a built-in kind.
pub(super) fn schema_of(api_version: &str, kind: &str) -> Schema {
    let schema = builtin::schema(api_version, kind);
    schema.cloned().unwrap_or_else(Schema::untyped)
}
