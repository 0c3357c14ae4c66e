//! Where a stack comes from: `cluster.yaml`, configuration files of plugins, folders of plugins, and the order file.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use outrigger_stack::Plugin;
use outrigger_stack::catalog;
use outrigger_stack::configuration::Configuration;
use outrigger_stack::pipeline::Pipeline;
use serde_json::{Map, Value};

use crate::input_file;
use crate::report::HintExt as _;

#[derive(Debug, clap::Args)]
pub(crate) struct Sources {
    /// Configuration of the cluster
    #[arg(short = 'f', long, value_name = "FILE", default_value = "cluster.yaml")]
    file: PathBuf,
    /// Folder with plugins of your own, one folder for each; may be repeated
    #[arg(long, value_name = "DIR")]
    plugins: Vec<PathBuf>,
    /// Folder with one configuration file for each plugin, NAME.yaml; values in the configuration of the cluster win
    #[arg(long, value_name = "DIR")]
    plugin_config: Option<PathBuf>,
    /// YAML list of plugins that run first, in this order
    #[arg(long, value_name = "FILE")]
    order: Option<PathBuf>,
}

/// A stack, and where the outputs of its stages are written.
#[derive(Debug, clap::Args)]
pub(crate) struct StageArgs {
    #[command(flatten)]
    pub(super) sources: Sources,
    /// Folder for the outputs of stages; those that are written again are replaced
    #[arg(long, value_name = "DIR", default_value = "stack")]
    pub(super) to: PathBuf,
}

impl Sources {
    /// All plugins, enabled or not.
    pub(super) fn catalog(&self) -> anyhow::Result<Vec<Plugin>> {
        Ok(catalog::load(&self.plugins)?)
    }

    /// The configuration, if its file exists.
    pub(super) fn optional_configuration(&self) -> anyhow::Result<Option<Configuration>> {
        if self.file.exists() {
            return self.configuration().map(Some);
        }
        Ok(None)
    }

    fn configuration(&self) -> anyhow::Result<Configuration> {
        let bytes = input_file::read(&self.file)
            .hint("`outrigger stack new NAME` writes a configuration to start from")?;
        let parsed = Configuration::parse(&bytes);
        let mut configuration =
            parsed.with_context(|| format!("failed to load {}", self.file.display()))?;
        for (key, values) in self.plugin_files()? {
            configuration.add_plugin_file(&key, values);
        }
        Ok(configuration)
    }

    /// The values in the folder of configuration files, by the name of the plugin.
    fn plugin_files(&self) -> anyhow::Result<Vec<(String, Map<String, Value>)>> {
        let Some(folder) = &self.plugin_config else {
            return Ok(Vec::new());
        };
        let mut files = Vec::new();
        for entry in fs_err::read_dir(folder)? {
            let path = entry?.path();
            let name = path.file_stem().and_then(|name| name.to_str());
            let (Some(name), Some("yaml")) = (name, path.extension().and_then(|it| it.to_str()))
            else {
                bail!(
                    "{} is not the configuration of a plugin: its name must be NAME.yaml",
                    path.display()
                );
            };
            match parse(&path)? {
                Value::Object(values) => files.push((name.to_owned(), values)),
                Value::Null => {}
                _ => bail!("{} is not an object", path.display()),
            }
        }
        files.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(files)
    }

    fn order(&self) -> anyhow::Result<Vec<String>> {
        let Some(path) = &self.order else {
            return Ok(Vec::new());
        };
        serde_json::from_value(parse(path)?)
            .with_context(|| format!("{} is not a list of names", path.display()))
    }

    /// The enabled plugins in order.
    pub(super) fn pipeline(&self) -> anyhow::Result<Pipeline> {
        let configuration = self.configuration()?;
        let pipeline = Pipeline::new(configuration, self.catalog()?, &self.order()?);
        pipeline.with_context(|| format!("failed to set up {}", self.file.display()))
    }
}

fn parse(path: &Path) -> anyhow::Result<Value> {
    outrigger_goyaml::parse_json(&input_file::read(path)?)
        .with_context(|| format!("failed to parse {}", path.display()))
}
