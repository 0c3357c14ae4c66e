//! Runs one chart through a Helm and through Outrigger in the same profile, and compares.

use std::path::{Path, PathBuf};

use outrigger_testing::peers;

use crate::process::command;

/// The programs to compare, and where charts that show a difference are kept.
#[derive(Debug)]
pub(super) struct Engines {
    helm3: PathBuf,
    helm4: PathBuf,
    ours: PathBuf,
    keep: PathBuf,
}

/// The Helm to compare with.
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

/// What a program made of a chart: its output, or the first line of its error.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Rendered {
    Output(String),
    Refused(String),
    /// It crashed, or ran until it was stopped. Helm does both when a map comes to hold itself.
    Died,
}

impl Rendered {
    /// In a few words.
    pub(super) fn summary(&self) -> &str {
        match self {
            Self::Output(_) => "renders",
            Self::Refused(error) => error,
            Self::Died => "dies",
        }
    }
}

/// The processor time after which a program is stopped, in seconds. A large chart takes half of one.
const PATIENCE: &str = "10";

/// What both made of it.
#[derive(Debug)]
pub(super) struct Pair {
    pub(super) theirs: Rendered,
    pub(super) ours: Rendered,
}

impl Pair {
    pub(super) fn is_same(&self) -> bool {
        self.theirs == self.ours
    }
}

impl Engines {
    pub(super) fn new(ours: PathBuf, keep: PathBuf) -> anyhow::Result<Self> {
        Ok(Self {
            helm3: peers::HELM3.installed()?,
            helm4: peers::HELM4.installed()?,
            ours,
            keep,
        })
    }

    /// Renders the chart of a folder with more arguments, by both programs.
    pub(super) fn render(
        &self,
        profile: Profile,
        chart: &Path,
        more: &[String],
    ) -> anyhow::Result<Pair> {
        let helm = match profile {
            Profile::Helm3 => &self.helm3,
            Profile::Helm4 => &self.helm4,
        };
        let theirs = render(helm, &[], chart, &[], more)?;
        let ours = render(
            &self.ours,
            &["chart"],
            chart,
            &["--compat", profile.name()],
            more,
        )?;
        Ok(Pair { theirs, ours })
    }

    /// Copies a chart that shows a difference, and tells where it is.
    pub(super) fn keep(
        &self,
        profile: Profile,
        name: &str,
        chart: &Path,
    ) -> anyhow::Result<PathBuf> {
        let folder = self.keep.join(format!("{}-{name}", profile.name()));
        if folder.exists() {
            fs_err::remove_dir_all(&folder)?;
        }
        copy(chart, &folder)?;
        Ok(folder)
    }
}

fn render(
    program: &Path,
    prefix: &[&str],
    chart: &Path,
    suffix: &[&str],
    more: &[String],
) -> anyhow::Result<Rendered> {
    let mut command = command("sh", chart);
    command
        .args(["-c", "ulimit -t \"$0\"; exec \"$@\"", PATIENCE])
        .arg(program)
        .args(prefix)
        .args(["template", "rel", ".", "--namespace", "ns"])
        .args(suffix)
        .args(more);
    let output = command.output()?;
    if output.status.success() {
        return Ok(Rendered::Output(
            String::from_utf8_lossy(&output.stdout).into_owned(),
        ));
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let first = stderr.lines().find(|line| line.starts_with("Error:"));
    Ok(first.map_or(Rendered::Died, |line| Rendered::Refused(line.to_owned())))
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

/// The first line in which two texts differ, of both.
pub(super) fn first_difference(theirs: &str, ours: &str) -> String {
    let (mut left, mut right) = (theirs.lines(), ours.lines());
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => {
                let shown = |line: Option<&str>| {
                    line.map_or_else(|| "no more lines".to_owned(), |line| format!("{line:?}"))
                };
                return format!(
                    "line {number}:\n    helm: {}\n    ours: {}",
                    shown(a),
                    shown(b)
                );
            }
        }
    }
    "line ends".to_owned()
}
