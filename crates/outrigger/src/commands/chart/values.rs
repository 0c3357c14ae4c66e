//! Helm's flags that set values.

use std::path::Path;

use outrigger_chart::values::{self, ReadFileError};
use outrigger_chart::{Profile, ValuesOptions};
use outrigger_gotmpl::value::Map;

use super::source::helm_error;
use crate::input_file;
use crate::report::UsageError;

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
    /// Refuses expressions that end where more is expected, which Helm ignores.
    pub(crate) fn ensure_complete(&self) -> anyhow::Result<()> {
        let options = self.without_files();
        let checked = options.check_complete();
        checked.map_err(|error| UsageError(error.to_string()).into())
    }

    fn without_files(&self) -> ValuesOptions {
        ValuesOptions {
            files: Vec::new(),
            json: self.set_json.clone(),
            set: self.set.clone(),
            string: self.set_string.clone(),
            file: self.set_file.clone(),
            literal: self.set_literal.clone(),
        }
    }

    /// Reads the files and merges all values in Helm's order. An expression that is not valid is a usage error, a file
    /// is not.
    pub(crate) fn merge(&self, profile: Profile) -> anyhow::Result<Map> {
        let mut files = Vec::new();
        for path in &self.files {
            files.push((path.clone(), read(path).map_err(helm_error)?));
        }
        let options = ValuesOptions {
            files,
            ..self.without_files()
        };
        let mut is_readable = true;
        let merged = options.merge(profile, &mut |path| {
            read(path).inspect_err(|_| is_readable = false)
        });
        merged.map_err(|error| match error {
            values::Error::File { .. } => helm_error(error),
            _ if !is_readable => helm_error(error),
            expression => UsageError(expression.to_string()).into(),
        })
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
