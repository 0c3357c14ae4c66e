//! The results of the specs, and the table that sums them up.

use std::collections::BTreeMap;
use std::time::Duration;

use super::clusters::Cluster;
use super::selection::is_conformance;

/// The result of one spec on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    Passed,
    /// With the message of the failure.
    Failed(String),
    /// It was interrupted, or the suite skipped it.
    Unfinished(String),
}

impl Outcome {
    pub(super) fn is_passed(&self) -> bool {
        *self == Self::Passed
    }
}

/// The results of one spec.
#[derive(Debug, Default)]
pub(super) struct Row(BTreeMap<Cluster, Outcome>);

/// What the results say about the embedded server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Verdict {
    Simulated,
    WithControllers,
    /// It fails on the embedded server only.
    Ours,
    /// It fails on the real server too.
    Everywhere,
}

impl Row {
    pub(super) fn insert(&mut self, cluster: Cluster, outcome: Outcome) {
        self.0.insert(cluster, outcome);
    }

    pub(super) fn verdict(&self) -> Verdict {
        let passed = |cluster| self.0.get(&cluster).is_some_and(Outcome::is_passed);
        match () {
            () if passed(Cluster::Simulated) => Verdict::Simulated,
            () if passed(Cluster::WithControllers) => Verdict::WithControllers,
            () if passed(Cluster::Real) => Verdict::Ours,
            () => Verdict::Everywhere,
        }
    }

    fn failure(&self, cluster: Cluster) -> &str {
        match self.0.get(&cluster) {
            Some(Outcome::Failed(why) | Outcome::Unfinished(why)) => why,
            Some(Outcome::Passed) | None => "",
        }
    }
}

#[expect(clippy::print_stdout, reason = "the report is the result")]
pub(super) fn print(rows: &BTreeMap<String, Row>, left_out: &[(String, usize)], elapsed: Duration) {
    for (verdict, title) in [
        (Verdict::Everywhere, "fails on the real server too"),
        (Verdict::Ours, "FAILS ON THE EMBEDDED SERVER ONLY"),
    ] {
        for (name, row) in rows.iter().filter(|(_, row)| row.verdict() == verdict) {
            println!("{title}: {name}");
            let why = row.failure(Cluster::WithControllers);
            let why = if why.is_empty() {
                row.failure(Cluster::Real)
            } else {
                why
            };
            for line in why.lines().take(4) {
                println!("    {line}");
            }
        }
    }
    println!("\n| specs | run | simulated | with controllers | ours only | everywhere |");
    println!("| --- | --- | --- | --- | --- | --- |");
    for (title, is_chosen) in [("conformance", true), ("others", false)] {
        let of = |verdict: Option<Verdict>| {
            rows.iter()
                .filter(|(name, row)| {
                    is_conformance(name) == is_chosen
                        && verdict.is_none_or(|verdict| row.verdict() == verdict)
                })
                .count()
        };
        println!(
            "| {title} | {} | {} | {} | {} | {} |",
            of(None),
            of(Some(Verdict::Simulated)),
            of(Some(Verdict::WithControllers)),
            of(Some(Verdict::Ours)),
            of(Some(Verdict::Everywhere)),
        );
    }
    for (reason, count) in left_out {
        println!("left out: {count} ({reason})");
    }
    println!("{:.0} s", elapsed.as_secs_f64());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed() -> Outcome {
        Outcome::Failed("no".to_owned())
    }

    #[test]
    fn only_what_passes_on_the_real_server_is_ours() {
        let mut row = Row::default();
        row.insert(Cluster::Simulated, failed());
        row.insert(Cluster::WithControllers, failed());
        row.insert(Cluster::Real, Outcome::Passed);
        assert_eq!(row.verdict(), Verdict::Ours);
        row.insert(Cluster::Real, failed());
        assert_eq!(row.verdict(), Verdict::Everywhere);
        row.insert(Cluster::WithControllers, Outcome::Passed);
        assert_eq!(row.verdict(), Verdict::WithControllers);
    }
}
