//! What the developer sees: a line for each topic, and each difference at its place.
#![expect(clippy::print_stdout, reason = "the report is this program's result")]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use crate::api::Verdict;
use crate::compare::Difference;
use crate::differences::Deliberate;
use crate::run;

/// Differences shown for one case.
const SHOWN: usize = 12;

pub(crate) fn print(
    verdicts: &[Verdict],
    known: &[Deliberate],
    stale: &[&Deliberate],
    elapsed: Duration,
) {
    for verdict in verdicts.iter().filter(|verdict| !verdict.is_equal()) {
        print_verdict(verdict);
    }
    print_topics(verdicts);
    for (index, known) in known.iter().enumerate() {
        let times = verdicts
            .iter()
            .filter(|verdict| verdict.deliberate.contains(&index));
        println!(
            "deliberate: {} ({} cases): {}",
            known.name,
            times.count(),
            known.reason
        );
    }
    for known in stale {
        println!("listed as a difference, but there is none: {}", known.name);
    }
    let equal = verdicts.iter().filter(|verdict| verdict.is_equal()).count();
    println!(
        "{equal} of {} equal, in {:.0} s",
        verdicts.len(),
        elapsed.as_secs_f64()
    );
}

fn print_topics(verdicts: &[Verdict]) {
    let mut topics: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for verdict in verdicts {
        let (equal, all) = topics.entry(&verdict.case.topic).or_default();
        *equal += usize::from(verdict.is_equal());
        *all += 1;
    }
    println!("{:24} {:>6} {:>6}", "TOPIC", "EQUAL", "CASES");
    for (topic, (equal, all)) in topics {
        println!("{topic:24} {equal:>6} {all:>6}");
    }
}

fn print_verdict(verdict: &Verdict) {
    println!("{}/{}:", verdict.case.topic, verdict.case.name);
    if let Some(failure) = &verdict.failure {
        println!("  {failure}");
    }
    let mut step = 0;
    for difference in verdict.differences.iter().take(SHOWN) {
        if difference.step != step {
            step = difference.step;
            println!(
                "  step {step}: {}",
                run::title(&verdict.case.steps[step - 1])
            );
        }
        print_difference(difference);
    }
    let more = verdict.differences.len().saturating_sub(SHOWN);
    if more > 0 {
        println!("    and {more} more");
    }
}

fn print_difference(difference: &Difference) {
    println!("    {}", difference.at);
    println!("      real: {}", side(difference.real.as_ref()));
    println!("      ours: {}", side(difference.ours.as_ref()));
}

fn side(value: Option<&Value>) -> String {
    let text = value.map_or_else(|| "(nothing)".to_owned(), Value::to_string);
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// All answers of the real server, step by step.
pub(crate) fn answers(verdicts: &[Verdict]) {
    for verdict in verdicts {
        println!("{}/{}:", verdict.case.topic, verdict.case.name);
        for (step, answer) in verdict.case.steps.iter().zip(&verdict.real) {
            println!("  {}\n{answer:#}", run::title(step));
        }
    }
}
