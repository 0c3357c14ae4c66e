//! Label selectors.

use std::fmt;

use outrigger_apimachinery::status::field::{self, BadValue, Path, to_aggregate};
use outrigger_apimachinery::syntax;
use serde_json::{Map, Value};

use super::Error;
use super::tokens::{Token, tokens};

/// `selection.Operator`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Equals,
    NotEquals,
    In,
    NotIn,
    Exists,
    DoesNotExist,
    GreaterThan,
    LessThan,
}

/// `labels.Requirement`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub key: String,
    pub operator: Operator,
    /// Sorted and unique.
    pub values: Vec<String>,
}

/// A conjunction of requirements. Without requirements it matches everything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LabelSelector {
    pub requirements: Vec<Requirement>,
}

impl LabelSelector {
    /// Parses the query syntax of `labelSelector`.
    pub fn parse(text: &str) -> Result<Self, Error> {
        let mut parser = Parser {
            tokens: tokens(text),
            position: 0,
        };
        let requirements = parser.requirements().map_err(Error)?;
        Ok(Self { requirements })
    }

    /// `LabelSelectorAsSelector`: parses a selector with `matchLabels` and `matchExpressions`. `None` for an absent or invalid
    /// selector, which matches nothing.
    pub fn of_object(selector: &Value) -> Option<Self> {
        let selector = selector.as_object()?;
        let mut requirements = Vec::new();
        for (key, value) in map(selector.get("matchLabels")) {
            requirements.push(Requirement {
                key: key.clone(),
                operator: Operator::Equals,
                values: vec![value.as_str()?.to_owned()],
            });
        }
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        for expression in expressions.into_iter().flatten() {
            let values = expression["values"].as_array();
            let values = values.into_iter().flatten().filter_map(Value::as_str);
            requirements.push(Requirement {
                key: expression["key"].as_str()?.to_owned(),
                operator: match expression["operator"].as_str()? {
                    "In" => Operator::In,
                    "NotIn" => Operator::NotIn,
                    "Exists" => Operator::Exists,
                    "DoesNotExist" => Operator::DoesNotExist,
                    _ => return None,
                },
                values: values.map(str::to_owned).collect(),
            });
        }
        Some(Self { requirements })
    }

    /// Whether it matches everything.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether it matches labels in JSON.
    pub fn matches(&self, labels: Option<&Map<String, Value>>) -> bool {
        self.matches_by(|key| labels?.get(key)?.as_str())
    }

    /// Whether it matches labels in another representation.
    pub fn matches_by<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.requirements
            .iter()
            .all(|requirement| requirement.matches(label(&requirement.key)))
    }
}

fn map(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

impl Requirement {
    fn matches(&self, label: Option<&str>) -> bool {
        let is_listed = |label: &str| self.values.iter().any(|value| value == label);
        match self.operator {
            Operator::Equals | Operator::In => label.is_some_and(is_listed),
            Operator::NotEquals | Operator::NotIn => !label.is_some_and(is_listed),
            Operator::Exists => label.is_some(),
            Operator::DoesNotExist => label.is_none(),
            Operator::GreaterThan => self.compares(label, |label, bound| label > bound),
            Operator::LessThan => self.compares(label, |label, bound| label < bound),
        }
    }

    /// Compares labels as integers. Other labels do not match.
    fn compares(&self, label: Option<&str>, compare: impl Fn(i64, i64) -> bool) -> bool {
        let label = label.and_then(number);
        let bound = self.values.first().and_then(|value| number(value));
        label
            .zip(bound)
            .is_some_and(|(label, bound)| compare(label, bound))
    }

    /// Validates the key and the values.
    fn checked(self) -> Result<Self, String> {
        let mut errors = Vec::new();
        errors.extend(key_error(&Path::root("key"), &self.key));
        let values = Path::root("values");
        for (index, value) in self.values.iter().enumerate() {
            let is_order = matches!(self.operator, Operator::GreaterThan | Operator::LessThan);
            if is_order && number(value).is_none() {
                errors.push(field::Error::invalid(
                    &values.index(index),
                    value.as_str(),
                    "for 'Gt', 'Lt' operators, the value must be an integer",
                ));
            }
        }
        for (index, value) in self.values.iter().enumerate() {
            let messages = syntax::label_value(value);
            if !messages.is_empty() {
                let path = values.index(index);
                let path = path.key(&self.key);
                let value = BadValue::from(value.as_str());
                errors.push(field::Error::invalid(&path, value, messages.join("; ")));
            }
        }
        if errors.is_empty() {
            return Ok(self);
        }
        Err(to_aggregate(&errors))
    }
}

fn number(text: &str) -> Option<i64> {
    text.parse().ok()
}

fn key_error(path: &Path<'_>, key: &str) -> Option<field::Error> {
    let messages = syntax::label_key(key);
    (!messages.is_empty()).then(|| field::Error::invalid(path, key, messages.join("; ")))
}

/// Formats the query syntax.
impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        let values = self.values.join(",");
        match self.operator {
            Operator::Equals => write!(f, "{key}={values}"),
            Operator::NotEquals => write!(f, "{key}!={values}"),
            Operator::In => write!(f, "{key} in ({values})"),
            Operator::NotIn => write!(f, "{key} notin ({values})"),
            Operator::Exists => write!(f, "{key}"),
            Operator::DoesNotExist => write!(f, "!{key}"),
            Operator::GreaterThan => write!(f, "{key}>{values}"),
            Operator::LessThan => write!(f, "{key}<{values}"),
        }
    }
}

/// Formats the query syntax.
impl fmt::Display for LabelSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements.iter().enumerate() {
            let separator = if index == 0 { "" } else { "," };
            write!(f, "{separator}{requirement}")?;
        }
        Ok(())
    }
}

struct Parser {
    tokens: Vec<(Token, String)>,
    position: usize,
}

impl Parser {
    fn requirements(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        loop {
            let (token, text) = self.peek();
            match token {
                Token::End => return Ok(requirements),
                Token::Word | Token::Not => {}
                _ => {
                    return Err(format!(
                        "found '{text}', expected: !, identifier, or 'end of string'"
                    ));
                }
            }
            let requirement = self.requirement();
            requirements.push(
                requirement.map_err(|error| format!("unable to parse requirement: {error}"))?,
            );
            match self.next() {
                (Token::End, _) => return Ok(requirements),
                (Token::Comma, _) => {
                    let (token, text) = self.peek();
                    if !matches!(token, Token::Word | Token::Not) {
                        return Err(format!("found '{text}', expected: identifier after ','"));
                    }
                }
                (_, text) => {
                    return Err(format!("found '{text}', expected: ',' or 'end of string'"));
                }
            }
        }
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let (mut token, mut key) = self.next();
        let is_negated = token == Token::Not;
        if is_negated {
            (token, key) = self.next();
        }
        if token != Token::Word {
            return Err(format!("found '{key}', expected: identifier"));
        }
        if let Some(error) = key_error(&Path::root("<nil>"), &key) {
            return Err(error.to_string());
        }
        let is_alone = matches!(self.peek().0, Token::End | Token::Comma);
        let (operator, values) = match (is_negated, is_alone) {
            (true, _) => (Operator::DoesNotExist, Vec::new()),
            (false, true) => (Operator::Exists, Vec::new()),
            (false, false) => self.comparison()?,
        };
        let requirement = Requirement {
            key,
            operator,
            values,
        };
        requirement.checked()
    }

    fn comparison(&mut self) -> Result<(Operator, Vec<String>), String> {
        let (token, text) = self.next_raw();
        let operator = match token {
            Token::In => Operator::In,
            Token::NotIn => Operator::NotIn,
            Token::Equals | Token::DoubleEquals => Operator::Equals,
            Token::NotEquals => Operator::NotEquals,
            Token::GreaterThan => Operator::GreaterThan,
            Token::LessThan => Operator::LessThan,
            _ => {
                return Err(format!(
                    "found '{text}', expected: in, notin, =, ==, !=, gt, lt"
                ));
            }
        };
        let mut values = match operator {
            Operator::In | Operator::NotIn => self.value_list()?,
            _ => vec![self.value()?],
        };
        values.sort();
        values.dedup();
        Ok((operator, values))
    }

    fn value(&mut self) -> Result<String, String> {
        if matches!(self.peek().0, Token::End | Token::Comma) {
            return Ok(String::new());
        }
        match self.next() {
            (Token::Word, text) => Ok(text),
            (_, text) => Err(format!("found '{text}', expected: identifier")),
        }
    }

    fn value_list(&mut self) -> Result<Vec<String>, String> {
        let (token, text) = self.next();
        if token != Token::Open {
            return Err(format!("found '{text}' expected: '('"));
        }
        match self.peek() {
            (Token::Close, _) => {
                self.next();
                Ok(vec![String::new()])
            }
            (Token::Word | Token::Comma, _) => {
                let values = self.values()?;
                // What ends the values is a closing parenthesis.
                self.next();
                Ok(values)
            }
            (_, text) => Err(format!("found '{text}', expected: ',', ')' or identifier")),
        }
    }

    /// Values up to the closing parenthesis; between two commas, and beside one at an end, is an empty one.
    fn values(&mut self) -> Result<Vec<String>, String> {
        let mut values = Vec::new();
        loop {
            match self.next() {
                (Token::Word, text) => {
                    values.push(text);
                    match self.peek() {
                        (Token::Comma, _) => {}
                        (Token::Close, _) => return Ok(values),
                        (_, text) => {
                            return Err(format!("found '{text}', expected: ',' or ')'"));
                        }
                    }
                }
                (Token::Comma, _) => {
                    let next = self.peek().0;
                    if values.is_empty() || matches!(next, Token::Comma | Token::Close) {
                        values.push(String::new());
                    }
                    if next == Token::Close {
                        return Ok(values);
                    }
                }
                (_, text) => return Err(format!("found '{text}', expected: ',', or identifier")),
            }
        }
    }

    /// The next token where a word may stand: `in` and `notin` are words there.
    fn peek(&self) -> (Token, &str) {
        let end = (Token::End, "");
        let token = self.tokens.get(self.position);
        let (token, text) = token.map_or(end, |(token, text)| (*token, text.as_str()));
        match token {
            Token::In | Token::NotIn => (Token::Word, text),
            _ => (token, text),
        }
    }

    fn next(&mut self) -> (Token, String) {
        let (token, text) = self.peek();
        let next = (token, text.to_owned());
        self.position = self.position.saturating_add(1);
        next
    }

    fn next_raw(&mut self) -> (Token, String) {
        let next = self.tokens.get(self.position).cloned();
        self.position = self.position.saturating_add(1);
        next.unwrap_or((Token::End, String::new()))
    }
}
