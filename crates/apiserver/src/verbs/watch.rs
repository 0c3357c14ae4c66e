//! `watch`: a stream of JSON lines.
//!
//! A watch has no queue; it reads the watch cache of the store at its own pace. A client that falls behind gets the error
//! that its resource version is too old, and the stream ends.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use outrigger_apimachinery::GroupVersion;
use outrigger_apimachinery::status::Status;
use outrigger_builtin::kinds::Kind;
use outrigger_builtin::table::{self, Include, Now};
use outrigger_store::Object;
use outrigger_store::watch::{Event, Expired, WatchEnd, Watcher};
use outrigger_structural::go_types;
use serde_json::{Map, Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::page;
use super::request_context::RequestContext;
use super::response;
use crate::negotiation::{ApiResponse, Content, Format, View};
use crate::panics;
use crate::request::{ListOptions, go_seconds};
use crate::server::{Body, State};

/// Watches without a timeout end after this many seconds up to twice as many.
const MIN_TIMEOUT: u64 = 1800;
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before the end of a watch the last bookmark is sent.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// The approximate size of a chunk in bytes.
const BATCH: usize = 64 * 1024;
/// How many bytes of events are read without a pause.
const MAX_SCANNED: usize = 256 * 1024;
/// How many watches may send an event at the same moment.
const MAX_SIMULTANEOUS: u64 = 500;
/// With more of them, each watch waits this long for each one before it, and at most `MAX_SPREAD`.
const SPREAD: Duration = Duration::from_micros(10);
const MAX_SPREAD: Duration = Duration::from_millis(100);

pub(super) fn run(ctx: &RequestContext<'_>) -> Result<ApiResponse, Status> {
    let mut options = ListOptions::parse(&ctx.query, &ctx.kind, true)?;
    if !ctx.name().is_empty() {
        options.fields = options.fields.with_name(ctx.name());
    }
    let view = match ctx.accept.view {
        View::Object => EventView::Object,
        View::Metadata => EventView::Metadata,
        View::Table => EventView::Table(response::include(ctx)?),
    };
    let timeout = match options.timeout {
        None | Some(0) => random_timeout(ctx.state),
        // A timeout that wraps around to a negative one ends the watch at once.
        Some(seconds) => Duration::try_from(go_seconds(seconds)).unwrap_or(Duration::ZERO),
    };
    let stream = Stream::new(ctx, options, view, timeout)?;
    let lines = futures::stream::unfold(stream, |mut stream| async move {
        let next = panics::catch_async(stream.next()).await;
        let bytes = next.unwrap_or_else(|panic| {
            let resource = stream.kind.group_resource().to_string();
            tracing::error!(resource, %panic, "a watch panicked");
            stream.state.metrics.request_aborted();
            None
        })?;
        Some((bytes, stream))
    });
    Ok(ApiResponse::ok(Content::Stream(Body::stream(lines))))
}

fn random_timeout(state: &State) -> Duration {
    let random = u64::from(state.now().subsec_nanosecond().unsigned_abs());
    let seconds = MIN_TIMEOUT.saturating_add(random % MIN_TIMEOUT);
    Duration::from_secs(seconds)
}

/// How long a watch waits before it sends an event: if one event woke thousands of watches at once, other requests would wait
/// for all of them.
fn spread_delay(number: u64, watches: u64) -> Option<Duration> {
    if watches <= MAX_SIMULTANEOUS {
        return None;
    }
    let position = u32::try_from(number.checked_rem(watches)?).unwrap_or(u32::MAX);
    Some(SPREAD.saturating_mul(position).min(MAX_SPREAD))
}

/// The representation of objects in events.
#[derive(Debug, Clone, Copy)]
enum EventView {
    Object,
    Metadata,
    Table(Include),
}

enum Wakeup {
    Event(Result<Arc<Event>, WatchEnd>),
    Time,
    Closed,
}

struct Stream {
    state: Arc<State>,
    kind: Arc<Kind>,
    options: ListOptions,
    view: EventView,
    format: Format,
    /// The `apiVersion` of tables and metadata.
    view_version: &'static str,
    /// Existing objects that are still to be sent.
    initial: VecDeque<Arc<Object>>,
    /// The revision of the bookmark that ends the initial events.
    initial_end: Option<u64>,
    /// An error if the watch ends at once.
    watcher: Result<Watcher, Status>,
    revision: u64,
    is_first_table: bool,
    /// How many watches there were when this one began.
    number: u64,
    /// How many bytes the events had that were read since the last chunk or pause.
    scanned: usize,
    is_done: bool,
    bookmark_at: Instant,
    ends_at: Instant,
    closed: watch::Receiver<bool>,
}

impl Stream {
    fn new(
        ctx: &RequestContext<'_>,
        options: ListOptions,
        view: EventView,
        timeout: Duration,
    ) -> Result<Self, Status> {
        let state = Arc::clone(ctx.state);
        let scope = page::scope(ctx, &options)?;
        let requested = options.revision.filter(|revision| *revision > 0);
        let wants_initial = options
            .initial_events
            .unwrap_or_else(|| requested.is_none());
        let mut initial = VecDeque::new();
        let mut revision = requested.unwrap_or_else(|| state.store.revision());
        if wants_initial {
            let snapshot = state.store.snapshot();
            if let Some(requested) = requested.filter(|requested| *requested > snapshot.revision())
            {
                return Err(Status::too_large_resource_version(
                    requested,
                    snapshot.revision(),
                ));
            }
            revision = snapshot.revision();
            for object in snapshot.list(&scope) {
                if page::matches(&options, object)? {
                    initial.push_back(Arc::clone(object));
                }
            }
        }
        let watcher = match state.started_revision() {
            // Events from before the server started are not served.
            started if revision < started => Err(Expired {
                revision,
                compacted: started,
            }),
            _ => state.store.watch(scope, revision),
        };
        let watcher = watcher.map_err(|expired| {
            Status::too_old_resource_version(expired.revision, expired.compacted)
        });
        let now = Instant::now();
        let number = state.metrics.watch_began();
        Ok(Self {
            number,
            initial_end: (options.initial_events == Some(true) && options.bookmarks)
                .then_some(revision),
            kind: Arc::clone(&ctx.kind),
            closed: state.closed.clone(),
            state,
            options,
            view,
            format: ctx.accept.format,
            view_version: ctx.accept.view_version(),
            initial,
            watcher,
            revision,
            is_first_table: true,
            scanned: 0,
            is_done: false,
            bookmark_at: later(
                now,
                BOOKMARK_EVERY.min(timeout.saturating_sub(LAST_BOOKMARK)),
            ),
            ends_at: later(now, timeout),
        })
    }

    /// The next chunk; none at the end.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let mut out = BytesMut::new();
        self.scanned = 0;
        while let Some(object) = self.initial.pop_front() {
            self.line(&mut out, "ADDED", &object);
            if out.len() >= BATCH {
                return Some(out.freeze());
            }
        }
        if let Some(revision) = self.initial_end.take() {
            self.bookmark(&mut out, revision, true);
        }
        if let Err(status) = &self.watcher {
            let status = status.clone();
            self.fail(&mut out, &status);
        }
        self.take_ready(&mut out);
        while out.is_empty() && !self.is_done {
            if self.scanned >= MAX_SCANNED {
                // Events that are not selected must not keep others waiting.
                tokio::task::yield_now().await;
            }
            self.scanned = 0;
            self.wait(&mut out).await;
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// Waits for an event, a bookmark or the end.
    async fn wait(&mut self, out: &mut BytesMut) {
        let Ok(watcher) = &mut self.watcher else {
            self.is_done = true;
            return;
        };
        let next_time = if self.options.bookmarks {
            self.bookmark_at.min(self.ends_at)
        } else {
            self.ends_at
        };
        let wakeup = tokio::select! {
            biased;
            event = watcher.next() => Wakeup::Event(event),
            () = tokio::time::sleep_until(next_time) => Wakeup::Time,
            _ = self.closed.wait_for(|closed| *closed) => Wakeup::Closed,
        };
        match wakeup {
            Wakeup::Event(Ok(event)) => {
                if let Some(delay) = spread_delay(self.number, self.state.metrics.watches()) {
                    tokio::time::sleep(delay).await;
                }
                self.event(out, &event);
                self.take_ready(out);
            }
            Wakeup::Event(Err(end)) => self.end(out, end),
            Wakeup::Time => self.time_passed(out),
            Wakeup::Closed => self.is_done = true,
        }
    }

    fn time_passed(&mut self, out: &mut BytesMut) {
        let now = Instant::now();
        if now >= self.ends_at {
            self.is_done = true;
            return;
        }
        if let Ok(watcher) = &mut self.watcher
            && let Ok(revision) = watcher.progress()
        {
            self.bookmark(out, revision.max(self.revision), false);
        }
        let last = self.ends_at.checked_sub(LAST_BOOKMARK).unwrap_or(now);
        self.bookmark_at = match later(now, BOOKMARK_EVERY) {
            next if next < last || now >= last => next,
            _ => last,
        };
    }

    /// Drains the events that are ready, so that they are sent in one chunk.
    fn take_ready(&mut self, out: &mut BytesMut) {
        while out.len() < BATCH && self.scanned < MAX_SCANNED && !self.is_done {
            let Ok(watcher) = &mut self.watcher else {
                return;
            };
            match watcher.ready() {
                Ok(Some(event)) => self.event(out, &event),
                Ok(None) => return,
                Err(end) => self.end(out, end),
            }
        }
    }

    fn end(&mut self, out: &mut BytesMut, end: WatchEnd) {
        match end {
            WatchEnd::Closed => self.is_done = true,
            WatchEnd::Overflow => {
                let status = Status::too_old_resource_version(
                    self.revision,
                    self.state.store.compacted_revision(),
                );
                self.fail(out, &status);
            }
        }
    }

    /// An error is the last event.
    fn fail(&mut self, out: &mut BytesMut, status: &Status) {
        let status = serde_json::to_value(status).unwrap_or_default();
        self.value(out, "ERROR", &status);
        self.is_done = true;
    }

    /// Converts an event of the store to one of the selected objects.
    fn event(&mut self, out: &mut BytesMut, event: &Event) {
        self.revision = event.revision();
        let object = event.object();
        self.scanned = self.scanned.saturating_add(object.bytes().len());
        let matches = |object: &Object| {
            let parsed = || self.parsed(object);
            page::matches_parsed(&self.options, object, parsed).unwrap_or(false)
        };
        let was = event.old().is_some_and(|old| matches(old));
        let is = !matches!(event, Event::Deleted { .. }) && matches(object);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        match event.old().filter(|_| kind == "DELETED") {
            // An object that no longer matches is sent in its last matching version.
            Some(old) => self.line(out, kind, &old.at_revision(event.revision())),
            None => self.line(out, kind, object),
        }
    }

    /// The value of an object; other watches of the same event have parsed it.
    fn parsed(&self, object: &Object) -> Result<Arc<Value>, Status> {
        self.state.parsed.get(object, response::stored_value)
    }

    fn line(&mut self, out: &mut BytesMut, event: &str, object: &Object) {
        let shown = match self.view {
            EventView::Object => response::served_bytes(&self.state, &self.kind, object),
            EventView::Metadata => {
                if let Ok(value) = self.parsed(object) {
                    let mut view = table::partial_metadata(&self.kind, &value);
                    view["apiVersion"] = self.view_version.into();
                    self.value(out, event, &view);
                }
                return;
            }
            EventView::Table(include) => self.table(object, include),
        };
        // Stored objects always serialize.
        let Ok(shown) = shown else {
            return;
        };
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(event.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        out.extend_from_slice(&shown);
        out.extend_from_slice(b"}\n");
    }

    /// Writes an event with a value, in the negotiated format.
    fn value(&self, out: &mut BytesMut, event: &str, object: &Value) {
        if self.format == Format::Protobuf {
            let frame = outrigger_protobuf::encode_watch_event(event, object);
            return out.extend_from_slice(&frame.unwrap_or_default());
        }
        let line = json!({"type": event, "object": object});
        out.extend_from_slice(line.to_string().as_bytes());
        out.extend_from_slice(b"\n");
    }

    /// An object from which tables are made, see [`response::shown_value`].
    fn shown(&self, object: &Object) -> Result<Arc<Value>, Status> {
        let is_built_in = self.kind.custom.is_none();
        if is_built_in || response::serves_as_stored(&self.state, &self.kind, object) {
            return self.parsed(object);
        }
        response::shown_value(&self.state, &self.kind, object).map(Arc::new)
    }

    fn table(&mut self, object: &Object, include: Include) -> Result<Bytes, Status> {
        let value = self.shown(object)?;
        let mut metadata = Map::new();
        metadata.insert(
            "resourceVersion".to_owned(),
            object.revision().to_string().into(),
        );
        let now = Now(self.state.now());
        let row = table::row(&self.kind, &value, include, now);
        let mut table = table::table(&self.kind, metadata, vec![row]);
        if !std::mem::replace(&mut self.is_first_table, false) {
            table.columns = None;
        }
        let mut table = serde_json::to_value(&table).map_err(Status::internal)?;
        response::set_view_version(&mut table, self.view_version);
        Ok(table.to_string().into())
    }

    /// The table of a bookmark, with a row for the object that has only metadata.
    fn bookmark_table(&mut self, metadata: Map<String, Value>, include: Include) -> Value {
        let revision = metadata.get("resourceVersion").cloned();
        let object = self.empty_object(metadata);
        let list = revision.map(|revision| ("resourceVersion".to_owned(), revision));
        let now = Now(self.state.now());
        let row = table::row(&self.kind, &object, include, now);
        let mut table = table::table(&self.kind, list.into_iter().collect(), vec![row]);
        if !std::mem::replace(&mut self.is_first_table, false) {
            table.columns = None;
        }
        let mut table = serde_json::to_value(&table).unwrap_or_default();
        response::set_view_version(&mut table, self.view_version);
        table
    }

    /// The object of a bookmark: only metadata, and the empty fields of its Go type.
    fn empty_object(&self, metadata: Map<String, Value>) -> Value {
        let api_version = self.kind.api_version();
        let version = GroupVersion::new(&self.kind.group, &self.kind.version);
        let id = go_types::of_kind(version, &self.kind.kind);
        let id = id.filter(|_| self.kind.custom.is_none());
        let mut object = id.map_or_else(|| json!({}), go_types::zero_value);
        object["kind"] = self.kind.kind.clone().into();
        object["apiVersion"] = api_version.into();
        object["metadata"] = metadata.into();
        object
    }

    fn bookmark(&mut self, out: &mut BytesMut, revision: u64, ends_initial: bool) {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        if ends_initial {
            metadata.insert(
                "annotations".to_owned(),
                json!({"k8s.io/initial-events-end": "true"}),
            );
        }
        let object = match self.view {
            EventView::Object => self.empty_object(metadata),
            EventView::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": self.view_version,
                "metadata": metadata,
            }),
            EventView::Table(include) => self.bookmark_table(metadata, include),
        };
        self.value(out, "BOOKMARK", &object);
    }
}

/// Go's durations are shorter than 300 years, which the clock can represent.
fn later(now: Instant, duration: Duration) -> Instant {
    now.checked_add(duration).unwrap_or(now)
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.metrics.watch_ended();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thousands_of_watches_do_not_send_at_the_same_moment() {
        let delays: Vec<_> = (0..5000)
            .map(|number| spread_delay(number, 5000).unwrap())
            .collect();
        let within = |millis| {
            let limit = Duration::from_millis(millis);
            delays.iter().filter(|delay| **delay < limit).count()
        };
        assert_eq!(within(1), 100);
        assert_eq!(within(50), 5000);
        assert_eq!(spread_delay(400, 500), None);
        assert_eq!(spread_delay(90_000, 100_000), Some(MAX_SPREAD));
    }
}
