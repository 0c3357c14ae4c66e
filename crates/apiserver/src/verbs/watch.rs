//! Changes as they happen: one line of JSON for each.
//!
//! There is no queue of its own for a watch; it reads the history of the store at its own pace. A client that reads
//! so slowly that the history leaves it behind is told that its version is too old, and the stream ends.

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

use super::call::Call;
use super::page;
use super::present;
use crate::negotiate::{Answer, Content, View};
use crate::request::ListOptions;
use crate::server::{Body, State};

/// A watch that names no time ends somewhere between this and twice this.
const SHORTEST: u64 = 1800;
const BOOKMARK_EVERY: Duration = Duration::from_mins(1);
/// How long before its end a watch sends a last bookmark.
const LAST_BOOKMARK: Duration = Duration::from_secs(2);
/// About how much is sent at once.
const BATCH: usize = 64 * 1024;

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Status> {
    let mut options = ListOptions::parse(&call.query, &call.kind, true)?;
    if !call.name().is_empty() {
        options.fields = options.fields.with_name(call.name());
    }
    let view = match call.accept.view {
        View::Object => Shown::Object,
        View::Metadata => Shown::Metadata,
        View::Table => Shown::Table(present::include(call)?),
    };
    let seconds = match options.timeout {
        Some(seconds) if seconds > 0 => seconds,
        _ => SHORTEST + u64::from(call.state.now().subsec_nanosecond().unsigned_abs()) % SHORTEST,
    };
    let stream = Stream::new(call, options, view, Duration::from_secs(seconds))?;
    let lines = futures::stream::unfold(stream, |mut stream| async move {
        let bytes = stream.next().await?;
        Some((bytes, stream))
    });
    Ok(Answer::ok(Content::Stream(Body::stream(lines))))
}

/// What events carry.
#[derive(Debug, Clone, Copy)]
enum Shown {
    Object,
    Metadata,
    Table(Include),
}

/// What a watch waits for.
enum Woken {
    Event(Result<Arc<Event>, WatchEnd>),
    Time,
    Closed,
}

/// One watch.
struct Stream {
    state: Arc<State>,
    kind: Arc<Kind>,
    options: ListOptions,
    shown: Shown,
    /// Objects that are there already, still to be sent.
    initial: VecDeque<Arc<Object>>,
    /// The revision after which a bookmark says that all of them were sent.
    initial_end: Option<u64>,
    /// Missing if the watch ends with an error at once.
    watcher: Result<Watcher, Status>,
    revision: u64,
    is_first_table: bool,
    is_done: bool,
    bookmark_at: Instant,
    ends_at: Instant,
    closed: watch::Receiver<bool>,
}

impl Stream {
    fn new(
        call: &Call<'_>,
        options: ListOptions,
        shown: Shown,
        time: Duration,
    ) -> Result<Self, Status> {
        let state = Arc::clone(call.state);
        let scope = page::scope(call, &options)?;
        let asked = options.revision.filter(|revision| *revision > 0);
        let wants_initial = options.initial_events.unwrap_or_else(|| asked.is_none());
        let mut initial = VecDeque::new();
        let mut revision = asked.unwrap_or_else(|| state.store.revision());
        if wants_initial {
            let snapshot = state.store.snapshot();
            if let Some(asked) = asked.filter(|asked| *asked > snapshot.revision()) {
                return Err(Status::too_large(asked, snapshot.revision()));
            }
            revision = snapshot.revision();
            for object in snapshot.list(&scope) {
                if page::matches(&options, object)? {
                    initial.push_back(Arc::clone(object));
                }
            }
        }
        let watcher = match state.started_revision() {
            // What was before the server started is not told.
            started if revision < started => Err(Expired {
                revision,
                compacted: started,
            }),
            _ => state.store.watch(scope, revision),
        };
        let watcher =
            watcher.map_err(|expired| Status::too_old(expired.revision, expired.compacted));
        let now = Instant::now();
        state.metrics.watch_began();
        Ok(Self {
            initial_end: (options.initial_events == Some(true) && options.bookmarks)
                .then_some(revision),
            kind: Arc::clone(&call.kind),
            closed: state.closed.clone(),
            state,
            options,
            shown,
            initial,
            watcher,
            revision,
            is_first_table: true,
            is_done: false,
            bookmark_at: now + BOOKMARK_EVERY.min(time.saturating_sub(LAST_BOOKMARK)),
            ends_at: now + time,
        })
    }

    /// The next lines, or that there are no more.
    async fn next(&mut self) -> Option<Bytes> {
        if self.is_done {
            return None;
        }
        let mut out = BytesMut::new();
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
            self.wait(&mut out).await;
        }
        (!out.is_empty()).then(|| out.freeze())
    }

    /// Waits until there is something to send or nothing more will come.
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
        let woken = tokio::select! {
            biased;
            event = watcher.next() => Woken::Event(event),
            () = tokio::time::sleep_until(next_time) => Woken::Time,
            _ = self.closed.wait_for(|closed| *closed) => Woken::Closed,
        };
        match woken {
            Woken::Event(Ok(event)) => {
                self.event(out, &event);
                self.take_ready(out);
            }
            Woken::Event(Err(end)) => self.end(out, end),
            Woken::Time => self.time_passed(out),
            Woken::Closed => self.is_done = true,
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
        let last = self.ends_at - LAST_BOOKMARK;
        self.bookmark_at = match now + BOOKMARK_EVERY {
            next if next < last || now >= last => next,
            _ => last,
        };
    }

    /// All events that are there already, so that many go out at once.
    fn take_ready(&mut self, out: &mut BytesMut) {
        while out.len() < BATCH && !self.is_done {
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
                let status = Status::too_old(self.revision, self.state.store.compacted_revision());
                self.fail(out, &status);
            }
        }
    }

    /// An error is the last event.
    fn fail(&mut self, out: &mut BytesMut, status: &Status) {
        let line = json!({"type": "ERROR", "object": status});
        out.extend_from_slice(line.to_string().as_bytes());
        out.extend_from_slice(b"\n");
        self.is_done = true;
    }

    /// What a change means for a client that sees only some objects.
    fn event(&mut self, out: &mut BytesMut, event: &Event) {
        self.revision = event.revision();
        let matches = |object: &Object| page::matches(&self.options, object).unwrap_or(false);
        let object = event.object();
        let was = event.old().is_some_and(|old| matches(old));
        let is = !matches!(event, Event::Deleted { .. }) && matches(object);
        let kind = match (was, is) {
            (false, true) => "ADDED",
            (true, true) => "MODIFIED",
            (true, false) => "DELETED",
            (false, false) => return,
        };
        match event.old().filter(|_| kind == "DELETED") {
            // What goes out of sight is shown as it was last seen.
            Some(old) => self.line(out, kind, &old.at_revision(event.revision())),
            None => self.line(out, kind, object),
        }
    }

    fn line(&mut self, out: &mut BytesMut, event: &str, object: &Object) {
        let shown = match self.shown {
            Shown::Object => present::served_bytes(&self.state, &self.kind, object),
            Shown::Metadata => present::stored_value(object).map(|value| {
                table::partial_metadata(&self.kind, &value)
                    .to_string()
                    .into()
            }),
            Shown::Table(include) => self.table(object, include),
        };
        // Our own objects can always be shown.
        let Ok(shown) = shown else {
            return;
        };
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(event.as_bytes());
        out.extend_from_slice(b"\",\"object\":");
        out.extend_from_slice(&shown);
        out.extend_from_slice(b"}\n");
    }

    fn table(&mut self, object: &Object, include: Include) -> Result<Bytes, Status> {
        let value = present::stored_value(object)?;
        let mut metadata = Map::new();
        metadata.insert(
            "resourceVersion".to_owned(),
            object.revision().to_string().into(),
        );
        let now = Now(self.state.now());
        let mut table = table::table(&self.kind, metadata, [&value], include, now);
        if !std::mem::replace(&mut self.is_first_table, false) {
            table.columns = None;
        }
        let bytes = serde_json::to_vec(&table).map_err(Status::internal)?;
        Ok(bytes.into())
    }

    /// An object with nothing but its metadata, in the form that the real server gives it.
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

    fn bookmark(&self, out: &mut BytesMut, revision: u64, ends_initial: bool) {
        let mut metadata = Map::new();
        metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        if ends_initial {
            metadata.insert(
                "annotations".to_owned(),
                json!({"k8s.io/initial-events-end": "true"}),
            );
        }
        let object = match self.shown {
            Shown::Object => self.empty_object(metadata),
            Shown::Metadata => json!({
                "kind": "PartialObjectMetadata",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
            }),
            Shown::Table(_) => json!({
                "kind": "Table",
                "apiVersion": "meta.k8s.io/v1",
                "metadata": metadata,
                "columnDefinitions": null,
                "rows": [],
            }),
        };
        let line = json!({"type": "BOOKMARK", "object": object});
        out.extend_from_slice(line.to_string().as_bytes());
        out.extend_from_slice(b"\n");
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        self.state.metrics.watch_ended();
    }
}
