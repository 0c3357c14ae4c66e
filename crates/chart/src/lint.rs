//! `helm lint`: its rules and its output.

mod chart_file;
mod deprecated_apis;
mod deprecation;
mod object_name;
mod templates;

use std::fmt::Write;

use outrigger_gotmpl::function::Host;
use outrigger_gotmpl::value::Map;

use crate::capabilities::KubeVersion;
use crate::chart::Chart;
use crate::coalesce::Nulls;
use crate::load;
use crate::profile::Profile;
use crate::{coalesce, schema, yaml};

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    Info,
    Warning,
    Error,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    pub severity: Severity,
    /// The file or folder, relative to the chart.
    pub path: String,
    pub text: String,
}

#[derive(Debug, Clone)]
pub struct LintOptions {
    pub profile: Profile,
    pub namespace: String,
    pub kube_version: Option<KubeVersion>,
    pub skip_schema: bool,
    /// Warnings are failures.
    pub strict: bool,
    /// Print only warnings and errors.
    pub quiet: bool,
}

/// The files of a chart on disk, which may be invalid. See [`load::lint_source`].
#[derive(Debug)]
pub struct Source {
    /// The path as the user typed it.
    pub path: String,
    /// The path in messages about the chart's folder.
    pub absolute_path: String,
    pub chart_yaml: Entry,
    pub values_yaml: Entry,
    pub schema: Entry,
    pub templates: Entry,
    pub crds: Entry,
    pub chart: Result<Chart, load::Error>,
}

/// A path inside the chart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Entry {
    Missing,
    Folder,
    File(Vec<u8>),
}

/// The result of linting one chart.
#[derive(Debug, Clone, Default)]
pub struct Report {
    pub path: String,
    pub messages: Vec<Message>,
    /// Why the chart cannot be linted.
    pub failure: Option<String>,
    strict: bool,
}

pub fn lint(source: &Source, values: &Map, options: &LintOptions, host: &dyn Host) -> Report {
    let mut report = Report {
        path: source.path.clone(),
        strict: options.strict,
        ..Report::default()
    };
    if source.chart_yaml == Entry::Missing {
        report.failure = Some(format!(
            "unable to check Chart.yaml file in chart: stat {}/Chart.yaml: no such file or directory",
            source.path
        ));
        return report;
    }
    let mut linter = Linter::default();
    match &source.chart_yaml {
        Entry::File(data) => chart_file::check(&mut linter, data, options.profile),
        _ => linter.push(
            Severity::Error,
            "Chart.yaml",
            "should be a file, not a directory".to_owned(),
        ),
    }
    check_values(&mut linter, source, values, options);
    check_templates(&mut linter, source, values, options, host);
    check_dependencies(&mut linter, source);
    if options.profile == Profile::Helm4 {
        check_crds(&mut linter, source);
    }
    report.messages = linter.0;
    report
}

/// Collects messages in order.
#[derive(Debug, Default)]
struct Linter(Vec<Message>);

impl Linter {
    fn push(&mut self, severity: Severity, path: &str, text: String) {
        self.0.push(Message {
            severity,
            path: path.to_owned(),
            text,
        });
    }
}

fn check_values(linter: &mut Linter, source: &Source, values: &Map, options: &LintOptions) {
    const FILE: &str = "values.yaml";
    let data = match &source.values_yaml {
        Entry::Missing => {
            return linter.push(Severity::Info, FILE, "file does not exist".to_owned());
        }
        Entry::Folder => {
            let text = format!(
                "unable to parse YAML: read {}/{FILE}: is a directory",
                source.absolute_path
            );
            return linter.push(Severity::Error, FILE, text);
        }
        Entry::File(data) => data,
    };
    let defaults = match read_values(data, options.profile) {
        Ok(defaults) => defaults,
        Err(message) => {
            let text = format!("unable to parse YAML: {message}");
            return linter.push(Severity::Error, FILE, text);
        }
    };
    let Entry::File(schema) = &source.schema else {
        return;
    };
    if schema.is_empty() || (options.skip_schema && options.profile == Profile::Helm4) {
        return;
    }
    let mut quiet = |_: String| {};
    let merged = Map::default();
    coalesce::tables(
        &merged,
        &coalesce::copy_map(values),
        Nulls::Remove,
        options.profile,
        &mut quiet,
    );
    coalesce::tables(
        &merged,
        &defaults,
        Nulls::Remove,
        options.profile,
        &mut quiet,
    );
    if let Err(error) = schema::validate_one(&merged, schema, options.profile) {
        linter.push(Severity::Error, FILE, error.to_string());
    }
}

fn read_values(data: &[u8], profile: Profile) -> Result<Map, String> {
    let node = yaml::read(data).map_err(|error| error.to_string())?;
    crate::decode::require_values(&node, profile).map_err(|error| error.to_string())?;
    Ok(node.to_map())
}

fn check_templates(
    linter: &mut Linter,
    source: &Source,
    values: &Map,
    options: &LintOptions,
    host: &dyn Host,
) {
    const FOLDER: &str = "templates/";
    let is_helm4 = options.profile == Profile::Helm4;
    match source.templates {
        Entry::Missing if is_helm4 => {
            return linter.push(
                Severity::Warning,
                FOLDER,
                "directory does not exist".to_owned(),
            );
        }
        Entry::File(_) => {
            let severity = if is_helm4 {
                Severity::Error
            } else {
                Severity::Warning
            };
            return linter.push(severity, FOLDER, "not a directory".to_owned());
        }
        Entry::Missing | Entry::Folder => {}
    }
    match &source.chart {
        Ok(chart) => templates::check(linter, chart, values, options, host),
        Err(error) => linter.push(Severity::Error, FOLDER, error.to_string()),
    }
}

fn check_dependencies(linter: &mut Linter, source: &Source) {
    let chart = match &source.chart {
        Ok(chart) => chart,
        Err(error) => {
            return linter.push(
                Severity::Error,
                "",
                format!("unable to load chart\n\t{error}"),
            );
        }
    };
    let declared: Vec<&str> = chart
        .metadata
        .declared()
        .iter()
        .map(|d| d.name.as_str())
        .collect();
    let present: Vec<&str> = chart.subcharts.iter().map(Chart::name).collect();
    let difference = |names: &[&str], others: &[&str]| -> Vec<String> {
        let missing = names.iter().filter(|name| !others.contains(name));
        missing.map(|&name| name.to_owned()).collect()
    };
    let undeclared = difference(&present, &declared);
    if !undeclared.is_empty() {
        let text = format!(
            "chart metadata is missing these dependencies: {}",
            undeclared.join(",")
        );
        linter.push(Severity::Error, &source.absolute_path, text);
    }
    let missing = difference(&declared, &present);
    if !missing.is_empty() {
        let text = format!(
            "chart directory is missing these dependencies: {}",
            missing.join(",")
        );
        linter.push(Severity::Warning, &source.absolute_path, text);
    }
}

fn check_crds(linter: &mut Linter, source: &Source) {
    const FOLDER: &str = "crds/";
    match source.crds {
        Entry::Missing => return,
        Entry::File(_) => {
            return linter.push(Severity::Error, FOLDER, "not a directory".to_owned());
        }
        Entry::Folder => {}
    }
    let chart = match &source.chart {
        Ok(chart) => chart,
        Err(error) => return linter.push(Severity::Error, FOLDER, error.to_string()),
    };
    for crd in chart.crds() {
        for object in templates::objects(&crd.data) {
            let object = match object {
                Ok(Some(object)) => object,
                Ok(None) => continue,
                Err(error) => {
                    let text = format!("unable to parse YAML: {error}");
                    return linter.push(Severity::Error, &crd.name, text);
                }
            };
            if !object.api_version.starts_with("apiextensions.k8s.io") {
                let text = "apiVersion is not in 'apiextensions.k8s.io'".to_owned();
                linter.push(Severity::Error, &crd.name, text);
            }
            if object.kind != "CustomResourceDefinition" {
                let text = "object kind is not 'CustomResourceDefinition'".to_owned();
                linter.push(Severity::Error, &crd.name, text);
            }
        }
    }
}

impl Severity {
    fn name(self) -> &'static str {
        match self {
            Self::Info => "INFO",
            Self::Warning => "WARNING",
            Self::Error => "ERROR",
        }
    }
}

impl Report {
    pub fn is_failed(&self) -> bool {
        let threshold = if self.strict {
            Severity::Warning
        } else {
            Severity::Error
        };
        self.failure.is_some()
            || self
                .messages
                .iter()
                .any(|message| message.severity >= threshold)
    }

    fn has_warnings(&self) -> bool {
        let is_warning = |message: &Message| message.severity > Severity::Info;
        self.is_failed() || self.messages.iter().any(is_warning)
    }
}

/// Charts failed the lint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{linted} chart(s) linted, {failed} chart(s) failed")]
pub struct Failed {
    linted: usize,
    failed: usize,
}

/// The output of `helm lint`, and its last line: printed to stdout on success, otherwise the error.
pub fn print(reports: &[Report], quiet: bool) -> (String, Result<String, Failed>) {
    let mut out = String::new();
    let mut failed = 0;
    let mut with_warnings = 0;
    for report in reports {
        with_warnings += usize::from(report.has_warnings());
        failed += usize::from(report.is_failed());
        if quiet && !report.has_warnings() {
            continue;
        }
        let _ = writeln!(out, "==> Linting {}", report.path);
        if let Some(failure) = &report.failure {
            let _ = writeln!(out, "Error {failure}");
        }
        for message in &report.messages {
            if !quiet || message.severity > Severity::Info {
                let Message {
                    severity,
                    path,
                    text,
                } = message;
                let _ = writeln!(out, "[{}] {path}: {text}", severity.name());
            }
        }
        out.push('\n');
    }
    let summary = Failed {
        linted: reports.len(),
        failed,
    };
    if failed > 0 {
        return (out, Err(summary));
    }
    let summary = if quiet && with_warnings == 0 {
        String::new()
    } else {
        format!("{summary}\n")
    };
    (out, Ok(summary))
}
