//! Compiled rules answer like the plain evaluation of each rule, which is as in kube-apiserver.

use proptest::prelude::*;
use proptest::sample::{select, subsequence};

use super::*;

/// `RuleAllows` of kube-apiserver.
fn rule_allows(rule: &Rule, attributes: &Attributes<'_>) -> bool {
    if !has_or_all(&rule.verbs, attributes.verb) {
        return false;
    }
    match attributes.target {
        Target::Path(path) => covers_path(rule, path),
        Target::Resource {
            group,
            resource,
            subresource,
            name,
            ..
        } => {
            has_or_all(&rule.api_groups, group)
                && allows_resource(rule, resource, subresource)
                && (rule.resource_names.is_empty() || has(&rule.resource_names, name))
        }
    }
}

fn allows_resource(rule: &Rule, resource: &str, subresource: &str) -> bool {
    rule.resources.iter().any(|pattern| {
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

/// `ruleCovers` of kube-apiserver.
fn rule_covers(rule: &Rule, part: &Rule) -> bool {
    let names = &part.resource_names;
    let has_names = rule.resource_names.is_empty()
        || (!names.is_empty() && names.iter().all(|name| has(&rule.resource_names, name)));
    let covers_resource = |resource: &String| {
        has_or_all(&rule.resources, resource)
            || resource
                .split_once('/')
                .is_some_and(|(_, child)| has(&rule.resources, &format!("*/{child}")))
    };
    let has_all =
        |held: &[String], wanted: &[String]| wanted.iter().all(|text| has_or_all(held, text));
    has_names
        && has_all(&rule.verbs, &part.verbs)
        && has_all(&rule.api_groups, &part.api_groups)
        && part.resources.iter().all(covers_resource)
        && part
            .non_resource_urls
            .iter()
            .all(|path| covers_path(rule, path))
}

fn covers_path(rule: &Rule, path: &str) -> bool {
    rule.non_resource_urls.iter().any(|url| {
        url == path || (url.ends_with('*') && path.starts_with(url.trim_end_matches('*')))
    })
}

fn has(texts: &[String], text: &str) -> bool {
    texts.iter().any(|candidate| candidate == text)
}

fn has_or_all(texts: &[String], text: &str) -> bool {
    has(texts, "*") || has(texts, text)
}

const VERBS: [&str; 3] = ["get", "list", "*"];
const GROUPS: [&str; 3] = ["", "apps", "*"];
const RESOURCES: [&str; 9] = [
    "pods",
    "pods/",
    "pods/log",
    "*/log",
    "*",
    "jobs",
    "jobs/log",
    "pods/*",
    "pods/log/x",
];
const NAMES: [&str; 3] = ["", "a", "b"];
const PATHS: [&str; 7] = ["/", "/a", "/a*", "/ab", "/a/**", "*", "/é*"];

fn texts(of: &'static [&'static str], at_least: usize) -> impl Strategy<Value = Vec<String>> {
    let some = subsequence(of, at_least..=of.len().min(3)).prop_shuffle();
    some.prop_map(|texts| texts.into_iter().map(str::to_owned).collect())
}

fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let names = prop_oneof![Just(Vec::new()), texts(&NAMES, 1)];
    let resource = (
        texts(&VERBS, 1),
        texts(&GROUPS, 1),
        texts(&RESOURCES, 1),
        names,
    );
    let resource = resource.prop_map(|(verbs, api_groups, resources, resource_names)| Rule {
        verbs,
        api_groups,
        resources,
        resource_names,
        ..Rule::default()
    });
    let path = (texts(&VERBS, 1), texts(&PATHS, 1)).prop_map(|(verbs, non_resource_urls)| Rule {
        verbs,
        non_resource_urls,
        ..Rule::default()
    });
    prop::collection::vec(prop_oneof![3 => resource, 1 => path], 0..8)
}

#[test]
fn equal_rules_are_kept_once() {
    let rule = Rule {
        verbs: vec!["get".to_owned()],
        ..Rule::default()
    };
    let set = RuleSet::new(vec![rule.clone(), Rule::default(), rule.clone()]);
    assert_eq!(set.rules(), [rule, Rule::default()]);
    assert_eq!(set.verbs.of("get"), [0]);
}

proptest! {
    #[test]
    fn compiled_rules_allow_what_each_rule_allows(
        rules in rules(),
        verb in select(&VERBS[..]),
        group in select(&GROUPS[..]),
        resource in select(&["pods", "jobs", "pods/log", "*"][..]),
        subresource in select(&["", "log", "x", "log/x", "*"][..]),
        name in select(&NAMES[..]),
        path in select(&["/", "/a", "/a/", "/a/b", "/ab", "", "*", "/éa", "/è"][..]),
    ) {
        let set = RuleSet::new(rules.clone());
        let namespace = "";
        let resource = Target::Resource { group, version: "v1", resource, subresource, namespace, name };
        for target in [resource, Target::Path(path)] {
            let attributes = Attributes { verb, target };
            let expected = rules.iter().any(|rule| rule_allows(rule, &attributes));
            prop_assert_eq!(set.allows(&attributes), expected, "{:?}", attributes);
        }
    }

    #[test]
    fn compiled_rules_cover_what_a_rule_covers(held in rules(), wanted in rules()) {
        let set = RuleSet::new(held.clone());
        for part in &wanted {
            let expected = held.iter().any(|rule| rule_covers(rule, part));
            prop_assert_eq!(set.covers(part), expected, "{:?}", part);
        }
    }
}
