//! `bench hooks`: four files and two hooks on 50 machines, against Ansible and OpenSSH, and on 500.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_testing::machines::{Machines, Options, Server};
use tokio::process::Command;

use super::contenders;
use crate::bench::{Report, mebibytes};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Machines of the comparison
    #[arg(long, default_value_t = 50)]
    machines: usize,
    /// Machines of the large run; 0 to leave it out
    #[arg(long, default_value_t = 500)]
    many: usize,
    /// Leave out Ansible
    #[arg(long)]
    without_ansible: bool,
}

/// How often the compared contenders do their work.
const TURNS: usize = 3;

/// How long a contender took, and the memory and CPU of its own process.
struct Measured {
    time: Duration,
    memory: u64,
    cpu: Duration,
    /// CPU time of the whole system.
    system: Duration,
}

pub(crate) async fn run(args: &Args) -> anyhow::Result<()> {
    let count = args.machines.max(args.many);
    let machines = Machines::start(Options {
        count,
        ..Options::new(Server::OpenSsh)
    })?;
    let files = write_files(machines.directory())?;
    let few = write_list(&machines, args.machines, "few")?;
    let mut report = Report::default();
    // The first run warms up caches.
    measure(contenders::outrigger(
        &machines,
        &few,
        &files,
        "/tmp/warm-up",
    )?)
    .await?;
    // The speed of a machine varies: the contenders take turns, and the median counts.
    let (mut ours, mut openssh) = (Vec::new(), Vec::new());
    for turn in 0..TURNS {
        let destination = format!("/tmp/outrigger-{turn}");
        ours.push(
            measure(contenders::outrigger(
                &machines,
                &few,
                &files,
                &destination,
            )?)
            .await?,
        );
        let destination = format!("/tmp/openssh-{turn}");
        openssh.push(measure(contenders::openssh(&machines, &few, &files, &destination)?).await?);
    }
    let (ours, openssh) = (median(ours)?, median(openssh)?);
    let name = |contender: &str, count: usize| format!("{count} machines, {contender}");
    let seconds = |measured: &Measured| measured.time.as_secs_f64();
    Report::measured(&name("outrigger", args.machines), seconds(&ours), "s");
    Report::measured("  CPU of the machines", share(&ours), "%");
    Report::measured(&name("OpenSSH", args.machines), seconds(&openssh), "s");
    report.at_least(
        "  times faster",
        seconds(&openssh) / seconds(&ours),
        2.5,
        "x",
    );
    if !args.without_ansible {
        let ansible = measure(contenders::ansible(
            &machines,
            &few,
            &files,
            "/tmp/ansible",
        )?)
        .await?;
        Report::measured(
            &name("ansible-playbook", args.machines),
            seconds(&ansible),
            "s",
        );
        report.at_least(
            "  times faster",
            seconds(&ansible) / seconds(&ours),
            40.0,
            "x",
        );
    }
    if args.many > 0 {
        let all = write_list(&machines, args.many, "all")?;
        let many = measure(contenders::outrigger(&machines, &all, &files, "/tmp/many")?).await?;
        Report::measured(&name("outrigger", args.many), seconds(&many), "s");
        report.at_most(
            "  times as long",
            seconds(&many) / seconds(&ours),
            11.0,
            "x",
        );
        Report::measured("  CPU of the machines", share(&many), "%");
        report.at_most("  memory", mebibytes(many.memory), 100.0, "MiB");
    }
    report.finish()
}

/// The run with the median time.
fn median(mut runs: Vec<Measured>) -> anyhow::Result<Measured> {
    runs.sort_by_key(|run| run.time);
    let middle = runs.len() / 2;
    runs.into_iter().nth(middle).context("nothing was measured")
}

/// The part of the used CPU time that was not ours, in percent.
fn share(measured: &Measured) -> f64 {
    100.0 * (1.0 - measured.cpu.as_secs_f64() / measured.system.as_secs_f64().max(0.001))
}

/// The files of the hooks' documentation: two folders with two scripts each.
fn write_files(directory: &Path) -> anyhow::Result<PathBuf> {
    let files = directory.join("files");
    for hook in [
        "pre/pre-install",
        "pre/cluster-pre-install",
        "post/post-install",
        "post/cluster-post-install",
    ] {
        let path = files.join("hooks").join(hook);
        fs_err::create_dir_all(path.parent().context("a hook has a folder")?)?;
        fs_err::write(path, format!("#!/bin/sh\necho \"{hook}: $*\"\n"))?;
    }
    Ok(files)
}

fn write_list(machines: &Machines, count: usize, name: &str) -> anyhow::Result<PathBuf> {
    let path = machines.directory().join(name);
    let machines = machines.machines().iter().take(count);
    let list: String = machines
        .map(|machine| format!("root@{}:22\n", machine.address))
        .collect();
    fs_err::write(&path, list)?;
    Ok(path)
}

/// Runs a command to its end.
async fn measure(command: Command) -> anyhow::Result<Measured> {
    use wait4::Wait4 as _;
    let mut command = command.into_std();
    tokio::task::spawn_blocking(move || {
        let log = tempfile::tempfile()?;
        command.stdout(log.try_clone()?).stderr(log.try_clone()?);
        let system = system_time()?;
        let start = Instant::now();
        let child = command.spawn()?;
        let ended = child.wait4()?;
        let time = start.elapsed();
        ensure!(
            ended.status.success(),
            "{command:?} failed:\n{}",
            text(log)?
        );
        Ok(Measured {
            time,
            memory: ended.rusage.maxrss,
            cpu: ended.rusage.utime + ended.rusage.stime,
            system: system_time()?.saturating_sub(system),
        })
    })
    .await?
}

fn text(mut log: std::fs::File) -> anyhow::Result<String> {
    use std::io::{Read as _, Seek as _};
    log.rewind()?;
    let mut text = Vec::new();
    log.take(10_000).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The CPU time that all processes and the kernel used since boot.
fn system_time() -> anyhow::Result<Duration> {
    let stat = fs_err::read_to_string("/proc/stat")?;
    let line = stat.lines().next().context("/proc/stat is empty")?;
    let fields: Vec<u64> = line
        .split_whitespace()
        .skip(1)
        .map(str::parse)
        .collect::<Result<_, _>>()?;
    // user, nice, system, idle, iowait, irq, softirq
    let ticks: u64 = [0, 1, 2, 5, 6]
        .iter()
        .filter_map(|index| fields.get(*index))
        .sum();
    Ok(Duration::from_millis(ticks * 10))
}
