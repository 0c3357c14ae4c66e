//! `conformance api`: every case on both servers, and what differs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use outrigger_testing::kubernetes::{Options, RealKubernetes};
use serde_json::Value;

use crate::case::{self, Case};
use crate::client::Client;
use crate::compare::{self, Difference};
use crate::differences::{self, Deliberate};
use crate::embedded::{self, Embedded};
use crate::endpoint::Endpoint;
use crate::{report, run};

/// Cases that run at the same time.
const AT_ONCE: usize = 8;

/// What belongs to the API itself. Workloads stay as they were written, so that answers can be compared.
const CONTROLLERS: &str = "garbage-collector-controller,namespace-controller,serviceaccount-controller,\
    root-ca-certificate-publisher-controller,clusterrole-aggregation-controller";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only cases whose name or topic has this in it
    #[arg(long, default_value = "")]
    case: String,
    /// `real` compares a real server with a second real one: are the cases deterministic?
    #[arg(long)]
    only: Option<Only>,
    /// The outrigger binary
    #[arg(long)]
    binary: Option<PathBuf>,
    /// Prints the answers of the real server
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum Only {
    Real,
}

/// What became of one case.
#[derive(Debug)]
pub(crate) struct Verdict {
    pub(crate) case: Case,
    /// Differences that nobody meant.
    pub(crate) differences: Vec<Difference>,
    /// Indexes of deliberate differences that showed.
    pub(crate) deliberate: Vec<usize>,
    /// Why it could not be run, or does not mean what it says.
    pub(crate) failure: Option<String>,
    pub(crate) real: Vec<Value>,
}

impl Verdict {
    pub(crate) fn is_equal(&self) -> bool {
        self.failure.is_none() && self.differences.is_empty()
    }
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let start = Instant::now();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut cases = case::load(&folder.join("cases"))?;
    cases.retain(|case| case.name.contains(&args.case) || case.topic.contains(&args.case));
    let deliberate = Arc::new(differences::load(&folder.join("differences.yaml"))?);
    let scratch = tempfile::tempdir()?;
    let real = RealKubernetes::start(real_options()).await?;
    let other = Other::start(args, scratch.path()).await?;
    let servers = [Endpoint::read(real.kubeconfig())?, other.endpoint()?];
    let known = if args.only.is_some() {
        Arc::default()
    } else {
        deliberate
    };
    let mut verdicts: Vec<Verdict> = futures::stream::iter(cases)
        .map(|case| judge(case, &servers, &known))
        .buffered(AT_ONCE)
        .collect()
        .await;
    verdicts.sort_by(|a, b| a.case.topic.cmp(&b.case.topic));
    if args.show {
        report::answers(&verdicts);
    }
    let stale = stale(&known, &verdicts);
    report::print(&verdicts, &known, &stale, start.elapsed());
    let failed: Vec<&str> = verdicts
        .iter()
        .filter(|verdict| !verdict.is_equal())
        .map(|verdict| verdict.case.name.as_str())
        .collect();
    if !failed.is_empty() || !stale.is_empty() {
        bail!(
            "{} cases differ: {}; {} listed differences do not",
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

/// The server to compare with.
enum Other {
    Embedded(Box<Embedded>),
    Real(Box<RealKubernetes>),
}

impl Other {
    async fn start(args: &Args, scratch: &Path) -> anyhow::Result<Self> {
        if args.only == Some(Only::Real) {
            let real = RealKubernetes::start(real_options()).await?;
            return Ok(Self::Real(Box::new(real)));
        }
        let options = embedded::Options {
            binary: args.binary.clone().context("--binary is needed")?,
            data: scratch.join("data"),
            simulate_workloads: false,
        };
        Ok(Self::Embedded(Box::new(Embedded::start(&options).await?)))
    }

    fn endpoint(&self) -> anyhow::Result<Endpoint> {
        match self {
            Self::Embedded(server) => Ok(server.endpoint.clone()),
            Self::Real(server) => Endpoint::read(server.kubeconfig()),
        }
    }
}

/// Runs a case on a connection of its own.
async fn answers(server: &Endpoint, case: &Case) -> anyhow::Result<Vec<Value>> {
    run::case(&Client::connect(server).await?, case).await
}

async fn judge(case: Case, servers: &[Endpoint; 2], known: &[Deliberate]) -> Verdict {
    let [real, ours] = servers;
    let (real, ours) = tokio::join!(answers(real, &case), answers(ours, &case));
    let mut verdict = Verdict {
        case,
        differences: Vec::new(),
        deliberate: Vec::new(),
        failure: None,
        real: Vec::new(),
    };
    let (real, ours) = match (real, ours) {
        (Ok(real), Ok(ours)) => (real, ours),
        (Err(error), _) => {
            verdict.failure = Some(format!("real server: {error:#}"));
            return verdict;
        }
        (Ok(real), Err(error)) => {
            verdict.failure = Some(format!("embedded server: {error:#}"));
            verdict.real = real;
            return verdict;
        }
    };
    for (index, (real, ours)) in real.iter().zip(&ours).enumerate() {
        let step = &verdict.case.steps[index];
        if real["code"] != step.expected() && verdict.failure.is_none() {
            verdict.failure = Some(format!(
                "step {} ({}): the real server answers {} and the case says {}: {}",
                index + 1,
                run::title(step),
                real["code"],
                step.expected(),
                real["body"]
            ));
        }
        for difference in compare::answers(index + 1, real, ours) {
            let case = &verdict.case;
            match known
                .iter()
                .position(|known| known.covers(case, &difference))
            {
                Some(known) => verdict.deliberate.push(known),
                None => verdict.differences.push(difference),
            }
        }
    }
    verdict.real = real;
    verdict
}

/// Listed differences that did not show although a case of theirs ran.
fn stale<'a>(known: &'a [Deliberate], verdicts: &[Verdict]) -> Vec<&'a Deliberate> {
    let mut shown = BTreeMap::new();
    for index in verdicts.iter().flat_map(|verdict| &verdict.deliberate) {
        *shown.entry(*index).or_insert(0) += 1;
    }
    let ran = || verdicts.iter().map(|verdict| &*verdict.case.name);
    known
        .iter()
        .enumerate()
        .filter(|(index, known)| !shown.contains_key(index) && known.concerns(ran()))
        .map(|(_, known)| known)
        .collect()
}
