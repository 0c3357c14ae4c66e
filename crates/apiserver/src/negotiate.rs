//! In which form requests come and answers go: media types, compression, warnings, tags.
//!
//! Answers are JSON, or YAML where a client asks for it. A client that accepts protobuf only gets JSON too: every
//! client that is known takes it.

mod accept;
mod answer;
mod content;
mod yaml;

pub(crate) use accept::{Accept, NotAcceptable, View};
pub(crate) use answer::{Answer, Content, failure, text};
pub(crate) use content::{BodyForm, PatchForm, body_form, patch_form};
pub(crate) use yaml::{from_yaml, strict_problem, strict_warnings};

#[cfg(test)]
mod tests;
