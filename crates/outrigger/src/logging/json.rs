//! Log lines as JSON objects: `time`, `level`, `target`, `message`, and the fields of the event.

use std::fmt;

use jiff::Timestamp;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::Writer;
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields};
use tracing_subscriber::registry::LookupSpan;

use crate::printable;

/// One object on one line for each event.
pub(super) struct Json;

impl<S, N> FormatEvent<S, N> for Json
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = Map::new();
        let metadata = event.metadata();
        line.insert("time".to_owned(), Timestamp::now().to_string().into());
        line.insert("level".to_owned(), metadata.level().as_str().into());
        line.insert("target".to_owned(), metadata.target().into());
        event.record(&mut Fields(&mut line));
        writeln!(
            writer,
            "{}",
            printable::escaped(&Value::Object(line).to_string())
        )
    }
}

/// Collects the fields of an event.
struct Fields<'a>(&'a mut Map<String, Value>);

impl Visit for Fields<'_> {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.insert(field, format!("{value:?}").into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.insert(field, value.into());
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.insert(field, value.into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.insert(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.insert(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.insert(field, value.into());
    }
}

impl Fields<'_> {
    /// A field of an event does not replace what describes the line.
    fn insert(&mut self, field: &Field, value: Value) {
        let name = match field.name() {
            name @ ("time" | "level" | "target") => format!("field_{name}"),
            name => name.to_owned(),
        };
        self.0.insert(name, value);
    }
}
