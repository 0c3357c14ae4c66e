//! `outrigger cluster certificates`: the certificates of a cluster's machines with their expiry; renews them.

use anyhow::{anyhow, ensure};
use jiff::Timestamp;
use kube::ResourceExt as _;
use outrigger_api::annotation::RENEW_CERTIFICATES;
use outrigger_api::cluster::{Cluster, ClusterType};
use outrigger_api::machine::Machine;
use outrigger_api::step::FlowName;
use outrigger_cluster::certificates::{self, Certificate, LIST, Validity, WARNING_DAYS};
use outrigger_cluster::lifecycle;
use outrigger_node::Command;
use serde::Serialize;

use super::change::{ChangeFlags, Outcome};
use super::wait::ClusterCondition;
use super::{edit, machines};
use crate::arguments::OutputFlag;
use crate::commands::machine::connect::on_each;
use crate::commands::plugin::connect::Connection;
use crate::plural::counted;
use crate::printer::{Color, Printer, Row};
use crate::report::{HintExt as _, UsageError, note};

const EXAMPLES: &str = "\
Examples:
  outrigger cluster certificates cls-1
  outrigger cluster certificates cls-1 --fail-on-expired -o json
  outrigger cluster certificates cls-1 --renew --wait --timeout 15m";

/// Certificates that are named in a warning.
const MAX_NAMED: usize = 5;

#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Name of the cluster
    name: String,
    /// Renew the certificates of the control plane, then restart it on one machine after the other
    #[arg(long)]
    renew: bool,
    /// Exit with 1 if a certificate has expired
    #[arg(long, conflicts_with = "renew")]
    fail_on_expired: bool,
    #[command(flatten)]
    output: OutputFlag,
    #[command(flatten)]
    change: ChangeFlags,
}

/// A certificate of a machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
struct CertificateRow {
    machine: String,
    certificate: String,
    subject: String,
    file: String,
    expires: String,
    days_left: i64,
    validity: &'static str,
}

impl Row for CertificateRow {
    const HEADERS: &'static [&'static str] = &[
        "MACHINE",
        "CERTIFICATE",
        "SUBJECT",
        "EXPIRES",
        "LEFT",
        "VALIDITY",
    ];

    fn cells(&self) -> Vec<String> {
        vec![
            self.machine.clone(),
            self.certificate.clone(),
            self.subject.clone(),
            self.expires.clone(),
            format!("{}d", self.days_left),
            self.validity.to_owned(),
        ]
    }

    fn color(&self, column: usize) -> Option<Color> {
        let color = match self.validity {
            VALID => Color::Green,
            EXPIRED => Color::Red,
            _ => Color::Yellow,
        };
        (column == 5).then_some(color)
    }
}

const VALID: &str = "Valid";
const EXPIRING: &str = "Expiring";
const EXPIRED: &str = "Expired";

impl CertificateRow {
    fn new(machine: &str, certificate: &Certificate, now: Timestamp) -> Self {
        Self {
            machine: machine.to_owned(),
            certificate: certificate.name().to_owned(),
            subject: certificate.subject.clone(),
            file: certificate.file.clone(),
            expires: certificate.expires.to_string(),
            days_left: certificate.days_left(now),
            validity: match certificate.validity(now) {
                Validity::Valid => VALID,
                Validity::Expiring => EXPIRING,
                Validity::Expired => EXPIRED,
            },
        }
    }
}

/// Returns whether nothing is wrong.
pub(crate) async fn run(args: &Args, printer: &Printer) -> anyhow::Result<bool> {
    if !args.renew && args.change.is_used() {
        let message = "--wait and --dry-run are for --renew".to_owned();
        return Err(UsageError(message).into());
    }
    let connection = args.change.server.connect().await?;
    if args.renew {
        renew(args, &connection, printer).await?;
        return Ok(true);
    }
    let cluster = edit::get(&connection, &args.name).await?;
    let machines = machines(&connection, &args.name).await?;
    list(args, &connection, &cluster, machines, printer).await
}

async fn list(
    args: &Args,
    connection: &Connection,
    cluster: &Cluster,
    machines: Vec<Machine>,
    printer: &Printer,
) -> anyhow::Result<bool> {
    let now = Timestamp::now();
    let (mut rows, mut is_complete) = (Vec::new(), true);
    let machines = machines.into_iter().filter(|it| !lifecycle::is_lost(it));
    let work = async |machine: &outrigger_node::Machine| {
        let output = machine.run(&Command::shell(LIST).capture(CAPTURE)).await?;
        let errors = output.stderr.text();
        ensure!(output.status.is_success(), "{}", errors.trim());
        Ok(certificates::parse(&output.stdout.text())?)
    };
    on_each(&connection.client, machines.collect(), work, |done| {
        match done.result {
            Ok(found) => {
                let found = found.iter();
                rows.extend(found.map(|it| CertificateRow::new(&done.name, it, now)));
            }
            Err(error) => {
                is_complete = false;
                note(&format!("{error:#}"));
            }
        }
        Ok(())
    })
    .await?;
    // Certificates of one machine stay in their order.
    rows.sort_by(|a, b| a.machine.cmp(&b.machine));
    printer.list(args.output.output, &rows)?;
    for warning in warnings(&cluster.name_any(), &rows) {
        note(&warning);
    }
    let has_expired = rows.iter().any(|row| row.validity == EXPIRED);
    Ok(is_complete && !(args.fail_on_expired && has_expired))
}

/// The certificates of a machine have some kilobytes each.
const CAPTURE: usize = 1024 * 1024;

/// What is to be done about certificates that have expired, or will soon.
fn warnings(cluster: &str, rows: &[CertificateRow]) -> Vec<String> {
    let warning = |validity, what: &str| {
        let affected = rows.iter().filter(|row| row.validity == validity);
        let affected: Vec<String> = affected
            .map(|row| format!("{} of {}", row.certificate, row.machine))
            .collect();
        let count = counted(affected.len(), "certificate");
        let named = affected[..affected.len().min(MAX_NAMED)].join(", ");
        let more = if affected.len() > MAX_NAMED {
            ", ..."
        } else {
            ""
        };
        (!affected.is_empty()).then(|| format!("warning: {count} {what}: {named}{more}"))
    };
    let mut warnings: Vec<String> = [
        warning(EXPIRED, "expired"),
        warning(
            EXPIRING,
            &format!("with less than {WARNING_DAYS} days left"),
        ),
    ]
    .into_iter()
    .flatten()
    .collect();
    if !warnings.is_empty() {
        warnings.push(format!(
            "hint: outrigger cluster certificates {cluster} --renew renews those of the control plane"
        ));
    }
    warnings
}

async fn renew(args: &Args, connection: &Connection, printer: &Printer) -> anyhow::Result<()> {
    let now = Timestamp::now().to_string();
    request_renewal(connection, &args.name, &now, args.change.dry_run).await?;
    let outcome = Outcome {
        requested: ": renewal of certificates requested",
        done: " has new certificates",
    };
    let names = [args.name.clone()];
    let condition = ClusterCondition::Done {
        flow: FlowName::RenewCertificates,
        request: now,
    };
    args.change
        .finish::<Cluster>(&connection.client, &names, &condition, outcome, printer)
        .await
}

/// Asks the controller for a renewal.
pub(super) async fn request_renewal(
    connection: &Connection,
    name: &str,
    now: &str,
    dry_run: bool,
) -> anyhow::Result<()> {
    let cluster = edit::get(connection, name).await?;
    ensure_installed(&cluster).map_err(|error| error.context("nothing is renewed"))?;
    edit::edit(connection, &cluster, dry_run, |cluster| {
        let annotations = cluster.metadata.annotations.get_or_insert_default();
        annotations.insert(RENEW_CERTIFICATES.to_owned(), now.to_owned());
        Ok(())
    })
    .await
}

/// Fails unless the provider `baremetal` has installed the cluster, and it stays.
pub(super) fn ensure_installed(cluster: &Cluster) -> anyhow::Result<()> {
    let name = cluster.name_any();
    let provider = outrigger_cluster::provider_name(cluster);
    if cluster.spec.kind != ClusterType::Baremetal || provider != "baremetal" {
        return Err(anyhow!("cluster {name} was not installed by Outrigger"))
            .hint("only the provider baremetal installs Kubernetes on machines");
    }
    ensure!(
        !lifecycle::is_deleted(cluster),
        "cluster {name} is being deleted"
    );
    if lifecycle::installed_version(cluster).is_none() {
        return Err(anyhow!("cluster {name} is not installed yet"))
            .hint(format!("outrigger cluster status {name} shows its steps"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(expiries: &[&str]) -> Vec<CertificateRow> {
        let now = "2026-11-19T12:00:00Z".parse().unwrap();
        let rows = expiries.iter().map(|expires| {
            let certificate = Certificate {
                file: "/etc/kubernetes/pki/apiserver.crt".to_owned(),
                subject: "kube-apiserver".to_owned(),
                expires: expires.parse().unwrap(),
            };
            CertificateRow::new("cp1", &certificate, now)
        });
        rows.collect()
    }

    #[test]
    fn certificates_that_expire_are_counted_and_named() {
        assert_eq!(warnings("a", &rows(&["2027-11-19T12:00:00Z"])), [""; 0]);
        let rows = rows(&["2026-11-20T12:00:00Z", "2026-11-01T00:00:00Z"]);
        assert_eq!(
            warnings("a", &rows),
            [
                "warning: 1 certificate expired: apiserver of cp1",
                "warning: 1 certificate with less than 30 days left: apiserver of cp1",
                "hint: outrigger cluster certificates a --renew renews those of the control plane",
            ]
        );
        let cells = rows[1].cells().join(" ");
        assert_eq!(
            cells,
            "cp1 apiserver kube-apiserver 2026-11-01T00:00:00Z -19d Expired"
        );
    }
}
