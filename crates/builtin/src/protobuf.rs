//! Protobuf request bodies: what a typed Go client sends, as the JSON object that it means.
//!
//! A body is four magic bytes and an envelope with the object's type and its message. Messages are known by a
//! table (`table.txt`, made by `cargo xtask gen kubernetes`), and the result is what Go's JSON encoder would write for
//! the same Go value. Responses are never protobuf; every client takes JSON.

use serde_json::Value;

mod error;
mod json;
mod raw;
mod table;
#[cfg(test)]
mod tests;
mod time;
mod tree;
mod wire;

pub use error::{Error, Fault, Path};

use error::Located;
use table::Table;
use tree::{Budget, span};
use wire::Reader;

const MEDIA_TYPE: &str = "application/vnd.kubernetes.protobuf";
const PREFIX: &[u8] = b"k8s\0";

/// Whether a `Content-Type` header says that the body is Kubernetes protobuf.
pub fn is_protobuf(content_type: &str) -> bool {
    let media_type = content_type.split(';').next().unwrap_or_default();
    media_type.trim().eq_ignore_ascii_case(MEDIA_TYPE)
}

/// The object in a body, with `apiVersion` and `kind` set.
pub fn decode(body: &[u8]) -> Result<Value, Error> {
    decode_as(body, "", "")
}

/// The same for a body whose envelope may lack a type. What the envelope says goes before what is given here,
/// so the caller has to look at `apiVersion` and `kind` of the result if it expects a certain type.
pub fn decode_as(body: &[u8], api_version: &str, kind: &str) -> Result<Value, Error> {
    let message = body.strip_prefix(PREFIX).ok_or(Error::NoMessage)?;
    if message.is_empty() {
        return Err(Error::NoMessage);
    }
    let envelope = Envelope::parse(message).map_err(Located::from)?;
    if !envelope.encoding.is_empty() {
        return Err(Error::Encoded {
            encoding: shortened(&json::text(envelope.encoding)),
        });
    }
    let kind = named(envelope.kind, kind).ok_or(Error::NoKind)?;
    let api_version = named(envelope.api_version, api_version).ok_or(Error::NoApiVersion)?;
    let Some(message) = Table::get().kind(&api_version, &kind) else {
        return Err(Error::UnknownKind {
            api_version: shortened(&api_version),
            kind: shortened(&kind),
        });
    };
    let mut budget = Budget::new();
    let fields = tree::parse(message, envelope.raw, &mut budget)?;
    let mut object = json::object(message, &fields, &mut budget)?;
    object.insert("apiVersion".to_owned(), Value::String(api_version));
    object.insert("kind".to_owned(), Value::String(kind));
    Ok(Value::Object(object))
}

#[derive(Debug, Default)]
struct Envelope<'a> {
    api_version: &'a [u8],
    kind: &'a [u8],
    raw: &'a [u8],
    encoding: &'a [u8],
}

impl<'a> Envelope<'a> {
    fn parse(bytes: &'a [u8]) -> Result<Self, Fault> {
        let mut envelope = Self::default();
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match number {
                1 => envelope.parse_type(span(wire, &mut reader)?)?,
                2 => envelope.raw = span(wire, &mut reader)?,
                3 => envelope.encoding = span(wire, &mut reader)?,
                // The content type says nothing that the request does not.
                4 => drop(span(wire, &mut reader)?),
                _ => reader.skip(wire)?,
            }
        }
        Ok(envelope)
    }

    fn parse_type(&mut self, bytes: &'a [u8]) -> Result<(), Fault> {
        let mut reader = Reader::new(bytes);
        while let Some((number, wire)) = reader.field()? {
            match number {
                1 => self.api_version = span(wire, &mut reader)?,
                2 => self.kind = span(wire, &mut reader)?,
                _ => reader.skip(wire)?,
            }
        }
        Ok(())
    }
}

fn named(said: &[u8], otherwise: &str) -> Option<String> {
    let name = if said.is_empty() {
        otherwise.to_owned()
    } else {
        json::text(said)
    };
    (!name.is_empty()).then_some(name)
}

/// Names in errors come from outside: a long one is cut.
fn shortened(name: &str) -> String {
    name.chars().take(253).collect()
}
