//! The parser: Go's template grammar, with Go's error messages.

mod cache;
mod constant;
mod expression;
mod lexer;
mod nodes;
mod parser;

use std::sync::Arc;

use crate::data::Data;
use crate::function::Dialect;
use crate::ir::Parsed;

pub use cache::ParseCache;

/// Parses one template file. Functions must exist in the dialect; templates that it includes need not exist yet.
pub fn parse(
    name: &str,
    source: impl Into<Data>,
    dialect: &Dialect,
) -> Result<Arc<Parsed>, ParseError> {
    parser::Parser::new(name, &source.into(), dialect)
        .parse()
        .map(Arc::new)
        .map_err(|failure| *failure.0)
}

/// Why a template does not parse, with Go's message: `template: NAME:LINE: MESSAGE`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("template: {name}:{line}: {message}")]
pub struct ParseError {
    pub name: String,
    pub line: usize,
    pub message: String,
}

impl ParseError {
    /// The message of Helm: `parse error at (NAME:LINE): LAST PART OF THE MESSAGE`.
    pub fn helm_text(&self) -> String {
        let text = self.to_string();
        let location = text.split(": ").nth(1).unwrap_or_default();
        let message = text.rsplit(": ").next().unwrap_or_default();
        format!("parse error at ({location}): {message}")
    }
}

/// A boxed [`ParseError`], so that results stay small.
#[derive(Debug)]
struct Failure(Box<ParseError>);

type Result<T, E = Failure> = std::result::Result<T, E>;
