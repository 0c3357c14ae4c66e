//! Whether an object of a built-in kind is right, and what is said if not.

pub mod syntax;
