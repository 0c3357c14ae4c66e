//! Applies `spec.fileOverrides`: files that replace or extend those of the chart.

use std::sync::Arc;

use outrigger_api::plugin::FileOverride;
use outrigger_chart::chart::{Chart, File};
use outrigger_chart::{Profile, from_files};

const VALUES: &str = "values.yaml";
const SCHEMA: &str = "values.schema.json";

/// Why a file override cannot be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("spec.fileOverrides: {0} cannot be replaced")]
    NotReplaceable(String),
    #[error("spec.fileOverrides: {name}: the chart has no subchart {subchart}")]
    SubchartNotFound { subchart: String, name: String },
    #[error("spec.fileOverrides: {name} is not valid")]
    Invalid {
        name: String,
        #[source]
        source: Box<outrigger_chart::load::Error>,
    },
}

/// A copy of the chart with the files applied.
pub(crate) fn apply(chart: &Arc<Chart>, files: &[FileOverride]) -> Result<Arc<Chart>, Error> {
    if files.is_empty() {
        return Ok(Arc::clone(chart));
    }
    let mut chart = Chart::clone(chart);
    for file in files {
        apply_one(&mut chart, &file.name, &file.name, &file.content)?;
    }
    Ok(Arc::new(chart))
}

fn apply_one(chart: &mut Chart, name: &str, full_name: &str, content: &str) -> Result<(), Error> {
    if let Some(rest) = name.strip_prefix("charts/")
        && let Some((subchart, rest)) = rest.split_once('/')
    {
        let found = chart
            .subcharts
            .iter_mut()
            .find(|chart| chart.name() == subchart);
        let found = found.ok_or_else(|| Error::SubchartNotFound {
            subchart: subchart.to_owned(),
            name: full_name.to_owned(),
        })?;
        return apply_one(found, rest, full_name, content);
    }
    match name {
        "Chart.yaml" | "Chart.lock" => return Err(Error::NotReplaceable(full_name.to_owned())),
        VALUES => return replace_values(chart, full_name, content),
        SCHEMA => chart.schema = Some(content.into()),
        _ if name.starts_with("templates/") => replace(&mut chart.templates, name, content),
        _ => replace(&mut chart.files, name, content),
    }
    Ok(())
}

fn replace(files: &mut Vec<File>, name: &str, content: &str) {
    let new = File::new(name, content.as_bytes());
    match files.iter_mut().find(|file| file.name == name) {
        Some(file) => *file = new,
        None => files.push(new),
    }
}

/// Parses the values as those of an otherwise empty chart.
fn replace_values(chart: &mut Chart, name: &str, content: &str) -> Result<(), Error> {
    let files = vec![
        File::new(
            "Chart.yaml",
            "apiVersion: v2\nname: values\nversion: 0.0.0\n".as_bytes(),
        ),
        File::new(VALUES, content.as_bytes()),
    ];
    let parsed = from_files(files, Profile::Helm4, &mut |_| {});
    let parsed = parsed.map_err(|source| Error::Invalid {
        name: name.to_owned(),
        source: Box::new(source),
    })?;
    chart.values = parsed.values;
    chart.values_text = parsed.values_text;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart() -> Arc<Chart> {
        let files = vec![
            File::new(
                "Chart.yaml",
                "apiVersion: v2\nname: web\nversion: 1.0.0\n".as_bytes(),
            ),
            File::new(VALUES, "a: 1\n".as_bytes()),
            File::new("templates/a.yaml", "old".as_bytes()),
        ];
        Arc::new(from_files(files, Profile::Helm4, &mut |_| {}).unwrap())
    }

    fn file(name: &str, content: &str) -> FileOverride {
        FileOverride {
            name: name.to_owned(),
            content: content.to_owned(),
        }
    }

    #[test]
    fn files_are_replaced_or_added_in_a_copy_of_the_chart() {
        let before = chart();
        let files = [
            file("templates/a.yaml", "new"),
            file("templates/b.yaml", "more"),
            file(VALUES, "a: 2\n"),
            file("config/x.txt", "x"),
        ];
        let after = apply(&before, &files).unwrap();
        assert_eq!(after.templates.len(), 2);
        assert_eq!(after.templates[0].data.as_slice(), b"new");
        assert_eq!(after.values_text.as_ref().unwrap().as_slice(), b"a: 2\n");
        assert_eq!(before.templates[0].data.as_slice(), b"old");
    }

    #[test]
    fn chart_metadata_and_missing_subcharts_are_rejected() {
        let error = apply(&chart(), &[file("Chart.yaml", "")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.fileOverrides: Chart.yaml cannot be replaced"
        );
        let error = apply(&chart(), &[file("charts/db/values.yaml", "")]).unwrap_err();
        assert!(error.to_string().contains("no subchart db"));
    }
}
