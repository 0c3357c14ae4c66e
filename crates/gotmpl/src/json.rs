//! JSON exactly as Go's `encoding/json` writes and reads it, with Go's error texts.

mod decode;
mod encode;

pub use decode::decode;
pub(crate) use decode::{decode_list, decode_map};
pub use encode::{encode, encode_pretty};
