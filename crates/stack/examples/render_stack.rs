//! Initialises and renders a cluster: `render_stack CLUSTER.yaml OUTPUT [PLUGINS...]`. Findings go to stderr.
#![expect(
    clippy::print_stderr,
    reason = "an example without a printer of its own"
)]

use std::path::PathBuf;
use std::process::ExitCode;

use outrigger_stack::configuration::Configuration;
use outrigger_stack::pipeline::Pipeline;
use outrigger_stack::stage_files::{write_initialised, write_rendered};
use outrigger_stack::{Finding, catalog};

fn main() -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(cluster), Some(output)) = (arguments.next(), arguments.next()) else {
        return Err("usage: render_stack CLUSTER.yaml OUTPUT [PLUGINS...]".into());
    };
    let configuration = Configuration::parse(&fs_err::read(cluster)?)?;
    let folders: Vec<PathBuf> = arguments.collect();
    let pipeline = Pipeline::new(configuration, catalog::load(&folders)?, &[])?;
    let initialised = pipeline.initialise();
    print(&initialised.findings);
    let Some(initialised) = initialised.output else {
        return Ok(ExitCode::FAILURE);
    };
    fs_err::create_dir_all(&output)?;
    write_initialised(&output.join("initialise"), &initialised)?;
    let rendered = pipeline.render(&initialised);
    print(&rendered.findings);
    let Some(rendered) = rendered.output else {
        return Ok(ExitCode::FAILURE);
    };
    write_rendered(&output.join("render"), &rendered)?;
    Ok(ExitCode::SUCCESS)
}

fn print(findings: &[Finding]) {
    for finding in findings {
        eprintln!("{finding}");
    }
}
