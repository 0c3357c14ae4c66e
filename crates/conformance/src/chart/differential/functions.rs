//! Random function calls, one template file per case. An error ends the rendering of the whole chart, so the error is
//! compared, its template is removed, and the other templates are rendered again.

use std::path::Path;

use super::engines::{Engines, PROFILES, Pair, Profile, Rendered, first_difference};
use super::{Results, Run, expressions, write_chart};

const BATCH: usize = 150;

/// The `.Values` of the expressions.
const VALUES: &str = r#"{"s":"Hello World","e":"","n":5,"f":1.5,"z":0,"t":true,"nil":null,
"l":["a","b",3,null,true,"a"],"ls":["banana","apple","cherry","apple"],"ln":[3,1,2],"le":[],
"m":{"a":1,"b":"two","c":{"d":[1,2],"e":null},"z":""},"m2":{"b":"other","c":{"x":true},"n":7},"me":{}}"#;

pub(super) fn batch(run: &mut Run<'_>, remaining: usize) -> anyhow::Result<()> {
    let count = remaining.min(BATCH);
    let cases: Vec<String> = (0..count)
        .map(|_| expressions::expression(&mut run.random))
        .collect();
    for profile in PROFILES {
        compare(run.engines, profile, &cases, &mut run.results)?;
    }
    run.results.cases += count;
    Ok(())
}

/// Renders the remaining cases until all of them are rendered or rejected.
fn compare(
    engines: &Engines,
    profile: Profile,
    cases: &[String],
    results: &mut Results,
) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let chart = scratch.path();
    write_chart(chart, VALUES)?;
    for (number, case) in cases.iter().enumerate() {
        fs_err::write(template(chart, number), text(number, case))?;
    }
    let mut remaining: Vec<usize> = (0..cases.len()).collect();
    while !remaining.is_empty() {
        let pair = engines.render(profile, chart, &[])?;
        if pair.theirs == Rendered::Crashed {
            return bisect(engines, profile, cases, &remaining, results);
        }
        let Some(rejected) = rejected_case(&pair, &remaining) else {
            report(engines, profile, chart, &pair, cases, results)?;
            return Ok(());
        };
        if pair.is_same() {
            results.rejected += 1;
        } else {
            let expression = cases.get(rejected).map_or("", String::as_str);
            results.differences.push(format!(
                "{} {{{{ {expression} }}}}{}",
                profile.name(),
                summaries(&pair)
            ));
        }
        fs_err::remove_file(template(chart, rejected))?;
        remaining.retain(|number| *number != rejected);
    }
    Ok(())
}

/// Helm crashes on these cases together, so each half is rendered on its own. A single case on which it crashes is
/// skipped: a template can add a map to itself, and Helm then recurses forever.
fn bisect(
    engines: &Engines,
    profile: Profile,
    cases: &[String],
    remaining: &[usize],
    results: &mut Results,
) -> anyhow::Result<()> {
    let cases: Vec<String> = remaining
        .iter()
        .filter_map(|&number| cases.get(number).cloned())
        .collect();
    if cases.len() < 2 {
        results.skipped += cases.len();
        return Ok(());
    }
    let (first, second) = cases.split_at(cases.len() / 2);
    compare(engines, profile, first, results)?;
    compare(engines, profile, second, results)
}

/// The case that one of the programs rejects: the one whose template the error names.
fn rejected_case(pair: &Pair, remaining: &[usize]) -> Option<usize> {
    let error = match (&pair.theirs, &pair.ours) {
        (Rendered::Rejected(error), _) | (_, Rendered::Rejected(error)) => error,
        (_, Rendered::Crashed) => "",
        _ => return None,
    };
    remaining
        .iter()
        .copied()
        .find(|number| error.contains(&format!("case-{number:04}")))
        .or_else(|| remaining.last().copied())
}

fn report(
    engines: &Engines,
    profile: Profile,
    chart: &Path,
    pair: &Pair,
    cases: &[String],
    results: &mut Results,
) -> anyhow::Result<()> {
    let (Rendered::Output(theirs), Rendered::Output(ours)) = (&pair.theirs, &pair.ours) else {
        return Ok(());
    };
    if theirs == ours {
        return Ok(());
    }
    engines.save(profile, &format!("functions-{}", results.cases), chart)?;
    let (theirs, ours) = (documents(theirs), documents(ours));
    for (number, case) in cases.iter().enumerate() {
        let name = format!("case-{number:04}");
        let find = |documents: &[String]| {
            documents
                .iter()
                .find(|document| document.contains(&name))
                .cloned()
                .unwrap_or_default()
        };
        let (theirs, ours) = (find(&theirs), find(&ours));
        if theirs != ours {
            results.differences.push(format!(
                "{} {{{{ {case} }}}} {}",
                profile.name(),
                first_difference(&theirs, &ours)
            ));
        }
    }
    Ok(())
}

fn documents(output: &str) -> Vec<String> {
    output.split("\n---\n").map(str::to_owned).collect()
}

fn summaries(pair: &Pair) -> String {
    format!(
        "\n    helm: {}\n    ours: {}",
        pair.theirs.summary(),
        pair.ours.summary()
    )
}

fn template(chart: &Path, number: usize) -> std::path::PathBuf {
    chart
        .join("templates")
        .join(format!("case-{number:04}.yaml"))
}

/// A template that prints the type of the result, the result as Go formats it, as JSON, and its truth.
fn text(number: usize, expression: &str) -> String {
    format!(
        "{{{{- $r := {expression} }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: case-{number:04}\ndata:\n  \
         type: {{{{ typeOf $r | quote }}}}\n  text: {{{{ printf \"%v\" $r | b64enc | quote }}}}\n  json: {{{{ toJson $r | b64enc | quote }}}}\n  \
         truth: {{{{ if $r }}}}yes{{{{ else }}}}no{{{{ end }}}}\n"
    )
}
