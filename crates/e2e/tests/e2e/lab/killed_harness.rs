//! A lab ends with its harness, also if that is killed. The harness is this program, started again.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use outrigger_testing::TestContext;
use outrigger_testing::lab::Lab;
use outrigger_testing::peers;
use outrigger_testing::peers::lab::CURRENT;

use super::{ONE_AT_A_TIME, is_available};

/// The process is a harness that waits to be killed.
const HARNESS: &str = "OUTRIGGER_TEST_LAB_HARNESS";

#[test]
fn a_killed_harness_leaves_nothing_behind() -> anyhow::Result<()> {
    if std::env::var_os(HARNESS).is_some() {
        return harness();
    }
    if !is_available(CURRENT) {
        return Ok(());
    }
    let _turn = ONE_AT_A_TIME.blocking_lock();
    for moment in ["network", "machine"] {
        let traces = kill_at(moment)?;
        traces.wait_until_gone().context(moment)?;
    }
    Ok(())
}

#[test]
fn a_new_lab_removes_the_control_groups_of_dead_labs() -> anyhow::Result<()> {
    if std::env::var_os(HARNESS).is_some() || !is_available(CURRENT) {
        return Ok(());
    }
    let _turn = ONE_AT_A_TIME.blocking_lock();
    // No process has this id: it is the first one above the highest.
    let group = Path::new("/sys/fs/cgroup/pids/outrigger-lab-4194305-1-0");
    fs_err::create_dir_all(group.join("cp1/system.slice"))?;
    let lab = Lab::new()?;
    assert!(!group.exists());
    drop(lab);
    Ok(())
}

/// Starts a lab, tells its parent, and lives until stdin ends, as the parent does.
#[expect(clippy::print_stdout, reason = "the parent reads it")]
fn harness() -> anyhow::Result<()> {
    let lab = Lab::new()?;
    let id = lab.id();
    let directory = lab.directory();
    let init = fs_err::read_to_string(directory.join("pid"))?;
    println!("\nnetwork {id} {} {}", init.trim(), directory.display());
    let _machine = lab.machine("cp1")?;
    println!("\nmachine {id} {} {}", init.trim(), directory.display());
    std::io::stdin().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// What a lab consists of outside of its namespaces.
struct Traces {
    id: String,
    init: PathBuf,
    directory: PathBuf,
}

/// Kills a harness when it reports the moment.
fn kill_at(moment: &str) -> anyhow::Result<Traces> {
    let context = TestContext::new(std::env::current_exe()?)?;
    let name = "lab::killed_harness::a_killed_harness_leaves_nothing_behind";
    let mut harness = context
        .command([name, "--exact", "--nocapture"])
        .env(HARNESS, "yes")
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("XDG_CACHE_HOME", peers::cache()?.parent().unwrap())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let output = BufReader::new(harness.stdout.take().context("stdout is piped")?);
    let report = output
        .lines()
        .map_while(Result::ok)
        .find_map(|line| line.strip_prefix(moment).map(str::to_owned));
    harness.kill()?;
    harness.wait()?;
    let report = report.context("the harness ended")?;
    let words: Vec<&str> = report.split_whitespace().collect();
    let [id, init, directory] = words[..] else {
        anyhow::bail!("unexpected report {report:?}");
    };
    Ok(Traces {
        id: id.to_owned(),
        init: Path::new("/proc").join(init),
        directory: directory.into(),
    })
}

impl Traces {
    fn wait_until_gone(&self) -> anyhow::Result<()> {
        let deadline = Instant::now() + Duration::from_mins(1);
        loop {
            let left = self.left()?;
            if left.is_empty() {
                return Ok(());
            }
            ensure!(Instant::now() < deadline, "left behind: {left:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn left(&self) -> anyhow::Result<Vec<PathBuf>> {
        let hierarchies = fs_err::read_dir("/sys/fs/cgroup")?.flatten();
        let mut paths: Vec<PathBuf> = hierarchies
            .map(|hierarchy| hierarchy.path().join(&self.id))
            .collect();
        paths.extend([self.init.clone(), self.directory.clone()]);
        paths.retain(|path| path.exists());
        let directory = self.directory.display().to_string();
        if fs_err::read_to_string("/proc/self/mounts")?.contains(&directory) {
            paths.push("/proc/self/mounts".into());
        }
        Ok(paths)
    }
}
