//! Files for machines: destinations, hooks and templates.

use std::collections::BTreeMap;

use outrigger_api::cluster::check_destination;
use outrigger_api::hook::Hook;

use super::Subject;
use crate::definition::{DEFINITION, HookChoice};
use crate::finding::Finding;
use crate::package::{PackagedFile, template_text};
use crate::template;

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let files = &subject.package.files;
    for file in files {
        if let Err(message) = check_destination(&file.dst, file.force) {
            let message = format!("files: {:?} {message}", file.dst);
            findings.push(Finding::fatal(DEFINITION, message).at(file.line));
        }
    }
    check_repeated_destinations(files, findings);
    check_repeated_hooks(files, findings);
    check_hook_names(subject, findings);
    check_render_requests(subject, findings);
    check_templates(subject, findings);
}

/// A destination belongs to one file, and is not a folder of another one.
fn check_repeated_destinations(files: &[PackagedFile], findings: &mut Vec<Finding>) {
    let mut owners: BTreeMap<&str, &PackagedFile> = BTreeMap::new();
    for file in files {
        if let Some(first) = owners.get(file.dst.as_str()) {
            let message = if first.path == file.path {
                format!("files: {} is listed twice for {}", file.path, file.dst)
            } else {
                let (dst, first) = (&file.dst, &first.path);
                format!(
                    "files: {dst} is the destination of {first} and of {}",
                    file.path
                )
            };
            findings.push(Finding::fatal(DEFINITION, message).at(file.line));
        } else {
            owners.insert(&file.dst, file);
        }
    }
    for file in files {
        let folders = file.dst.match_indices('/').map(|(at, _)| &file.dst[..at]);
        for folder in folders {
            if let Some(owner) = owners.get(folder) {
                let message = format!(
                    "files: {folder} is the destination of {}, and a folder with {}",
                    owner.path, file.dst
                );
                findings.push(Finding::fatal(DEFINITION, message).at(file.line));
            }
        }
    }
}

fn check_repeated_hooks(files: &[PackagedFile], findings: &mut Vec<Finding>) {
    let mut owners: BTreeMap<&str, &PackagedFile> = BTreeMap::new();
    for file in files {
        let Some(hook) = file.hook else { continue };
        if let Some(first) = owners.get(hook) {
            let message = format!(
                "files: {} and {} are both bound to the hook {hook}",
                first.path, file.path
            );
            let finding = Finding::fatal(DEFINITION, message).at(file.line);
            findings.push(finding.hint("set `hook: none` for one of them"));
        } else {
            owners.insert(hook, file);
        }
    }
}

fn check_hook_names(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    for entry in &subject.package.definition.files {
        let Some(hook) = &entry.value.hook else {
            continue;
        };
        let HookChoice::Named(name) = &hook.value else {
            continue;
        };
        if Hook::of_cluster(name).is_none() {
            let message = format!("files: unknown hook {name:?}");
            let finding = Finding::fatal(DEFINITION, message).at(hook.line);
            findings.push(finding.suggest(Hook::nearest(name)));
        } else if subject
            .scanned
            .file(&format!("files/{}", entry.value.src))
            .is_none()
        {
            let message = format!(
                "files: {:?} is not a file that can be a hook",
                entry.value.src
            );
            findings.push(Finding::fatal(DEFINITION, message).at(hook.line));
        }
    }
}

/// `render: true` is for texts.
fn check_render_requests(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    for entry in &subject.package.definition.files {
        let Some(render) = entry.value.render.as_ref().filter(|render| render.value) else {
            continue;
        };
        let path = format!("files/{}", entry.value.src);
        if let Some(file) = subject.scanned.file(&path)
            && template_text(file).is_none()
        {
            let message = format!("files: {path} is binary or too large, and cannot be rendered");
            findings.push(Finding::fatal(DEFINITION, message).at(render.line));
        }
    }
}

fn check_templates(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let data = subject.package.template_data();
    for file in subject.package.files.iter().filter(|file| file.is_rendered) {
        let text = subject.scanned.file(&file.path).and_then(template_text);
        let Some(Err(error)) = text.map(|text| template::render(text, &data)) else {
            continue;
        };
        let finding = Finding::fatal(&file.path, error.to_string());
        let finding = match error.line {
            Some(line) => finding.at(line),
            None => finding,
        };
        findings.push(finding.hint(if error.is_syntax {
            "`render: false` copies the file as it is"
        } else {
            "values come from values.yaml and from values of expansion.yaml; `render: false` copies the file as it is"
        }));
    }
}
