//! `json.Marshal` and `json.Unmarshal` of template values, with Go's error messages.

mod decode;
mod encode;

pub use decode::{DecodeError, decode};
pub(crate) use decode::{decode_list, decode_map, decode_within};
pub use encode::{EncodeError, encode, encode_pretty};
