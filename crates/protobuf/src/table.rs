//! The table of kinds and messages, generated into `table.txt` and parsed on first use.
//!
//! A line `@VERSION` begins the kinds of a version, one to a line, followed by its message if that has another
//! name; `*` is every version. After a lone `@` come the messages: a name and, if its JSON is not that of a plain
//! struct, a form; then its fields, each with number, name in JSON (`+` for one whose members stand in the
//! object around it) and type. `*`, `[]` and `{}` mean pointer, list and map from strings, a `?` at the end that
//! JSON leaves the field out when it is empty.

use std::collections::HashMap;
use std::sync::LazyLock;

static TABLE: LazyLock<Table> = LazyLock::new(|| {
    Table::parse(include_str!("table.txt"))
        .expect("the generated table is well formed, as a test proves")
});

const ANY_VERSION: &str = "*";

#[derive(Debug)]
pub(crate) struct Table {
    kinds: HashMap<(&'static str, &'static str), usize>,
    messages: Vec<Message>,
}

#[derive(Debug)]
pub(crate) struct Message {
    pub(crate) form: Form,
    /// By number.
    pub(crate) fields: Vec<Field>,
}

/// The JSON encoding of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    Object,
    Time,
    MicroTime,
    Quantity,
    IntOrString,
    /// The list in its only field.
    Items,
    /// The JSON text in field 1.
    Raw,
    /// The JSON text in field 1, omitted if empty.
    Json,
    /// Field 2 if set, else the boolean in field 1.
    OrBool,
    /// The list in field 2 unless it is empty, else field 1.
    OrList,
}

#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) number: u32,
    pub(crate) name: &'static str,
    pub(crate) shape: Shape,
    pub(crate) base: Base,
    pub(crate) omit_empty: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    Value,
    Pointer,
    List,
    Map,
    /// An inlined message.
    Inline,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Base {
    String,
    Bytes,
    Bool,
    Int32,
    Int64,
    Double,
    Message(usize),
}

/// An invalid line of the table.
#[derive(Debug, thiserror::Error)]
#[error("line {line} of the table is invalid")]
pub(crate) struct BadLine {
    line: usize,
}

impl Table {
    pub(crate) fn get() -> &'static Self {
        &TABLE
    }

    /// The message of a kind.
    pub(crate) fn kind(&self, api_version: &str, kind: &str) -> Option<&Message> {
        let exact = self.kinds.get(&(api_version, kind));
        let index = exact.or_else(|| self.kinds.get(&(ANY_VERSION, kind)))?;
        self.messages.get(*index)
    }

    pub(crate) fn message(&self, index: usize) -> &Message {
        &self.messages[index]
    }

    fn parse(text: &'static str) -> Result<Self, BadLine> {
        let names = message_names(text);
        let mut table = Self {
            kinds: HashMap::new(),
            messages: Vec::with_capacity(names.len()),
        };
        let mut version = None;
        for (line, words) in lines(text) {
            table
                .read(&words, &mut version, &names)
                .ok_or(BadLine { line })?;
        }
        for message in &mut table.messages {
            message.fields.sort_by_key(|field| field.number);
        }
        Ok(table)
    }

    fn read(
        &mut self,
        words: &[&'static str],
        version: &mut Option<&'static str>,
        names: &Names,
    ) -> Option<()> {
        match (words, *version) {
            ([marker], _) if marker.starts_with('@') => *version = marker.strip_prefix('@'),
            (["", number, name, shown], Some("")) => {
                let field = Field::parse(number, name, shown, names)?;
                self.messages.last_mut()?.fields.push(field);
            }
            ([_, form @ ..], Some("")) => {
                let form = Form::parse(form.first().copied().unwrap_or_default())?;
                self.messages.push(Message {
                    form,
                    fields: Vec::new(),
                });
            }
            ([kind, message @ ..], Some(version)) => {
                let message = names.get(message.first().unwrap_or(kind))?;
                self.kinds.insert((version, kind), *message);
            }
            _ => return None,
        }
        Some(())
    }
}

impl Message {
    pub(crate) fn field(&self, number: u32) -> Option<&Field> {
        let index = self
            .fields
            .binary_search_by_key(&number, |field| field.number)
            .ok()?;
        self.fields.get(index)
    }
}

impl Form {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "" => Self::Object,
            "time" => Self::Time,
            "microtime" => Self::MicroTime,
            "quantity" => Self::Quantity,
            "intorstring" => Self::IntOrString,
            "items" => Self::Items,
            "raw" => Self::Raw,
            "json" => Self::Json,
            "orbool" => Self::OrBool,
            "orlist" => Self::OrList,
            _ => return None,
        })
    }
}

impl Field {
    fn parse(number: &str, name: &'static str, shown: &'static str, names: &Names) -> Option<Self> {
        let omit_empty = shown.ends_with('?');
        let shown = shown.trim_end_matches('?');
        let (shape, base) = match shown.split_at_checked(2) {
            Some(("[]", base)) => (Shape::List, base),
            Some(("{}", base)) => (Shape::Map, base),
            _ if name == "+" => (Shape::Inline, shown),
            _ => shown
                .strip_prefix('*')
                .map_or((Shape::Value, shown), |base| (Shape::Pointer, base)),
        };
        let base = Base::parse(base, names)?;
        Some(Self {
            number: number.parse().ok()?,
            name,
            shape,
            base,
            omit_empty,
        })
    }
}

impl Base {
    fn parse(name: &'static str, names: &Names) -> Option<Self> {
        Some(match name {
            "string" => Self::String,
            "bytes" => Self::Bytes,
            "bool" => Self::Bool,
            "int32" => Self::Int32,
            "int64" => Self::Int64,
            "float64" => Self::Double,
            message => Self::Message(*names.get(message)?),
        })
    }
}

type Names = HashMap<&'static str, usize>;

/// The indices of messages, which may be referred to before they are defined.
fn message_names(text: &'static str) -> Names {
    let messages = text
        .split_once("\n@\n")
        .map_or("", |(_, messages)| messages);
    let headers = messages.lines().filter(|line| !line.starts_with(' '));
    headers
        .filter_map(|line| line.split(' ').next())
        .zip(0..)
        .collect()
}

/// The words of each line except comments. The first word of a field is empty, since its line starts with a space.
fn lines(text: &'static str) -> impl Iterator<Item = (usize, Vec<&'static str>)> {
    let numbered = (1..)
        .zip(text.lines())
        .filter(|(_, line)| !line.starts_with('#'));
    numbered.map(|(number, line)| (number, line.split(' ').collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generated_table_is_well_formed() {
        let table = Table::parse(include_str!("table.txt")).unwrap();
        for message in &table.messages {
            let numbers = message
                .fields
                .windows(2)
                .all(|pair| pair[0].number < pair[1].number);
            assert!(numbers, "{message:?}");
        }
        assert!(table.kinds.len() > 200 && table.messages.len() > 500);
    }

    #[test]
    fn options_exist_in_every_version() {
        let table = Table::get();
        let options = table.kind("v1", "DeleteOptions").unwrap();
        assert!(std::ptr::eq(
            options,
            table.kind("example.test/v7", "DeleteOptions").unwrap()
        ));
        assert!(table.kind("example.test/v7", "Pod").is_none());
    }

    #[test]
    fn reports_invalid_lines() {
        for text in [
            "Pod\n",
            "@v1\nPod\n@\n",
            "@\nPod odd\n",
            "@\nPod\n 1 metadata Meta\n",
            "@\nPod\n x a string\n",
        ] {
            assert!(Table::parse(text).is_err(), "{text:?}");
        }
    }
}
