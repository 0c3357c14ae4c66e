//! Files that a plugin puts into its chart, in place of the chart's own of the same name.

use std::sync::Arc;

use outrigger_api::plugin::FileOverride;
use outrigger_chart::chart::{Chart, File};
use outrigger_chart::{Profile, from_files};

const VALUES: &str = "values.yaml";
const SCHEMA: &str = "values.schema.json";

/// Why a file cannot be put into a chart.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("spec.fileOverrides: {0} cannot be replaced")]
    NotThis(String),
    #[error("spec.fileOverrides: there is no subchart {subchart} for {name}")]
    NoSubchart { subchart: String, name: String },
    #[error("spec.fileOverrides: {name} cannot be used")]
    Unusable {
        name: String,
        #[source]
        source: Box<outrigger_chart::load::Error>,
    },
}

/// The chart with the files in it.
pub(crate) fn put(chart: &Arc<Chart>, files: &[FileOverride]) -> Result<Arc<Chart>, Error> {
    if files.is_empty() {
        return Ok(Arc::clone(chart));
    }
    let mut chart = Chart::clone(chart);
    for file in files {
        put_one(&mut chart, &file.name, &file.name, &file.content)?;
    }
    Ok(Arc::new(chart))
}

fn put_one(chart: &mut Chart, name: &str, whole: &str, content: &str) -> Result<(), Error> {
    if let Some(rest) = name.strip_prefix("charts/")
        && let Some((subchart, rest)) = rest.split_once('/')
    {
        let found = chart
            .subcharts
            .iter_mut()
            .find(|chart| chart.name() == subchart);
        let found = found.ok_or_else(|| Error::NoSubchart {
            subchart: subchart.to_owned(),
            name: whole.to_owned(),
        })?;
        return put_one(found, rest, whole, content);
    }
    match name {
        "Chart.yaml" | "Chart.lock" => return Err(Error::NotThis(whole.to_owned())),
        VALUES => return put_values(chart, whole, content),
        SCHEMA => chart.schema = Some(Arc::new(content.as_bytes().to_vec())),
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

/// Values are read as those of a chart that has nothing else.
fn put_values(chart: &mut Chart, name: &str, content: &str) -> Result<(), Error> {
    let files = vec![
        File::new(
            "Chart.yaml",
            "apiVersion: v2\nname: values\nversion: 0.0.0\n".as_bytes(),
        ),
        File::new(VALUES, content.as_bytes()),
    ];
    let read = from_files(files, Profile::Helm4, &mut |_| {});
    let read = read.map_err(|source| Error::Unusable {
        name: name.to_owned(),
        source: Box::new(source),
    })?;
    chart.values = read.values;
    chart.values_text = read.values_text;
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
    fn files_are_replaced_or_added_and_the_chart_itself_is_not_touched() {
        let before = chart();
        let files = [
            file("templates/a.yaml", "new"),
            file("templates/b.yaml", "more"),
            file(VALUES, "a: 2\n"),
            file("config/x.txt", "x"),
        ];
        let after = put(&before, &files).unwrap();
        assert_eq!(after.templates.len(), 2);
        assert_eq!(after.templates[0].data.as_slice(), b"new");
        assert_eq!(after.values_text.as_ref().unwrap().as_slice(), b"a: 2\n");
        assert_eq!(before.templates[0].data.as_slice(), b"old");
    }

    #[test]
    fn what_makes_a_chart_another_chart_is_refused() {
        let error = put(&chart(), &[file("Chart.yaml", "")]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "spec.fileOverrides: Chart.yaml cannot be replaced"
        );
        let error = put(&chart(), &[file("charts/db/values.yaml", "")]).unwrap_err();
        assert!(error.to_string().contains("no subchart db"));
    }
}
