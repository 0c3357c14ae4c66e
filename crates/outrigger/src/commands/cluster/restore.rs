//! `outrigger cluster restore`: brings back the state of a cluster from a backup.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail, ensure};
use jiff::Timestamp;
use kube::ResourceExt as _;
use outrigger_api::annotation::RESTORE;
use outrigger_api::cluster::{Cluster, ClusterPhase};
use outrigger_api::machine::Machine;
use outrigger_api::step::FlowName;
use outrigger_cluster::backup::{self, Backup};
use outrigger_cluster::lifecycle;
use outrigger_node::{Command, Entry, Tree};

use super::certificates::ensure_installed;
use super::change::{ChangeFlags, Outcome};
use super::wait::ClusterCondition;
use super::{edit, machines};
use crate::commands::machine::connect::on_each;
use crate::commands::plugin::connect::Connection;
use crate::printer::Printer;
use crate::report::{HintExt as _, note};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster restore cls-1 cls-1.backup --dry-run
  outrigger cluster restore cls-1 cls-1.backup --yes --wait --timeout 20m

All control planes are stopped, get the data of the backup, and are started again. What was changed in the cluster since the
backup is lost. The former data stays on the machines in /var/lib/etcd/member.before-restore.";

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Backup of this cluster, from outrigger cluster backup
    file: PathBuf,
    /// Confirm that what was changed since the backup is lost
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    change: ChangeFlags,
}

pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<()> {
    let change = &args.change;
    let (path, file) = (args.file.clone(), args.file.display());
    let read = tokio::task::spawn_blocking(move || -> anyhow::Result<Backup> {
        let file = fs_err::File::open(path)?;
        Ok(backup::read(std::io::BufReader::new(file))?)
    });
    let backup = read.await?.with_context(|| format!("{file} is refused"))?;
    let connection = change.server.connect().await?;
    let cluster = edit::get(&connection, &args.name).await?;
    ensure_restorable(&cluster, &backup).with_context(|| format!("{file} is not restored"))?;
    let control_planes = control_planes(&connection, &cluster).await?;
    check_machines(&connection, &cluster, &backup, control_planes.clone()).await?;
    let request = format!("{}@{}", backup.digest, Timestamp::now());
    if !change.dry_run {
        if !args.yes {
            let taken = &backup.description.taken;
            return Err(anyhow!(
                "what was changed in cluster {} since {taken} would be lost; nothing was changed",
                args.name
            ))
            .hint("--yes restores the backup, --dry-run only checks whether that is possible");
        }
        upload(&connection, &args.file, &backup, control_planes).await?;
    }
    edit::edit(&connection, &cluster, change.dry_run, |cluster| {
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(RESTORE.to_owned(), request.clone());
        Ok(())
    })
    .await?;
    let outcome = Outcome {
        requested: ": restore requested",
        done: " is restored",
    };
    let condition = ClusterCondition::Done {
        flow: FlowName::Restore,
        request,
    };
    let names = [args.name.clone()];
    change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}

/// Fails if the backup is of another cluster or version, or if something else is being done.
pub(super) fn ensure_restorable(cluster: &Cluster, backup: &Backup) -> anyhow::Result<()> {
    ensure_installed(cluster)?;
    if let Some(reason) = backup.description.refused(cluster) {
        bail!("{reason}");
    }
    let name = cluster.name_any();
    let status = cluster.status.clone().unwrap_or_default();
    let is_quiet = [ClusterPhase::Running, ClusterPhase::Failed].contains(&status.phase);
    if !is_quiet {
        let error = anyhow!("cluster {name} is {:?}", status.phase);
        return Err(error).hint(format!(
            "wait until that has ended: outrigger cluster status {name} --watch"
        ));
    }
    Ok(())
}

/// The machines of the control plane, all of which are restored.
async fn control_planes(
    connection: &Connection,
    cluster: &Cluster,
) -> anyhow::Result<Vec<Machine>> {
    let machines = machines(connection, &cluster.name_any()).await?;
    let machines: Vec<&Machine> = machines.iter().collect();
    let mut found = lifecycle::control_planes(cluster, &machines);
    found.retain(|machine| !lifecycle::is_removed(machine));
    ensure!(
        !found.is_empty(),
        "the cluster has no machine of the control plane"
    );
    Ok(found.into_iter().cloned().collect())
}

/// Fails if one of the machines cannot be restored. Nothing is changed.
async fn check_machines(
    connection: &Connection,
    cluster: &Cluster,
    backup: &Backup,
    machines: Vec<Machine>,
) -> anyhow::Result<()> {
    let command = Command::shell(backup::check(cluster, backup));
    let work = async |machine: &outrigger_node::Machine| {
        let output = machine.run(&command).await?;
        let errors = output.stderr.text();
        ensure!(output.status.is_success(), "{}", errors.trim());
        Ok(())
    };
    let mut failed = 0_usize;
    on_each(&connection.client, machines, work, |done| {
        if let Err(error) = done.result {
            failed += 1;
            note(&format!("{error:#}"));
        }
        Ok(())
    })
    .await?;
    if failed == 0 {
        return Ok(());
    }
    Err(anyhow!(
        "the backup is not restored: not all control planes can be; nothing was changed"
    ))
    .hint("repair the machines, or replace those that do not come back: outrigger machine replace")
}

/// Copies the backup to all machines. If that fails on one, it stays on none.
async fn upload(
    connection: &Connection,
    file: &Path,
    backup: &Backup,
    machines: Vec<Machine>,
) -> anyhow::Result<()> {
    let tree = tree(file, backup)?;
    let mut failed = 0_usize;
    let copy = async |machine: &outrigger_node::Machine| {
        // What was left of another attempt.
        let folder = "rm -rf /var/lib/outrigger/node/restore/*.tar";
        machine.run(&Command::shell(folder)).await?;
        Ok(machine.copy(&tree).await.map(drop)?)
    };
    on_each(&connection.client, machines.clone(), copy, |done| {
        if let Err(error) = done.result {
            failed += 1;
            note(&format!("{error:#}"));
        }
        Ok(())
    })
    .await?;
    if failed == 0 {
        return Ok(());
    }
    let remove = async |machine: &outrigger_node::Machine| Ok(machine.remove(&tree).await?);
    // The first failure is the one that matters.
    on_each(&connection.client, machines, remove, |_| Ok(())).await?;
    bail!("the backup could not be copied to all control planes; nothing was restored")
}

/// The backup as a file of machines.
fn tree(file: &Path, backup: &Backup) -> anyhow::Result<Tree> {
    let file = std::path::absolute(file)?;
    let (folder, name) = file
        .parent()
        .zip(file.file_name())
        .context("the backup is not a file")?;
    let destination = backup::restored_file(&backup.digest);
    let entry = Entry {
        source: PathBuf::from(name),
        destination: destination.clone(),
    };
    let tree = Tree::scan(folder, &[entry], &BTreeSet::new())?;
    ensure!(
        tree.digest_of(&destination) == Some(backup.digest.as_str()),
        "the backup has changed since it was read"
    );
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use outrigger_cluster::backup::Description;
    use serde_json::{Value, json};

    use super::*;

    fn cluster(status: &Value) -> Cluster {
        serde_json::from_value(json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Cluster", "metadata": {"name": "a", "uid": "u"},
            "spec": {"provider": "baremetal", "version": "1.36.4"}, "status": status,
        }))
        .unwrap()
    }

    fn refused(cluster: &Cluster) -> Option<String> {
        let installed = self::cluster(&json!({"version": "1.36.4"}));
        let backup = Backup {
            description: Description::new(&installed, "cp1", Timestamp::UNIX_EPOCH),
            ca: String::new(),
            snapshot: 0,
            digest: String::new(),
        };
        let checked = ensure_restorable(cluster, &backup);
        checked.err().map(|error| error.to_string())
    }

    #[test]
    fn a_cluster_that_is_being_changed_or_is_another_one_is_not_restored() {
        let running = json!({"version": "1.36.4", "phase": "Running"});
        assert_eq!(refused(&cluster(&running)), None);
        let failed = json!({"version": "1.36.4", "phase": "Failed"});
        assert_eq!(refused(&cluster(&failed)), None);
        let upgrading = json!({"version": "1.36.4", "phase": "Upgrading"});
        assert_eq!(
            refused(&cluster(&upgrading)).unwrap(),
            "cluster a is Upgrading"
        );
        let new = refused(&cluster(&json!({})));
        assert_eq!(new.unwrap(), "cluster a is not installed yet");
        let mut other = cluster(&running);
        other.metadata.uid = Some("v".to_owned());
        assert!(refused(&other).unwrap().contains("another cluster"));
        let mut stand_in = cluster(&running);
        stand_in.spec.provider = None;
        assert!(refused(&stand_in).unwrap().contains("not installed by"));
    }
}
