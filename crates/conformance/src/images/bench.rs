//! Copies of images beside skopeo, between two registries of Debian and between two of ours.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_testing::peers::SKOPEO;
use wait4::Wait4 as _;

use super::registries::Registry;
use super::throughput;
use super::workload::Workload;
use crate::bench::{Report, mebibytes};
use crate::process::command_in;
use crate::procfs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Images to copy
    #[arg(long, default_value_t = 40)]
    images: usize,
    /// MiB of each of the four base layers
    #[arg(long, default_value_t = 100)]
    base: usize,
    /// MiB of the layer of each image
    #[arg(long, default_value_t = 40)]
    own: usize,
}

/// Time, CPU time and peak memory of clients.
#[derive(Debug, Default, Clone, Copy)]
struct Usage {
    elapsed: Duration,
    cpu: Duration,
    peak: u64,
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let workload = Workload {
        images: args.images,
        base: args.base << 20,
        own: args.own << 20,
    };
    let mut report = Report::default();
    for kind in [Kind::Debian, Kind::Outrigger] {
        compare(binary, workload, kind, &mut report).await?;
    }
    throughput::compare(binary, &mut report).await?;
    report.finish()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Debian,
    Outrigger,
}

impl Kind {
    async fn start(self, binary: &Path, data: &Path) -> anyhow::Result<Registry> {
        match self {
            Self::Debian => Registry::debian(data).await,
            Self::Outrigger => Registry::outrigger(binary, data).await,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Debian => "Debian's",
            Self::Outrigger => "ours",
        }
    }
}

async fn compare(
    binary: &Path,
    workload: Workload,
    kind: Kind,
    report: &mut Report,
) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let name = kind.name();
    let source = kind.start(binary, &folder.path().join("source")).await?;
    let archive = folder.path().join("workload.tar");
    let bytes = workload.write(&archive)?;
    Report::measured(&format!("{name}: layers"), mebibytes(bytes), "MiB");
    let loaded = load(binary, &archive, &source)?;
    fs_err::remove_file(archive)?;
    let text = format!("{name}: load of an archive");
    Report::measured(&text, loaded.elapsed.as_secs_f64(), "s");
    let text = format!("{name}: peak memory of load");
    report.at_most(&text, mebibytes(loaded.peak), 64.0, "MiB");
    let names = workload.names();
    let measure = async |label: &str, copy: &dyn Fn(&Registry) -> anyhow::Result<Usage>| {
        let target = kind.start(binary, &folder.path().join("target")).await?;
        let first = copy(&target)?;
        let servers = procfs::cpu_time(target.pid()?)?;
        let again = copy(&target)?;
        Report::measured(
            &format!("{name}, {label}: copy"),
            first.elapsed.as_secs_f64(),
            "s",
        );
        Report::measured(
            &format!("{name}, {label}: CPU of the client"),
            first.cpu.as_secs_f64(),
            "s",
        );
        Report::measured(
            &format!("{name}, {label}: CPU of the target registry"),
            servers.as_secs_f64(),
            "s",
        );
        Report::measured(
            &format!("{name}, {label}: memory of the target registry"),
            mebibytes(procfs::peak_memory(target.pid()?)?),
            "MiB",
        );
        Report::measured(
            &format!("{name}, {label}: nothing changed"),
            again.elapsed.as_secs_f64(),
            "s",
        );
        let data = target.kill().await?;
        fs_err::remove_dir_all(data)?;
        anyhow::Ok((first, again))
    };
    let (ours, ours_again) =
        measure("outrigger", &|target| sync(binary, &source, target, &names)).await?;
    let (one, one_again) = measure("skopeo, 1 at a time", &|target| {
        skopeo(&source, target, &names, 1)
    })
    .await?;
    let (four, _) = measure("skopeo, 4 at a time", &|target| {
        skopeo(&source, target, &names, 4)
    })
    .await?;
    judge(name, [ours, ours_again], [one, one_again], four, report);
    source.kill().await?;
    Ok(())
}

/// Compares us with skopeo: a first copy and one without changes, one image at a time and four.
fn judge(
    name: &str,
    [ours, ours_again]: [Usage; 2],
    [one, one_again]: [Usage; 2],
    four: Usage,
    report: &mut Report,
) {
    let ratio =
        |other: Usage, ours: Usage| other.elapsed.as_secs_f64() / ours.elapsed.as_secs_f64();
    let goal = |text: &str| format!("{name}: {text}");
    report.at_least(
        &goal("faster than skopeo 1 at a time"),
        ratio(one, ours),
        1.5,
        "x",
    );
    report.at_least(
        &goal("faster than skopeo 4 at a time"),
        ratio(four, ours),
        1.3,
        "x",
    );
    let again = ratio(one_again, ours_again);
    report.at_least(
        &goal("nothing changed, faster than 1 at a time"),
        again,
        10.0,
        "x",
    );
    let share = 100.0 * ours.cpu.as_secs_f64() / one.cpu.as_secs_f64();
    report.at_most(&goal("client CPU of skopeo's"), share, 50.0, "%");
    report.at_most(
        &goal("peak memory of the client"),
        mebibytes(ours.peak),
        64.0,
        "MiB",
    );
}

fn sync(
    binary: &Path,
    source: &Registry,
    target: &Registry,
    names: &[String],
) -> anyhow::Result<Usage> {
    let images = names
        .iter()
        .map(|name| format!("{}/{name}", source.address));
    let mut command = command_in(Path::new("/"), binary);
    command.args(["image", "sync", "--to", &target.address, "-o", "json"]);
    command.args([
        "--plain-http",
        &source.address,
        "--plain-http",
        &target.address,
    ]);
    command.args(images);
    measured(command).context("image sync failed")
}

fn load(binary: &Path, archive: &Path, target: &Registry) -> anyhow::Result<Usage> {
    let mut command = command_in(Path::new("/"), binary);
    command.args(["image", "load", "--to", &target.address, "-o", "json"]);
    command.args(["--plain-http", &target.address]).arg(archive);
    measured(command).context("image load failed")
}

/// Runs a command to its end. Its peak memory is at least that of this process, from which it is forked.
fn measured(mut command: std::process::Command) -> anyhow::Result<Usage> {
    let start = Instant::now();
    let child = command.stdout(std::process::Stdio::null()).spawn()?;
    let used = child.wait4()?;
    ensure!(used.status.success(), "{}", used.status);
    Ok(Usage {
        elapsed: start.elapsed(),
        cpu: used.rusage.utime + used.rusage.stime,
        peak: used.rusage.maxrss,
    })
}

/// Copies with `skopeo copy`, one process for each image, and several at a time.
fn skopeo(
    source: &Registry,
    target: &Registry,
    names: &[String],
    parallel: usize,
) -> anyhow::Result<Usage> {
    let program = SKOPEO.installed()?;
    let next = std::sync::atomic::AtomicUsize::new(0);
    let start = Instant::now();
    let worker = || -> anyhow::Result<Usage> {
        let mut total = Usage::default();
        while let Some(name) = names.get(next.fetch_add(1, std::sync::atomic::Ordering::Relaxed)) {
            let mut command = command_in(Path::new("/"), &program);
            command.args([
                "--insecure-policy",
                "copy",
                "--quiet",
                "--src-tls-verify=false",
                "--dest-tls-verify=false",
            ]);
            command
                .arg(format!("docker://{}/{name}", source.address))
                .arg(format!("docker://{}/{name}", target.address));
            let used = command.spawn()?.wait4()?;
            ensure!(used.status.success(), "skopeo failed for {name}");
            total.cpu += used.rusage.utime + used.rusage.stime;
            total.peak = total.peak.max(used.rusage.maxrss);
        }
        Ok(total)
    };
    let totals = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..parallel).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| anyhow::bail!("a worker panicked"))
        });
        joined.collect::<anyhow::Result<Vec<Usage>>>()
    })?;
    Ok(Usage {
        elapsed: start.elapsed(),
        cpu: totals.iter().map(|usage| usage.cpu).sum(),
        peak: totals
            .iter()
            .map(|usage| usage.peak)
            .max()
            .unwrap_or_default(),
    })
}
