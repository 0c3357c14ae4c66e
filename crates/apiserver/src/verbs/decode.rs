//! From the body of a request to an object in the form in which the rest of the server works on it.

use serde_json::{Map, Value, json};

use super::call::Call;
use crate::defaults;
use crate::kinds::GroupVersion;
use crate::negotiate::{BodyForm, body_form, from_yaml};
use crate::protobuf;
use crate::request::FieldValidation;
use crate::schema::{self, Schema, builtin, strict};
use crate::status::Status;

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
    let mut value = match body_form(call.headers, false)? {
        BodyForm::Json => {
            json_value(&call.body).map_err(|why| unreadable(kind, &why, &call.body))?
        }
        BodyForm::Yaml => {
            from_yaml(&call.body).map_err(|why| unreadable(kind, &why, &call.body))?
        }
        BodyForm::Protobuf => protobuf::decode_as(&call.body, api_version, kind)
            .map_err(|error| Status::bad_request(error.to_string()))?,
    };
    let Value::Object(fields) = &mut value else {
        return Err(unreadable(kind, "the body is no object", &call.body));
    };
    fields
        .entry("apiVersion")
        .or_insert_with(|| api_version.into());
    fields.entry("kind").or_insert_with(|| kind.into());
    if fields["kind"] != kind {
        let found = fields["kind"].as_str().unwrap_or_default();
        let version = GroupVersion::parse(api_version).version;
        return Err(Status::bad_request(format!(
            "{found} in version \"{version}\" cannot be handled as a {kind}"
        )));
    }
    Ok(value)
}

/// The options of a deletion that come in its body.
pub(super) fn delete_options(call: &Call<'_>) -> Result<Value, Status> {
    let refused = |why: String| Status::bad_request(why);
    match body_form(call.headers, false)? {
        BodyForm::Json => json_value(&call.body).map_err(refused),
        BodyForm::Yaml => from_yaml(&call.body).map_err(refused),
        BodyForm::Protobuf => protobuf::decode_as(&call.body, "v1", "DeleteOptions")
            .map_err(|error| refused(error.to_string())),
    }
}

fn json_value(bytes: &[u8]) -> Result<Value, String> {
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
            strict::parse(&call.body).map_err(|why| unreadable(&why))?
        }
        BodyForm::Json => {
            strict::parse_typed(&call.body, schema.root()).map_err(|why| unreadable(&why))?
        }
        BodyForm::Yaml => {
            let value = from_yaml(&call.body).map_err(|why| unreadable(&why))?;
            (value, Vec::new())
        }
        BodyForm::Protobuf => {
            let value = protobuf::decode_as(&call.body, &kind.api_version(), &kind.kind);
            let value = value.map_err(|error| Status::bad_request(error.to_string()))?;
            (value, Vec::new())
        }
    };
    check_type(call, &mut value)?;
    Ok((value, complaints))
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
    let version = GroupVersion::parse(&found_version);
    if !found_kind.is_empty()
        && found_kind != kind.kind
        && (found_version.is_empty() || found_version == expected)
    {
        let name = &kind.kind;
        let why = if kind.custom.is_some()
            || call
                .kinds
                .kind(&kind.group, &kind.version, &found_kind)
                .is_none()
        {
            format!(
                "no kind \"{found_kind}\" is registered for version \"{expected}\" in scheme \"pkg/api/legacyscheme/scheme.go:30\""
            )
        } else {
            let (group, version) = (internal_group(&kind.group), &kind.version);
            format!(
                "{found_kind} in version \"{version}\" cannot be handled as a {name}: converting ({}{found_kind}) to ({group}.{name}): unknown conversion",
                go_package(&kind.group, version)
            )
        };
        return Err(Status::bad_request(why));
    }
    if !found_version.is_empty() && found_version != expected {
        return Err(Status::bad_request(format!(
            "the API version in the data ({version}) does not match the expected API version ({expected})"
        )));
    }
    fields.insert("apiVersion".to_owned(), expected.into());
    fields.insert("kind".to_owned(), kind.kind.clone().into());
    Ok(())
}

fn go_package(_group: &str, version: &str) -> String {
    format!("{version}.")
}

fn internal_group(group: &str) -> &str {
    match group {
        "" => "core",
        group => group.split('.').next().unwrap_or_default(),
    }
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
    let kind = &call.kind;
    let unknown = if kind.custom.is_some() {
        let unknown = schema::coerce(object, schema.root()).map_err(|why| {
            let (name, version) = (&kind.kind, &kind.version);
            Status::bad_request(format!(
                "{name} in version \"{version}\" cannot be handled as a {name}: {why}"
            ))
        })?;
        schema::apply_defaults(object, schema.root());
        unknown
    } else {
        defaults::complete(kind, object).map_err(|error| error.into_status(kind))?
    };
    metadata_of(object);
    Ok(unknown
        .iter()
        .map(|field| format!("unknown field \"{field}\""))
        .collect())
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
    schema.cloned().unwrap_or_else(Schema::unknown)
}
