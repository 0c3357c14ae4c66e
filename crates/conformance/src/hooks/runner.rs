//! Copies files to machines and runs two hooks on each, in a process of its own, so that its time and memory can be
//! measured. Uses the machines directly; it is what a flow does on them.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context as _, ensure};
use futures::StreamExt as _;
use outrigger_node::{
    AttemptId, Command, Connector, Credentials, Entry, HostKeyPolicy, Machine, Target, Tree,
};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// A file with one address per line
    #[arg(long)]
    machines: PathBuf,
    #[arg(long)]
    private_key: PathBuf,
    #[arg(long)]
    host_key: String,
    /// The folder with the folder `hooks`
    #[arg(long)]
    files: PathBuf,
    #[arg(long)]
    destination: String,
    /// Machines that are worked on at the same time
    #[arg(long, default_value_t = 50)]
    limit: usize,
}

/// The hooks of the folder.
pub(super) const HOOKS: [&str; 2] = ["pre/pre-install", "post/post-install"];

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let entries = [Entry {
        source: "hooks".into(),
        destination: args.destination.clone(),
    }];
    let hooks: BTreeSet<String> = HOOKS
        .iter()
        .map(|hook| format!("{}/{hook}", args.destination))
        .collect();
    let tree = Arc::new(Tree::scan(&args.files, &entries, &hooks)?);
    let key = fs_err::read_to_string(&args.private_key)?;
    let connector = Connector::default();
    let addresses = fs_err::read_to_string(&args.machines)?;
    let work = addresses.lines().map(|address| {
        let target = Target {
            address: address
                .parse()
                .expect("the benchmark writes valid addresses"),
            credentials: Credentials::private_key(&key),
            host_key: HostKeyPolicy::pinned(args.host_key.parse().expect("a valid host key")),
            jump: None,
        };
        let machine = Machine::ssh(target, &connector);
        let (tree, destination) = (Arc::clone(&tree), args.destination.clone());
        async move {
            let work = on_machine(&machine, &tree, &destination);
            Box::pin(work)
                .await
                .with_context(|| machine.name().to_owned())
        }
    });
    let mut work = futures::stream::iter(work)
        .map(tokio::spawn)
        .buffer_unordered(args.limit);
    while let Some(result) = work.next().await {
        result??;
    }
    Ok(())
}

async fn on_machine(machine: &Machine, tree: &Tree, destination: &str) -> anyhow::Result<()> {
    let report = machine.copy(tree).await?;
    ensure!(
        report.transferred == 4,
        "{} files were copied",
        report.transferred
    );
    for hook in HOOKS {
        let path = format!("{destination}/{hook}");
        let attempt = AttemptId::new(hook, format!("{destination}/{hook}/1"));
        let outcome = machine
            .run_attempt(&attempt, &Command::new(&path, ["a=b"]))
            .await?;
        ensure!(outcome.is_success(), "{hook}: {outcome:?}");
    }
    Ok(())
}
