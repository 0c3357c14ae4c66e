//! `attack chart`: a chart without end gets an error that names the limit, in bounded time and memory; what both Helms
//! render is rendered.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context as _, bail, ensure};
use tokio::time::timeout;
use wait4::Wait4 as _;

use crate::attack::{Args, Named, Outcome};
use crate::process::{command_in, signal};

mod archives;
mod templates;

/// Protects the machine, in KiB of address space. A process that needs more aborts.
const ADDRESS_SPACE: u64 = 6 << 20;

/// How long an attack may take.
const MAX_TIME: Duration = Duration::from_secs(20);

/// What errors about limits say.
const LIMIT_WORDS: &[&str] = &["exceed", "limit", "maximum", "too large", "too long"];

/// Writes a chart into the directory and returns its path.
type Write = fn(&Path) -> anyhow::Result<PathBuf>;

/// What the attacker must get.
#[derive(Debug, Clone, Copy)]
enum Expected {
    /// An error that contains this text.
    Error(&'static str),
    /// An error that names a limit.
    Limit,
    /// Output that contains this text.
    Output(&'static str),
}

struct Attack {
    name: &'static str,
    write: Write,
    expected: Expected,
    /// The limit for the peak memory in MiB.
    memory: u64,
}

impl Attack {
    const fn new(name: &'static str, write: Write, expected: Expected) -> Self {
        Self {
            name,
            write,
            expected,
            memory: 1_500,
        }
    }

    const fn memory(self, mebibytes: u64) -> Self {
        Self {
            memory: mebibytes,
            ..self
        }
    }
}

impl Named for Attack {
    fn name(&self) -> &str {
        self.name
    }

    fn is_short(&self) -> bool {
        self.memory < 1_000
    }
}

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let attacks: Vec<Attack> = archives::attacks()
        .into_iter()
        .chain(templates::attacks())
        .collect();
    let run = async |attack: &Attack, directory: &Path| {
        repel(attack, binary, directory, MAX_TIME * args.patience).await
    };
    crate::attack::run(args, &attacks, run).await
}

async fn repel(
    attack: &Attack,
    binary: &Path,
    directory: &Path,
    time: Duration,
) -> anyhow::Result<Outcome> {
    let chart = (attack.write)(directory)?;
    let (output, errors) = (directory.join("stdout"), directory.join("stderr"));
    let script = format!("ulimit -v {ADDRESS_SPACE}; exec \"$@\"");
    let arguments: [OsString; 7] = [
        "-c".into(),
        script.into(),
        "sh".into(),
        binary.into(),
        "chart".into(),
        "template".into(),
        "rel".into(),
    ];
    let mut process = command_in(directory, "sh");
    let child = process
        .args(arguments)
        .arg(chart)
        .stdout(Stdio::from(fs_err::File::create(&output)?.into_parts().0))
        .stderr(Stdio::from(fs_err::File::create(&errors)?.into_parts().0))
        .spawn()?;
    let pid = child.id();
    let waited = tokio::task::spawn_blocking(move || child.wait4());
    let mut waited = std::pin::pin!(waited);
    let Ok(usage) = timeout(time, &mut waited).await else {
        signal("KILL", pid).await?;
        waited.await??;
        bail!("not answered in {time:?}");
    };
    let usage = usage??;
    let peak = usage.rusage.maxrss;
    let answer = attack
        .check(usage.status, &head(&output)?, &head(&errors)?)
        .with_context(|| format!("{} MiB", peak >> 20))?;
    ensure!(
        peak >> 20 <= attack.memory,
        "{answer}; but it used {} MiB, limit {}",
        peak >> 20,
        attack.memory
    );
    Ok(Outcome {
        answer,
        peak: Some(peak),
        neighbor: None,
    })
}

impl Attack {
    fn check(
        &self,
        status: std::process::ExitStatus,
        output: &str,
        errors: &str,
    ) -> anyhow::Result<String> {
        if let Some(signal) = status.signal() {
            bail!("killed by signal {signal}: {errors}");
        }
        let line = errors.lines().find(|line| !line.is_empty());
        let line: String = line.unwrap_or_default().chars().take(160).collect();
        match self.expected {
            Expected::Error(text) => {
                ensure!(!status.success(), "it succeeds");
                ensure!(errors.contains(text), "the error lacks {text:?}: {errors}");
                Ok(line)
            }
            Expected::Limit => {
                ensure!(!status.success(), "it succeeds");
                let names_limit = LIMIT_WORDS.iter().any(|word| errors.contains(word));
                ensure!(names_limit, "the error names no limit: {errors}");
                Ok(line)
            }
            Expected::Output(text) => {
                ensure!(status.success(), "{errors}");
                ensure!(output.contains(text), "the output lacks {text:?}");
                Ok("rendered".to_owned())
            }
        }
    }
}

/// The first megabyte of a file.
fn head(path: &Path) -> anyhow::Result<String> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    fs_err::File::open(path)?
        .take(1 << 20)
        .read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Writes a chart with one template.
fn write_chart(directory: &Path, template: &str) -> anyhow::Result<PathBuf> {
    let chart = directory.join("attack");
    fs_err::create_dir_all(chart.join("templates"))?;
    fs_err::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: attack\nversion: 1.0.0\n",
    )?;
    fs_err::write(chart.join("templates/attack.yaml"), template)?;
    Ok(chart)
}
