//! `helm dependency list`: compares the contents of `charts/` with the dependencies in `Chart.yaml`.

use std::fmt::Write;

use crate::chart::Chart;
use crate::load;
use crate::metadata::Dependency;
use crate::profile::Profile;
use crate::version;
use outrigger_gostd::path;

/// Longer cells are truncated.
const MAX_WIDTH: usize = 80;

/// One entry of `charts/` that may be a chart: a folder or a `.tgz`. See [`load::charts_entries`].
#[derive(Debug)]
pub struct Entry {
    pub file_name: String,
    pub is_folder: bool,
    pub chart: Result<Chart, load::Error>,
}

/// The output of `helm dependency list PATH`.
pub fn list(chart: &Chart, path: &str, entries: &[Entry], profile: Profile) -> String {
    let folder = path::join(path, "charts");
    let Some(declared) = &chart.metadata.dependencies else {
        return format!("WARNING: no dependencies at {folder}\n");
    };
    let mut rows = vec![["NAME", "VERSION", "REPOSITORY", "STATUS"].map(str::to_owned)];
    for dependency in declared {
        rows.push([
            dependency.name.clone(),
            dependency.version.clone(),
            dependency.repository.clone(),
            status(dependency, chart, entries, profile).to_owned(),
        ]);
    }
    let mut out = table(&rows);
    out.push_str("\n\n");
    for entry in entries {
        let path = outrigger_gostd::strconv::quote(&format!("{folder}/{}", entry.file_name));
        let _ = match &entry.chart {
            Err(_) => writeln!(out, "WARNING: {path} is not a chart."),
            Ok(chart) if declared.iter().any(|d| d.name == chart.name()) => Ok(()),
            Ok(_) => writeln!(out, "WARNING: {path} is not in Chart.yaml."),
        };
    }
    out
}

/// The status of a dependency, as Helm names it.
fn status(
    dependency: &Dependency,
    parent: &Chart,
    entries: &[Entry],
    profile: Profile,
) -> &'static str {
    let prefix = format!("{}-", dependency.name);
    let archives: Vec<&Entry> = entries
        .iter()
        .filter(|entry| {
            entry.file_name.starts_with(&prefix) && path::ext(&entry.file_name) == ".tgz"
        })
        .collect();
    let archive = match archives.as_slice() {
        [] => None,
        [only] => Some(*only),
        several => {
            let is_version = |entry: &&&Entry| {
                let name = entry.file_name.trim_end_matches(".tgz");
                version::is_strict(&name[prefix.len()..], profile)
            };
            let versions: Vec<&&Entry> = several.iter().filter(is_version).collect();
            match versions.as_slice() {
                [only] => Some(**only),
                [] => None,
                _ => return "too many matches",
            }
        }
    };
    if let Some(archive) = archive {
        return archive_status(archive, dependency, profile);
    }
    let unpacked = parent
        .subcharts
        .iter()
        .rfind(|chart| chart.name() == dependency.name);
    unpacked.map_or("missing", |chart| {
        wrong_version(chart, dependency, profile).unwrap_or("unpacked")
    })
}

fn archive_status(archive: &Entry, dependency: &Dependency, profile: Profile) -> &'static str {
    match &archive.chart {
        Err(_) => "corrupt",
        Ok(chart) if chart.name() != dependency.name => "misnamed",
        Ok(chart) => wrong_version(chart, dependency, profile).unwrap_or("ok"),
    }
}

fn wrong_version(chart: &Chart, dependency: &Dependency, profile: Profile) -> Option<&'static str> {
    let (found, range) = (&chart.metadata.version, &dependency.version);
    if found == range {
        return None;
    }
    if !version::is_range(range, profile) || !version::is_valid(found, profile) {
        return Some("invalid version");
    }
    (!version::satisfies(range, found, profile)).then_some("wrong version")
}

/// Columns padded to the widest cell, separated by tabs, without a final newline.
fn table(rows: &[[String; 4]]) -> String {
    let truncate = |cell: &str| match cell.char_indices().nth(MAX_WIDTH) {
        Some(_) => {
            let prefix: String = cell.chars().take(MAX_WIDTH - 3).collect();
            format!("{prefix}...")
        }
        None => cell.to_owned(),
    };
    let rows: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(|cell| truncate(cell)).collect())
        .collect();
    let width = |column: usize| {
        let widths = rows.iter().map(|row| row[column].chars().count());
        widths.max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..4).map(width).collect();
    let lines: Vec<String> = rows
        .iter()
        .map(|row| {
            let cells: Vec<String> = row
                .iter()
                .zip(&widths)
                .map(|(cell, width)| format!("{cell:width$}"))
                .collect();
            cells.join("\t")
        })
        .collect();
    lines.join("\n")
}
