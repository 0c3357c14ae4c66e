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
mod schema;
mod scripts;
mod steps;

pub(crate) use charts::{one_line, read_files as read_chart_files};
use serde_json::{Map, Value};

use crate::finding::Finding;
use crate::package::Package;
use crate::scan::Scanned;

/// What the checks look at.
#[derive(Debug, Clone, Copy)]
struct Subject<'s> {
    scanned: &'s Scanned,
    package: &'s Package,
    missing_images: MissingImages,
}

/// What it means that the archive of a package lacks images of its list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingImages {
    /// They cannot be loaded where there is no internet.
    Wrong,
    /// They are fetched when the package is built.
    Fetched,
}

/// All findings of a package, in the order of files and lines.
pub fn verify(scanned: &Scanned) -> Vec<Finding> {
    findings(scanned, &Map::new(), MissingImages::Wrong)
}

/// All findings of a package with the values of a site, which override its own.
pub fn verify_with(scanned: &Scanned, site: &Map<String, Value>) -> Vec<Finding> {
    findings(scanned, site, MissingImages::Wrong)
}

/// All findings of a folder that a package is built from: its archive may lack images.
pub fn verify_sources(scanned: &Scanned) -> Vec<Finding> {
    findings(scanned, &Map::new(), MissingImages::Fetched)
}

fn findings(
    scanned: &Scanned,
    site: &Map<String, Value>,
    missing_images: MissingImages,
) -> Vec<Finding> {
    let (package, mut findings) = Package::read(scanned);
    let package = package.with_values(site);
    let subject = Subject {
        scanned,
        package: &package,
        missing_images,
    };
    entries::check(scanned, &mut findings);
    // Without a definition, every file would be reported as not listed.
    if package.is_defined {
        metadata::check(subject, &mut findings);
        listed::check(subject, &mut findings);
        schema::check(subject, &mut findings);
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
