//! What is listed is present, and what is present is listed.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_apimachinery::nearest::nearest;

use super::Subject;
use crate::definition::{DEFINITION, Definition, Text};
use crate::finding::Finding;
use crate::layout::is_plain_path;
use crate::scan::{Entry, Scanned};

/// The most names that a misspelled one is compared with.
const MAX_CANDIDATES: usize = 1000;

/// The folders whose content is listed, each under the key of its name.
fn lists(definition: &Definition) -> [(&'static str, Vec<(usize, &str)>); 5] {
    fn texts(list: &[Text]) -> Vec<(usize, &str)> {
        let texts = list.iter();
        texts.map(|text| (text.line, text.value.as_str())).collect()
    }
    let files = definition.files.iter();
    let files = files.map(|entry| (entry.line, entry.value.src.as_str()));
    [
        ("charts", texts(&definition.charts)),
        ("files", files.collect()),
        ("hooks", texts(&definition.hooks)),
        ("provider", texts(&definition.provider)),
        ("plugins", texts(&definition.plugins)),
    ]
}

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    for (key, listed) in lists(&subject.package.definition) {
        // A file may have several destinations; files checks them.
        if key != "files" {
            check_repeated(key, listed.iter().copied(), findings);
        }
        let present = roots(subject.scanned, key);
        check_listed(subject.scanned, key, &listed, &present, findings);
        check_present(key, &listed, &present, findings);
    }
    check_operator(subject, findings);
}

/// Reports names that a list has twice.
fn check_repeated<'t>(
    key: &str,
    names: impl Iterator<Item = (usize, &'t str)>,
    findings: &mut Vec<Finding>,
) {
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    for (line, name) in names {
        if let Some(first) = lines.get(name) {
            let message = format!("{key}: {name:?} is listed twice, first on line {first}");
            findings.push(Finding::fatal(DEFINITION, message).at(line));
        } else {
            lines.insert(name, line);
        }
    }
}

fn check_listed(
    scanned: &Scanned,
    key: &str,
    listed: &[(usize, &str)],
    present: &BTreeSet<&str>,
    findings: &mut Vec<Finding>,
) {
    let candidates: Vec<&str> = present.iter().copied().take(MAX_CANDIDATES).collect();
    for &(line, name) in listed {
        let path = format!("{key}/{name}");
        if !is_plain_path(name) {
            let message = format!("{key}: {name:?} is not a path inside of {key}/");
            findings.push(Finding::fatal(DEFINITION, message).at(line));
        } else if !exists(scanned, &path) {
            let message = format!("{key}: {name:?} is listed, but {path} does not exist");
            let finding = Finding::fatal(DEFINITION, message).at(line);
            findings.push(finding.suggest(nearest(name, &candidates)));
        }
    }
}

/// Whether there is a file, or a folder with anything in it.
fn exists(scanned: &Scanned, path: &str) -> bool {
    if let Some(entry) = scanned.entries.get(path) {
        return !matches!(entry, Entry::EmptyFolder);
    }
    let below = format!("{path}/");
    let mut entries = scanned.entries.range(below.clone()..);
    entries
        .next()
        .is_some_and(|(path, _)| path.starts_with(&below))
}

fn check_present(
    key: &str,
    listed: &[(usize, &str)],
    present: &BTreeSet<&str>,
    findings: &mut Vec<Finding>,
) {
    let is_listed = |root: &str| {
        listed.iter().any(|(_, name)| {
            let rest = root.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    for root in present {
        if !is_listed(root) {
            let message = format!("is not listed under {key} of {DEFINITION}");
            findings.push(Finding::fatal(format!("{key}/{root}"), message));
        }
    }
}

/// What a list should have: the charts of `charts/`, the files of other folders.
fn roots<'s>(scanned: &'s Scanned, key: &str) -> BTreeSet<&'s str> {
    let prefix = key.len() + 1;
    let files = scanned.files_below(key).map(|(path, _)| path);
    files
        .map(|path| match key {
            "charts" => chart_of(scanned, path).unwrap_or(path),
            _ => path,
        })
        .map(|path| &path[prefix..])
        .collect()
}

/// The outermost folder of a file that has a `Chart.yaml`.
fn chart_of<'s>(scanned: &Scanned, path: &'s str) -> Option<&'s str> {
    let slashes = path.match_indices('/').map(|(at, _)| at);
    let mut folders = slashes.skip(1).map(|at| &path[..at]);
    folders.find(|folder| scanned.file(&format!("{folder}/Chart.yaml")).is_some())
}

/// The folder `operator/` has the program that `operator` names, and nothing else.
fn check_operator(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let operator = &subject.package.definition.operator;
    let program = operator
        .as_ref()
        .filter(|operator| operator.value.starts_with("operator/"));
    if let Some(operator) = program {
        let path = &operator.value;
        let finding = |message: String| Finding::fatal(DEFINITION, message).at(operator.line);
        match subject.scanned.file(path) {
            _ if !is_plain_path(path) => {
                findings.push(finding(format!(
                    "operator: {path:?} is not a path inside of operator/"
                )));
            }
            None => findings.push(finding(format!("operator: {path} does not exist"))),
            Some(file) if file.mode & 0o111 == 0 => {
                let hint = format!("chmod +x {path}");
                findings.push(finding(format!("operator: {path} is not executable")).hint(hint));
            }
            Some(_) => {}
        }
    }
    let named = program.map(|operator| operator.value.as_str());
    for (path, _) in subject.scanned.files_below("operator") {
        if Some(path) != named {
            findings.push(Finding::fatal(
                path,
                "is not the operator that expansion.yaml names",
            ));
        }
    }
}
