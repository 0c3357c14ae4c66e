//! Go's text/template, with Go's value model and the functions of Sprig and Helm.
//!
//! Pure: no file system, no clock, no network. Templates reach the outside only through [`function::Host`].

mod builtins;
mod data;
mod engine;
mod error;
mod exec;
pub mod fmt;
pub mod function;
pub mod functions;
mod ir;
pub mod json;
mod parse;
mod registry;
mod rendering;
mod stack_guard;
mod traversal;
pub mod value;
mod yaml;

pub use data::Data;
pub use engine::{Engine, Limits, on_stack};
pub use error::ExecError;
pub use ir::Parsed;
pub use parse::{ParseCache, ParseError, parse};
pub use yaml::to_yaml;
