//! Prints the results: differences of each case, then totals by topic.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;

use super::CaseResult;
use super::compare::Difference;
use super::known_differences::KnownDifference;

/// Differences that are printed of each case.
const MAX_DIFFERENCES: usize = 12;

pub(super) fn print(
    results: &[CaseResult],
    known: &[KnownDifference],
    stale: &[&KnownDifference],
    elapsed: Duration,
) {
    for result in results.iter().filter(|result| !result.is_equal()) {
        print_result(result);
    }
    print_topics(results);
    for (index, known) in known.iter().enumerate() {
        let observed = results
            .iter()
            .filter(|result| result.known.contains(&index));
        println!(
            "known difference: {} ({} cases): {}",
            known.name,
            observed.count(),
            known.reason
        );
    }
    for known in stale {
        println!("known difference that was not observed: {}", known.name);
    }
    let equal = results.iter().filter(|result| result.is_equal()).count();
    println!(
        "{equal} of {} equal, in {:.0} s",
        results.len(),
        elapsed.as_secs_f64()
    );
}

fn print_topics(results: &[CaseResult]) {
    let mut topics: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for result in results {
        let (equal, all) = topics.entry(&result.case.topic).or_default();
        *equal += usize::from(result.is_equal());
        *all += 1;
    }
    println!("{:24} {:>6} {:>6}", "TOPIC", "EQUAL", "CASES");
    for (topic, (equal, all)) in topics {
        println!("{topic:24} {equal:>6} {all:>6}");
    }
}

fn print_result(result: &CaseResult) {
    println!("{}/{}:", result.case.topic, result.case.name);
    if let Some(failure) = &result.failure {
        println!("  {failure}");
    }
    let mut step = 0;
    for difference in result.differences.iter().take(MAX_DIFFERENCES) {
        if difference.step != step {
            step = difference.step;
            println!("  step {step}: {}", result.case.steps[step - 1].title());
        }
        print_difference(difference);
    }
    let more = result.differences.len().saturating_sub(MAX_DIFFERENCES);
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
    let text = value.map_or_else(|| "(absent)".to_owned(), Value::to_string);
    match text.char_indices().nth(600) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text,
    }
}

/// Prints all responses of the real server.
pub(super) fn print_responses(results: &[CaseResult]) {
    for result in results {
        println!("{}/{}:", result.case.topic, result.case.name);
        for (step, response) in result.case.steps.iter().zip(&result.real) {
            println!("  {}\n{response:#}", step.title());
        }
    }
}
