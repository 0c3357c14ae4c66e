//! crypto
use crate::function::Function;
pub(super) const FUNCTIONS: &[Function] = &[];
