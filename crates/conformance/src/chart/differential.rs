//! `differential`: renders random charts with both Helm majors and with Outrigger, each profile against its own Helm.
//! Charts with differences are saved.
#![expect(
    clippy::print_stdout,
    reason = "the report is the output of this command"
)]

use std::path::{Path, PathBuf};

use anyhow::bail;

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
    /// Number of random cases, over all families
    #[arg(long, default_value_t = 2000)]
    cases: usize,
    /// Seed of the random generator; a run prints it
    #[arg(long)]
    seed: Option<u64>,
    /// Only this family
    #[arg(long, value_enum)]
    family: Option<Family>,
    /// Stop a family after this many differences
    #[arg(long = "most", default_value_t = 10)]
    max_differences: usize,
}

/// What is random in a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Family {
    /// Values for toYaml, toJson and toYamlPretty; texts for fromYaml
    Yaml,
    /// Function calls
    Functions,
    /// Values that override those of the golden charts and of the examples
    Overrides,
}

const FAMILIES: [Family; 3] = [Family::Yaml, Family::Functions, Family::Overrides];

/// The results of a family so far.
#[derive(Debug, Default)]
struct Results {
    cases: usize,
    /// Cases that both reject with the same error.
    rejected: usize,
    /// Cases on which Helm crashes or does not terminate.
    skipped: usize,
    differences: Vec<String>,
}

pub(crate) fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let seed = args.seed.unwrap_or_else(|| fastrand::u64(..));
    let saved = root().join("target").join("differential");
    let engines = Engines::new(binary.to_owned(), saved)?;
    let families = args
        .family
        .map_or_else(|| FAMILIES.to_vec(), |family| vec![family]);
    let share = args.cases.div_ceil(families.len());
    println!("seed {seed}");
    let mut differences = 0;
    for family in families {
        let mut run = Run {
            engines: &engines,
            random: fastrand::Rng::with_seed(seed),
            results: Results::default(),
        };
        run.family(family, share, args.max_differences)?;
        let results = run.results;
        println!(
            "{family:?}: {} cases, {} rejected by both with the same error, {} skipped because Helm crashes, {} differences",
            results.cases,
            results.rejected,
            results.skipped,
            results.differences.len()
        );
        for difference in &results.differences {
            println!("{difference}");
        }
        differences += results.differences.len();
    }
    if differences > 0 {
        bail!("{differences} differences");
    }
    Ok(())
}

/// The run of one family.
struct Run<'a> {
    engines: &'a Engines,
    random: fastrand::Rng,
    results: Results,
}

impl Run<'_> {
    fn family(
        &mut self,
        family: Family,
        cases: usize,
        max_differences: usize,
    ) -> anyhow::Result<()> {
        while self.results.cases < cases && self.results.differences.len() < max_differences {
            let remaining = cases - self.results.cases;
            match family {
                Family::Yaml => round_trips::batch(self, remaining)?,
                Family::Functions => functions::batch(self, remaining)?,
                Family::Overrides => overrides::batch(self, remaining)?,
            }
        }
        Ok(())
    }
}

/// Writes a chart without templates.
fn write_chart(directory: &Path, values: impl AsRef<[u8]>) -> anyhow::Result<()> {
    fs_err::create_dir_all(directory.join("templates"))?;
    fs_err::write(
        directory.join("Chart.yaml"),
        "apiVersion: v2\nname: differential\nversion: 0.1.0\n",
    )?;
    Ok(fs_err::write(directory.join("values.yaml"), values)?)
}

/// The golden charts and the examples.
fn known_charts() -> anyhow::Result<Vec<PathBuf>> {
    let root = root();
    let mut charts = Vec::new();
    for (directory, subdirectory) in [
        ("crates/chart/tests/golden", "chart"),
        ("examples/charts", ""),
    ] {
        let directory = root.join(directory);
        if directory.is_dir() {
            for entry in fs_err::read_dir(directory)? {
                charts.push(entry?.path().join(subdirectory));
            }
        }
    }
    charts.retain(|chart| chart.join("Chart.yaml").is_file());
    charts.sort();
    Ok(charts)
}

/// The root of the workspace.
fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2);
    root.expect("this crate is two directories below the root")
        .to_owned()
}
