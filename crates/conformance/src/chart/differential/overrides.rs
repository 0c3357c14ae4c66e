//! Random values that override those of known charts.

use std::path::Path;

use fastrand::Rng;

use super::engines::{Engines, PROFILES, Rendered};
use super::json_values::{self, pick};
use super::{Results, Run, known_charts};

pub(super) fn batch(run: &mut Run<'_>, remaining: usize) -> anyhow::Result<()> {
    for chart in known_charts()?.iter().take(remaining) {
        let flags = overrides(chart, &mut run.random)?;
        compare(run.engines, chart, &flags, &mut run.results)?;
        run.results.cases += 1;
    }
    Ok(())
}

fn compare(
    engines: &Engines,
    chart: &Path,
    flags: &[String],
    results: &mut Results,
) -> anyhow::Result<()> {
    for profile in PROFILES {
        let pair = engines.render(profile, chart, flags)?;
        match (&pair.theirs, &pair.ours) {
            (Rendered::Rejected(theirs), Rendered::Rejected(ours)) if theirs == ours => {
                results.rejected += 1;
            }
            _ if pair.is_same() => {}
            _ => results.differences.push(format!(
                "{} {} {flags:?} {}",
                profile.name(),
                chart.display(),
                pair.difference()
            )),
        }
    }
    Ok(())
}

/// One to three flags that set an existing or a new path of the chart's values to a random value.
fn overrides(chart: &Path, random: &mut Rng) -> anyhow::Result<Vec<String>> {
    let paths = paths(chart)?;
    let mut flags = Vec::new();
    for _ in 0..random.usize(1..4) {
        let path = match paths.get(random.usize(..paths.len().max(1))) {
            Some(path) if random.u32(..8) > 0 => path.clone(),
            Some(path) => format!("{path}.more"),
            None => "more".to_owned(),
        };
        let flag = match random.u32(..4) {
            0 => [
                "--set-json".to_owned(),
                format!(
                    "{path}={}",
                    json_values::value(random, 2).replace('\u{0}', "")
                ),
            ],
            1 => [
                "--set-string".to_owned(),
                format!("{path}={}", simple(random)),
            ],
            2 => ["--set".to_owned(), format!("{path}=null")],
            _ => ["--set".to_owned(), format!("{path}={}", simple(random))],
        };
        flags.extend(flag);
    }
    Ok(flags)
}

fn simple(random: &mut Rng) -> &'static str {
    pick(
        random,
        &[
            "", "true", "false", "0", "1", "5", "abc", "a b", "1.5", "{a,b}", "{}", "null",
            "x\\,y", "0123", "yes", "-1",
        ],
    )
}

/// Dotted paths of the keys in values.yaml, including values of subcharts that the parent sets. They are derived from
/// the indentation; a path that does not exist is a test case, too.
fn paths(chart: &Path) -> anyhow::Result<Vec<String>> {
    let file = chart.join("values.yaml");
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let mut parents: Vec<(usize, String)> = Vec::new();
    let mut paths = Vec::new();
    for line in fs_err::read_to_string(file)?.lines() {
        let indent = line.len() - line.trim_start().len();
        let Some((key, _)) = line.trim_start().split_once(':') else {
            continue;
        };
        if key.is_empty()
            || !key
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
        {
            continue;
        }
        parents.retain(|(outer, _)| *outer < indent);
        parents.push((indent, key.to_owned()));
        paths.push(
            parents
                .iter()
                .map(|(_, key)| key.as_str())
                .collect::<Vec<_>>()
                .join("."),
        );
    }
    Ok(paths)
}
