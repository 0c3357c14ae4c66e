//! The completion indexes of an indexed job, and its success policy.

use std::collections::BTreeSet;

use serde_json::Value;

use super::object::{annotation, integer, is_active, items, text, uid};
use super::plan::Context;

pub(super) const COMPLETION_INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// More indexes than a job can have.
const MAX_INDEX: i64 = 100_000;

#[derive(Debug, Default)]
pub(super) struct Indexes {
    succeeded: BTreeSet<i64>,
    active: BTreeSet<i64>,
}

impl Indexes {
    /// `None` if the job is not indexed.
    pub(super) fn of(job: &Value, ctx: &Context<'_>) -> Option<Self> {
        if job["spec"]["completionMode"] != "Indexed" {
            return None;
        }
        let mut indexes = Self::default();
        for pod in ctx.cache.controlled("pods", uid(job)) {
            let Ok(index) = annotation(pod, COMPLETION_INDEX).parse() else {
                continue;
            };
            if text(&pod["status"]["phase"]) == "Succeeded" {
                indexes.succeeded.insert(index);
            } else if is_active(pod) {
                indexes.active.insert(index);
            }
        }
        Some(indexes)
    }

    /// Indexes below `completions` that have neither succeeded nor a pod.
    pub(super) fn missing(&self, completions: i64) -> impl Iterator<Item = i64> {
        let all = 0..completions.min(MAX_INDEX);
        all.filter(|index| !self.succeeded.contains(index) && !self.active.contains(index))
    }

    /// As in the status: `0-2,5`.
    pub(super) fn completed(&self) -> String {
        let mut ranges: Vec<(i64, i64)> = Vec::new();
        for index in &self.succeeded {
            match ranges.last_mut() {
                Some((_, last)) if last.checked_add(1) == Some(*index) => *last = *index,
                _ => ranges.push((*index, *index)),
            }
        }
        let ranges = ranges.iter().map(|(first, last)| {
            if first == last {
                first.to_string()
            } else {
                format!("{first}-{last}")
            }
        });
        ranges.collect::<Vec<_>>().join(",")
    }

    /// The position of the first rule of a success policy that is satisfied.
    pub(super) fn matching_rule(&self, policy: &Value) -> Option<usize> {
        items(&policy["rules"]).iter().position(|rule| {
            let listed = rule["succeededIndexes"].as_str().map(parse);
            let count = integer(&rule["succeededCount"]);
            let matching = self
                .succeeded
                .iter()
                .filter(|index| listed.as_ref().is_none_or(|listed| listed.contains(index)))
                .count();
            match (count, &listed) {
                (Some(count), _) => i64::try_from(matching).is_ok_and(|matching| matching >= count),
                (None, Some(listed)) => !listed.is_empty() && matching == listed.len(),
                (None, None) => false,
            }
        })
    }
}

/// Indexes of a list such as `0-2,5`.
fn parse(text: &str) -> BTreeSet<i64> {
    let ranges = text.split(',').filter_map(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some((first.trim().parse().ok()?, last.trim().parse().ok()?))
    });
    let ranges = ranges.flat_map(|(first, last): (i64, i64)| first..=last.min(MAX_INDEX));
    ranges.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn succeeded(indexes: &[i64]) -> Indexes {
        Indexes {
            succeeded: indexes.iter().copied().collect(),
            active: BTreeSet::from([7]),
        }
    }

    #[test]
    fn ranges_are_compact_and_missing_indexes_are_created() {
        let indexes = succeeded(&[0, 1, 2, 5]);
        assert_eq!(indexes.completed(), "0-2,5");
        assert_eq!(indexes.missing(9).collect::<Vec<_>>(), [3, 4, 6, 8]);
    }

    #[test]
    fn a_rule_needs_all_indexes_or_a_number_of_them() {
        let check = |indexes: &[i64], rules: Value| {
            succeeded(indexes).matching_rule(&json!({"rules": rules}))
        };
        assert_eq!(check(&[0], json!([{"succeededIndexes": "0"}])), Some(0));
        assert_eq!(check(&[0], json!([{"succeededIndexes": "0-1"}])), None);
        assert_eq!(
            check(
                &[4, 5],
                json!([{"succeededIndexes": "0-1"}, {"succeededCount": 2}])
            ),
            Some(1)
        );
        let rule = json!([{"succeededIndexes": "0-3", "succeededCount": 1}]);
        assert_eq!(check(&[9], rule.clone()), None);
        assert_eq!(check(&[3], rule), Some(0));
    }
}
