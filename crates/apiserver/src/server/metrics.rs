//! Prometheus metrics.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::flow_control::LevelMetrics;

/// Counters since the start.
#[derive(Debug, Default)]
pub(crate) struct Metrics {
    requests: [AtomicU64; 6],
    watches: AtomicU64,
    aborted: AtomicU64,
    terminated: AtomicU64,
}

impl Metrics {
    /// Counts a response by the class of its status code.
    pub(crate) fn count(&self, code: u16) {
        if let Some(counter) = self.requests.get(usize::from(code / 100)) {
            counter.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request that panicked.
    pub(crate) fn request_aborted(&self) {
        self.aborted.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a request that was rejected because too many are in flight.
    pub(crate) fn request_terminated(&self) {
        self.terminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns how many watches there were before.
    pub(crate) fn watch_began(&self) -> u64 {
        self.watches.fetch_add(1, Ordering::Relaxed)
    }

    pub(crate) fn watches(&self) -> u64 {
        self.watches.load(Ordering::Relaxed)
    }

    pub(crate) fn watch_ended(&self) {
        self.watches.fetch_sub(1, Ordering::Relaxed);
    }

    /// The text exposition format.
    pub(crate) fn text(&self, revision: u64, objects: usize) -> String {
        let mut text = String::from(
            "# HELP apiserver_request_total Requests by class of status code.\n# TYPE apiserver_request_total counter\n",
        );
        for (class, counter) in self.requests.iter().enumerate().skip(1) {
            let count = counter.load(Ordering::Relaxed);
            text.push_str(&format!(
                "apiserver_request_total{{code=\"{class}xx\"}} {count}\n"
            ));
        }
        for (name, help, counter) in [
            (
                "apiserver_request_aborts_total",
                "Requests that panicked.",
                &self.aborted,
            ),
            (
                "apiserver_request_terminations_total",
                "Requests rejected because too many are in flight.",
                &self.terminated,
            ),
        ] {
            let count = counter.load(Ordering::Relaxed);
            text.push_str(&format!(
                "# HELP {name} {help}\n# TYPE {name} counter\n{name} {count}\n"
            ));
        }
        let watches = self.watches();
        for (name, help, value) in [
            ("apiserver_longrunning_requests", "Open watches.", watches),
            ("outrigger_store_revision", "The last revision.", revision),
            (
                "apiserver_resource_objects",
                "Stored objects.",
                objects as u64,
            ),
        ] {
            text.push_str(&format!(
                "# HELP {name} {help}\n# TYPE {name} gauge\n{name} {value}\n"
            ));
        }
        text
    }
}

/// The metrics of priority levels in the text exposition format.
pub(crate) fn flow_control_text(levels: &[(String, LevelMetrics)]) -> String {
    type Value = fn(&LevelMetrics) -> Option<u64>;
    let metrics: [(&str, &str, &str, Value); 4] = [
        (
            "apiserver_flowcontrol_nominal_limit_seats",
            "Seats of a priority level.",
            "gauge",
            |level| level.nominal_seats.map(|seats| seats as u64),
        ),
        (
            "apiserver_flowcontrol_current_executing_requests",
            "Requests in execution.",
            "gauge",
            |level| Some(level.executing as u64),
        ),
        (
            "apiserver_flowcontrol_current_inqueue_requests",
            "Requests that wait for a seat.",
            "gauge",
            |level| Some(level.queued as u64),
        ),
        (
            "apiserver_flowcontrol_rejected_requests_total",
            "Requests that got no seat.",
            "counter",
            |level| Some(level.rejected),
        ),
    ];
    let mut text = String::new();
    for (name, help, kind, value) in metrics {
        let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
        for (level, metrics) in levels {
            if let Some(value) = value(metrics) {
                let _ = writeln!(text, "{name}{{priority_level=\"{level}\"}} {value}");
            }
        }
    }
    text
}
