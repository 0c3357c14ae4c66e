//! YAML exactly as Helm reads and writes it: go-yaml v2 behind the JSON conversion of sigs.k8s.io/yaml.
//!
//! Pure: bytes in, values or text out. This crate has no value type of its own: a reader gives a [`Builder`],
//! a writer drives an emitter. Who is content with JSON values has [`parse_json`] and [`write_json`].

mod build;
mod convert;
mod describe;
mod document;
mod emitter;
mod error;
mod event;
mod head;
mod json;
mod order;
mod quick;
mod resolve;
mod scanner;
mod source;
mod split;
mod text;
mod timestamp;

use std::borrow::Cow;

use build::Build;
use document::Document;
use event::Events;
use head::ReadHead;
use quick::{Progress, Sink, walk};
use resolve::Resolved;
use source::Source;

pub use emitter::{Emitter, Style};
pub use error::{Error, Step, Target};
pub use head::Head;
pub use json::{parse_json, write_json};
pub use order::{natural_order, pretty_order, sort_natural};
pub use split::{Documents, SeparatorError, documents};
pub use text::from_go_bytes;

/// Makes the caller's values out of a parsed document, after the conversion to JSON: keys are strings,
/// merge keys are applied, aliases are expanded (each use is built anew), of equal keys the last one stays.
///
/// Values may be made that are not used in the end: a document can turn out late to need another look.
pub trait Builder {
    type Value;

    fn null(&mut self) -> Self::Value;
    fn bool(&mut self, value: bool) -> Self::Value;
    fn int(&mut self, value: i64) -> Self::Value;
    /// An integer above `i64::MAX`.
    fn uint(&mut self, value: u64) -> Self::Value;
    fn float(&mut self, value: f64) -> Self::Value;
    fn string(&mut self, value: Cow<'_, str>) -> Self::Value;
    fn list(&mut self, items: Vec<Self::Value>) -> Self::Value;
    /// Entries in document order, keys unique.
    fn map(&mut self, entries: Vec<(Cow<'_, str>, Self::Value)>) -> Self::Value;
}

/// Reads the first document of a stream; an empty stream is a null. What follows the first document is not
/// looked at.
///
/// Values are nested at most 10 000 deep.
pub fn parse<B: Builder>(bytes: &[u8], builder: &mut B) -> Result<B::Value, Error> {
    let source = Source::new(bytes);
    let mut build = Build::new(builder);
    match walk_source(&source, &mut build)? {
        Progress::Done => Ok(match build.finish() {
            Some(value) => value,
            None => builder.null(),
        }),
        Progress::Rare => {
            let document = read_thoroughly(&source)?;
            document.check(&|_| false)?;
            Ok(document.build(builder))
        }
    }
}

/// Finds the errors that [`parse`] would find, and builds nothing.
pub fn check(bytes: &[u8]) -> Result<(), Error> {
    let source = Source::new(bytes);
    match walk_source(&source, &mut Ignore)? {
        Progress::Done => Ok(()),
        Progress::Rare => read_thoroughly(&source)?.check(&|_| false),
    }
}

/// Finds the keys that a map has more than once, which a strict reader minds. A document that cannot be read at all
/// is an error too.
pub fn check_strict(bytes: &[u8]) -> Result<(), Error> {
    let source = Source::new(bytes);
    let repeated = if source.pieces.is_some() {
        Document::repeated_keys(&mut Events::<true>::with_lines(&source))
    } else {
        Document::repeated_keys(&mut Events::<false>::with_lines(&source))
    }?;
    if repeated.is_empty() {
        return Ok(());
    }
    Err(Error::RepeatedKeys(repeated))
}

/// Checks a whole manifest and takes out what Helm sorts by. `go_type` is the name of the type that Helm decodes
/// into: `releaseutil.SimpleHead` in Helm 3, `util.SimpleHead` in Helm 4. It shows in errors only.
pub fn head(bytes: &[u8], go_type: &'static str) -> Result<Head, Error> {
    let source = Source::new(bytes);
    let mut read = ReadHead::default();
    match walk_source(&source, &mut read)? {
        Progress::Done => Ok(read.head),
        Progress::Rare => head::head_of(&read_thoroughly(&source)?, go_type),
    }
}

fn walk_source<'a, S: Sink<'a>>(source: &'a Source<'_>, sink: &mut S) -> Result<Progress, Error> {
    if source.pieces.is_some() {
        walk(&mut Events::<true>::new(source), sink)
    } else {
        walk(&mut Events::<false>::new(source), sink)
    }
}

fn read_thoroughly<'a>(source: &'a Source<'_>) -> Result<Document<'a>, Error> {
    if source.pieces.is_some() {
        Document::read(&mut Events::<true>::new(source))
    } else {
        Document::read(&mut Events::<false>::new(source))
    }
}

/// A sink for checks.
struct Ignore;

impl<'a> Sink<'a> for Ignore {
    const TAKES_SCALARS: bool = false;

    fn key(&mut self, _: Cow<'a, str>) {}
    fn scalar(&mut self, _: Cow<'a, str>, _: Resolved) {}
    fn begin_list(&mut self) {}
    fn end_list(&mut self) {}
    fn begin_map(&mut self) {}
    fn end_map(&mut self) {}

    fn skips_text(&self) -> bool {
        true
    }
}
