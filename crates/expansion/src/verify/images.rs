//! The images of the list, of the archive and of the charts agree.
//!
//! Images that only look like one in a text are not required: the list may have them.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as _;

use outrigger_chart::images::{Confidence, ImageUse};
use outrigger_oci::{InvalidReference, Reference};

use super::charts::ChartImages;
use super::{MissingImages, Subject};
use crate::definition::DEFINITION;
use crate::finding::Finding;
use crate::layout::IMAGE_ARCHIVES;

/// The images of the list with their lines, by their full names: `nginx` is `docker.io/library/nginx:latest`.
type Listed = BTreeMap<String, usize>;

pub(super) fn check(subject: Subject<'_>, charts: &[ChartImages], findings: &mut Vec<Finding>) {
    let listed = check_list(subject, findings);
    check_charts(charts, &listed, findings);
    check_operator(subject, &listed, findings);
    check_archive(subject, &listed, findings);
}

/// The images of the list, with their lines.
fn check_list(subject: Subject<'_>, findings: &mut Vec<Finding>) -> Listed {
    let mut listed = Listed::new();
    for image in &subject.package.definition.images {
        match full_name(&image.value) {
            Ok(reference) => {
                if let Some(first) = listed.get(&reference) {
                    let message =
                        format!("images: {reference} is listed twice, first on line {first}");
                    findings.push(Finding::fatal(DEFINITION, message).at(image.line));
                } else {
                    listed.insert(reference, image.line);
                }
            }
            Err(error) => {
                let message = format!("images: {}", described(&error));
                findings.push(Finding::fatal(DEFINITION, message).at(image.line));
            }
        }
    }
    listed
}

/// What a chart can run is in the list.
fn check_charts(charts: &[ChartImages], listed: &Listed, findings: &mut Vec<Finding>) {
    for ChartImages { chart, uses } in charts {
        let mut missing: BTreeMap<String, &ImageUse> = BTreeMap::new();
        for image in uses {
            let confidence = image.origin.confidence();
            match full_name(&image.image) {
                Ok(reference) if confidence > Confidence::Possible => {
                    if !listed.contains_key(&reference) {
                        missing.entry(reference).or_insert(image);
                    }
                }
                Err(error) if confidence == Confidence::Certain => {
                    findings.push(Finding::fatal(
                        chart,
                        format!("{}: {}", used_by(image), described(&error)),
                    ));
                }
                Ok(_) | Err(_) => {}
            }
        }
        for (reference, image) in missing {
            let message = format!(
                "{} runs {reference}, which is not in images",
                used_by(image)
            );
            let hint = format!("add {reference} to images of {DEFINITION}");
            findings.push(Finding::fatal(chart, message).hint(hint));
        }
    }
}

fn full_name(image: &str) -> Result<String, InvalidReference> {
    let reference: Reference = image.parse()?;
    Ok(reference.to_string())
}

/// The message of an error and of its cause.
fn described(error: &InvalidReference) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}

fn used_by(image: &ImageUse) -> String {
    format!("{} {}", image.kind, image.name)
}

/// An operator that is not a program of the package is an image of the list.
fn check_operator(subject: Subject<'_>, listed: &Listed, findings: &mut Vec<Finding>) {
    let operator = subject.package.definition.operator.as_ref();
    let Some(operator) = operator.filter(|operator| !operator.value.starts_with("operator/"))
    else {
        return;
    };
    let message = match full_name(&operator.value) {
        Ok(reference) if listed.contains_key(&reference) => return,
        Ok(reference) => format!("operator: the image {reference} is not in images"),
        Err(error) => format!("operator: {}", described(&error)),
    };
    let finding = Finding::fatal(DEFINITION, message).at(operator.line);
    findings.push(finding.hint("an operator is an image of the list, or a program in operator/"));
}

/// The archive has the images of the list, and no others.
fn check_archive(subject: Subject<'_>, listed: &Listed, findings: &mut Vec<Finding>) {
    check_repeated_archives(subject, findings);
    let Some(archive) = &subject.scanned.archive else {
        let is_wrong = subject.missing_images == MissingImages::Wrong;
        if is_wrong && !listed.is_empty() && !subject.package.definition.images_loaded {
            let hint = "`outrigger expansion build` fetches them; `images_loaded: true` says that the registry has the images";
            let message = "the package has no archive of its images";
            findings.push(Finding::warning(DEFINITION, message).hint(hint));
        }
        return;
    };
    let path = archive.path.as_str();
    if subject.package.definition.images_loaded {
        let message = "is in the package, although images_loaded is true";
        findings.push(Finding::fatal(path, message));
    }
    match &archive.images {
        Ok(names) => compare(path, names, listed, subject.missing_images, findings),
        Err(error) => findings.push(Finding::fatal(path, error)),
    }
}

fn check_repeated_archives(subject: Subject<'_>, findings: &mut Vec<Finding>) {
    let entries = &subject.scanned.entries;
    let is_present = |path: &&str| {
        entries.contains_key(*path)
            || entries
                .keys()
                .any(|name| name.starts_with(&format!("{path}/")))
    };
    let present: Vec<&str> = IMAGE_ARCHIVES.into_iter().filter(is_present).collect();
    if let [first, others @ ..] = &present[..] {
        for other in others {
            let message = format!("is a second archive of images, beside {first}");
            findings.push(Finding::fatal(*other, message));
        }
        if subject.scanned.archive.is_none() {
            findings.push(Finding::fatal(*first, "is not an archive of images"));
        }
    }
}

fn compare(
    path: &str,
    names: &[String],
    listed: &Listed,
    missing_images: MissingImages,
    findings: &mut Vec<Finding>,
) {
    let mut archived = BTreeSet::new();
    for name in names {
        match full_name(name) {
            Ok(reference) => {
                archived.insert(reference);
            }
            Err(error) => findings.push(Finding::fatal(path, described(&error))),
        }
    }
    for (reference, line) in listed {
        if missing_images == MissingImages::Wrong && !archived.contains(reference) {
            let message = format!("images: {reference} is listed, but {path} does not contain it");
            findings.push(Finding::fatal(DEFINITION, message).at(*line));
        }
    }
    for reference in &archived {
        if !listed.contains_key(reference) {
            let message = format!("contains {reference}, which is not in images");
            findings.push(Finding::fatal(path, message));
        }
    }
}
