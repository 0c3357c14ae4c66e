//! `conformance api`: runs every case on a real and on the embedded API server and compares the responses.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Instant;

use anyhow::bail;
use futures::StreamExt as _;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use serde_json::Value;

use crate::client::{Client, Endpoint};
use crate::process::{self, EmbeddedServer};

mod case;
mod compare;
mod execute;
mod known_differences;
mod mask;
mod order;
mod report;
mod variables;
mod watch;

use case::Case;
use compare::Difference;
use known_differences::KnownDifference;

const CONCURRENT_CASES: usize = 8;

/// The controllers that belong to the API itself. Without the others, workloads stay as they were written, so that
/// responses can be compared.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
    root-ca-certificate-publisher-controller,clusterrole-aggregation-controller";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only cases whose name or topic contains this text
    #[arg(long, default_value = "")]
    case: String,
    /// `real` compares two real servers, to check that the cases are deterministic
    #[arg(long)]
    only: Option<Only>,
    /// Print the responses of the real server
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Real,
}

#[derive(Debug)]
struct CaseResult {
    case: Case,
    /// Unexpected differences.
    differences: Vec<Difference>,
    /// Indexes of the known differences that were observed.
    known: Vec<usize>,
    /// Why the case could not be run, or does not have the expected status code.
    failure: Option<String>,
    /// The responses of the real server.
    real: Vec<Value>,
}

impl CaseResult {
    fn is_equal(&self) -> bool {
        self.failure.is_none() && self.differences.is_empty()
    }
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = case::load(&directory.join("cases"))?;
    cases.retain(|case| case.name.contains(&args.case) || case.topic.contains(&args.case));
    let known = match args.only {
        Some(Only::Real) => Vec::new(),
        None => known_differences::load(&directory.join("differences.yaml"))?,
    };
    let scratch = tempfile::tempdir()?;
    let real = RealKubernetes::start(real_options()).await?;
    let other = Other::start(binary, args, scratch.path()).await?;
    let servers = [Endpoint::read(real.kubeconfig())?, other.endpoint()?];
    let mut results: Vec<CaseResult> = futures::stream::iter(cases)
        .map(|case| compare_case(case, &servers, &known))
        .buffered(CONCURRENT_CASES)
        .collect()
        .await;
    results.sort_by(|a, b| a.case.topic.cmp(&b.case.topic));
    if args.show {
        report::print_responses(&results);
    }
    let stale = stale(&known, &results);
    report::print(&results, &known, &stale, start.elapsed());
    let failed: Vec<&str> = results
        .iter()
        .filter(|result| !result.is_equal())
        .map(|result| result.case.name.as_str())
        .collect();
    if !failed.is_empty() || !stale.is_empty() {
        bail!(
            "{} cases differ: {}; {} known differences were not observed",
            failed.len(),
            failed.join(", "),
            stale.len()
        );
    }
    Ok(())
}

fn real_options() -> Options {
    Options {
        controllers: Some(CONTROLLERS),
        ..Options::default()
    }
}

/// The server that is compared with the first real one.
enum Other {
    Embedded(Box<EmbeddedServer>),
    Real(Box<RealKubernetes>),
}

impl Other {
    async fn start(binary: &Path, args: &Args, scratch: &Path) -> anyhow::Result<Self> {
        if args.only == Some(Only::Real) {
            let real = RealKubernetes::start(real_options()).await?;
            return Ok(Self::Real(Box::new(real)));
        }
        let options = process::Options {
            binary: binary.to_owned(),
            data: scratch.join("data"),
            simulate_workloads: false,
        };
        let server = EmbeddedServer::start(&options).await?;
        Ok(Self::Embedded(Box::new(server)))
    }

    fn endpoint(&self) -> anyhow::Result<Endpoint> {
        match self {
            Self::Embedded(server) => Ok(server.endpoint.clone()),
            Self::Real(server) => Endpoint::read(server.kubeconfig()),
        }
    }
}

/// Runs a case on its own connection.
async fn responses(server: &Endpoint, case: &Case) -> anyhow::Result<Vec<Value>> {
    execute::run(&Client::connect(server).await?, case).await
}

async fn compare_case(
    case: Case,
    servers: &[Endpoint; 2],
    known: &[KnownDifference],
) -> CaseResult {
    let [real, ours] = servers;
    let (real, ours) = tokio::join!(responses(real, &case), responses(ours, &case));
    let mut result = CaseResult {
        case,
        differences: Vec::new(),
        known: Vec::new(),
        failure: None,
        real: Vec::new(),
    };
    let (real, ours) = match (real, ours) {
        (Ok(real), Ok(ours)) => (real, ours),
        (Err(error), _) => {
            result.failure = Some(format!("real server: {error:#}"));
            return result;
        }
        (Ok(real), Err(error)) => {
            result.failure = Some(format!("embedded server: {error:#}"));
            result.real = real;
            return result;
        }
    };
    for (index, (real, ours)) in real.iter().zip(&ours).enumerate() {
        let step = &result.case.steps[index];
        if real["code"] != step.expected_code() && result.failure.is_none() {
            result.failure = Some(format!(
                "step {} ({}): the real server returned {}, but the case expects {}: {}",
                index + 1,
                step.title(),
                real["code"],
                step.expected_code(),
                real["body"]
            ));
        }
        for difference in compare::responses(index + 1, real, ours) {
            let case = &result.case;
            match known
                .iter()
                .position(|known| known.covers(case, &difference))
            {
                Some(index) => result.known.push(index),
                None => result.differences.push(difference),
            }
        }
    }
    result.real = real;
    result
}

/// Known differences that were not observed although one of their cases ran.
fn stale<'a>(known: &'a [KnownDifference], results: &[CaseResult]) -> Vec<&'a KnownDifference> {
    let observed: BTreeSet<usize> = results
        .iter()
        .flat_map(|result| result.known.iter().copied())
        .collect();
    let ran = || results.iter().map(|result| &*result.case.name);
    known
        .iter()
        .enumerate()
        .filter(|(index, known)| !observed.contains(index) && known.applies_to_any(ran()))
        .map(|(_, known)| known)
        .collect()
}
