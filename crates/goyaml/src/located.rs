//! Values with their lines, for errors that say where in a file they are.

use crate::Source;
use crate::document::{Decoded, Document, LocatedDocument as Read};
use crate::error::Error;
use crate::parser::Parser;
use crate::resolve::Resolved;

/// A value, and the line on which it begins. Lines start at one. A value that an alias stands for has the line of its
/// anchor.
#[derive(Debug, Clone, PartialEq)]
pub struct Located {
    pub line: usize,
    pub kind: LocatedKind,
}

/// What a located value is.
#[derive(Debug, Clone, PartialEq)]
pub enum LocatedKind {
    Null,
    Bool(bool),
    /// A number, as it is written.
    Number(String),
    String(String),
    List(Vec<Located>),
    /// Keys with their lines, in document order, unique.
    Map(Vec<(usize, String, Located)>),
}

/// A document whose values are located.
#[derive(Debug, Clone, PartialEq)]
pub struct LocatedDocument {
    pub root: Located,
    /// Keys that a map has more than once. The map has the last of their values.
    pub repeated: Vec<RepeatedKey>,
}

/// A key that its map already has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepeatedKey {
    pub line: usize,
    pub key: String,
}

/// Parses the first document of a stream, and ignores the others; an empty stream is null. Values may be nested `limit`
/// levels deep.
pub fn parse_located(bytes: &[u8], limit: usize) -> Result<LocatedDocument, Error> {
    let source = Source::new(bytes);
    let read = if source.chunks.is_some() {
        Document::read_located(&mut Parser::<true>::with_lines(&source))
    } else {
        Document::read_located(&mut Parser::<false>::with_lines(&source))
    }?;
    if read.document.check(&|_| true)? > limit {
        return Err(Error::MaxDepth(limit));
    }
    let repeated = read.repeated.iter().map(|&(line, key)| RepeatedKey {
        line: line + 1,
        key: read.document.key_text(key).into_owned(),
    });
    Ok(LocatedDocument {
        root: locate(&read, read.document.root),
        repeated: repeated.collect(),
    })
}

/// The value at an index. The nesting of the document was checked.
fn locate(read: &Read<'_>, at: usize) -> Located {
    let kind = match &read.document.values[at] {
        Decoded::Scalar(resolved, text) => match *resolved {
            Resolved::Null => LocatedKind::Null,
            Resolved::Bool(value) => LocatedKind::Bool(value),
            Resolved::Int(_) | Resolved::Uint(_) | Resolved::Float(_) => {
                LocatedKind::Number(text.clone().into_owned())
            }
            Resolved::Timestamp | Resolved::Text => LocatedKind::String(text.clone().into_owned()),
        },
        Decoded::List(items) => {
            LocatedKind::List(items.iter().map(|&item| locate(read, item)).collect())
        }
        Decoded::Map(entries) => {
            let entries = entries.iter().map(|&(key, value)| {
                let text = read.document.key_text(key).into_owned();
                (read.lines[key] + 1, text, locate(read, value))
            });
            LocatedKind::Map(entries.collect())
        }
    };
    Located {
        line: read.lines[at] + 1,
        kind,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> LocatedDocument {
        parse_located(text.as_bytes(), 100).unwrap()
    }

    /// Lines and texts of all keys and scalars.
    fn outline(value: &Located) -> String {
        match &value.kind {
            LocatedKind::Null => format!("{}:null ", value.line),
            LocatedKind::Bool(flag) => format!("{}:{flag} ", value.line),
            LocatedKind::Number(text) | LocatedKind::String(text) => {
                format!("{}:{text} ", value.line)
            }
            LocatedKind::List(items) => items.iter().map(outline).collect(),
            LocatedKind::Map(entries) => entries
                .iter()
                .map(|(line, key, value)| format!("{line}:{key}={}", outline(value)))
                .collect(),
        }
    }

    #[test]
    fn keys_and_values_have_their_lines() {
        let text = "# comment\na: 1\nb:\n  - x\n  - {c: true,\n     d: 0755}\ne:\nf: |\n  text\n";
        assert_eq!(
            outline(&parse(text).root),
            "2:a=2:1 3:b=4:x 5:c=5:true 6:d=6:0755 7:e=7:null 8:f=8:text\n "
        );
    }

    #[test]
    fn aliases_have_the_line_of_their_anchor() {
        let text = "a: &a\n  x: 1\nb: *a\nc:\n  <<: *a\n  z: 2\n";
        assert_eq!(
            outline(&parse(text).root),
            "1:a=2:x=2:1 3:b=2:x=2:1 4:c=2:x=2:1 6:z=6:2 "
        );
    }

    #[test]
    fn repeated_keys_are_named_with_their_line() {
        let document = parse("a: 1\nb:\n  c: 1\n  c: 2\na: 3\n");
        let repeated: Vec<(usize, &str)> = document
            .repeated
            .iter()
            .map(|key| (key.line, key.key.as_str()))
            .collect();
        assert_eq!(repeated, [(4, "c"), (5, "a")]);
        assert_eq!(outline(&document.root), "2:b=4:c=4:2 5:a=5:3 ");
    }

    #[test]
    fn an_empty_stream_is_null_and_depth_is_limited() {
        assert_eq!(outline(&parse("").root), "1:null ");
        assert_eq!(
            parse_located(b"[[[1]]]", 2).unwrap_err(),
            Error::MaxDepth(2)
        );
        assert!(parse_located(b"a: [", 10).is_err());
    }
}
