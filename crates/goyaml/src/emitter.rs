//! The emitters of go-yaml v2 and v3.
//!
//! Callers push their values; keys must have the order of [`natural_order`](crate::natural_order) or
//! [`pretty_order`](crate::pretty_order).

mod analysis;
mod normalize;
mod scalar;

use std::borrow::Cow;

use outrigger_gostd::strconv::format_float;
use outrigger_gostd::{base64, json};

use crate::error::Error;
use crate::resolve::{Resolved, is_base60, is_text_to_v3, resolve};
use crate::text::from_go_bytes;
use scalar::Form;

/// `best_width`: go-yaml v2 folds at the first space after this column.
const WIDTH: usize = 80;

/// Longer keys are written with `?`.
const MAX_SIMPLE_KEY: usize = 128;

/// The nesting limit of go-yaml for flow collections, which applies since `toYaml` parses JSON as YAML.
const MAX_DEPTH: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// `toYaml`: go-yaml v2, after a conversion to JSON.
    Normal,
    /// `toYamlPretty`: go-yaml v3 with an indentation of two.
    Pretty,
}

#[derive(Debug, Clone, Copy)]
enum Open {
    /// An empty collection, which is already written.
    Empty,
    /// Contains the indentation of its parent.
    List(isize),
    Map(isize, Expects),
}

#[derive(Debug, Clone, Copy)]
enum Expects {
    Key,
    /// After a key on the same line.
    Value,
    /// After a key with `?`.
    LongValue,
}

/// Appends one value as YAML, without a trailing newline.
#[derive(Debug)]
pub struct Emitter<'o> {
    out: &'o mut Vec<u8>,
    start: usize,
    style: Style,
    pad: usize,
    /// The column in the current line, not counting the padding.
    column: usize,
    indent: isize,
    /// Whether the last character was a space or the start of a line.
    whitespace: bool,
    /// Whether the line contains only indentation and indicators so far.
    indention: bool,
    open: Vec<Open>,
    error: Option<Error>,
}

impl<'o> Emitter<'o> {
    /// Indents each line, including empty ones, by `indent` more spaces, which do not affect folding.
    pub fn new(out: &'o mut Vec<u8>, style: Style, indent: usize) -> Self {
        let start = out.len();
        out.resize(start + indent, b' ');
        Self {
            out,
            start,
            style,
            pad: indent,
            column: 0,
            indent: -1,
            whitespace: true,
            indention: true,
            open: Vec::new(),
            error: None,
        }
    }

    pub fn null(&mut self) {
        self.begin_node();
        self.write_plain_word("null");
    }

    pub fn bool(&mut self, value: bool) {
        self.begin_node();
        self.write_plain_word(if value { "true" } else { "false" });
    }

    pub fn int(&mut self, value: i64) {
        self.begin_node();
        self.write_plain_word(&value.to_string());
    }

    pub fn uint(&mut self, value: u64) {
        self.begin_node();
        self.write_plain_word(&value.to_string());
    }

    /// A `float64`. The normal style converts it to JSON, so that whole numbers are integers, and infinities and NaN
    /// fail.
    pub fn float(&mut self, value: f64) {
        self.begin_node();
        if let Some(whole) = small_whole(value, self.style) {
            self.write_plain_word(&whole.to_string());
            return;
        }
        let text = match (self.style, json::format_float(value)) {
            (Style::Normal, Some(json)) => through_yaml(value, json),
            (Style::Normal, None) => {
                self.fail(Error::UnsupportedNumber(match value {
                    f64::INFINITY => "+Inf",
                    f64::NEG_INFINITY => "-Inf",
                    _ => "NaN",
                }));
                return;
            }
            (Style::Pretty, Some(_)) => format_float(value, b'g', None),
            (Style::Pretty, None) => special_name(value).to_owned(),
        };
        self.write_plain_word(&text);
    }

    pub fn string(&mut self, text: &str) {
        self.begin_node();
        if let Some(is_plain) = analysis::is_plain_ascii(text) {
            self.write_ascii(text, is_plain, false);
            return;
        }
        if let Some(is_block) = analysis::is_block_ascii(text) {
            let form = if is_block {
                Form::Literal
            } else {
                Form::Double
            };
            self.write_in_form(text, form, false);
            return;
        }
        let text = self.normalize(text, false);
        self.write_string(&text, false);
    }

    /// A Go string, which need not be UTF-8.
    pub fn bytes(&mut self, bytes: &[u8]) {
        match (std::str::from_utf8(bytes), self.style) {
            (Ok(text), _) => self.string(text),
            (Err(_), Style::Normal) => self.string(&from_go_bytes(bytes)),
            (Err(_), Style::Pretty) => {
                self.begin_node();
                self.write_binary(&base64_lines(bytes), false);
            }
        }
    }

    /// Starts a list of `len` items.
    pub fn begin_list(&mut self, len: usize) {
        let in_map = matches!(self.open.last(), Some(Open::Map(..)));
        self.begin_node();
        if len == 0 {
            self.write_empty(b"[", b"]");
            return;
        }
        let around = self.indent;
        let is_indentless = self.style == Style::Normal && in_map && !self.indention;
        if !is_indentless {
            self.increase_indent();
        }
        self.push_open(Open::List(around));
    }

    pub fn end_list(&mut self) {
        if let Some(Open::List(around)) = self.open.pop() {
            self.indent = around;
        }
    }

    /// Starts a map of `len` entries; each is a [`key`](Self::key) and a value.
    pub fn begin_map(&mut self, len: usize) {
        self.begin_node();
        if len == 0 {
            self.write_empty(b"{", b"}");
            return;
        }
        let around = self.indent;
        self.increase_indent();
        self.push_open(Open::Map(around, Expects::Key));
    }

    pub fn key(&mut self, text: &str) {
        if text.len() <= MAX_SIMPLE_KEY
            && let Some(is_plain) = analysis::is_plain_ascii(text)
        {
            self.begin_key(true);
            self.write_ascii(text, is_plain, true);
            return;
        }
        let text = self.normalize(text, true);
        let is_simple = text.len() <= MAX_SIMPLE_KEY && !analysis::has_break(&text);
        self.begin_key(is_simple);
        self.write_string(&text, is_simple);
    }

    /// A key that need not be UTF-8.
    pub fn key_bytes(&mut self, bytes: &[u8]) {
        match (std::str::from_utf8(bytes), self.style) {
            (Ok(text), _) => self.key(text),
            (Err(_), Style::Normal) => self.key(&from_go_bytes(bytes)),
            (Err(_), Style::Pretty) => {
                let text = base64_lines(bytes);
                let is_simple = !text.contains('\n');
                self.begin_key(is_simple);
                self.write_binary(&text, is_simple);
            }
        }
    }

    pub fn end_map(&mut self) {
        if let Some(Open::Map(around, _)) = self.open.pop() {
            self.indent = around;
        }
    }

    /// The length of the text so far.
    pub fn len(&self) -> usize {
        self.out.len() - self.start
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Ends the document. On error only the padding of an empty line remains in the buffer, as `toYaml` returns an empty
    /// string.
    pub fn finish(self) -> Result<(), Error> {
        if let Some(error) = self.error {
            self.out.truncate(self.start + self.pad);
            return Err(error);
        }
        // Helm trims the trailing newline. A line that is not complete yet has none.
        let is_open = !self.indention || self.column > 0 || !self.whitespace;
        let end = self.out.len().saturating_sub(self.pad + 1);
        if !is_open && end >= self.start + self.pad && self.out.get(end) == Some(&b'\n') {
            self.out.truncate(end);
        }
        Ok(())
    }

    fn push_open(&mut self, open: Open) {
        self.open.push(open);
        if self.style == Style::Normal && self.open.len() > MAX_DEPTH {
            self.fail(Error::Syntax {
                line: None,
                problem: "exceeded max depth of 10000",
            });
        }
    }

    fn fail(&mut self, error: Error) {
        self.error.get_or_insert(error);
    }

    fn increase_indent(&mut self) {
        self.indent = if self.indent < 0 { 0 } else { self.indent + 2 };
    }

    /// Writes the indicator before a value: nothing, a dash, or a colon.
    fn begin_node(&mut self) {
        match self.open.last_mut() {
            None | Some(Open::Empty) => {}
            Some(Open::List(_)) => {
                self.write_indent();
                self.write_indicator(b"-", true, false, true);
            }
            Some(Open::Map(_, expects)) => {
                let is_long = matches!(expects, Expects::LongValue);
                *expects = Expects::Key;
                if is_long {
                    self.write_indent();
                    self.write_indicator(b":", true, false, true);
                } else {
                    self.write_indicator(b":", false, false, false);
                }
            }
        }
    }

    /// Writes the indentation of a key, and a `?` if it is not simple.
    fn begin_key(&mut self, is_simple: bool) {
        self.write_indent();
        if !is_simple {
            self.write_indicator(b"?", true, false, true);
        }
        if let Some(Open::Map(_, expects)) = self.open.last_mut() {
            *expects = if is_simple {
                Expects::Value
            } else {
                Expects::LongValue
            };
        }
    }

    fn write_empty(&mut self, begin: &[u8], end: &[u8]) {
        self.write_indicator(begin, true, true, false);
        self.write_indicator(end, false, false, false);
        self.open.push(Open::Empty);
    }

    /// A text of printable ASCII.
    fn write_ascii(&mut self, text: &str, is_plain: bool, is_key: bool) {
        let form = match (self.is_string_when_plain(text), is_plain) {
            (true, true) => Form::Plain,
            (true, false) => Form::Single,
            (false, _) => Form::Double,
        };
        self.write_in_form(text, form, is_key);
    }

    fn write_string(&mut self, text: &str, is_key: bool) {
        let form = if text.contains('\n') {
            Form::Literal
        } else if self.is_string_when_plain(text) {
            Form::Plain
        } else {
            Form::Double
        };
        self.write_scalar(text, form, is_key);
    }

    /// Whether the unquoted text resolves to a string.
    fn is_string_when_plain(&self, text: &str) -> bool {
        let is_text = match self.style {
            Style::Normal => resolve(text) == Resolved::Text,
            Style::Pretty => is_text_to_v3(text),
        };
        is_text && !is_base60(text)
    }

    /// A base64 text with the tag `!!binary`.
    fn write_binary(&mut self, text: &str, is_key: bool) {
        self.write_indicator(b"!!binary", true, false, false);
        let form = if text.contains('\n') {
            Form::Literal
        } else {
            Form::Plain
        };
        self.write_scalar(text, form, is_key);
    }

    /// The text after the conversion to JSON.
    fn normalize<'t>(&mut self, text: &'t str, is_key: bool) -> Cow<'t, str> {
        if self.style == Style::Pretty {
            return Cow::Borrowed(text);
        }
        match normalize::through_json(text, is_key) {
            Ok(text) => text,
            Err(error) => {
                self.fail(error);
                Cow::Borrowed("")
            }
        }
    }
}

/// A float that is written as an integer.
fn small_whole(value: f64, style: Style) -> Option<i64> {
    let limit = match style {
        Style::Normal => 1e15,
        Style::Pretty => 1e6,
    };
    let is_whole = value.abs() < limit && value.fract() == 0.0;
    let keeps_sign = value.is_sign_negative() && value == 0.0 && style == Style::Pretty;
    #[expect(clippy::cast_possible_truncation, reason = "checked just before")]
    (is_whole && !keeps_sign).then_some(value as i64)
}

fn special_name(value: f64) -> &'static str {
    match value {
        f64::INFINITY => ".inf",
        f64::NEG_INFINITY => "-.inf",
        _ => ".nan",
    }
}

/// A JSON number that go-yaml resolves and writes again.
fn through_yaml(value: f64, json: String) -> String {
    match resolve(&json) {
        Resolved::Int(value) => value.to_string(),
        Resolved::Uint(_) => json,
        _ => format_float(value, b'g', None),
    }
}

/// The base64 form of binary data: split into lines of 70 digits if it is not shorter than one.
fn base64_lines(bytes: &[u8]) -> String {
    const LINE: usize = 70;
    let digits = base64::encode(bytes);
    if digits.len() < LINE {
        return digits;
    }
    let mut lines = String::with_capacity(digits.len() + digits.len() / LINE + 1);
    for (at, digit) in digits.chars().enumerate() {
        if at != 0 && at % LINE == 0 {
            lines.push('\n');
        }
        lines.push(digit);
    }
    lines.push('\n');
    lines
}
