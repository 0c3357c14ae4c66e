//! `outrigger stack new`: a `cluster.yaml` to start from.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::ensure;
use outrigger_stack::configuration::Configuration;

use crate::printer::Printer;

pub(super) const EXAMPLES: &str = "\
Examples:
  outrigger stack new demo --region eu-west-1
  outrigger stack new demo --bucket s3://my-bucket/clusters -f clusters/demo.yaml";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Region of AWS
    #[arg(long, default_value = "us-east-1")]
    region: String,
    /// Where templates, user data and secrets are kept
    #[arg(long, value_name = "URI", default_value = "s3://BUCKET/PREFIX")]
    bucket: String,
    /// File to write; it must not exist
    #[arg(short = 'f', long, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,
}

pub(super) fn run(args: &Args, printer: &Printer) -> anyhow::Result<ExitCode> {
    let text = template(args);
    ensure!(
        is_stack_name(&args.name),
        "invalid cluster name {:?}: CloudFormation stacks are named after it, so use letters, digits and hyphens, \
         starting with a letter",
        args.name
    );
    // A name that YAML reads as something else is refused here, not by the next command.
    Configuration::parse(text.as_bytes())?;
    let mut file = fs_err::File::create_new(&args.file)?;
    file.write_all(text.as_bytes())?;
    printer.line(&format!("{} written", args.file.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Whether CloudFormation accepts it as the name of a stack, with room for a suffix.
fn is_stack_name(name: &str) -> bool {
    const MAX_LENGTH: usize = 63;
    name.len() <= MAX_LENGTH
        && name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || char == '-')
}

fn template(args: &Args) -> String {
    format!(
        "\
clusterName: {}
region: {}
s3URI: {}                 # templates, user data and secrets of the cluster
# kmsKeyArn: arn:aws:kms:...      # encrypts secrets

plugins:
  network:
    vpcCIDR: 10.0.0.0/16
  # Add-ons are off until they are enabled; `outrigger stack plugins` lists them.
  # rescheduler: {{enabled: true}}

nodePools:
- name: general
",
        args.name, args.region, args.bucket
    )
}
