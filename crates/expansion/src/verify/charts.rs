//! Charts load, pass lint and render with their default values.

use outrigger_chart::images::{self, ImageUse};
use outrigger_chart::lint::{self, Entry, LintOptions, Message, Severity, Source};
use outrigger_chart::load::{self, archive, ignore};
use outrigger_chart::{Chart, File, Profile, RenderOptions, render};
use outrigger_gotmpl::function::{CallError, Host, NullHost};
use outrigger_gotmpl::functions::rsa_key;
use outrigger_gotmpl::value::{Map, Value};

use super::Subject;
use crate::finding::Finding;
use crate::scan::Scanned;

const PROFILE: Profile = Profile::Helm4;

/// The images that a chart can run.
pub(super) struct ChartImages {
    /// The chart's path in the package.
    pub(super) chart: String,
    pub(super) uses: Vec<ImageUse>,
}

/// A host without clock, cluster and network. It generates keys, because charts fail without.
#[derive(Debug)]
struct OfflineHost;

impl Host for OfflineHost {
    fn now(&self) -> i128 {
        NullHost.now()
    }

    fn fill_random(&self, bytes: &mut [u8]) {
        NullHost.fill_random(bytes);
    }

    fn lookup(&self, a: &str, b: &str, c: &str, d: &str) -> Result<Value, CallError> {
        NullHost.lookup(a, b, c, d)
    }

    fn host_by_name(&self, name: &str) -> String {
        NullHost.host_by_name(name)
    }

    fn rsa_key(&self, bits: usize) -> Result<Vec<u8>, CallError> {
        rsa_key(bits)
    }
}

/// Checks the charts that are listed and present, and returns the images of those that render.
pub(super) fn check(subject: Subject<'_>, findings: &mut Vec<Finding>) -> Vec<ChartImages> {
    let listed = subject.package.definition.charts.iter();
    let mut paths: Vec<String> = listed
        .map(|chart| format!("charts/{}", chart.value))
        .collect();
    paths.sort();
    paths.dedup();
    let checked = paths
        .into_iter()
        .filter_map(|path| check_chart(subject.scanned, path, findings));
    checked.collect()
}

fn check_chart(
    scanned: &Scanned,
    path: String,
    findings: &mut Vec<Finding>,
) -> Option<ChartImages> {
    let files = match read_files(scanned, &path)? {
        Ok(files) => files,
        Err(finding) => {
            findings.push(finding);
            return None;
        }
    };
    let entries = Entries(&files);
    let source = |chart| Source {
        path: path.clone(),
        absolute_path: path.clone(),
        chart_yaml: entries.file("Chart.yaml"),
        values_yaml: entries.file("values.yaml"),
        schema: entries.file("values.schema.json"),
        templates: entries.folder("templates/"),
        crds: entries.folder("crds/"),
        chart: Ok(chart),
    };
    let chart = match load::from_files(files.clone(), PROFILE, &mut |_| {}) {
        Ok(chart) => chart,
        Err(error) => {
            findings.push(Finding::fatal(
                &path,
                format!("does not load: {}", one_line(&error)),
            ));
            return None;
        }
    };
    let has_errors = lint_chart(&path, &source(chart.clone()), findings);
    if !chart.metadata.chart_type.is_empty() && chart.metadata.chart_type != "application" {
        return None;
    }
    match find_images(&chart) {
        Ok(uses) => Some(ChartImages { chart: path, uses }),
        Err(error) => {
            if !has_errors {
                let message = format!("does not render with its default values: {error}");
                findings.push(Finding::fatal(&path, message));
            }
            None
        }
    }
}

/// The files of a chart folder or archive. `None` if there is neither; whether it is missing is checked elsewhere.
pub(crate) fn read_files(scanned: &Scanned, path: &str) -> Option<Result<Vec<File>, Finding>> {
    if scanned.file(path).is_some() {
        let Some(bytes) = scanned.bytes(path) else {
            return Some(Err(Finding::fatal(path, "is too large for a chart")));
        };
        let files = archive::read(bytes, PROFILE);
        return Some(files.map_err(|error| {
            Finding::fatal(
                path,
                format!("is not a chart archive: {}", one_line(&error)),
            )
        }));
    }
    let mut files = scanned.files_below(path).peekable();
    files.peek()?;
    Some(read_folder(scanned, path))
}

/// The files of a folder that its `.helmignore` does not ignore.
fn read_folder(scanned: &Scanned, path: &str) -> Result<Vec<File>, Finding> {
    let ignore_path = format!("{path}/{}", ignore::FILE_NAME);
    let rules = ignore::Rules::parse(scanned.bytes(&ignore_path).unwrap_or_default());
    let rules = rules.map_err(|error| Finding::fatal(&ignore_path, one_line(&error)))?;
    let mut files = Vec::new();
    for (file_path, file) in scanned.files_below(path) {
        let name = &file_path[path.len() + 1..];
        let mut folders = name.match_indices('/').map(|(at, _)| &name[..at]);
        if rules.ignores(name, false) || folders.any(|folder| rules.ignores(folder, true)) {
            continue;
        }
        let Some(bytes) = scanned.bytes(file_path) else {
            let message = format!("has {} bytes, which is too large for a chart", file.size);
            return Err(Finding::fatal(file_path, message));
        };
        files.push(File {
            name: name.to_owned(),
            data: bytes.into(),
        });
    }
    Ok(files)
}

/// The files of a chart as lint looks at them.
#[derive(Clone, Copy)]
struct Entries<'f>(&'f [File]);

impl Entries<'_> {
    fn file(self, name: &str) -> Entry {
        let file = self.0.iter().find(|file| file.name == name);
        file.map_or(Entry::Missing, |file| Entry::File(file.data.to_vec()))
    }

    fn folder(self, prefix: &str) -> Entry {
        let exists = self.0.iter().any(|file| file.name.starts_with(prefix));
        if exists {
            Entry::Folder
        } else {
            Entry::Missing
        }
    }
}

/// Reports errors and warnings of lint. Returns whether there were errors.
fn lint_chart(path: &str, source: &Source, findings: &mut Vec<Finding>) -> bool {
    let options = LintOptions {
        profile: PROFILE,
        namespace: "default".to_owned(),
        kube_version: None,
        skip_schema: false,
        strict: false,
        quiet: true,
    };
    let report = lint::lint(source, &Map::default(), &options, &OfflineHost);
    let mut has_errors = false;
    for message in &report.messages {
        let finding = lint_finding(path, &source.chart, message);
        match message.severity {
            Severity::Info => {}
            Severity::Warning => findings.push(finding),
            Severity::Error => {
                has_errors = true;
                findings.push(finding);
            }
        }
    }
    has_errors
}

/// A message of lint, which names the file of the chart, or the template and its line at the beginning of the text.
fn lint_finding(path: &str, chart: &Result<Chart, load::Error>, message: &Message) -> Finding {
    let new = |file: String, text: String| match message.severity {
        Severity::Error => Finding::fatal(file, text),
        Severity::Info | Severity::Warning => Finding::warning(file, text),
    };
    let text = one_line(&message.text);
    let name = chart.as_ref().map(Chart::name).unwrap_or_default();
    if let Some((file, line, text)) = template_location(name, &text) {
        return new(format!("{path}/{file}"), text).at(line);
    }
    let file = message.path.trim_end_matches('/');
    if file.is_empty() || file == path {
        new(path.to_owned(), text)
    } else {
        new(format!("{path}/{file}"), text)
    }
}

/// Splits `CHART/FILE:LINE:COLUMN MESSAGE`, as templates are named in errors.
fn template_location(chart: &str, text: &str) -> Option<(String, usize, String)> {
    let rest = text.strip_prefix("template: ").unwrap_or(text);
    let rest = rest.strip_prefix(chart)?.strip_prefix('/')?;
    let (file, rest) = rest.split_once(':')?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let line = rest[..digits].parse().ok()?;
    let message = rest.trim_start_matches(|char: char| char.is_ascii_digit() || char == ':');
    Some((file.to_owned(), line, message.trim_start().to_owned()))
}

fn find_images(chart: &Chart) -> Result<Vec<ImageUse>, String> {
    let options = RenderOptions::new(PROFILE, "release-name", "default");
    let rendered = render(chart, &Map::default(), &options, &OfflineHost, &mut |_| {});
    rendered
        .map(|rendered| images::find(&rendered))
        .map_err(|error| one_line(&error))
}

/// Helm's messages may have several lines.
pub(crate) fn one_line(message: &impl ToString) -> String {
    let text = message.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}
