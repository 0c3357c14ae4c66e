//! Data plugins: a folder with `plugin.yaml` and files. kube-aws' own form is accepted, with every field wired.

mod cloudformation;
mod contribute;
mod file_source;
mod kubernetes;
mod machine;
mod spec;

use outrigger_goyaml as goyaml;
use outrigger_model::{InvalidName, Owner};
use serde_json::{Map, Value};

use crate::executable::Executable;
use crate::finding::Finding;
use crate::folder::{Folder, FolderError};
use crate::nearest::with_suggestion;
use crate::plugin::{Failure, Metadata, Origin, Plugin, Request, Response, Staged};
use crate::stage::Stage;
use crate::template::TemplateConfiguration;
use contribute::Contributor;
use spec::PluginFile;

/// Why a folder is not a plugin.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to read plugin.yaml")]
    Read(#[from] FolderError),
    #[error("failed to parse plugin.yaml")]
    Yaml(#[source] goyaml::Error),
    #[error("plugin.yaml: {0}")]
    Invalid(String),
    #[error("metadata.name of plugin.yaml")]
    Name(#[from] InvalidName),
}

/// Loads a plugin from its folder.
pub fn load(folder: Folder, origin: Origin) -> Result<Plugin, Error> {
    let document = goyaml::parse_json(&folder.read("plugin.yaml")?).map_err(Error::Yaml)?;
    let file: PluginFile = serde_json::from_value(document)
        .map_err(|error| Error::Invalid(with_suggestion(&error.to_string())))?;
    let metadata = metadata(&file, origin)?;
    let defaults = file.spec.cluster.values.clone();
    let schema = file.spec.schema.clone();
    let body: Box<dyn Staged> = match &file.spec.executable {
        Some(executable) => {
            let Folder::Disk(root) = &folder else {
                return Err(Error::Invalid(
                    "an executable needs a folder on disk".to_owned(),
                ));
            };
            let executable = Executable::new(root, executable).map_err(Error::Invalid)?;
            Box::new(WithExecutable {
                data: Data { folder, file },
                executable,
            })
        }
        None => Box::new(Data { folder, file }),
    };
    Ok(Plugin {
        metadata,
        defaults,
        schema,
        body,
    })
}

fn metadata(file: &PluginFile, origin: Origin) -> Result<Metadata, Error> {
    if file.metadata.version.is_empty() {
        return Err(Error::Invalid("metadata.version is empty".to_owned()));
    }
    let names = |names: &[String]| {
        names
            .iter()
            .map(|name| name.parse())
            .collect::<Result<_, InvalidName>>()
    };
    let mut metadata = Metadata::new(
        file.metadata.name.parse::<Owner>()?,
        &file.metadata.version,
        origin,
    );
    metadata.description.clone_from(&file.metadata.description);
    metadata.enabled_by_default = file.spec.enabled_by_default && origin == Origin::Builtin;
    metadata.requires = names(&file.spec.requires)?;
    metadata.after = names(&file.spec.after)?;
    let keys = [
        &file.metadata.cluster_settings_key,
        &file.metadata.node_pool_setting_key,
    ];
    for key in keys.into_iter().flatten().filter(|key| !key.is_empty()) {
        if !metadata.keys.contains(key) {
            metadata.keys.insert(0, key.clone());
        }
    }
    Ok(metadata)
}

/// A data plugin: it contributes in initialise, and does nothing in the other stages.
#[derive(Debug)]
struct Data {
    folder: Folder,
    file: PluginFile,
}

impl Staged for Data {
    fn run(&self, request: &Request<'_>) -> Result<Response, Failure> {
        if request.stage != Stage::Initialise {
            return Ok(Response::default());
        }
        let plugin = request.plugin.name.as_str();
        let configuration = TemplateConfiguration::new(request.configuration)?;
        let contributor =
            |values, pool| Contributor::new(&self.folder, plugin, &configuration, values, pool);
        let mut response = Response::default();
        if let Some(values) = request.values {
            let contributor = contributor(values, None)?;
            let contributions = contributor.cluster(&self.file.spec.cluster)?;
            response.contributions.extend(contributions);
        } else if self.file.spec.cluster.has_cluster_parts() {
            let message = "is enabled for node pools only; its manifests, releases, flags and roles of other machines are left out";
            response.findings.push(Finding::warning("", message));
        }
        for (pool, values) in request.pools {
            let contributor = contributor(values, Some(pool))?;
            let contributions = contributor.pool(&self.file.spec.cluster)?;
            response.contributions.extend(contributions);
        }
        Ok(response)
    }
}

/// A data plugin that also runs a program in each stage.
#[derive(Debug)]
struct WithExecutable {
    data: Data,
    executable: Executable,
}

impl Staged for WithExecutable {
    fn run(&self, request: &Request<'_>) -> Result<Response, Failure> {
        let mut response = self.data.run(request)?;
        let more = self.executable.run(request)?;
        response.findings.extend(more.findings);
        response.contributions.extend(more.contributions);
        Ok(Response {
            findings: response.findings,
            contributions: response.contributions,
            ..more
        })
    }
}

/// A contribution without its owner.
type Draft = Map<String, Value>;

#[cfg(test)]
mod tests;
