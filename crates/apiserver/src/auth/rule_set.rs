//! The rules of a role, compiled so that those that match are found by look-ups.
//!
//! Each distinct rule has a number. For every verb, API group, resource, resource name and path there is the ascending
//! list of the rules that have it, and intersecting such lists compares numbers only. So a role of a size that the store
//! accepts does not delay the thread that authorizes a request, whatever its rules are.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::rule::Rule;
use super::user::{Attributes, Target};

/// How many rules are compared with a rule of many verbs, groups, resources or names to find one that covers it.
const MAX_CANDIDATES: usize = 8;

/// How many numbers of a list are compared before a binary search.
const NEAR: usize = 4;

#[derive(Debug, Default)]
pub(super) struct RuleSet {
    rules: Vec<Rule>,
    verbs: Postings,
    api_groups: Postings,
    resources: Postings,
    resource_names: Postings,
    /// The rules that are not restricted to resource names.
    unnamed: Vec<u32>,
    paths: Postings,
    /// By path without the trailing `*`.
    path_prefixes: Postings,
    prefix_lengths: BTreeSet<usize>,
}

/// The numbers of the rules with a text, ascending.
#[derive(Debug, Default)]
struct Postings(HashMap<String, Vec<u32>>);

/// The numbers that are in at least one of several ascending lists.
struct Union<'a>(Vec<&'a [u32]>);

impl RuleSet {
    /// Compiles rules; of equal ones only the first is kept.
    pub(super) fn new(rules: Vec<Rule>) -> Self {
        let mut seen = HashSet::with_capacity(rules.len());
        let is_first: Vec<bool> = rules.iter().map(|rule| seen.insert(rule)).collect();
        let rules = rules.into_iter().zip(is_first);
        let mut set = Self {
            rules: rules
                .filter_map(|(rule, is_first)| is_first.then_some(rule))
                .collect(),
            ..Self::default()
        };
        for (number, rule) in (0..).zip(&set.rules) {
            set.verbs.add(&rule.verbs, number);
            set.api_groups.add(&rule.api_groups, number);
            set.resources.add(&rule.resources, number);
            set.resource_names.add(&rule.resource_names, number);
            if rule.resource_names.is_empty() {
                set.unnamed.push(number);
            }
            for url in &rule.non_resource_urls {
                if url.ends_with('*') {
                    let prefix = url.trim_end_matches('*');
                    set.path_prefixes.add([prefix], number);
                    set.prefix_lengths.insert(prefix.len());
                } else {
                    set.paths.add([url], number);
                }
            }
        }
        set
    }

    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// Whether a rule allows the request.
    pub(super) fn allows(&self, attributes: &Attributes<'_>) -> bool {
        let verb = self.verbs.of_or_all(attributes.verb);
        match attributes.target {
            Target::Path(path) => intersection(vec![verb, self.of_path(path)])
                .next()
                .is_some(),
            Target::Resource {
                group,
                resource,
                subresource,
                name,
                ..
            } => intersection(vec![
                verb,
                self.api_groups.of_or_all(group),
                self.of_resource(resource, subresource),
                self.of_name(Some(name)),
            ])
            .next()
            .is_some(),
        }
    }

    /// Whether a single rule allows all that `part` allows.
    pub(super) fn covers(&self, part: &Rule) -> bool {
        let first = self.conditions(part).into_iter();
        let first = first.filter_map(|mut conditions| conditions.next());
        intersection(first.collect())
            .take(MAX_CANDIDATES)
            .any(|number| {
                let mut conditions = self.conditions(part).into_iter().flatten();
                conditions.all(|condition| condition.contains(number))
            })
    }

    /// The rules for each verb, group, resource, path and name of `part`. A rule that covers it is among all of them.
    fn conditions<'a>(&'a self, part: &'a Rule) -> [Box<dyn Iterator<Item = Union<'a>> + 'a>; 5] {
        let names = &part.resource_names;
        let any_name = names.is_empty().then(|| self.of_name(None));
        let names = names.iter().map(|name| self.of_name(Some(name)));
        let paths = part.non_resource_urls.iter();
        let resources = part.resources.iter();
        let groups = part.api_groups.iter();
        [
            Box::new(part.verbs.iter().map(|verb| self.verbs.of_or_all(verb))),
            Box::new(groups.map(|group| self.api_groups.of_or_all(group))),
            Box::new(resources.map(|resource| self.of_pattern(resource))),
            Box::new(paths.map(|path| self.of_path(path))),
            Box::new(names.chain(any_name)),
        ]
    }

    fn of_resource(&self, resource: &str, subresource: &str) -> Union<'_> {
        if subresource.is_empty() {
            return self.resources.of_or_all(resource);
        }
        // A pattern is split at its first slash.
        let parent = if resource.contains('/') {
            "*"
        } else {
            resource
        };
        self.of_pattern(&format!("{parent}/{subresource}"))
    }

    /// The rules that allow what a resource of a rule allows.
    fn of_pattern(&self, pattern: &str) -> Union<'_> {
        let mut union = self.resources.of_or_all(pattern);
        if let Some((_, child)) = pattern.split_once('/') {
            union.0.push(self.resources.of(&format!("*/{child}")));
        }
        union
    }

    /// The rules for a resource name, or for all names.
    fn of_name(&self, name: Option<&str>) -> Union<'_> {
        let named = name.map(|name| self.resource_names.of(name));
        Union(
            [Some(self.unnamed.as_slice()), named]
                .into_iter()
                .flatten()
                .collect(),
        )
    }

    fn of_path(&self, path: &str) -> Union<'_> {
        let lengths = self.prefix_lengths.range(..=path.len());
        let prefixes = lengths.filter_map(|length| path.get(..*length));
        let mut lists: Vec<_> = prefixes
            .map(|prefix| self.path_prefixes.of(prefix))
            .collect();
        lists.push(self.paths.of(path));
        Union(lists)
    }
}

impl Postings {
    fn add(&mut self, texts: impl IntoIterator<Item: AsRef<str>>, number: u32) {
        for text in texts {
            let text = text.as_ref();
            let Some(numbers) = self.0.get_mut(text) else {
                self.0.insert(text.to_owned(), vec![number]);
                continue;
            };
            if numbers.last() != Some(&number) {
                numbers.push(number);
            }
        }
    }

    fn of(&self, text: &str) -> &[u32] {
        self.0.get(text).map_or(&[], Vec::as_slice)
    }

    fn of_or_all(&self, text: &str) -> Union<'_> {
        Union(vec![self.of("*"), self.of(text)])
    }
}

impl Union<'_> {
    /// The first number that is not below `least`. Calls must be with ascending numbers.
    fn advance_to(&mut self, least: u32) -> Option<u32> {
        let heads = self.0.iter_mut().filter_map(|list| {
            // Mostly, the next number is near.
            let is_reached = |number: &u32| *number >= least;
            let near = list.iter().take(NEAR).position(is_reached);
            let skipped = near.unwrap_or_else(|| list.partition_point(|number| *number < least));
            *list = list.get(skipped..)?;
            list.first().copied()
        });
        heads.min()
    }

    fn contains(&self, number: u32) -> bool {
        let mut lists = self.0.iter();
        lists.any(|list| list.binary_search(&number).is_ok())
    }
}

/// The numbers that are in all unions, ascending.
fn intersection(mut unions: Vec<Union<'_>>) -> impl Iterator<Item = u32> {
    for union in &mut unions {
        union.0.retain(|list| !list.is_empty());
    }
    let mut least = 0;
    std::iter::from_fn(move || {
        loop {
            let start = least;
            for union in &mut unions {
                least = union.advance_to(least)?;
            }
            if least == start {
                least = least.saturating_add(1);
                return Some(start);
            }
        }
    })
}

#[cfg(test)]
mod tests;
