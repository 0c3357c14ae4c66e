//! Quantities such as `500m` and `1Gi`: as numbers, and the text in which the API shows each.

mod amount;
mod text;

pub use amount::Quantity;
pub use text::canonical;
