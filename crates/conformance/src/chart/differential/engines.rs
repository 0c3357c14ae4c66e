//! Renders a chart with one Helm major and with Outrigger in the same profile.

use std::path::{Path, PathBuf};

use outrigger_testing::peers;

use crate::process::command_in;

/// The programs to compare, and the directory for charts with differences.
#[derive(Debug)]
pub(super) struct Engines {
    helm3: PathBuf,
    helm4: PathBuf,
    ours: PathBuf,
    saved: PathBuf,
}

/// The Helm major to compare with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Profile {
    Helm3,
    Helm4,
}

pub(super) const PROFILES: [Profile; 2] = [Profile::Helm3, Profile::Helm4];

impl Profile {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Helm3 => "helm3",
            Self::Helm4 => "helm4",
        }
    }
}

/// The result of rendering a chart.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rendered {
    Output(String),
    /// The first line of the error.
    Rejected(String),
    /// The program crashed, or exceeded its CPU time. Helm does both if a map contains itself.
    Crashed,
}

impl Rendered {
    pub(super) fn summary(&self) -> &str {
        match self {
            Self::Output(_) => "renders",
            Self::Rejected(error) => error,
            Self::Crashed => "crashes",
        }
    }
}

/// The limit for the CPU time of a program, in seconds. A large chart takes half a second.
const CPU_LIMIT: &str = "10";

#[derive(Debug)]
pub(super) struct Pair {
    pub(super) theirs: Rendered,
    pub(super) ours: Rendered,
}

impl Pair {
    pub(super) fn is_same(&self) -> bool {
        self.theirs == self.ours
    }

    pub(super) fn difference(&self) -> String {
        match (&self.theirs, &self.ours) {
            (Rendered::Output(theirs), Rendered::Output(ours)) => first_difference(theirs, ours),
            (theirs, ours) => format!("\n    helm: {theirs:.300?}\n    ours: {ours:.300?}"),
        }
    }
}

impl Engines {
    pub(super) fn new(ours: PathBuf, saved: PathBuf) -> anyhow::Result<Self> {
        Ok(Self {
            helm3: peers::HELM3.installed()?,
            helm4: peers::HELM4.installed()?,
            ours,
            saved,
        })
    }

    /// Renders a chart with both programs and these arguments.
    pub(super) fn render(
        &self,
        profile: Profile,
        chart: &Path,
        args: &[String],
    ) -> anyhow::Result<Pair> {
        let helm = match profile {
            Profile::Helm3 => &self.helm3,
            Profile::Helm4 => &self.helm4,
        };
        let theirs = render(helm, &[], chart, &[], args)?;
        let ours = render(
            &self.ours,
            &["chart"],
            chart,
            &["--compat", profile.name()],
            args,
        )?;
        Ok(Pair { theirs, ours })
    }

    /// Copies a chart with a difference, and returns its path.
    pub(super) fn save(
        &self,
        profile: Profile,
        name: &str,
        chart: &Path,
    ) -> anyhow::Result<PathBuf> {
        let directory = self.saved.join(format!("{}-{name}", profile.name()));
        if directory.exists() {
            fs_err::remove_dir_all(&directory)?;
        }
        copy(chart, &directory)?;
        Ok(directory)
    }
}

fn render(
    program: &Path,
    prefix: &[&str],
    chart: &Path,
    suffix: &[&str],
    args: &[String],
) -> anyhow::Result<Rendered> {
    let mut command = command_in(chart, "sh");
    command
        .args(["-c", "ulimit -t \"$0\"; exec \"$@\"", CPU_LIMIT])
        .arg(program)
        .args(prefix)
        .args(["template", "rel", ".", "--namespace", "ns"])
        .args(suffix)
        .args(args);
    let output = command.output()?;
    if output.status.success() {
        return Ok(Rendered::Output(
            String::from_utf8_lossy(&output.stdout).into_owned(),
        ));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let first = stderr.lines().find(|line| line.starts_with("Error:"));
    Ok(first.map_or(Rendered::Crashed, |line| {
        Rendered::Rejected(line.to_owned())
    }))
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs_err::create_dir_all(to)?;
    for entry in fs_err::read_dir(from)? {
        let entry = entry?;
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs_err::copy(entry.path(), target)?;
        }
    }
    Ok(())
}

/// The first line that differs between two outputs.
pub(super) fn first_difference(theirs: &str, ours: &str) -> String {
    let (mut left, mut right) = (theirs.lines(), ours.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let describe = |line: Option<&str>| {
                    line.map_or_else(|| "end of output".to_owned(), |line| format!("{line:?}"))
                };
                return format!(
                    "line {number}:\n    helm: {}\n    ours: {}",
                    describe(a),
                    describe(b)
                );
            }
        }
    }
    "line endings".to_owned()
}
