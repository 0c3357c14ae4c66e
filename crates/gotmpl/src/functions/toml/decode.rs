//! `toml.Unmarshal` into a `map[string]interface {}`.

use outrigger_gostd::strconv::{quote, quote_rune};
use outrigger_gostd::unicode::is_letter;

use super::number;
use super::scan::{END, Result, Scanner, is_blank, is_line_end};
use super::strings;
use super::tables::{KeyError, MAX_KEY_PARTS, Tables};
use super::{Edition, ParseError};
use crate::function::Call;
use crate::value::{Map, Str, Value};

/// The maximum nesting of arrays and inline tables.
const MAX_DEPTH: usize = 200;

pub(in crate::functions) fn decode(text: &str, edition: Edition, call: &Call<'_>) -> Result<Map> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut decoder = Decoder {
        scan: Scanner::new(text, edition),
        tables: Tables::new(edition),
        key_line: 1,
        depth: 0,
        call,
    };
    match decoder.document() {
        Ok(()) => Ok(decoder.tables.root),
        Err(error) => Err(ParseError {
            last_key: decoder.tables.last_key(),
            ..error
        }),
    }
}

struct Decoder<'t, 'c> {
    scan: Scanner<'t>,
    tables: Tables,
    /// The line of the current key.
    key_line: usize,
    depth: usize,
    call: &'t Call<'c>,
}

impl Decoder<'_, '_> {
    /// Reports an error of the current key at its line.
    fn at_key<T>(&self, result: std::result::Result<T, KeyError>) -> Result<T> {
        result.map_err(|error| ParseError::new(self.key_line, error.to_string()))
    }

    fn document(&mut self) -> Result<()> {
        loop {
            self.scan.skip_while(|c| is_blank(c) || is_line_end(c))?;
            if self.scan.is_at_end() {
                return Ok(());
            }
            self.check_memory(&[])?;
            match self.scan.peek()? {
                '#' => {
                    self.scan.next()?;
                    self.scan.skip_comment()?;
                    continue;
                }
                '[' => self.header()?,
                _ => {
                    let outer = self.tables.context.clone();
                    self.key_and_value(None)?;
                    self.tables.context = outer;
                    self.tables.current_key.clear();
                }
            }
            self.line_end()?;
        }
    }

    /// Only blanks and a comment may follow an item on its line.
    fn line_end(&mut self) -> Result<()> {
        self.scan.skip_blanks()?;
        match self.scan.next()? {
            '#' => self.scan.skip_comment(),
            END => Ok(()),
            c if is_line_end(c) => Ok(()),
            c => Err(self.scan.error(format!(
                "expected a top-level item to end with a newline, comment, or EOF, but got {} instead",
                quote_rune(c)
            ))),
        }
    }

    /// `[table]` or `[[array.of.tables]]`
    fn header(&mut self) -> Result<()> {
        self.scan.next()?;
        let is_array = self.scan.accept('[')?;
        let mut key = Vec::new();
        loop {
            self.scan.skip_blanks()?;
            match self.scan.peek()? {
                c @ (']' | END) => {
                    let message = "unexpected end of table name (table names cannot be empty)";
                    return Err(if c == END {
                        self.scan.error_at(']', message)
                    } else {
                        self.scan.error(message)
                    });
                }
                '.' => {
                    return Err(self
                        .scan
                        .error("unexpected table separator (table names cannot be empty)"));
                }
                _ => key.push(self.key_part()?),
            }
            if key.len() > MAX_KEY_PARTS {
                return Err(self.scan.error("keys are nested too deeply"));
            }
            if key.len() == 1 {
                self.key_line = self.scan.line;
            }
            self.scan.skip_blanks()?;
            match self.scan.next()? {
                '.' => {}
                ']' => break,
                c => {
                    let message = format!(
                        "expected '.' or ']' to end table name, but got {} instead",
                        quote_rune(c)
                    );
                    return Err(self.scan.error_at(c, message));
                }
            }
        }
        if is_array {
            let c = self.scan.next()?;
            if c != ']' {
                let found = quote_rune(c);
                let message = format!(
                    "expected end of table array name delimiter ']', but got {found} instead"
                );
                return Err(self.scan.error_at(c, message));
            }
        }
        let entered = self.tables.enter(&key, is_array);
        self.at_key(entered)?;
        let set = self.tables.set_array("", false);
        self.at_key(set)
    }

    /// One part of a dotted key.
    fn key_part(&mut self) -> Result<String> {
        match self.scan.peek()? {
            '"' => {
                self.scan.next()?;
                strings::basic(&mut self.scan)
            }
            '\'' => {
                self.scan.next()?;
                strings::raw(&mut self.scan)
            }
            _ => {
                let start = self.scan.at;
                self.scan
                    .skip_while(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')?;
                Ok(self.scan.since(start).to_owned())
            }
        }
    }

    /// `key = value`, which is also added to `inline`, the enclosing inline table.
    fn key_and_value(&mut self, inline: Option<&Map>) -> Result<()> {
        let key = self.key()?;
        let (last, parents) = key
            .split_last()
            .map_or(("", &key[..]), |(last, rest)| (last, rest));
        last.clone_into(&mut self.tables.current_key);
        for part in parents {
            let entered = self.tables.enter_implicit(part);
            self.at_key(entered)?;
        }
        let (value, is_array) = self.value(false)?;
        let set = self.tables.set(last, value.clone());
        self.at_key(set)?;
        let set = self.tables.set_array(last, is_array);
        self.at_key(set)?;
        if let Some(table) = inline {
            let mut table = table.clone();
            for part in parents {
                let inner = table.get(part.as_bytes()).unwrap_or_else(|| {
                    let inner = Value::map(Vec::new());
                    table.set(Str::from(part.as_str()), inner.clone());
                    inner
                });
                let Value::Map(inner) = inner else {
                    let context = format!("{:?}", self.tables.context);
                    return self.at_key(Err(KeyError::NotATable(context)));
                };
                table = inner;
            }
            table.set(Str::from(last), value);
        }
        Ok(())
    }

    fn key(&mut self) -> Result<Vec<String>> {
        self.scan.skip_blanks()?;
        match self.scan.peek()? {
            '=' | END => return Err(self.scan.error("unexpected '=': key name appears blank")),
            '.' => {
                return Err(self
                    .scan
                    .error("unexpected '.': keys cannot start with a '.'"));
            }
            _ => {}
        }
        let mut key = Vec::new();
        loop {
            self.scan.skip_blanks()?;
            match self.scan.peek()? {
                END if !key.is_empty() => return Err(self.scan.error("unexpected '='")),
                c @ ('=' | '.') if !key.is_empty() => {
                    return Err(self.scan.error(format!("unexpected '{c}'")));
                }
                _ => key.push(self.key_part()?),
            }
            if key.len() > MAX_KEY_PARTS {
                return Err(self.scan.error("keys are nested too deeply"));
            }
            if key.len() == 1 {
                self.key_line = self.scan.line;
            }
            self.scan.skip_blanks()?;
            match self.scan.next()? {
                '.' => {}
                '=' => return Ok(key),
                END => {
                    return Err(self
                        .scan
                        .error_at(END, "unexpected EOF; expected key separator '='"));
                }
                c => {
                    let message = format!("expected '.' or '=', but got {} instead", quote_rune(c));
                    let is_previous_line = c == '\n' && self.scan.edition == Edition::V1_6;
                    return Err(if is_previous_line {
                        self.scan.error_before(message)
                    } else {
                        self.scan.error(message)
                    });
                }
            }
        }
    }

    /// A value, and whether it is an array.
    fn value(&mut self, in_array: bool) -> Result<(Value, bool)> {
        self.scan.skip_blanks()?;
        let start = self.scan.at;
        let first = self.scan.peek()?;
        if first.is_ascii_digit() {
            return Ok((number::number_or_date(&mut self.scan, self.call)?, false));
        }
        self.scan.next()?;
        let value = match first {
            '[' => return Ok((self.nested(Self::array)?, true)),
            '{' => self.nested(if in_array {
                Self::inline_table_in_array
            } else {
                Self::inline_table
            })?,
            '"' => Value::str(strings::basic_or_multiline(&mut self.scan)?),
            '\'' => Value::str(strings::raw_or_multiline(&mut self.scan)?),
            '.' => return Err(self.scan.error("floats must start with a digit, not '.'")),
            '+' | '-' => number::signed_number(&mut self.scan, start)?,
            END => {
                return Err(self.scan.error_at(END, "unexpected EOF; expected value"));
            }
            c if is_letter(c) => self.word(start)?,
            c => {
                let message = format!("expected value but found {} instead", quote_rune(c));
                let is_previous_line = c == '\n' && self.scan.edition == Edition::V1_6;
                return Err(if is_previous_line {
                    self.scan.error_before(message)
                } else {
                    self.scan.error(message)
                });
            }
        };
        Ok((value, false))
    }

    fn nested(&mut self, read: fn(&mut Self) -> Result<Value>) -> Result<Value> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.scan.error("values are nested too deeply"));
        }
        let value = read(self);
        self.depth -= 1;
        value
    }

    /// `true`, `false`, `inf` or `nan` after its first letter.
    fn word(&mut self, mut start: usize) -> Result<Value> {
        if matches!(self.scan.since(start), "i" | "n") {
            let is_float = (self.scan.accept('n')? && self.scan.accept('f')?)
                || (self.scan.accept('a')? && self.scan.accept('n')?);
            if is_float {
                return number::float(&self.scan, start);
            }
            // The library backs up one letter only.
            start = self.scan.at - 1;
        }
        self.scan.skip_while(is_letter)?;
        match self.scan.since(start) {
            "true" => Ok(Value::Bool(true)),
            "false" => Ok(Value::Bool(false)),
            word => Err(self
                .scan
                .error(format!("expected value but found {} instead", quote(word)))),
        }
    }

    fn array(&mut self) -> Result<Value> {
        let key = self.tables.current_key.clone();
        let set = self.tables.set_array(&key, true);
        self.at_key(set)?;
        let mut items = Vec::new();
        loop {
            self.skip_between()?;
            match self.scan.peek()? {
                ',' => return Err(self.scan.error("unexpected comma")),
                ']' => break,
                _ => items.push(self.value(true)?.0),
            }
            self.check_memory(&items)?;
            self.skip_between()?;
            match self.scan.peek()? {
                ',' => drop(self.scan.next()?),
                ']' => break,
                c => {
                    let message = format!(
                        "expected a comma (',') or array terminator (']'), but got {}",
                        found(c)
                    );
                    return Err(self.scan.error_at(c, message));
                }
            }
        }
        self.scan.next()?;
        Ok(Value::list(items))
    }

    /// Fails if the values of the document need too much memory, or if the execution is to stop.
    fn check_memory(&self, items: &[Value]) -> Result<()> {
        let reserved = self.call.reserve_items(2 * items.len());
        let reserved = reserved.and_then(|()| self.call.check_interrupt());
        reserved.map_err(|error| self.scan.error(error.to_string()))
    }

    /// Blanks, line breaks and comments between the items of an array.
    fn skip_between(&mut self) -> Result<()> {
        loop {
            self.scan.skip_while(|c| is_blank(c) || is_line_end(c))?;
            if !self.scan.accept('#')? {
                return Ok(());
            }
            self.scan.skip_comment()?;
        }
    }

    fn inline_table(&mut self) -> Result<Value> {
        self.read_inline_table(false)
    }

    fn inline_table_in_array(&mut self) -> Result<Value> {
        self.read_inline_table(true)
    }

    fn read_inline_table(&mut self, in_array: bool) -> Result<Value> {
        let outer_context = self.tables.context.clone();
        let outer_key = std::mem::take(&mut self.tables.current_key);
        let mut context = outer_context.clone();
        context.push(outer_key.clone());
        let marked = self.tables.mark_implicit(&context);
        self.at_key(marked)?;
        self.tables.context.clone_from(&context);
        let entered = self.tables.enter(&context, in_array);
        self.at_key(entered)?;
        let table = Map::default();
        loop {
            self.skip_in_inline_table()?;
            match self.scan.peek()? {
                ',' => return Err(self.scan.error("unexpected comma")),
                '}' => break,
                _ => self.key_and_value(Some(&table))?,
            }
            self.tables.context.clone_from(&context);
            self.skip_in_inline_table()?;
            match self.scan.peek()? {
                ',' => {
                    self.scan.next()?;
                    self.scan.skip_blanks()?;
                    if self.scan.peek()? == '}' && self.scan.edition == Edition::V1_4 {
                        return Err(self
                            .scan
                            .error("trailing comma not allowed in inline tables"));
                    }
                }
                '}' => break,
                c => {
                    let message = format!(
                        "expected a comma or an inline table terminator '}}', but got {} instead",
                        found(c)
                    );
                    return Err(self.scan.error_at(c, message));
                }
            }
        }
        self.scan.next()?;
        self.tables.context = outer_context;
        self.tables.current_key = outer_key;
        Ok(Value::Map(table))
    }

    /// Blanks and comments; line breaks only since TOML 1.1.
    fn skip_in_inline_table(&mut self) -> Result<()> {
        if self.scan.edition == Edition::V1_6 {
            return self.skip_between();
        }
        loop {
            self.scan.skip_blanks()?;
            let next = self.scan.peek()?;
            if is_line_end(next) && !self.scan.is_at_end() {
                return Err(self.scan.error("newlines not allowed within inline tables"));
            }
            if !self.scan.accept('#')? {
                return Ok(());
            }
            self.scan.skip_comment()?;
        }
    }
}

/// The character that stands where another one was expected, in messages.
fn found(c: char) -> String {
    if c == END {
        "end of file".to_owned()
    } else {
        format!("'{c}'")
    }
}
