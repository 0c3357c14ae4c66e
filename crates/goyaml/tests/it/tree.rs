//! A small value type for tests.

use std::borrow::Cow;
use std::fmt::Write;

use outrigger_goyaml::{
    Builder, Emitter, Error, Style, natural_order, parse, pretty_order, sort_natural,
};

/// A value in Helm, where all numbers are floats.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Tree {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
}

pub(crate) struct MakeTree;

#[expect(clippy::cast_precision_loss, reason = "Helm loses it, too")]
impl Builder for MakeTree {
    type Value = Tree;

    fn null(&mut self) -> Tree {
        Tree::Null
    }

    fn bool(&mut self, value: bool) -> Tree {
        Tree::Bool(value)
    }

    fn int(&mut self, value: i64) -> Tree {
        Tree::Number(value as f64)
    }

    fn uint(&mut self, value: u64) -> Tree {
        assert!(i64::try_from(value).is_err(), "small numbers are ints");
        Tree::Number(value as f64)
    }

    fn float(&mut self, value: f64) -> Tree {
        Tree::Number(value)
    }

    fn string(&mut self, value: Cow<'_, str>) -> Tree {
        Tree::Text(value.into_owned())
    }

    fn list(&mut self, items: Vec<Tree>) -> Tree {
        Tree::List(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Tree)>) -> Tree {
        let entries = entries
            .into_iter()
            .map(|(key, value)| (key.into_owned(), value));
        Tree::Map(entries.collect())
    }
}

pub(crate) fn parse_tree(bytes: &[u8]) -> Result<Tree, Error> {
    parse(bytes, &mut MakeTree)
}

/// The document as JSON, or the error.
pub(crate) fn json(bytes: &[u8]) -> Result<String, String> {
    let parsed = parse_tree(bytes);
    let checked = outrigger_goyaml::check(bytes);
    assert_eq!(
        checked.as_ref().err(),
        parsed.as_ref().err(),
        "check finds what parse finds"
    );
    match parsed {
        Ok(tree) => Ok(tree.to_json()),
        Err(error) => Err(error.full_text()),
    }
}

/// An input with its JSON form or its error.
pub(crate) type Case = (&'static [u8], Result<&'static str, &'static str>);

#[track_caller]
pub(crate) fn check(cases: &[Case]) {
    for (input, expected) in cases {
        let found = json(input);
        let found = found.as_deref().map_err(String::as_str);
        assert_eq!(found, *expected, "{:?}", String::from_utf8_lossy(input));
    }
}

impl Tree {
    /// With sorted keys.
    pub(crate) fn to_json(&self) -> String {
        match self {
            Self::Null => "null".into(),
            Self::Bool(value) => value.to_string(),
            Self::Number(value) => outrigger_gostd::json::format_float(*value).unwrap(),
            Self::Text(text) => quote(text),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(Self::to_json).collect();
                format!("[{}]", items.join(","))
            }
            Self::Map(entries) => {
                let mut entries: Vec<_> = entries.iter().collect();
                entries.sort_by(|a, b| a.0.cmp(&b.0));
                let entries: Vec<String> = entries
                    .iter()
                    .map(|(key, value)| format!("{}:{}", quote(key), value.to_json()))
                    .collect();
                format!("{{{}}}", entries.join(","))
            }
        }
    }

    pub(crate) fn write(&self, style: Style, indent: usize) -> Result<String, Error> {
        let mut out = Vec::new();
        let mut emitter = Emitter::new(&mut out, style, indent);
        self.push(&mut emitter, style);
        emitter.finish()?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    fn push(&self, emitter: &mut Emitter<'_>, style: Style) {
        match self {
            Self::Null => emitter.null(),
            Self::Bool(value) => emitter.bool(*value),
            Self::Number(value) => emitter.float(*value),
            Self::Text(text) => emitter.string(text),
            Self::List(items) => {
                emitter.begin_list(items.len());
                for item in items {
                    item.push(emitter, style);
                }
                emitter.end_list();
            }
            Self::Map(entries) => {
                let order = match style {
                    Style::Normal => natural_order,
                    Style::Pretty => pretty_order,
                };
                let mut entries: Vec<_> = entries.iter().collect();
                sort_natural(&mut entries, order, |entry| &entry.0);
                emitter.begin_map(entries.len());
                for (key, value) in entries {
                    emitter.key(key);
                    value.push(emitter, style);
                }
                emitter.end_map();
            }
        }
    }
}

/// `json.Marshal` without HTML escapes.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => write!(out, "\\{c}").unwrap(),
            '\n' => out += "\\n",
            '\r' => out += "\\r",
            '\t' => out += "\\t",
            '\u{8}' => out += "\\b",
            '\u{C}' => out += "\\f",
            '\0'..='\u{1F}' | '\u{2028}' | '\u{2029}' => {
                write!(out, "\\u{:04x}", u32::from(c)).unwrap();
            }
            c => out.push(c),
        }
    }
    out + "\""
}
