//! `yaml.Marshal`. It keeps its own stack, since values may be nested deeply and maps may contain themselves.

use outrigger_gostd::base64;
use outrigger_goyaml::{
    Emitter, Error, Style, from_go_bytes, natural_order, pretty_order, sort_natural,
};

use crate::traversal::MAX_TEXT;
use crate::value::go_struct::{fields_of, yaml_entries};
use crate::value::{Element, List, Object, Str, Value};

/// Appends the result of `toYaml`: nothing if the value cannot be marshaled.
pub(crate) fn append_yaml(out: &mut Vec<u8>, value: &Value) {
    append_indented(out, value, 0);
}

/// Appends the result of `toYaml` with each line indented.
pub(crate) fn append_indented(out: &mut Vec<u8>, value: &Value, indent: usize) {
    let emitter = Emitter::new(out, Style::Normal, indent);
    // On error the emitter removes what it wrote.
    let _ = write(emitter, value, Style::Normal);
}

/// Appends the result of `toYamlPretty`.
pub(super) fn append_pretty(out: &mut Vec<u8>, value: &Value) {
    let emitter = Emitter::new(out, Style::Pretty, 0);
    let _ = write(emitter, value, Style::Pretty);
}

/// The error of sigs.k8s.io/yaml, which marshals into JSON first.
#[derive(Debug, thiserror::Error)]
#[error("error marshaling into JSON: {0}")]
pub(crate) struct MarshalError(Error);

/// `yaml.Marshal` of sigs.k8s.io/yaml.
pub(crate) fn marshal(value: &Value) -> Result<Vec<u8>, MarshalError> {
    let mut out = Vec::new();
    let emitter = Emitter::new(&mut out, Style::Normal, 0);
    write(emitter, value, Style::Normal).map_err(MarshalError)?;
    out.push(b'\n');
    Ok(out)
}

/// A collection whose members are being emitted.
enum Open {
    List(List, usize),
    Map(std::vec::IntoIter<(Str, Value)>),
}

fn write(mut emitter: Emitter<'_>, value: &Value, style: Style) -> Result<(), Error> {
    let mut open = Vec::new();
    begin(&mut emitter, &mut open, value.clone(), style);
    while let Some(innermost) = open.last_mut() {
        let next = match innermost {
            Open::List(list, at) => {
                let item = list.items().get(*at).cloned();
                *at += 1;
                item
            }
            Open::Map(entries) => entries.next().map(|(key, value)| {
                emitter.key_bytes(key.as_bytes());
                value
            }),
        };
        match (next, innermost) {
            (Some(value), _) => begin(&mut emitter, &mut open, value, style),
            (None, Open::List(..)) => {
                emitter.end_list();
                open.pop();
            }
            (None, Open::Map(_)) => {
                emitter.end_map();
                open.pop();
            }
        }
        if open.len() > MAX_DEPTH || emitter.len() > MAX_TEXT {
            break;
        }
    }
    emitter.finish()
}

/// One level more than the emitter accepts, so that it reports the error.
const MAX_DEPTH: usize = 10_001;

/// Emits a scalar, or the start of a collection.
fn begin(emitter: &mut Emitter<'_>, open: &mut Vec<Open>, value: Value, style: Style) {
    if style == Style::Pretty
        && let Some(fields) = fields_of(&value)
    {
        let entries = yaml_entries(fields);
        emitter.begin_map(entries.len());
        open.push(Open::Map(entries.into_iter()));
        return;
    }
    match plain(value) {
        Value::Nil | Value::Object(_) => emitter.null(),
        Value::Bool(value) => emitter.bool(value),
        Value::Int(n) | Value::Int64(n) => emitter.int(n),
        Value::Uint8(n) => emitter.uint(u64::from(n)),
        Value::Uint64(n) => emitter.uint(n),
        Value::Float(x) => emitter.float(x),
        Value::Str(text) => emitter.bytes(text.as_bytes()),
        Value::List(list) if list.is_nil() && style == Style::Normal => emitter.null(),
        Value::List(list) if list.element() == Element::Byte && style == Style::Normal => {
            emitter.bytes(base64_text(&list).as_bytes());
        }
        Value::List(list) => {
            emitter.begin_list(list.items().len());
            open.push(Open::List(list, 0));
        }
        Value::Map(map) if map.is_nil() && style == Style::Normal => emitter.null(),
        Value::Map(map) => {
            let mut entries = map.entries();
            sort(&mut entries, style);
            emitter.begin_map(entries.len());
            open.push(Open::Map(entries.into_iter()));
        }
    }
}

fn sort(entries: &mut Vec<(Str, Value)>, style: Style) {
    for (key, _) in entries.iter_mut() {
        if std::str::from_utf8(key.as_bytes()).is_err() {
            *key = from_go_bytes(key.as_bytes()).into();
        }
    }
    let order = match style {
        Style::Normal => natural_order,
        Style::Pretty => pretty_order,
    };
    sort_natural(entries, order, |(key, _)| {
        std::str::from_utf8(key.as_bytes()).unwrap_or_default()
    });
}

/// The value that encoders use for an object.
fn plain(value: Value) -> Value {
    match value {
        Value::Object(object) => Object::to_plain(&*object),
        other => other,
    }
}

/// `json.Marshal` encodes bytes as base64.
fn base64_text(bytes: &List) -> String {
    let bytes: Vec<u8> = bytes.items().iter().map(byte).collect();
    base64::encode(&bytes)
}

fn byte(value: &Value) -> u8 {
    match value {
        Value::Uint8(byte) => *byte,
        _ => 0,
    }
}
