//! sigs.k8s.io/yaml: go-yaml v2 with the conversion to JSON, as Helm and Kubernetes use it.
//!
//! Pure: bytes in, values or text out. The crate has no value type: to decode, callers implement [`Builder`]; to encode,
//! they drive an [`Emitter`]. [`parse_json`], [`parse_json_to_depth`] and [`write_json`] are for JSON values.

mod build;
mod convert;
mod document;
mod emitter;
mod error;
mod fast_path;
mod go_syntax;
mod head;
mod json;
mod located;
mod order;
mod parser;
mod resolve;
mod scanner;
mod source;
mod split;
mod text;
mod timestamp;

use std::borrow::Cow;

use build::BuilderSink;
use document::Document;
use fast_path::{MAX_JSON_DEPTH, Progress, Sink, drive};
use head::HeadSink;
use parser::Parser;
use resolve::Resolved;
use source::Source;

pub use emitter::{Emitter, Style};
pub use error::{Error, Step, Target};
pub use head::Head;
pub use json::{parse_json, parse_json_to_depth, try_write_json, write_json};
pub use located::{Located, LocatedDocument, LocatedKind, RepeatedKey, parse_located};
pub use order::{natural_order, pretty_order, sort_natural};
pub use split::{Documents, SeparatorError, documents};
pub use text::from_go_bytes;

/// Builds the caller's values from a document after its conversion to JSON: keys are strings, merge keys are applied,
/// aliases are expanded (each use is built again), and of equal keys the last one remains.
///
/// Some values may be built in vain, if the fast path has to fall back.
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

/// Parses the first document of a stream, and ignores the others; an empty stream is null. Values may be nested 10,000
/// levels deep.
pub fn parse<B: Builder>(bytes: &[u8], builder: &mut B) -> Result<B::Value, Error> {
    parse_to_depth(bytes, builder, MAX_JSON_DEPTH)
}

/// [`parse`], unless the value is nested more than `limit` levels deep after aliases are expanded. Whoever traverses
/// values recursively needs a limit.
pub fn parse_to_depth<B: Builder>(
    bytes: &[u8],
    builder: &mut B,
    limit: usize,
) -> Result<B::Value, Error> {
    let source = Source::new(bytes);
    let mut build = BuilderSink::new(builder);
    match run_fast_path(&source, &mut build, limit)? {
        Progress::Done => Ok(match build.finish() {
            Some(value) => value,
            None => builder.null(),
        }),
        Progress::Fallback => {
            let document = load_document(&source)?;
            if document.check(&|_| false)? > limit {
                return Err(Error::MaxDepth(limit));
            }
            Ok(document.build(builder))
        }
    }
}

/// Reports the errors of [`parse`] without building a value.
pub fn check(bytes: &[u8]) -> Result<(), Error> {
    let source = Source::new(bytes);
    match run_fast_path(&source, &mut Ignore, MAX_JSON_DEPTH)? {
        Progress::Done => Ok(()),
        Progress::Fallback => load_document(&source)?.check(&|_| false).map(drop),
    }
}

/// `yaml.UnmarshalStrict`: reports duplicate keys, and the errors of [`parse`].
pub fn check_strict(bytes: &[u8]) -> Result<(), Error> {
    let source = Source::new(bytes);
    let repeated = if source.chunks.is_some() {
        Document::repeated_keys(&mut Parser::<true>::with_lines(&source))
    } else {
        Document::repeated_keys(&mut Parser::<false>::with_lines(&source))
    }?;
    if repeated.is_empty() {
        return Ok(());
    }
    Err(Error::RepeatedKeys(repeated))
}

/// Decodes a manifest into Helm's `SimpleHead`, and checks all of it. `go_type` is the type in error messages:
/// `releaseutil.SimpleHead` in Helm 3, `util.SimpleHead` in Helm 4.
pub fn head(bytes: &[u8], go_type: &'static str) -> Result<Head, Error> {
    let source = Source::new(bytes);
    let mut read = HeadSink::default();
    match run_fast_path(&source, &mut read, MAX_JSON_DEPTH)? {
        Progress::Done => Ok(read.head),
        Progress::Fallback => head::decode_head(&load_document(&source)?, go_type),
    }
}

fn run_fast_path<'a, S: Sink<'a>>(
    source: &'a Source<'_>,
    sink: &mut S,
    max_depth: usize,
) -> Result<Progress, Error> {
    if source.chunks.is_some() {
        drive(&mut Parser::<true>::new(source), sink, max_depth)
    } else {
        drive(&mut Parser::<false>::new(source), sink, max_depth)
    }
}

fn load_document<'a>(source: &'a Source<'_>) -> Result<Document<'a>, Error> {
    if source.chunks.is_some() {
        Document::read(&mut Parser::<true>::new(source))
    } else {
        Document::read(&mut Parser::<false>::new(source))
    }
}

/// A sink that only checks.
struct Ignore;

impl<'a> Sink<'a> for Ignore {
    const USES_SCALARS: bool = false;

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
