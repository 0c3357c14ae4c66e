//! RBAC policy rules, and which of them a user lacks.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use outrigger_apimachinery::status::field::quote;
use serde::Deserialize;
use serde_json::Value;

use super::rule_set::RuleSet;

/// How many rules one breaks down to at most, and how many missing rules are reported.
const MAX_PARTS: usize = 10_000;
/// How many verbs, groups, resources, names and paths are looked up at most to find out whether rules are held.
const MAX_TEXTS_LOOKED_UP: usize = 4_000_000;

/// `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Rule {
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) verbs: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) api_groups: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) resources: Vec<String>,
    #[serde(deserialize_with = "null_is_empty")]
    pub(super) resource_names: Vec<String>,
    #[serde(rename = "nonResourceURLs", deserialize_with = "null_is_empty")]
    pub(super) non_resource_urls: Vec<String>,
}

fn null_is_empty<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    Option::deserialize(from).map(Option::unwrap_or_default)
}

impl Rule {
    /// The rules of a role. A rule that does not parse allows nothing.
    pub(super) fn all_of(role: &Value) -> Vec<Self> {
        let rules = role["rules"].as_array().into_iter().flatten();
        rules
            .filter_map(|rule| Self::deserialize(rule).ok())
            .collect()
    }

    /// All permissions, which writing an aggregation rule requires.
    pub(super) fn full_authority() -> [Self; 2] {
        let all = || vec!["*".to_owned()];
        [
            Self {
                verbs: all(),
                api_groups: all(),
                resources: all(),
                ..Self::default()
            },
            Self {
                verbs: all(),
                non_resource_urls: all(),
                ..Self::default()
            },
        ]
    }

    /// The number of verbs, groups, resources, names and paths.
    pub(super) fn texts(&self) -> usize {
        let lists = self.lists().into_iter();
        lists.fold(0, |texts, list| texts.saturating_add(list.len()))
    }

    fn lists(&self) -> [&Vec<String>; 5] {
        [
            &self.api_groups,
            &self.resources,
            &self.verbs,
            &self.resource_names,
            &self.non_resource_urls,
        ]
    }

    /// Equivalent rules with one verb and at most one of everything else, after `BreakdownRule`. A rule that would give
    /// too many is not broken down; then a single rule must cover it.
    fn breakdown(&self) -> Vec<Self> {
        let size = self.lists().into_iter().map(|texts| texts.len().max(1));
        if size.fold(1, usize::saturating_mul) > MAX_PARTS {
            return vec![self.clone()];
        }
        let mut rules = Vec::new();
        let one = |text: &String| vec![text.clone()];
        for group in &self.api_groups {
            for resource in &self.resources {
                for verb in &self.verbs {
                    let rule = Self {
                        verbs: one(verb),
                        api_groups: one(group),
                        resources: one(resource),
                        ..Self::default()
                    };
                    if self.resource_names.is_empty() {
                        rules.push(rule);
                        continue;
                    }
                    rules.extend(self.resource_names.iter().map(|name| Self {
                        resource_names: one(name),
                        ..rule.clone()
                    }));
                }
            }
        }
        for url in &self.non_resource_urls {
            rules.extend(self.verbs.iter().map(|verb| Self {
                verbs: one(verb),
                non_resource_urls: one(url),
                ..Self::default()
            }));
        }
        rules
    }

    /// `{APIGroups:[""], Resources:["pods"], Verbs:["get" "list"]}`.
    fn compact_string(&self) -> String {
        let fields = [
            ("APIGroups", &self.api_groups),
            ("Resources", &self.resources),
            ("NonResourceURLs", &self.non_resource_urls),
            ("ResourceNames", &self.resource_names),
            ("Verbs", &self.verbs),
        ];
        let fields = fields.into_iter().filter(|(_, texts)| !texts.is_empty());
        let fields: Vec<String> = fields
            .map(|(name, texts)| format!("{name}:{}", quoted_list(texts)))
            .collect();
        format!("{{{}}}", fields.join(", "))
    }
}

/// The messages about what `wanted` allows and `held` does not, sorted. Empty if everything is held. What is not found
/// within [`MAX_TEXTS_LOOKED_UP`] is missing.
pub(super) fn missing(held: &[Arc<RuleSet>], wanted: &[Rule]) -> Vec<String> {
    let mut left = MAX_TEXTS_LOOKED_UP;
    let mut is_held = |rule: &Rule| {
        held.iter().any(|role| {
            left = left.saturating_sub(rule.texts());
            left > 0 && role.covers(rule)
        })
    };
    let mut seen = HashSet::new();
    let mut lacking = Vec::new();
    for rule in wanted.iter().filter(|rule| seen.insert(*rule)) {
        if !is_held(rule) {
            let parts = rule.breakdown().into_iter();
            lacking.extend(parts.filter(|part| !is_held(part)));
        }
        if lacking.len() >= MAX_PARTS {
            lacking.truncate(MAX_PARTS);
            break;
        }
    }
    let mut messages: Vec<String> = compact(lacking).iter().map(Rule::compact_string).collect();
    messages.sort_unstable();
    messages.dedup();
    messages
}

/// Merges the verbs of rules for the same resource.
fn compact(rules: Vec<Rule>) -> Vec<Rule> {
    let mut compact: Vec<Rule> = Vec::new();
    let mut positions = HashMap::new();
    for rule in rules {
        if rule.non_resource_urls.is_empty() {
            let without_verbs = Rule {
                verbs: Vec::new(),
                ..rule.clone()
            };
            let position = *positions.entry(without_verbs).or_insert(compact.len());
            if let Some(same) = compact.get_mut(position) {
                same.verbs.extend(rule.verbs);
                continue;
            }
        }
        compact.push(rule);
    }
    compact
}

/// `["a" "b"]`.
pub(super) fn quoted_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", texts.join(" "))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(value: &Value) -> Rule {
        Rule::deserialize(value).unwrap()
    }

    #[test]
    fn formats_missing_rules_like_the_real_server() {
        let set = |rules: &[Rule]| [Arc::new(RuleSet::new(rules.to_vec()))];
        let held = set(&[rule(
            &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}),
        )]);
        let wanted = [
            rule(
                &json!({"verbs": ["get", "list"], "apiGroups": ["", "apps"], "resources": ["pods", "secrets"]}),
            ),
            rule(
                &json!({"verbs": ["get", "delete"], "apiGroups": [""], "resources": ["pods"], "resourceNames": ["a", "b"]}),
            ),
            rule(&json!({"verbs": ["get", "put"], "nonResourceURLs": ["/a*"]})),
        ];
        assert_eq!(
            missing(&held, &wanted),
            [
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["a"], Verbs:["delete"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], ResourceNames:["b"], Verbs:["delete"]}"#,
                r#"{APIGroups:[""], Resources:["pods"], Verbs:["list"]}"#,
                r#"{APIGroups:[""], Resources:["secrets"], Verbs:["get" "list"]}"#,
                r#"{APIGroups:["apps"], Resources:["pods"], Verbs:["get" "list"]}"#,
                r#"{APIGroups:["apps"], Resources:["secrets"], Verbs:["get" "list"]}"#,
                r#"{NonResourceURLs:["/a*"], Verbs:["get"]}"#,
                r#"{NonResourceURLs:["/a*"], Verbs:["put"]}"#,
            ]
        );
        assert!(missing(&set(&Rule::full_authority()), &wanted).is_empty());
    }

    #[test]
    fn a_check_of_very_many_rules_ends() {
        let text = |prefix: &str, i: usize| format!("{prefix}{i}");
        let wide = |i: usize| Rule {
            verbs: (0..90).map(|i| text("v", i)).collect(),
            resources: (0..100).map(|i| text("r", i)).collect(),
            api_groups: vec![text("g", i)],
            ..Rule::default()
        };
        let held: Vec<Rule> = wide(0).breakdown();
        let held = [Arc::new(RuleSet::new(held))];
        assert!(missing(&held, &[wide(0), wide(0)]).is_empty());
        // Of more than can be looked up, nothing counts as held.
        let wanted: Vec<Rule> = (0..1000)
            .map(|_| wide(0))
            .chain((1..2000).map(wide))
            .collect();
        assert!(!missing(&held, &wanted).is_empty());
    }
}
