//! RBAC policy rules: matching, and coverage of other rules.

use outrigger_apimachinery::status::field::quote;
use serde::Deserialize;
use serde_json::Value;

use super::user::{Attributes, Target};

/// How many rules one breaks down to at most, and how many missing rules are reported.
const MAX_PARTS: usize = 10_000;

/// `PolicyRule`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
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

    pub(super) fn allows(&self, attributes: &Attributes<'_>) -> bool {
        if !has_or_all(&self.verbs, attributes.verb) {
            return false;
        }
        match attributes.target {
            Target::Path(path) => self
                .non_resource_urls
                .iter()
                .any(|url| url_covers(url, path)),
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => {
                has_or_all(&self.api_groups, group)
                    && self.allows_resource(resource, subresource)
                    && (self.resource_names.is_empty() || has(&self.resource_names, name))
            }
        }
    }

    fn allows_resource(&self, resource: &str, subresource: &str) -> bool {
        self.resources.iter().any(|pattern| {
            if pattern == "*" {
                return true;
            }
            if subresource.is_empty() {
                return pattern == resource;
            }
            let (parent, child) = pattern.split_once('/').unwrap_or((pattern, ""));
            child == subresource && (parent == "*" || parent == resource)
        })
    }

    /// Equivalent rules with one verb and at most one of everything else, after `BreakdownRule`. A rule that would give
    /// too many is not broken down; then a single rule must cover it.
    fn breakdown(&self) -> Vec<Self> {
        let sizes = [
            &self.api_groups,
            &self.resources,
            &self.verbs,
            &self.resource_names,
            &self.non_resource_urls,
        ];
        let size = sizes.iter().map(|texts| texts.len().max(1));
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

    /// Whether this rule alone allows all that `part` allows.
    fn covers(&self, part: &Self) -> bool {
        let names = self.resource_names.is_empty()
            || (!part.resource_names.is_empty()
                && part
                    .resource_names
                    .iter()
                    .all(|name| has(&self.resource_names, name)));
        names
            && part.verbs.iter().all(|verb| has_or_all(&self.verbs, verb))
            && part
                .api_groups
                .iter()
                .all(|group| has_or_all(&self.api_groups, group))
            && part
                .resources
                .iter()
                .all(|resource| self.covers_resource(resource))
            && part.non_resource_urls.iter().all(|path| {
                self.non_resource_urls
                    .iter()
                    .any(|url| url_covers(url, path))
            })
    }

    fn covers_resource(&self, resource: &str) -> bool {
        has_or_all(&self.resources, resource)
            || resource
                .split_once('/')
                .is_some_and(|(_, child)| has(&self.resources, &format!("*/{child}")))
    }

    /// Whether rules are for the same resource and can be merged in a message.
    fn has_same_resource(&self, other: &Self) -> bool {
        self.non_resource_urls.is_empty()
            && other.non_resource_urls.is_empty()
            && self.api_groups == other.api_groups
            && self.resources == other.resources
            && self.resource_names == other.resource_names
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

/// The messages about what `wanted` allows and `held` does not, sorted. Empty if everything is held.
pub(super) fn missing(held: &[Rule], wanted: &[Rule]) -> Vec<String> {
    let parts = wanted.iter().flat_map(Rule::breakdown);
    let lacking = parts.filter(|part| !held.iter().any(|rule| rule.covers(part)));
    let mut compact: Vec<Rule> = Vec::new();
    for part in lacking.take(MAX_PARTS) {
        match compact
            .iter_mut()
            .find(|rule| rule.has_same_resource(&part))
        {
            Some(rule) => rule.verbs.extend(part.verbs),
            None => compact.push(part),
        }
    }
    let mut messages: Vec<String> = compact.iter().map(Rule::compact_string).collect();
    messages.sort_unstable();
    messages.dedup();
    messages
}

/// `["a" "b"]`.
pub(super) fn quoted_list(texts: &[String]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| quote(text)).collect();
    format!("[{}]", texts.join(" "))
}

fn has(texts: &[String], text: &str) -> bool {
    texts.iter().any(|candidate| candidate == text)
}

fn has_or_all(texts: &[String], text: &str) -> bool {
    texts
        .iter()
        .any(|candidate| candidate == "*" || candidate == text)
}

fn url_covers(pattern: &str, path: &str) -> bool {
    pattern == path || (pattern.ends_with('*') && path.starts_with(pattern.trim_end_matches('*')))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rule(value: &Value) -> Rule {
        Rule::deserialize(value).unwrap()
    }

    #[track_caller]
    fn check(rule: &Rule, verb: &str, group: &str, path: &str, name: &str, expected: bool) {
        let (resource, subresource) = path.split_once('/').unwrap_or((path, ""));
        let attributes = Attributes {
            verb,
            target: Target::Resource {
                group,
                version: "v1",
                resource,
                subresource,
                namespace: "n",
                name,
            },
        };
        assert_eq!(
            rule.allows(&attributes),
            expected,
            "{verb} {group} {path} {name}"
        );
    }

    #[test]
    fn matches_resources_names_and_wildcards() {
        let pods =
            rule(&json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods", "*/scale"]}));
        check(&pods, "get", "", "pods", "a", true);
        check(&pods, "list", "", "pods", "", false);
        check(&pods, "get", "apps", "pods", "a", false);
        check(&pods, "get", "", "pods/log", "a", false);
        check(&pods, "get", "", "deployments/scale", "a", true);
        let one = rule(
            &json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "resourceNames": ["a"]}),
        );
        check(&one, "get", "apps", "deployments/scale", "a", true);
        check(&one, "list", "", "pods", "", false);
    }

    #[test]
    fn matches_non_resource_urls_with_a_trailing_wildcard() {
        let paths = rule(&json!({"verbs": ["get"], "nonResourceURLs": ["/api/*", "/version"]}));
        let get = |path| {
            paths.allows(&Attributes {
                verb: "get",
                target: Target::Path(path),
            })
        };
        assert!(get("/api/v1") && get("/version"));
        assert!(!get("/api") && !get("/version/"));
    }

    #[test]
    fn formats_missing_rules_like_the_real_server() {
        let held = [rule(
            &json!({"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}),
        )];
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
        assert!(missing(&Rule::full_authority(), &wanted).is_empty());
    }
}
