//! Name, version and requirements of a package.

use outrigger_apimachinery::syntax;
use outrigger_gostd::semver::{Constraint, Version};

use super::Subject;
use crate::definition::{DEFINITION, Text};
use crate::finding::Finding;

/// The version of this program, which `requires.outrigger` is about.
const OUTRIGGER: &str = env!("CARGO_PKG_VERSION");

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let definition = &subject.package.definition;
    check_name(subject, findings);
    if let Some(version) = &definition.version
        && Version::parse_strict(&version.value).is_err()
    {
        let message = format!(
            "version: {:?} is not a version such as 1.0.0",
            version.value
        );
        findings.push(Finding::fatal(DEFINITION, message).at(version.line));
    }
    let requires = &definition.requires;
    if let Some(range) = &requires.outrigger
        && let Some(constraint) = parse_range("requires.outrigger", range, findings)
        && !Version::parse(OUTRIGGER).is_ok_and(|version| constraint.check(&version))
    {
        let message = format!(
            "requires.outrigger: the package needs Outrigger {}, and this is {OUTRIGGER}",
            range.value
        );
        findings.push(Finding::fatal(DEFINITION, message).at(range.line));
    }
    if let Some(range) = &requires.kubernetes {
        parse_range("requires.kubernetes", range, findings);
    }
}

fn check_name(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let name = &subject.package.name;
    let problems = syntax::dns1123_label(name);
    let Some(problem) = problems.first() else {
        return;
    };
    let Some(given) = &subject.package.definition.name else {
        let message = format!("the folder's name {name:?} is not the name of a package: {problem}");
        findings.push(Finding::fatal(DEFINITION, message).hint("set name"));
        return;
    };
    let message = format!("name: {name:?}: {problem}");
    findings.push(Finding::fatal(DEFINITION, message).at(given.line));
}

fn parse_range(key: &str, range: &Text, findings: &mut Vec<Finding>) -> Option<Constraint> {
    match Constraint::parse(&range.value) {
        Ok(constraint) => Some(constraint),
        Err(reason) => {
            let message = format!("{key}: {:?} is not a version range: {reason}", range.value);
            findings.push(Finding::fatal(DEFINITION, message).at(range.line));
            None
        }
    }
}
