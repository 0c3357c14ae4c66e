//! Hooks are scripts that run as they are: they have a known name, a shebang, and line ends of Unix.

use outrigger_api::hook::Hook;
use outrigger_apimachinery::nearest::nearest;

use super::Subject;
use crate::definition::DEFINITION;
use crate::finding::Finding;
use crate::layout::is_plain_path;
use crate::scan::{Content, File};

/// The first bytes of a program for Linux.
const ELF: &[u8] = b"\x7fELF";

pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let names: Vec<&str> = Hook::of_installer().map(|hook| hook.name).collect();
    for hook in &subject.package.definition.hooks {
        let name = hook.value.as_str();
        if !names.contains(&name) && is_plain_path(name) {
            let finding = Finding::fatal(DEFINITION, format!("hooks: unknown hook {name:?}"));
            let finding = finding.at(hook.line);
            findings.push(if Hook::of_cluster(name).is_some() {
                finding.hint(format!("hooks of clusters are files: files/{name}"))
            } else {
                finding.suggest(nearest(name, &names))
            });
        }
        let path = format!("hooks/{name}");
        if let Some(file) = subject.scanned.file(&path) {
            check_script(&path, file, findings);
        }
    }
    for file in subject
        .package
        .files
        .iter()
        .filter(|file| file.hook.is_some())
    {
        if let Some(content) = subject.scanned.file(&file.path) {
            check_script(&file.path, content, findings);
        }
        if file.mode & 0o111 == 0 {
            let message = format!(
                "files: the hook {} has the mode {:04o}",
                file.path, file.mode
            );
            let finding = Finding::fatal(DEFINITION, message).at(file.line);
            findings.push(finding.hint("a hook must be executable: leave out `mode`, or set 0755"));
        }
    }
}

fn check_script(path: &str, file: &File, findings: &mut Vec<Finding>) {
    let bytes = match &file.content {
        Content::Bytes(bytes) => bytes,
        Content::NotRead | Content::TooLarge => {
            findings.push(Finding::fatal(path, "is too large for a hook"));
            return;
        }
    };
    if bytes.starts_with(ELF) {
        return;
    }
    if bytes.starts_with(b"\xef\xbb\xbf") {
        let message = "begins with a byte order mark, so that Linux does not see its interpreter";
        findings.push(Finding::fatal(path, message).at(1));
    } else if !has_interpreter(bytes) {
        let message = "has no shebang, so that no interpreter runs it";
        let finding = Finding::fatal(path, message).at(1);
        findings.push(finding.hint("begin with a line such as #!/bin/sh"));
    }
    let mut lines = bytes.split(|byte| *byte == b'\n');
    if let Some(line) = lines.position(|line| line.ends_with(b"\r")) {
        let message = "has Windows line ends, so that no shell can run it";
        let hint = format!("sed -i 's/\\r$//' {path}");
        findings.push(Finding::fatal(path, message).at(line + 1).hint(hint));
    }
}

/// Whether the first line is `#!` and an absolute path.
fn has_interpreter(bytes: &[u8]) -> bool {
    let line = bytes
        .split(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let interpreter = line.strip_prefix(b"#!").map(<[u8]>::trim_ascii_start);
    interpreter.is_some_and(|interpreter| interpreter.starts_with(b"/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shebang_is_an_absolute_path() {
        for line in ["#!/bin/sh", "#! /usr/bin/env bash\nx"] {
            assert!(has_interpreter(line.as_bytes()), "{line}");
        }
        for line in ["", "\n#!/bin/sh", "#!sh", "# !/bin/sh", "#!"] {
            assert!(!has_interpreter(line.as_bytes()), "{line}");
        }
    }
}
