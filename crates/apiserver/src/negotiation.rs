//! Content negotiation: media types of requests and responses, compression, warnings.
//!
//! Responses are JSON, or YAML if a client requests it. Only metadata are sent as protobuf; a client that accepts only
//! protobuf gets JSON for the rest, which all known clients decode, and an error for custom resources.

mod accept;
mod content_type;
mod gzip;
mod item_list;
mod list;
mod response;
mod yaml;

pub(crate) use accept::{Accept, Format, NotAcceptable, View};
pub(crate) use content_type::{BodyFormat, PatchType, body_format, patch_type};
pub(crate) use item_list::ItemList;
pub(crate) use list::List;
pub(crate) use response::{ApiResponse, Content, failure, text};
pub(crate) use yaml::{from_yaml, strict_error, strict_warnings};

#[cfg(test)]
mod tests;
