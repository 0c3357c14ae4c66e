//! What a step changes on a machine, for plans. The same files and scripts are what the run uses.

use crate::{Provider, StepInput, provider};

/// Something that a step changes on a machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A file of the provider folder is copied, unless the machine has it.
    Copy {
        /// Its path in the folder.
        source: String,
        destination: String,
        size: u64,
        sha256: String,
    },
    /// The archive of an image is copied and imported, unless the machine has the image.
    Import {
        reference: String,
        size: u64,
        sha256: String,
    },
    /// A package that was copied is unpacked.
    Unpack { package: String, folder: String },
    /// A file is written.
    Write { path: String },
    /// A program is run.
    Run { command: String },
}

/// What a step changes. Empty if it only asks, or waits.
pub fn changes(provider: &dyn Provider, step: &str, input: &StepInput<'_>) -> Vec<Change> {
    let step = provider::step(provider, step);
    step.map_or_else(Vec::new, |step| step.changes(input))
}

/// The files with constant paths that a script writes in any case, by `put` of `prelude.sh`.
pub(crate) fn written_by(script: &str) -> Vec<Change> {
    let paths = script.lines().filter_map(|line| {
        let command = line.rsplit("| ").next().unwrap_or(line);
        let path = command.strip_prefix("put ")?.split_whitespace().next()?;
        (path.starts_with('/') && !path.contains('$')).then(|| path.to_owned())
    });
    paths.map(|path| Change::Write { path }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_files_are_found_in_scripts() {
        let script = "# put /no\nput /etc/a.conf <<END\nx\nEND\necho b | put /etc/b.conf\nput \"$c\"\noutput /d\n\
                      if [ -n \"$e\" ]; then\n  put /etc/e\nfi\n";
        let paths = ["/etc/a.conf", "/etc/b.conf"].map(|path| Change::Write {
            path: path.to_owned(),
        });
        assert_eq!(written_by(script), paths);
    }
}
