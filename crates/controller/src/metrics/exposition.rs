//! The text format of Prometheus.

use std::fmt::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

use outrigger_api::plugin::Phase;

use super::{BUCKETS, Histogram, Metrics, ReconcileResult, lock};

const PHASES: [Phase; 9] = [
    Phase::Pending,
    Phase::Waiting,
    Phase::Installing,
    Phase::Upgrading,
    Phase::Ready,
    Phase::Degraded,
    Phase::Failed,
    Phase::Removing,
    Phase::Disabled,
];

const RESULTS: [(ReconcileResult, &str); 5] = [
    (ReconcileResult::Changed, "changed"),
    (ReconcileResult::Unchanged, "unchanged"),
    (ReconcileResult::Failed, "failed"),
    (ReconcileResult::Unreachable, "unreachable"),
    (ReconcileResult::Panicked, "panicked"),
];

pub(super) fn text(metrics: &Metrics) -> String {
    let mut page = Page::default();
    page.family(
        "outrigger_build_info",
        "gauge",
        "The version of this build.",
    );
    page.sample(
        "outrigger_build_info",
        &[("version", env!("CARGO_PKG_VERSION"))],
        1,
    );
    page.family(
        "outrigger_leader",
        "gauge",
        "1 if this process is the leader.",
    );
    page.sample("outrigger_leader", &[], u64::from(metrics.is_leader()));
    reconciles(&mut page, metrics);
    plugins(&mut page, metrics);
    fetches(&mut page, metrics);
    requests(&mut page, metrics);
    page.text
}

fn reconciles(page: &mut Page, metrics: &Metrics) {
    let name = "outrigger_reconcile_total";
    page.family(name, "counter", "Reconciles by result.");
    let reconciles = lock(&metrics.reconciles).clone();
    for (result, label) in RESULTS {
        let count = reconciles.get(&result).copied().unwrap_or_default();
        page.sample(name, &[("result", label)], count);
    }
    page.histogram(
        "outrigger_reconcile_duration_seconds",
        "How long reconciles took.",
        &metrics.reconcile_seconds,
    );
    let name = "outrigger_workqueue_depth";
    page.family(name, "gauge", "Plugins that wait for a reconcile.");
    page.sample(
        name,
        &[],
        metrics.queue_depth.load(Ordering::Relaxed) as u64,
    );
    let name = "outrigger_active_reconciles";
    page.family(name, "gauge", "Plugins that are being reconciled.");
    page.sample(
        name,
        &[],
        metrics.active_reconciles.load(Ordering::Relaxed) as u64,
    );
}

fn plugins(page: &mut Page, metrics: &Metrics) {
    let name = "outrigger_plugins";
    page.family(name, "gauge", "Plugins by phase.");
    let phases = lock(&metrics.phases);
    for phase in PHASES {
        let count = phases.values().filter(|other| **other == phase).count();
        page.sample(name, &[("phase", &format!("{phase:?}"))], count as u64);
    }
}

fn fetches(page: &mut Page, metrics: &Metrics) {
    let name = "outrigger_fetch_total";
    page.family(
        name,
        "counter",
        "Fetches of charts and manifests by result.",
    );
    let failed = metrics.failed_fetches.load(Ordering::Relaxed);
    let all = metrics.fetches.load(Ordering::Relaxed);
    page.sample(name, &[("result", "success")], all.saturating_sub(failed));
    page.sample(name, &[("result", "failure")], failed);
    page.histogram(
        "outrigger_fetch_duration_seconds",
        "How long fetches took, including those that a cache answered.",
        &metrics.fetch_seconds,
    );
}

fn requests(page: &mut Page, metrics: &Metrics) {
    let name = "outrigger_api_requests_total";
    page.family(
        name,
        "counter",
        "Requests to API servers by method and status code; code 0 means no response.",
    );
    let requests = lock(&metrics.requests);
    let mut rows: Vec<_> = requests.iter().collect();
    rows.sort();
    for ((method, code), count) in rows {
        let code = code.to_string();
        page.sample(name, &[("method", method), ("code", &code)], *count);
    }
}

/// A page under construction.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.line(format_args!("# HELP {name} {help}"));
        self.line(format_args!("# TYPE {name} {kind}"));
    }

    /// Label values are our own words, and need no escaping.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{value}\""))
            .collect();
        match labels.as_slice() {
            [] => self.line(format_args!("{name} {value}")),
            labels => self.line(format_args!("{name}{{{}}} {value}", labels.join(","))),
        }
    }

    fn histogram(&mut self, name: &str, help: &str, histogram: &Histogram) {
        self.family(name, "histogram", help);
        let counts = histogram.counts.iter().map(load);
        let bounds = BUCKETS.iter().map(ToString::to_string);
        let bounds = bounds.chain(["+Inf".to_owned()]);
        let mut total = 0;
        for (bound, count) in bounds.zip(counts) {
            total += count;
            self.sample(&format!("{name}_bucket"), &[("le", &bound)], total);
        }
        let microseconds = load(&histogram.microseconds);
        let (seconds, rest) = (microseconds / 1_000_000, microseconds % 1_000_000);
        self.line(format_args!("{name}_sum {seconds}.{rest:06}"));
        self.sample(&format!("{name}_count"), &[], total);
    }

    fn line(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a String cannot fail.
        let _ = writeln!(self.text, "{line}");
    }
}

fn load(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::key::Key;

    #[test]
    fn a_page_has_cumulative_buckets_and_one_sample_per_phase() {
        let metrics = Metrics::default();
        metrics.set_leader(true);
        metrics.record_reconcile(ReconcileResult::Changed, Duration::from_millis(7));
        metrics.record_reconcile(ReconcileResult::Failed, Duration::from_mins(5));
        metrics.set_phase(&Key::new("default", "web"), Phase::Ready);
        metrics.set_phase(&Key::new("default", "db"), Phase::Ready);
        metrics.set_phase(&Key::new("default", "db"), Phase::Failed);
        metrics.record_request("GET", 200);
        metrics.record_fetch(false, Duration::from_millis(1));
        metrics.record_turn(true, 3, 2);
        let text = metrics.to_prometheus();
        for line in [
            "outrigger_leader 1",
            "outrigger_reconcile_total{result=\"changed\"} 1",
            "outrigger_reconcile_duration_seconds_bucket{le=\"0.005\"} 0",
            "outrigger_reconcile_duration_seconds_bucket{le=\"0.01\"} 1",
            "outrigger_reconcile_duration_seconds_bucket{le=\"120\"} 1",
            "outrigger_reconcile_duration_seconds_bucket{le=\"+Inf\"} 2",
            "outrigger_reconcile_duration_seconds_sum 300.007000",
            "outrigger_workqueue_depth 3",
            "outrigger_plugins{phase=\"Ready\"} 1",
            "outrigger_plugins{phase=\"Failed\"} 1",
            "outrigger_plugins{phase=\"Waiting\"} 0",
            "outrigger_fetch_total{result=\"failure\"} 1",
            "outrigger_api_requests_total{method=\"GET\",code=\"200\"} 1",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_leader_is_ready_once_it_has_synced_and_a_standby_at_once() {
        let metrics = Metrics::default();
        assert!(metrics.is_ready() && metrics.is_alive());
        metrics.set_leader(true);
        assert!(!metrics.is_ready() && metrics.is_alive());
        metrics.record_turn(true, 0, 0);
        assert!(metrics.is_ready());
        metrics.set_leader(false);
        assert!(metrics.is_ready());
    }
}
