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
    let source = source.into();
    let parse = |stack_bytes| parser::Parser::new(name, &source, dialect, stack_bytes).parse();
    let parsed = match parse(STACK_BYTES) {
        Err(failure) if failure.0.message == TOO_DEEP => {
            stacker::grow(DEEP_STACK_BYTES + STACK_BYTES, || parse(DEEP_STACK_BYTES))
        }
        parsed => parsed,
    };
    parsed.map(Arc::new).map_err(|failure| *failure.0)
}

/// The stack for nested statements and expressions. It fits a thread with 2 MiB of stack and is enough for 400 levels.
const STACK_BYTES: usize = 640 * 1024;

/// The stack for a template that is nested more deeply: about 40,000 levels. Go has 1 GiB.
const DEEP_STACK_BYTES: usize = 64 << 20;

/// Go's message for expressions that are nested too deeply.
const TOO_DEEP: &str = "max expression depth exceeded";

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
