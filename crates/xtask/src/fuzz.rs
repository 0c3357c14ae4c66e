//! `cargo xtask fuzz`: builds the fuzz targets with coverage and runs them.
//!
//! The stable flags of the compiler are enough for libFuzzer's coverage, so no nightly toolchain is needed.

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::process::{command, run as run_program};
use crate::tidy;

const COVERAGE: &[&str] = &[
    "--cfg=fuzzing",
    "-Cpasses=sancov-module",
    "-Cllvm-args=-sanitizer-coverage-level=4",
    "-Cllvm-args=-sanitizer-coverage-inline-8bit-counters",
    "-Cllvm-args=-sanitizer-coverage-pc-table",
    "-Cllvm-args=-sanitizer-coverage-trace-compares",
    "-Ccodegen-units=1",
];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The target, a file of fuzz/targets [default: all, one after the other]
    target: Option<String>,
    /// Duration of each target
    #[arg(long, default_value_t = 10)]
    minutes: u32,
}

pub(crate) fn run(args: &Args) -> anyhow::Result<()> {
    let fuzz = tidy::root().join("fuzz");
    let known = targets(&fuzz)?;
    let selected = match &args.target {
        Some(target) if known.contains(target) => vec![target.clone()],
        Some(target) => bail!(
            "there is no target {target:?}; there are {}",
            known.join(", ")
        ),
        None => known,
    };
    selected.iter().try_for_each(|target| {
        build(&fuzz, target)?;
        fuzz_one(&fuzz, target, args.minutes)
    })
}

fn targets(fuzz: &Path) -> anyhow::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs_err::read_dir(fuzz.join("targets"))? {
        let path = entry?.path();
        names.push(
            path.file_stem()
                .context("the target has no name")?
                .to_string_lossy()
                .into_owned(),
        );
    }
    names.sort();
    Ok(names)
}

/// Builds one target. Its feature of the same name selects its dependencies.
fn build(fuzz: &Path, target: &str) -> anyhow::Result<()> {
    let mut cargo = command(env!("CARGO"), fuzz);
    cargo
        .args(["build", "--release", "--quiet"])
        .args(["--bin", target, "--features", target])
        .env("CARGO_TARGET_DIR", fuzz.join("target"));
    // With an explicit target platform, the flags do not apply to build scripts.
    cargo
        .args(["--target", "x86_64-unknown-linux-gnu"])
        .env("RUSTFLAGS", COVERAGE.join(" "));
    run_program(&mut cargo)
}

/// Runs one target. New inputs go to fuzz/corpus, failing inputs to fuzz/artifacts; `fuzz/seeds/TARGET` is committed.
fn fuzz_one(fuzz: &Path, target: &str, minutes: u32) -> anyhow::Result<()> {
    let corpus = fuzz.join("corpus").join(target);
    fs_err::create_dir_all(&corpus)?;
    fs_err::create_dir_all(fuzz.join("artifacts"))?;
    let mut program = command(
        fuzz.join("target/x86_64-unknown-linux-gnu/release")
            .join(target),
        fuzz,
    );
    program.arg(&corpus);
    let seeds = fuzz.join("seeds").join(target);
    if seeds.is_dir() {
        program.arg(seeds);
    }
    program.args([
        &format!("-max_total_time={}", minutes * 60),
        "-timeout=10",
        "-rss_limit_mb=2048",
        "-print_final_stats=1",
        &format!("-artifact_prefix={}/artifacts/{target}-", fuzz.display()),
    ]);
    run_program(&mut program).with_context(|| format!("target {target} failed, see fuzz/artifacts"))
}
