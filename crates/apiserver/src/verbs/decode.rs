//! From the body of a request to an object in the form in which the rest of the server works on it.

use outrigger_apimachinery::status::{Status, field};
use outrigger_apimachinery::{GroupKind, GroupVersion};
use outrigger_builtin::defaults;
use outrigger_builtin::protobuf;
use outrigger_structural::schema::{self, DecodeError, Schema, builtin, strict};
use serde_json::{Map, Value, json};

use super::call::Call;
use crate::negotiate::{BodyForm, body_form, from_yaml, strict_problem, strict_warnings};
use crate::request::FieldValidation;

/// How much of a body is shown when it cannot be read.
const SHOWN: usize = 30;

/// The object of a create or an update, decoded and defaulted.
pub(super) fn object(
    call: &mut Call<'_>,
    schema: &Schema,
    validation: FieldValidation,
) -> Result<Value, Status> {
    let is_custom = call.kind.custom.is_some();
    let form = body_form(call.headers, is_custom)?;
    let (mut object, mut complaints) = read(call, form, schema, validation)?;
    let unknown = complete(call, &mut object, schema)?;
    if is_custom || form != BodyForm::Json {
        complaints.extend(unknown);
    }
    if validation == FieldValidation::Ignore {
        complaints.clear();
    }
    complain(call, complaints, validation)?;
    Ok(object)
}

/// An object of another kind than that of the resource: a Scale, an Eviction, a review.
pub(super) fn foreign(call: &Call<'_>, api_version: &str, kind: &str) -> Result<Value, Status> {
    let unreadable = |why: &str| unreadable(kind, why, &call.body);
    let mut value = match body_form(call.headers, false)? {
        BodyForm::Json => json_value(&call.body).map_err(|why| unreadable(&json_problem(&why)))?,
        BodyForm::Yaml => yaml_value(&call.body).map_err(|why| unreadable(&why))?,
        BodyForm::Protobuf => protobuf::decode_as(&call.body, api_version, kind)
            .map_err(|error| unreadable(&protobuf_problem(&error)))?,
    };
    let Value::Object(fields) = &mut value else {
        return Err(unreadable("the body is no object"));
    };
    fields
        .entry("apiVersion")
        .or_insert_with(|| api_version.into());
    fields.entry("kind").or_insert_with(|| kind.into());
    let text = |name: &str| fields[name].as_str().unwrap_or_default().to_owned();
    let (found_version, found_kind) = (text("apiVersion"), text("kind"));
    if (found_version.as_str(), found_kind.as_str()) != (api_version, kind) {
        let found = (found_version.as_str(), found_kind.as_str());
        return Err(wrong_type(call, found, (api_version, kind)));
    }
    Ok(value)
}

/// The options of a deletion that come in its body.
pub(super) fn delete_options(call: &Call<'_>) -> Result<Value, Status> {
    let refused = |why: String| Status::bad_request(why);
    let value = match body_form(call.headers, false)? {
        BodyForm::Json => json_value(&call.body).map_err(|why| refused(json_problem(&why)))?,
        BodyForm::Yaml => yaml_value(&call.body).map_err(refused)?,
        BodyForm::Protobuf => protobuf::decode_as(&call.body, "v1", "DeleteOptions")
            .map_err(|error| refused(protobuf_problem(&error)))?,
    };
    match value["kind"].as_str() {
        None | Some("" | "DeleteOptions") => Ok(value),
        Some(kind) => {
            let version = value["apiVersion"].as_str().unwrap_or_default();
            Err(refused(not_registered(version, kind)))
        }
    }
}

/// What the decoder says of JSON that it cannot even look into.
fn json_problem(why: &DecodeError) -> String {
    format!("couldn't get version/kind; json parse error: {why}")
}

fn yaml_value(bytes: &[u8]) -> Result<Value, String> {
    from_yaml(bytes).map_err(
        |why| match why.strip_prefix("error converting YAML to JSON: ") {
            Some(why) => why.to_owned(),
            None => why,
        },
    )
}

fn protobuf_problem(error: &protobuf::Error) -> String {
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

/// Why an object that says it is of one kind cannot be one of the kind that the path names.
pub(super) fn type_problem(call: &Call<'_>, object: &Value) -> String {
    let text = |name: &str| object[name].as_str().unwrap_or_default();
    let found = (text("apiVersion"), text("kind"));
    let version = GroupVersion::parse(found.0);
    let Some(known) = call.kinds.kind(version.group, version.version, found.1) else {
        return not_registered(found.0, found.1);
    };
    // It is read as what it says that it is before anybody looks at what it should be.
    if let Err(error) = defaults::complete(known, &mut object.clone()) {
        return error.to_string();
    }
    let (group, wanted) = (go_group(&call.kind.group), &call.kind.kind);
    format!(
        "unable to decode {}/{}, Kind={} into *{group}.{wanted}",
        version.group, version.version, found.1
    )
}

/// The package of a group's types.
fn go_group(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
}

fn problem(is_known: bool, found: (&str, &str), expected: (&str, &str)) -> String {
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

/// The same for custom resources, which any kind can be read as.
fn wrong_custom_type(call: &Call<'_>, found: (&str, &str), fields: &Map<String, Value>) -> Status {
    let kind = &call.kind;
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
    let place = field::Path::root("kind");
    let error = field::Error::invalid(&place, found.1, format!("must be {}", kind.kind));
    let found = GroupKind::new(&kind.group, found.1);
    Status::invalid(found, name.unwrap_or_default(), &[error])
}

/// The refusal of an object that says it is something else than the path.
fn wrong_type(call: &Call<'_>, found: (&str, &str), expected: (&str, &str)) -> Status {
    let version = GroupVersion::parse(found.0);
    let wanted = GroupVersion::parse(expected.0);
    let is_known = call
        .kinds
        .kind(version.group, version.version, found.1)
        .is_some();
    let is_older = version.group == wanted.group && version.version.contains("beta");
    if found.1 == expected.1 && (is_known || is_older) {
        return Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({wanted})"
        ));
    }
    let why = problem(is_known, found, expected);
    Status::bad_request(format!(
        "{} in version \"{}\" cannot be handled as a {}: {why}",
        found.1, version.version, expected.1
    ))
}

fn json_value(bytes: &[u8]) -> Result<Value, DecodeError> {
    strict::parse(bytes).map(|(value, _)| value)
}

fn read(
    call: &Call<'_>,
    form: BodyForm,
    schema: &Schema,
    validation: FieldValidation,
) -> Result<(Value, Vec<String>), Status> {
    let kind = &call.kind;
    let unreadable = |why: &str| unreadable(&kind.kind, why, &call.body);
    let is_custom = kind.custom.is_some();
    let (mut value, complaints) = match form {
        BodyForm::Json if validation == FieldValidation::Ignore || is_custom => {
            strict::parse(&call.body).map_err(|why| unreadable(&json_problem(&why)))?
        }
        BodyForm::Json => strict::parse_typed(&call.body, schema.root())
            .map_err(|why| unreadable(&json_problem(&why)))?,
        BodyForm::Yaml => {
            let value = yaml_value(&call.body).map_err(|why| unreadable(&why))?;
            (value, yaml_complaints(&call.body, validation))
        }
        BodyForm::Protobuf => {
            let value = protobuf::decode_as(&call.body, &kind.api_version(), &kind.kind);
            let value = value.map_err(|error| unreadable(&protobuf_problem(&error)))?;
            (value, Vec::new())
        }
    };
    check_type(call, &mut value)?;
    Ok((value, complaints))
}

/// A refusal has all repeated keys in one text; each has a warning of its own.
fn yaml_complaints(body: &[u8], validation: FieldValidation) -> Vec<String> {
    if validation == FieldValidation::Ignore {
        return Vec::new();
    }
    match strict_problem(body) {
        None => Vec::new(),
        Some(problem) if validation == FieldValidation::Strict => vec![problem.to_string()],
        Some(problem) => strict_warnings(&problem),
    }
}

/// An object says which kind it is, or is taken for what the path says.
fn check_type(call: &Call<'_>, value: &mut Value) -> Result<(), Status> {
    let kind = &call.kind;
    let expected = kind.api_version();
    let Value::Object(fields) = value else {
        let found = strict::json_type(value);
        let why = format!(
            "json: cannot unmarshal {found} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}"
        );
        return Err(unreadable(
            &kind.kind,
            &format!("couldn't get version/kind; json parse error: {why}"),
            &call.body,
        ));
    };
    let text = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let (found_version, found_kind) = (text("apiVersion").to_owned(), text("kind").to_owned());
    if kind.custom.is_some() && found_kind.is_empty() {
        let shown = String::from_utf8_lossy(&call.body).into_owned();
        let why = format!("Object 'Kind' is missing in '{shown}'");
        return Err(unreadable(&kind.kind, &why, &call.body));
    }
    let said_kind = if found_kind.is_empty() {
        kind.kind.clone()
    } else {
        found_kind
    };
    let said_version = if found_version.is_empty() {
        expected.clone()
    } else {
        found_version
    };
    if (said_version.as_str(), said_kind.as_str()) != (expected.as_str(), kind.kind.as_str()) {
        let found = (said_version.as_str(), said_kind.as_str());
        return Err(match kind.custom {
            Some(_) => wrong_custom_type(call, found, fields),
            None => wrong_type(call, found, (&expected, &kind.kind)),
        });
    }
    fields.insert("apiVersion".to_owned(), expected.into());
    fields.insert("kind".to_owned(), kind.kind.clone().into());
    Ok(())
}

fn unreadable(kind: &str, why: &str, body: &[u8]) -> Status {
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

/// Brings an object into the form that is stored, with its defaults. Returns what is to be said of unknown fields.
pub(super) fn complete(
    call: &Call<'_>,
    object: &mut Value,
    schema: &Schema,
) -> Result<Vec<String>, Status> {
    convert(call, object, schema).map_err(|why| {
        let (name, version) = (&call.kind.kind, &call.kind.version);
        Status::bad_request(format!(
            "{name} in version \"{version}\" cannot be handled as a {name}: {why}"
        ))
    })
}

/// Why an object cannot be decoded as its kind, in the words of the real server.
#[derive(Debug, thiserror::Error)]
pub(super) enum ConvertError {
    #[error(transparent)]
    BuiltIn(#[from] defaults::Error),
    #[error(transparent)]
    Custom(#[from] DecodeError),
}

/// Like [`complete`], but leaves it to the caller to make a response of the error.
pub(super) fn convert(
    call: &Call<'_>,
    object: &mut Value,
    schema: &Schema,
) -> Result<Vec<String>, ConvertError> {
    let is_reset = |entries: &&Vec<Value>| {
        entries
            .iter()
            .all(|entry| entry.as_object().is_some_and(Map::is_empty))
    };
    let managed = object
        .get("metadata")
        .and_then(|metadata| metadata.get("managedFields"));
    let reset = managed.and_then(Value::as_array).filter(is_reset).cloned();
    let unknown = if call.kind.custom.is_some() {
        let unknown = schema::coerce(object, schema.root())?;
        schema::apply_defaults(object, schema.root());
        unknown
    } else {
        defaults::complete(&call.kind, object)?
    };
    settle(call, object, reset);
    Ok(unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""))
        .collect())
}

/// What decoding would lose, or the real server adds while it decodes.
fn settle(call: &Call<'_>, object: &mut Value, reset: Option<Vec<Value>>) {
    let metadata = metadata_of(object);
    if let Some(entries) = reset {
        // Who sends an empty list wants the owners of fields forgotten.
        metadata.insert("managedFields".to_owned(), entries.into());
    }
    call.kind.strategy.after_decode(object);
}

/// The metadata of an object, made if it has none.
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
        _ => unreachable!("it was just made an object"),
    }
}

/// Unknown and repeated fields are refused, or warned of.
fn complain(
    call: &mut Call<'_>,
    complaints: Vec<String>,
    validation: FieldValidation,
) -> Result<(), Status> {
    if complaints.is_empty() {
        return Ok(());
    }
    if validation == FieldValidation::Strict {
        let (name, version) = (&call.kind.kind, &call.kind.version);
        let why = complaints.join(", ");
        return Err(Status::bad_request(format!(
            "{name} in version \"{version}\" cannot be handled as a {name}: strict decoding error: {why}"
        )));
    }
    for complaint in complaints {
        call.warn(complaint);
    }
    Ok(())
}

/// The schema of a kind that comes in bodies but is not that of the resource.
pub(super) fn foreign_schema(api_version: &str, kind: &str) -> Schema {
    let schema = builtin::schema(api_version, kind);
    schema.cloned().unwrap_or_else(Schema::untyped)
}
