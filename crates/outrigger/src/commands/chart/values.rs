//! Helm's flags that set values.

use std::path::Path;

use outrigger_chart::values::{self, ReadFileError};
use outrigger_chart::{Profile, ValuesOptions};
use outrigger_gotmpl::value::Map;

use super::source::helm_error;
use crate::input_file;

/// Flags that set values. Later files override earlier ones; the other flags override files.
#[derive(Debug, Default, clap::Args)]
#[command(next_help_heading = "Values")]
pub(crate) struct ValuesFlags {
    /// Read values from a YAML file, `-` for stdin; may be repeated, later files override earlier ones
    #[arg(
        short = 'f',
        long = "values",
        value_name = "FILE",
        value_delimiter = ','
    )]
    pub(crate) files: Vec<String>,
    /// Set a value: `a.b=1,c[0]=x`; may be repeated
    #[arg(long, value_name = "PATH=VALUE")]
    pub(crate) set: Vec<String>,
    /// Set a string value: `port=80`
    #[arg(long, value_name = "PATH=TEXT")]
    pub(crate) set_string: Vec<String>,
    /// Set a JSON value: `list=[1,2]`
    #[arg(long, value_name = "PATH=JSON")]
    pub(crate) set_json: Vec<String>,
    /// Set a value to the contents of a file: `script=run.sh`
    #[arg(long, value_name = "PATH=FILE")]
    pub(crate) set_file: Vec<String>,
    /// Set a literal string value, without parsing commas and escapes
    #[arg(long, value_name = "PATH=TEXT")]
    pub(crate) set_literal: Vec<String>,
}

impl ValuesFlags {
    /// Reads the files and merges all values in Helm's order.
    pub(crate) fn merge(&self, profile: Profile) -> anyhow::Result<Map> {
        self.try_merge(profile).map_err(helm_error)
    }

    /// Like [`Self::merge`], with an error that tells flags from files.
    pub(crate) fn try_merge(&self, profile: Profile) -> Result<Map, Error> {
        let mut files = Vec::new();
        for path in &self.files {
            files.push((path.clone(), read(path)?));
        }
        let options = ValuesOptions {
            files,
            json: self.set_json.clone(),
            set: self.set.clone(),
            string: self.set_string.clone(),
            file: self.set_file.clone(),
            literal: self.set_literal.clone(),
        };
        Ok(options.merge(profile, &mut |path| read(path))?)
    }
}

/// Why there are no values.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(transparent)]
    Read(#[from] ReadFileError),
    #[error(transparent)]
    Merge(#[from] values::Error),
}

impl Error {
    /// Whether the text of a flag is not valid, as opposed to a file.
    pub(crate) fn is_flag(&self) -> bool {
        use values::Error as Merge;
        match self {
            Self::Merge(Merge::Set { flag, .. }) => *flag != "--set-file",
            Self::Merge(Merge::Json(_) | Merge::JsonObject(_)) => true,
            Self::Merge(Merge::File { .. }) | Self::Read(_) => false,
        }
    }
}

fn read(path: &str) -> Result<Vec<u8>, ReadFileError> {
    let read = match path {
        "-" => input_file::read_stdin(),
        path => input_file::read(Path::new(path)),
    };
    read.map_err(|error| go_error(path, &error))
}

/// Go's message, which scripts around Helm may match.
fn go_error(path: &str, error: &std::io::Error) -> ReadFileError {
    ReadFileError(match error.kind() {
        std::io::ErrorKind::NotFound => format!("open {path}: no such file or directory"),
        std::io::ErrorKind::PermissionDenied => format!("open {path}: permission denied"),
        std::io::ErrorKind::IsADirectory => format!("read {path}: is a directory"),
        _ => error.to_string(),
    })
}
