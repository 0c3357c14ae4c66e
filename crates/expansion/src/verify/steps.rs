//! The steps that a package skips or delegates exist, and may be skipped or delegated.

use std::collections::BTreeMap;

use outrigger_api::hook::Hook;
use outrigger_api::step::{self, FlowName, installer};

use super::Subject;
use crate::definition::{DEFINITION, Text};
use crate::finding::Finding;

/// The step that copies files to machines.
const COPY_FILES: &str = "EnsureCopyFiles";

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let definition = &subject.package.definition;
    let installer = check_installer_steps(&definition.installer_skip_steps, findings);
    let key = "create_cluster_skip_conditions";
    let skipped = check_conditions(key, &definition.create_cluster_skip_conditions, findings);
    let key = "create_cluster_delegate_conditions";
    let delegated = check_conditions(
        key,
        &definition.create_cluster_delegate_conditions,
        findings,
    );
    for (id, line) in &delegated {
        if !step::is_delegable(id) {
            findings.push(at(*line, format!("{key}: {id} cannot be delegated")));
        }
        if skipped.contains_key(id) {
            let message = format!("{key}: {id} is also in create_cluster_skip_conditions");
            findings.push(at(*line, message));
        }
    }
    warn_about_skipped_content(subject, &installer, &skipped, findings);
}

fn at(line: usize, message: String) -> Finding {
    Finding::fatal(DEFINITION, message).at(line)
}

/// The ids of the steps, with the line of the name.
type Steps = BTreeMap<&'static str, usize>;

fn check_installer_steps(names: &[Text], findings: &mut Vec<Finding>) -> Steps {
    let key = "installer_skip_steps";
    let mut steps = Steps::new();
    for name in names {
        let Some(step) = installer::find(&name.value) else {
            let message = format!("{key}: unknown step {:?}", name.value);
            let finding = at(name.line, message);
            findings.push(finding.suggest(installer::nearest_name(&name.value)));
            continue;
        };
        if !step.is_skippable {
            findings.push(at(
                name.line,
                format!("{key}: {} cannot be skipped", step.id),
            ));
        }
        insert(key, step.id, name, &mut steps, findings);
    }
    steps
}

fn check_conditions(key: &str, names: &[Text], findings: &mut Vec<Finding>) -> Steps {
    let mut steps = Steps::new();
    for name in names {
        let Some(id) = step::find(&name.value) else {
            let message = format!("{key}: unknown step {:?}", name.value);
            let finding = at(name.line, message);
            findings.push(finding.suggest(step::nearest_id(&name.value)));
            continue;
        };
        if !creates_clusters(id) {
            let message = format!("{key}: {id} is not a step of creating a cluster");
            findings.push(at(name.line, message));
        }
        insert(key, id, name, &mut steps, findings);
    }
    steps
}

/// Two names may stand for one step.
fn insert(
    key: &str,
    id: &'static str,
    name: &Text,
    steps: &mut Steps,
    findings: &mut Vec<Finding>,
) {
    if let Some(first) = steps.get(id) {
        let message = format!("{key}: {id} is listed twice, first on line {first}");
        findings.push(at(name.line, message));
    } else {
        steps.insert(id, name.line);
    }
}

/// Whether a step is one of creating a cluster or of adding machines to it.
fn creates_clusters(id: &str) -> bool {
    [FlowName::Create, FlowName::ScaleUp]
        .into_iter()
        .any(|flow| step::steps(flow).iter().any(|step| step.id == id))
}

/// A skipped step does not do what the package asks for.
fn warn_about_skipped_content(
    subject: Subject<'_>,
    installer: &Steps,
    skipped: &Steps,
    findings: &mut Vec<Finding>,
) {
    let package = subject.package;
    let mut warn = |line: usize, id: &str, what: String| {
        let message = format!("{id} is skipped, so that {what}");
        findings.push(Finding::warning(DEFINITION, message).at(line));
    };
    if let Some(&line) = skipped.get(COPY_FILES)
        && !package.files.is_empty()
    {
        warn(
            line,
            COPY_FILES,
            "no file of the package is copied".to_owned(),
        );
    }
    for file in &package.files {
        let hook = file.hook.and_then(Hook::of_cluster);
        if let Some(hook) = hook
            && let Some(&line) = skipped.get(hook.step)
        {
            warn(line, hook.step, format!("{} does not run", file.path));
        }
    }
    for hook in Hook::of_installer() {
        let mut listed = package.definition.hooks.iter();
        if let Some(&line) = installer.get(hook.step)
            && listed.any(|listed| listed.value == hook.name)
        {
            warn(line, hook.step, format!("hooks/{} does not run", hook.name));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_has_the_steps_of_the_installer() {
        let rows = installer::INSTALLER_STEPS.iter().map(|step| {
            let skippable = if step.is_skippable { "yes" } else { "no" };
            format!(
                "| `{}` | {} | {skippable} |\n",
                step.id,
                step.aliases.join(", ")
            )
        });
        let table: String = rows.collect();
        let page = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../docs/expansion-packages.md"
        );
        let page = fs_err::read_to_string(page).unwrap();
        assert!(page.contains(&table), "{table}");
    }
}
