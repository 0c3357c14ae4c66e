//! Parses templates.

use outrigger_gostd::strconv::{self, Unquoted};
use serde_json::Value;

use super::{End, Filter, Node, Slice};

/// Why a template is invalid, with the message of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    #[error("unclosed action")]
    UnclosedAction,
    #[error("unrecognized character in action: U+{:04X} '{}'", u32::from(*.0), .0)]
    Character(char),
    #[error("invalid multiple recursive descent")]
    MultipleRecursion,
    #[error("cannot parse number {0}")]
    Number(String),
    #[error("unterminated array")]
    UnterminatedArray,
    #[error("invalid array index {0}")]
    Index(String),
    #[error("array index {0} is not a number")]
    IndexNumber(String),
    #[error("unterminated filter")]
    UnterminatedFilter,
    #[error("unclosed array expect ]")]
    UnclosedFilter,
    #[error("unterminated quoted string")]
    UnterminatedString,
    #[error("unquote string {0} error invalid syntax")]
    Unquote(String),
}

/// The text and the actions of a template.
pub(super) fn parse(template: &str) -> Result<Vec<Node>, ParseError> {
    let mut nodes = Vec::new();
    let mut parser = Parser { rest: template };
    while let Some(start) = parser.rest.find('{') {
        let (text, rest) = parser.rest.split_at(start);
        if !text.is_empty() {
            nodes.push(Node::Text(text.to_owned()));
        }
        parser.rest = &rest[1..];
        nodes.push(Node::List(parser.action()?));
    }
    if !parser.rest.is_empty() {
        nodes.push(Node::Text(parser.rest.to_owned()));
    }
    Ok(nodes)
}

/// The steps of a part of an action, which Kubernetes parses as a template of its own.
fn parse_action(text: &str) -> Result<Vec<Node>, ParseError> {
    match parse(&format!("{{{text}}}"))?.into_iter().next() {
        Some(Node::List(nodes)) => Ok(nodes),
        _ => Ok(Vec::new()),
    }
}

struct Parser<'t> {
    rest: &'t str,
}

impl<'t> Parser<'t> {
    /// The steps up to the closing brace.
    fn action(&mut self) -> Result<Vec<Node>, ParseError> {
        let mut nodes = Vec::new();
        loop {
            if self.take("}") {
                return Ok(nodes);
            }
            if self.take("[?(") {
                nodes.push(Node::Filter(self.filter()?));
                continue;
            }
            if self.take("..") {
                if nodes.last() == Some(&Node::Recursive) {
                    return Err(ParseError::MultipleRecursion);
                }
                nodes.push(Node::Recursive);
                if self.rest.starts_with(is_alphanumeric) {
                    nodes.push(self.field());
                }
                continue;
            }
            let first = self.rest.chars().next();
            match first.ok_or(ParseError::UnclosedAction)? {
                '\r' | '\n' => return Err(ParseError::UnclosedAction),
                ' ' | '@' | '$' => self.rest = &self.rest[1..],
                '[' => self.array(&mut nodes)?,
                quote @ ('"' | '\'') => nodes.push(Node::Text(self.quoted(quote)?)),
                '.' => {
                    self.rest = &self.rest[1..];
                    nodes.push(self.field());
                }
                '+' | '-' => nodes.push(Node::Literal(self.number()?)),
                c if c.is_numeric() => nodes.push(Node::Literal(self.number()?)),
                c if is_alphanumeric(c) => nodes.push(self.identifier()),
                other => return Err(ParseError::Character(other)),
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        let rest = self.rest.strip_prefix(token);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The text up to `end`.
    fn split(&mut self, end: usize) -> &'t str {
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        text
    }

    /// A field name, in which a backslash escapes the next character.
    fn field(&mut self) -> Node {
        let mut is_escaped = false;
        let end = self.rest.find(|c| {
            let ends = !is_escaped && is_terminator(c);
            is_escaped = !is_escaped && c == '\\';
            ends
        });
        let name = self.split(end.unwrap_or(self.rest.len()));
        match name {
            "*" => Node::Wildcard,
            name => Node::Field(name.replace('\\', "")),
        }
    }

    fn identifier(&mut self) -> Node {
        let end = self.rest.find(is_terminator);
        match self.split(end.unwrap_or(self.rest.len())) {
            "true" => Node::Literal(Value::Bool(true)),
            "false" => Node::Literal(Value::Bool(false)),
            name => Node::Identifier(name.to_owned()),
        }
    }

    fn number(&mut self) -> Result<Value, ParseError> {
        let digits = self.rest.trim_start_matches(['+', '-']);
        let sign = (self.rest.len() - digits.len()).min(1);
        let end = self.rest[sign..].find(|c: char| c != '.' && !c.is_numeric());
        let text = self.split(end.map_or(self.rest.len(), |end| sign + end));
        if let Ok(number) = strconv::parse_int(text.as_bytes(), 10) {
            return Ok(number.into());
        }
        let float = strconv::parse_float(text.as_bytes()).and_then(serde_json::Number::from_f64);
        float
            .map(Value::Number)
            .ok_or_else(|| ParseError::Number(text.to_owned()))
    }

    fn array(&mut self, nodes: &mut Vec<Node>) -> Result<(), ParseError> {
        let end = self.rest.find([']', '\n']);
        let end = end.filter(|end| self.rest[*end..].starts_with(']'));
        let text = self.split(end.ok_or(ParseError::UnterminatedArray)? + 1);
        let text = &text[1..text.len() - 1];
        let text = if text == "*" { ":" } else { text };
        if text.contains(',') {
            let parts = text.split(',').map(|part| {
                let part = part.trim_matches(' ');
                parse_action(&format!("[{part}]"))
            });
            nodes.push(Node::Union(parts.collect::<Result<_, _>>()?));
            return Ok(());
        }
        let key = text
            .strip_prefix('\'')
            .and_then(|text| text.strip_suffix('\''));
        match key.filter(|key| !key.contains('\'')) {
            Some(key) => nodes.extend(parse_action(&format!(".{key}"))?),
            None => nodes.push(Node::Slice(slice(text)?)),
        }
        Ok(())
    }

    /// The rest of a filter, after `[?(`.
    fn filter(&mut self) -> Result<Filter, ParseError> {
        let text = self.filter_text()?;
        if !self.take("]") {
            return Err(ParseError::UnclosedFilter);
        }
        let is_operator = |c: char| matches!(c, '!' | '<' | '>' | '=');
        let start = text.find(is_operator).filter(|start| *start > 0);
        let comparison = start.and_then(|start| {
            let (left, rest) = text.split_at(start);
            // The right side has at least one character, which may be one of an operator.
            let last = rest.char_indices().next_back()?.0;
            let end = rest[..last].find(|c| !is_operator(c)).unwrap_or(last);
            (end > 0).then(|| (left, &rest[..end], &rest[end..]))
        });
        let Some((left, operator, right)) = comparison else {
            let (left, right) = (parse_action(text)?, None);
            return Ok(Filter { left, right });
        };
        Ok(Filter {
            left: parse_action(left)?,
            right: Some((operator.to_owned(), parse_action(right)?)),
        })
    }

    /// The text up to the closing parenthesis, which may not be in the only pair of quotes.
    fn filter_text(&mut self) -> Result<&'t str, ParseError> {
        let mut quote = None;
        let mut is_closed = false;
        let mut previous = '\0';
        for (index, c) in self.rest.char_indices() {
            match c {
                '\n' => break,
                '"' | '\'' if quote.is_none() => quote = Some(c),
                '"' | '\'' if previous != '\\' && quote == Some(c) => is_closed = true,
                ')' if quote.is_some() == is_closed => {
                    let text = self.split(index);
                    self.rest = &self.rest[1..];
                    return Ok(text);
                }
                _ => {}
            }
            previous = c;
        }
        Err(ParseError::UnterminatedFilter)
    }

    fn quoted(&mut self, quote: char) -> Result<String, ParseError> {
        let mut previous = quote;
        for (index, c) in self.rest.char_indices().skip(1) {
            if c == '\n' {
                break;
            }
            if c == quote && previous != '\\' {
                let literal = self.split(index + 1);
                return unquote(literal).ok_or_else(|| ParseError::Unquote(literal.to_owned()));
            }
            previous = c;
        }
        Err(ParseError::UnterminatedString)
    }
}

/// The text of a literal in double or single quotes.
fn unquote(literal: &str) -> Option<String> {
    let quote = *literal.as_bytes().first()?;
    let mut rest = &literal.as_bytes()[1..literal.len() - 1];
    let mut text = Vec::with_capacity(rest.len());
    while !rest.is_empty() {
        let (unquoted, length) = strconv::unquote_char(rest, quote).ok()?;
        match unquoted {
            Unquoted::Byte(byte) => text.push(byte),
            Unquoted::Rune(c) => text.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// `START:END:STEP`, or an index.
fn slice(text: &str) -> Result<Slice, ParseError> {
    let parts: Vec<&str> = text.split(':').collect();
    let is_part = |part: &&str| {
        let digits = part.strip_prefix('-').unwrap_or(part);
        digits.bytes().all(|byte| byte.is_ascii_digit())
    };
    if parts.len() > 3 || !parts.iter().all(is_part) {
        return Err(ParseError::Index(text.to_owned()));
    }
    let number = |part: &&str| match *part {
        "" => Ok(None),
        part => strconv::parse_int(part.as_bytes(), 10)
            .map(Some)
            .map_err(|_| ParseError::IndexNumber(part.to_owned())),
    };
    let numbers: Vec<Option<i64>> = parts.iter().map(number).collect::<Result<_, _>>()?;
    Ok(Slice {
        start: numbers[0].unwrap_or(0),
        end: match numbers.get(1) {
            None => End::AfterStart,
            Some(None) => End::Length,
            Some(Some(end)) => End::Index(*end),
        },
        step: numbers.get(2).copied().flatten(),
    })
}

fn is_terminator(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t' | '\r' | '\n' | '.' | ',' | '[' | ']' | '$' | '@' | '{' | '}'
    )
}

fn is_alphanumeric(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}
