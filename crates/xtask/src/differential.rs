//! `cargo xtask differential`: random charts through both real Helms and through Outrigger, each profile against
//! its own Helm. Whatever differs is kept as a chart that shows it.

use std::path::PathBuf;

use anyhow::bail;
use outrigger_testing::peers;

use crate::{binary, peers as install, tidy};

mod engines;
mod expressions;
mod functions;
mod json_values;
mod overrides;
mod round_trips;
mod yaml_texts;

use engines::Engines;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// How many random cases, over all families
    #[arg(long, default_value_t = 2000)]
    cases: usize,
    /// Where the randomness starts; a run prints it
    #[arg(long)]
    seed: Option<u64>,
    /// Only this family
    #[arg(long, value_enum)]
    family: Option<Family>,
    /// Stop after so many differences
    #[arg(long, default_value_t = 10)]
    most: usize,
}

/// What is random in a case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Family {
    /// Values through toYaml, toJson, toYamlPretty; texts through fromYaml
    Yaml,
    /// Calls of functions
    Functions,
    /// Overrides on charts that are tested elsewhere with fixed values
    Overrides,
}

const FAMILIES: [Family; 3] = [Family::Yaml, Family::Functions, Family::Overrides];

/// What a family found out so far.
#[derive(Debug, Default)]
struct Tally {
    cases: usize,
    /// Cases that both refuse with the same words.
    refused: usize,
    /// Cases that Helm does not survive.
    deadly: usize,
    differences: Vec<String>,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    install::install(&[peers::HELM3, peers::HELM4])?;
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let keep = tidy::root().join("target").join("differential");
    let engines = Engines::new(binary::release()?, keep)?;
    let families = args
        .family
        .map_or_else(|| FAMILIES.to_vec(), |family| vec![family]);
    let share = args.cases.div_ceil(families.len());
    say(&format!("seed {seed}"));
    let mut differences = 0;
    for family in families {
        let mut random = fastrand::Rng::with_seed(seed);
        let tally = run_family(family, &engines, share, args.most, &mut random)?;
        say(&format!(
            "{family:?}: {} cases, {} of them refused by both with the same words, {} left out since Helm dies of \
             them, {} differences",
            tally.cases,
            tally.refused,
            tally.deadly,
            tally.differences.len()
        ));
        tally
            .differences
            .iter()
            .for_each(|difference| say(difference));
        differences += tally.differences.len();
    }
    if differences > 0 {
        bail!("{differences} differences");
    }
    Ok(())
}

fn run_family(
    family: Family,
    engines: &Engines,
    cases: usize,
    most: usize,
    random: &mut fastrand::Rng,
) -> anyhow::Result<Tally> {
    let mut tally = Tally::default();
    while tally.cases < cases && tally.differences.len() < most {
        let wanted = cases - tally.cases;
        match family {
            Family::Yaml => round_trips::batch(engines, wanted, random, &mut tally)?,
            Family::Functions => functions::batch(engines, wanted, random, &mut tally)?,
            Family::Overrides => overrides::batch(engines, wanted, random, &mut tally)?,
        }
    }
    Ok(tally)
}

/// Charts whose values the overrides change: those that are committed with expected results, and the examples.
fn known_charts() -> anyhow::Result<Vec<PathBuf>> {
    let root = tidy::root();
    let mut charts = Vec::new();
    for (folder, inside) in [
        ("crates/chart/tests/golden", "chart"),
        ("examples/charts", ""),
    ] {
        let folder = root.join(folder);
        if folder.is_dir() {
            for entry in fs_err::read_dir(folder)? {
                charts.push(entry?.path().join(inside));
            }
        }
    }
    charts.retain(|chart| chart.join("Chart.yaml").is_file());
    charts.sort();
    Ok(charts)
}

#[expect(clippy::print_stderr, reason = "tasks talk to the developer on stderr")]
fn say(text: &str) {
    eprintln!("{text}");
}
