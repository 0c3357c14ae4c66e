//! What is in the folder: only names of the format, only files and folders, and each where it belongs.

use outrigger_apimachinery::nearest::nearest;

use crate::finding::Finding;
use crate::layout::{self, Top};
use crate::scan::{Entry, Scanned};

pub(super) fn check(scanned: &Scanned, findings: &mut Vec<Finding>) {
    for (path, entry) in &scanned.entries {
        if let Entry::Refused(refusal) = entry {
            findings.push(Finding::fatal(path, refusal.to_string()));
        }
        let first = path.split('/').next().unwrap_or_default();
        let is_file = first == path && matches!(entry, Entry::File(_));
        match layout::top(path) {
            None => {
                let finding = Finding::fatal(first, "is not part of a package");
                findings.push(finding.suggest(nearest(first, &layout::names())));
            }
            Some(Top::Listed | Top::Operator) if is_file => {
                findings.push(Finding::fatal(first, "must be a folder"));
            }
            Some(Top::Known | Top::Document) if !is_file && !is_refused(entry, first, path) => {
                findings.push(Finding::fatal(first, "must be a file"));
            }
            Some(_) => {}
        }
    }
}

/// Whether an entry at the top is refused, which is a finding of its own.
fn is_refused(entry: &Entry, first: &str, path: &str) -> bool {
    first == path && matches!(entry, Entry::Refused(_))
}
