//! Just enough of the template language to call functions: actions with pipelines, variables, fields and literals.
//!
//! It checks neither arity nor types, as the real executor does before a body runs.

use std::collections::HashMap;

use crate::fmt;
use crate::function::{Call, Dialect, Host};
use crate::functions::table;
use crate::json;
use crate::value::{MapType, Value};

pub(super) struct Evaluator<'h> {
    host: &'h dyn Host,
    dialect: &'h Dialect,
    values: Value,
    variables: HashMap<String, Value>,
}

impl<'h> Evaluator<'h> {
    pub(super) fn new(host: &'h dyn Host, dialect: &'h Dialect, values: &str) -> Self {
        let Ok(Value::Map(map)) = json::decode(values.as_bytes()) else {
            panic!("the values are no JSON object");
        };
        let name = if dialect.must_to_functions { "common.Values" } else { "chartutil.Values" };
        Self {
            host,
            dialect,
            values: Value::Map(map.retyped(MapType::Named(name))),
            variables: HashMap::new(),
        }
    }

    /// The text that the template prints, or the message of the function that failed.
    pub(super) fn render(mut self, template: &str) -> Result<Vec<u8>, String> {
        let mut out = Vec::new();
        let mut rest = template;
        while let Some((text, action)) = rest.split_once("{{") {
            out.extend_from_slice(text.as_bytes());
            let end = action_length(action);
            rest = &action[end + 2..];
            self.action(&mut out, action[..end].trim())?;
        }
        out.extend_from_slice(rest.as_bytes());
        Ok(out)
    }

    fn action(&mut self, out: &mut Vec<u8>, action: &str) -> Result<(), String> {
        let tokens = tokenize(action);
        let mut reader = Reader { tokens: &tokens, at: 0 };
        if let [Token::Word(name), Token::Word(assign), ..] = &tokens[..]
            && assign == ":="
        {
            reader.at = 2;
            let value = self.pipeline(&mut reader)?;
            self.variables.insert(name.clone(), value);
            return Ok(());
        }
        match self.pipeline(&mut reader)? {
            Value::Nil => out.extend_from_slice(b"<no value>"),
            value => fmt::write_display(out, &value),
        }
        Ok(())
    }

    fn pipeline(&mut self, reader: &mut Reader<'_>) -> Result<Value, String> {
        let mut value = self.command(reader, None)?;
        while reader.take("|") {
            value = self.command(reader, Some(value))?;
        }
        Ok(value)
    }

    fn command(&mut self, reader: &mut Reader<'_>, piped: Option<Value>) -> Result<Value, String> {
        let first = reader.next().expect("a command");
        if let Token::Word(word) = &first {
            if let Some(callee) = self.callee(word, reader) {
                let mut args = Vec::new();
                while !reader.at_end() {
                    args.push(self.operand(reader)?);
                }
                args.extend(piped);
                return self.call(&callee, &args);
            }
        }
        reader.at -= 1;
        let value = self.operand_without_field(reader)?;
        let Some(path) = reader.field() else {
            return Ok(value);
        };
        if reader.at_end() {
            return Ok(field(value, &path));
        }
        let (object, method) = path.rsplit_once('.').expect("a method");
        let mut args = Vec::new();
        while !reader.at_end() {
            args.push(self.operand(reader)?);
        }
        self.call(&Callee::Method(field(value, object), method.to_owned()), &args)
    }

    /// A function or a method with arguments, if `word` names one.
    fn callee(&self, word: &str, reader: &Reader<'_>) -> Option<Callee> {
        if word.starts_with(['$', '.']) {
            let (object, method) = word.rsplit_once('.').filter(|_| !reader.at_end())?;
            return Some(Callee::Method(self.path(object), method.to_owned()));
        }
        let is_literal = matches!(word, "true" | "false" | "nil" | "(")
            || word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+');
        (!is_literal).then(|| Callee::Function(word.to_owned()))
    }

    fn call(&mut self, callee: &Callee, args: &[Value]) -> Result<Value, String> {
        match callee {
            Callee::Method(Value::Object(object), name) => {
                object.call_method(name, args).map_err(|error| error.to_string())
            }
            Callee::Method(other, name) => panic!("no method {name} on {other:?}"),
            Callee::Function(name) => self.function(name, args),
        }
    }

    fn function(&mut self, name: &str, args: &[Value]) -> Result<Value, String> {
        let builtin = match name {
            "printf" => {
                let Value::Str(format) = &args[0] else { panic!("a format") };
                Some(Value::str(fmt::sprintf(format.as_bytes(), &args[1..])))
            }
            "print" => Some(Value::str(fmt::sprint(args))),
            "println" => Some(Value::str(fmt::sprintln(args))),
            "eq" => Some(Value::Bool(crate::functions::deep_equal(&args[0], &args[1]))),
            "len" => Some(Value::Int(i64::try_from(match &args[0] {
                Value::Str(text) => text.len(),
                other => panic!("length of {other:?}"),
            }).expect("a length"))),
            "index" => Some(match (&args[0], &args[1]) {
                (Value::Map(map), Value::Str(key)) => map.get(key.as_bytes()).unwrap_or_default(),
                (Value::List(list), Value::Int(at)) => {
                    list.items()[usize::try_from(*at).expect("an index")].clone()
                }
                other => panic!("index of {other:?}"),
            }),
            _ => None,
        };
        if let Some(value) = builtin {
            return Ok(value);
        }
        let function = table().iter().find(|function| function.name == name);
        let function = function.ok_or_else(|| format!("function {name} not defined"))?;
        let mut call = Call {
            host: self.host,
            dialect: self.dialect,
        };
        (function.body)(&mut call, args).map_err(|error| error.to_string())
    }

    fn operand(&mut self, reader: &mut Reader<'_>) -> Result<Value, String> {
        let value = self.operand_without_field(reader)?;
        Ok(match reader.field() {
            Some(path) => field(value, &path),
            None => value,
        })
    }

    fn operand_without_field(&mut self, reader: &mut Reader<'_>) -> Result<Value, String> {
        Ok(match reader.next().expect("an operand") {
            Token::Text(bytes) => Value::str(bytes.as_slice()),
            Token::Word(word) if word == "(" => {
                let value = self.pipeline(reader)?;
                assert!(reader.take(")"), "a closing parenthesis");
                value
            }
            Token::Word(word) => self.word(&word)?,
        })
    }

    fn word(&mut self, word: &str) -> Result<Value, String> {
        Ok(match word {
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "nil" => Value::Nil,
            "'x'" => Value::Int(120),
            word if word.starts_with(['$', '.']) => self.path(word),
            word if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '+') => number(word),
            word => return self.function(word, &[]),
        })
    }

    fn path(&self, path: &str) -> Value {
        let (start, rest) = match path.find('.') {
            Some(0) => (self.root(), path),
            Some(dot) => (self.variables[&path[..dot]].clone(), &path[dot..]),
            None => (self.variables[path].clone(), ""),
        };
        field(start, rest)
    }

    fn root(&self) -> Value {
        Value::map(vec![("Values".into(), self.values.clone())])
    }
}

enum Callee {
    Function(String),
    Method(Value, String),
}

/// The value behind a path such as `.a.b`.
fn field(mut value: Value, path: &str) -> Value {
    for name in path.split('.').filter(|name| !name.is_empty()) {
        value = match value {
            Value::Map(map) => map.get(name.as_bytes()).unwrap_or_default(),
            Value::Object(object) => object.field(name).unwrap_or_else(|| panic!("no field {name}")),
            other => panic!("no field {name} on {other:?}"),
        };
    }
    value
}

fn number(word: &str) -> Value {
    if let Some(hex) = word.strip_prefix("0x") {
        return Value::Int(i64::from_str_radix(hex, 16).expect("a number"));
    }
    if let Ok(n) = word.parse() {
        return Value::Int(n);
    }
    Value::Float(word.parse().expect("a number"))
}

#[derive(Debug, Clone)]
enum Token {
    Word(String),
    Text(Vec<u8>),
}

struct Reader<'t> {
    tokens: &'t [Token],
    at: usize,
}

impl Reader<'_> {
    fn next(&mut self) -> Option<Token> {
        let token = self.tokens.get(self.at).cloned();
        self.at += 1;
        token
    }

    fn peek(&self) -> Option<&str> {
        match self.tokens.get(self.at) {
            Some(Token::Word(word)) => Some(word),
            _ => None,
        }
    }

    fn take(&mut self, word: &str) -> bool {
        let found = self.peek() == Some(word);
        self.at += usize::from(found);
        found
    }

    fn at_end(&self) -> bool {
        self.at >= self.tokens.len() || matches!(self.peek(), Some("|" | ")"))
    }

    /// A path glued to a closing parenthesis.
    fn field(&mut self) -> Option<String> {
        let path = self.peek()?.strip_prefix('\u{1}')?.to_owned();
        self.at += 1;
        Some(path)
    }
}

fn tokenize(action: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut rest = action.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '(' | ')' | '|' => 1,
            '"' => quoted_length(rest),
            '`' => rest[1..].find('`').expect("a closed string") + 2,
            _ => rest.find([' ', ')', '|', '(']).unwrap_or(rest.len()),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(match first {
            '"' => Token::Text(unquoted(&token[1..length - 1])),
            '`' => Token::Text(token[1..length - 1].as_bytes().to_vec()),
            _ => Token::Word(token.to_owned()),
        });
        rest = behind;
        if first == ')' && rest.starts_with('.') {
            let end = rest.find([' ', ')', '|']).unwrap_or(rest.len());
            tokens.push(Token::Word(format!("\u{1}{}", &rest[..end])));
            rest = &rest[end..];
        }
        rest = rest.trim_start();
    }
    tokens
}

/// Where the action ends; braces inside strings do not count.
fn action_length(text: &str) -> usize {
    let mut at = 0;
    loop {
        match text.as_bytes()[at] {
            b'"' => at += quoted_length(&text[at..]),
            b'`' => at += text[at + 1..].find('`').expect("a closed string") + 2,
            b'}' if text[at..].starts_with("}}") => return at,
            _ => at += 1,
        }
    }
}

fn quoted_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while bytes[at] != b'"' {
        at += if bytes[at] == b'\\' { 2 } else { 1 };
    }
    at + 1
}

fn unquoted(text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = text;
    while let Some((before, escape)) = rest.split_once('\\') {
        out.extend_from_slice(before.as_bytes());
        let code = |digits: usize| u32::from_str_radix(&escape[1..=digits], 16).expect("digits");
        let used = match escape.as_bytes()[0] {
            b'n' => {
                out.push(b'\n');
                1
            }
            b't' => {
                out.push(b'\t');
                1
            }
            b'r' => {
                out.push(b'\r');
                1
            }
            b'x' => {
                out.push(code(2).to_le_bytes()[0]);
                3
            }
            mark @ (b'u' | b'U') => {
                let digits = if mark == b'u' { 4 } else { 8 };
                let c = char::from_u32(code(digits)).expect("a character");
                fmt::unicode::push(&mut out, c);
                digits + 1
            }
            other => {
                let short = b"abfv".iter().position(|letter| *letter == other);
                out.push(short.map_or(other, |at| b"\x07\x08\x0c\x0b"[at]));
                1
            }
        };
        rest = &escape[used..];
    }
    out.extend_from_slice(rest.as_bytes());
    out
}
