//! Random overrides of the values of charts whose results are otherwise fixed.

use std::path::Path;

use fastrand::Rng;

use super::engines::{Engines, PROFILES, Rendered, first_difference};
use super::json_values::{self, pick};
use super::{Tally, known_charts};

pub(super) fn batch(
    engines: &Engines,
    wanted: usize,
    random: &mut Rng,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    for chart in known_charts()?.iter().take(wanted) {
        let flags = overrides(chart, random)?;
        compare(engines, chart, &flags, tally)?;
        tally.cases += 1;
    }
    Ok(())
}

fn compare(
    engines: &Engines,
    chart: &Path,
    flags: &[String],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    for profile in PROFILES {
        let pair = engines.render(profile, chart, flags)?;
        match (&pair.theirs, &pair.ours) {
            (Rendered::Refused(theirs), Rendered::Refused(ours)) if theirs == ours => {
                tally.refused += 1;
            }
            _ if pair.is_same() => {}
            (Rendered::Output(theirs), Rendered::Output(ours)) => {
                let what = first_difference(theirs, ours);
                tally.differences.push(format!(
                    "{} {} {flags:?} {what}",
                    profile.name(),
                    chart.display()
                ));
            }
            (theirs, ours) => {
                let what = format!("\n    helm: {theirs:.300?}\n    ours: {ours:.300?}");
                tally.differences.push(format!(
                    "{} {} {flags:?}{what}",
                    profile.name(),
                    chart.display()
                ));
            }
        }
    }
    Ok(())
}

/// One to three flags that set a path of the chart's values, or a path near one, to something random.
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

/// Dotted paths of the keys in values.yaml, subcharts' keys included as far as the parent names them. Reading
/// indentation is enough here: a path that is none is a test too.
fn paths(chart: &Path) -> anyhow::Result<Vec<String>> {
    let file = chart.join("values.yaml");
    if !file.is_file() {
        return Ok(Vec::new());
    }
    let mut above: Vec<(usize, String)> = Vec::new();
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
        above.retain(|(outer, _)| *outer < indent);
        above.push((indent, key.to_owned()));
        paths.push(
            above
                .iter()
                .map(|(_, key)| key.as_str())
                .collect::<Vec<_>>()
                .join("."),
        );
    }
    Ok(paths)
}
