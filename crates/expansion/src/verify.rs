//! Verifies a package before anything is changed: everything that is wrong is reported, not the first only.
//!
//! One file for each question. Each check is a pure function of the scanned folder and the package.

mod charts;
mod entries;
mod files;
mod images;
mod listed;
mod metadata;
mod plugins;
mod scripts;
mod steps;

use crate::finding::Finding;
use crate::package::Package;
use crate::scan::Scanned;

/// What the checks look at.
#[derive(Debug, Clone, Copy)]
struct Subject<'s> {
    scanned: &'s Scanned,
    package: &'s Package,
}

/// All findings of a package, in the order of files and lines.
pub fn verify(scanned: &Scanned) -> Vec<Finding> {
    let (package, mut findings) = Package::read(scanned);
    let subject = Subject {
        scanned,
        package: &package,
    };
    entries::check(scanned, &mut findings);
    // Without a definition, every file would be reported as not listed.
    if package.is_defined {
        metadata::check(subject, &mut findings);
        listed::check(subject, &mut findings);
        files::check(subject, &mut findings);
        scripts::check(subject, &mut findings);
        steps::check(subject, &mut findings);
        plugins::check(subject, &mut findings);
        let uses = charts::check(subject, &mut findings);
        images::check(subject, &uses, &mut findings);
    }
    findings.sort();
    findings.dedup();
    findings
}
