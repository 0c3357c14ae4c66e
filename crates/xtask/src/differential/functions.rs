//! Random calls of functions, one template file a case. A case that Helm refuses ends the whole run, so its error
//! is compared, its file is taken away, and the rest is rendered again.

use std::path::Path;

use fastrand::Rng;

use super::engines::{Engines, PROFILES, Pair, Profile, Rendered, first_difference};
use super::{Tally, expressions};

const BATCH: usize = 150;

/// What the expressions find in `.Values`.
const VALUES: &str = r#"{"s":"Hello World","e":"","n":5,"f":1.5,"z":0,"t":true,"nil":null,
"l":["a","b",3,null,true,"a"],"ls":["banana","apple","cherry","apple"],"ln":[3,1,2],"le":[],
"m":{"a":1,"b":"two","c":{"d":[1,2],"e":null},"z":""},"m2":{"b":"other","c":{"x":true},"n":7},"me":{}}"#;

pub(super) fn batch(
    engines: &Engines,
    wanted: usize,
    random: &mut Rng,
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let count = wanted.min(BATCH);
    let cases: Vec<String> = (0..count)
        .map(|_| expressions::expression(random))
        .collect();
    for profile in PROFILES {
        compare(engines, profile, &cases, tally)?;
    }
    tally.cases += count;
    Ok(())
}

/// Renders what is left of the cases until all of them were rendered or refused.
fn compare(
    engines: &Engines,
    profile: Profile,
    cases: &[String],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    let chart = scratch.path();
    fs_err::create_dir_all(chart.join("templates"))?;
    fs_err::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: differential\nversion: 0.1.0\n",
    )?;
    fs_err::write(chart.join("values.yaml"), VALUES)?;
    for (number, case) in cases.iter().enumerate() {
        fs_err::write(template(chart, number), text(number, case))?;
    }
    let mut left: Vec<usize> = (0..cases.len()).collect();
    while !left.is_empty() {
        let pair = engines.render(profile, chart, &[])?;
        if pair.theirs == Rendered::Died {
            return without_the_deadly(engines, profile, cases, &left, tally);
        }
        let Some(refused) = refused_case(&pair, &left) else {
            report(engines, profile, chart, &pair, cases, tally)?;
            return Ok(());
        };
        if pair.is_same() {
            tally.refused += 1;
        } else {
            let expression = cases.get(refused).map_or("", String::as_str);
            tally.differences.push(format!(
                "{} {{{{ {expression} }}}}{}",
                profile.name(),
                both(&pair)
            ));
        }
        fs_err::remove_file(template(chart, refused))?;
        left.retain(|number| *number != refused);
    }
    Ok(())
}

/// Helm died of these cases together, so each half is tried on its own. What it dies of alone is left out: a
/// template can put a map into itself, and Helm then walks through it for ever.
fn without_the_deadly(
    engines: &Engines,
    profile: Profile,
    cases: &[String],
    left: &[usize],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let left: Vec<String> = left.iter().filter_map(|&n| cases.get(n).cloned()).collect();
    if left.len() < 2 {
        tally.deadly += left.len();
        return Ok(());
    }
    let (first, second) = left.split_at(left.len() / 2);
    compare(engines, profile, first, tally)?;
    compare(engines, profile, second, tally)
}

/// The case that one of the two refuses, by the file that its error names.
fn refused_case(pair: &Pair, left: &[usize]) -> Option<usize> {
    let error = match (&pair.theirs, &pair.ours) {
        (Rendered::Refused(error), _) | (_, Rendered::Refused(error)) => error,
        (_, Rendered::Died) => "",
        _ => return None,
    };
    left.iter()
        .copied()
        .find(|number| error.contains(&format!("case-{number:04}")))
        .or_else(|| left.last().copied())
}

fn report(
    engines: &Engines,
    profile: Profile,
    chart: &Path,
    pair: &Pair,
    cases: &[String],
    tally: &mut Tally,
) -> anyhow::Result<()> {
    let (Rendered::Output(theirs), Rendered::Output(ours)) = (&pair.theirs, &pair.ours) else {
        return Ok(());
    };
    if theirs == ours {
        return Ok(());
    }
    engines.keep(profile, &format!("functions-{}", tally.cases), chart)?;
    let (theirs, ours) = (by_case(theirs), by_case(ours));
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
            tally.differences.push(format!(
                "{} {{{{ {case} }}}} {}",
                profile.name(),
                first_difference(&theirs, &ours)
            ));
        }
    }
    Ok(())
}

fn by_case(output: &str) -> Vec<String> {
    output.split("\n---\n").map(str::to_owned).collect()
}

fn both(pair: &Pair) -> String {
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

/// The result in three forms: its type, as Go prints it, as JSON.
fn text(number: usize, expression: &str) -> String {
    format!(
        "{{{{- $r := {expression} }}}}\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: case-{number:04}\ndata:\n  \
         type: {{{{ typeOf $r | quote }}}}\n  text: {{{{ printf \"%v\" $r | b64enc | quote }}}}\n  json: {{{{ toJson $r | b64enc | quote }}}}\n  \
         truth: {{{{ if $r }}}}yes{{{{ else }}}}no{{{{ end }}}}\n"
    )
}
