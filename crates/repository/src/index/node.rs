//! The document of an index while it is parsed. Indexes are large and mostly consist of what is not needed, such as
//! maintainers and icons: each version is reduced as soon as it is read, so that the document is never in memory as a whole.

use std::borrow::Cow;

use outrigger_gostd::semver::Version;
use outrigger_goyaml::Builder;

use super::Entry;

/// The nesting limit of YAML files.
pub(super) const MAX_DEPTH: usize = 500;

#[derive(Debug)]
pub(super) enum Node {
    /// Null, or what nobody asks for.
    Other,
    Bool(bool),
    Number(String),
    Text(String),
    List(Vec<Self>),
    Map(Vec<(String, Self)>),
    /// A map with a version and URLs.
    Version(Box<Entry>),
}

pub(super) struct NodeBuilder;

impl Builder for NodeBuilder {
    type Value = Node;

    fn null(&mut self) -> Node {
        Node::Other
    }

    fn bool(&mut self, value: bool) -> Node {
        Node::Bool(value)
    }

    fn int(&mut self, value: i64) -> Node {
        Node::Number(value.to_string())
    }

    fn uint(&mut self, value: u64) -> Node {
        Node::Number(value.to_string())
    }

    fn float(&mut self, value: f64) -> Node {
        let number = serde_json::Number::from_f64(value);
        number.map_or(Node::Other, |number| Node::Number(number.to_string()))
    }

    fn string(&mut self, value: Cow<'_, str>) -> Node {
        Node::Text(value.into_owned())
    }

    fn list(&mut self, mut items: Vec<Node>) -> Node {
        items.shrink_to_fit();
        Node::List(items)
    }

    fn map(&mut self, entries: Vec<(Cow<'_, str>, Node)>) -> Node {
        let is_version = is_version(&entries);
        let entries = entries.into_iter();
        if is_version {
            return entry(entries).map_or(Node::Other, |entry| Node::Version(Box::new(entry)));
        }
        Node::Map(
            entries
                .map(|(key, value)| (key.into_owned(), value))
                .collect(),
        )
    }
}

/// Whether a map is a version of a chart. A chart may be called `urls` or `version`, but is not both.
fn is_version(entries: &[(Cow<'_, str>, Node)]) -> bool {
    let has = |name: &str, is_valid: fn(&Node) -> bool| {
        let mut entries = entries.iter();
        entries.any(|(key, value)| key == name && is_valid(value))
    };
    has("urls", |urls| matches!(urls, Node::List(_)))
        && has("version", |version| {
            matches!(version, Node::Text(_) | Node::Number(_))
        })
}

impl Node {
    /// The version of a chart, if the node is a valid one.
    pub(super) fn into_entry(self) -> Option<Entry> {
        match self {
            Self::Version(entry) => Some(*entry),
            Self::Map(fields) => {
                let fields = fields.into_iter();
                entry(fields.map(|(key, value)| (Cow::Owned(key), value)))
            }
            _ => None,
        }
    }

    fn into_text(self) -> String {
        match self {
            Self::Text(mut text) | Self::Number(mut text) => {
                text.shrink_to_fit();
                text
            }
            _ => String::new(),
        }
    }

    /// The first text of a list.
    fn into_first_text(self) -> Option<String> {
        let Self::List(items) = self else {
            return None;
        };
        let mut items = items.into_iter();
        let first = items.find(|item| matches!(item, Self::Text(_)))?;
        Some(first.into_text())
    }
}

/// A version of a chart; `None` for one without a valid version.
fn entry<'a>(fields: impl Iterator<Item = (Cow<'a, str>, Node)>) -> Option<Entry> {
    let mut entry = Entry::default();
    for (key, value) in fields {
        match &*key {
            "version" => entry.version = value.into_text(),
            "appVersion" => entry.app_version = value.into_text(),
            "description" => entry.description = value.into_text(),
            "urls" => entry.url = value.into_first_text(),
            "digest" => {
                let digest = crate::digest::hex(&value.into_text());
                entry.digest = Some(digest).filter(|digest| !digest.is_empty());
            }
            "deprecated" => entry.deprecated = matches!(value, Node::Bool(true)),
            _ => {}
        }
    }
    Version::parse(&entry.version).ok()?;
    Some(entry)
}
