//! The plugins that exist: built in, contrib, and those in the user's folders.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use outrigger_model::Owner;

use crate::builtin;
use crate::data;
use crate::folder::Folder;
use crate::plugin::{Origin, Plugin};

/// Why the plugins cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("failed to list the folder of plugins")]
    List(#[source] io::Error),
    #[error("failed to load the plugin in {path}")]
    Load { path: PathBuf, source: data::Error },
    #[error("failed to load the plugin {name} of this program")]
    Builtin {
        name: &'static str,
        source: data::Error,
    },
    #[error("the folder of plugin {name} must have its name, but is {path}")]
    FolderName { name: Owner, path: PathBuf },
    #[error("plugin {name} in {path} exists already")]
    Repeated { name: Owner, path: PathBuf },
    #[error("plugins {one} and {other} have the same key {key:?} in the configuration")]
    RepeatedKey {
        key: String,
        one: Owner,
        other: Owner,
    },
}

/// Loads all plugins: those of this program, then those in the folders. A folder of plugins has one folder for each.
pub fn load(folders: &[PathBuf]) -> Result<Vec<Plugin>, Error> {
    let mut plugins: BTreeMap<Owner, Plugin> = BTreeMap::new();
    for plugin in builtin::load()? {
        plugins.insert(plugin.metadata.name.clone(), plugin);
    }
    for folder in folders {
        for path in plugin_folders(folder).map_err(Error::List)? {
            let plugin = load_folder(&path)?;
            let name = plugin.metadata.name.clone();
            if plugins.contains_key(&name) {
                return Err(Error::Repeated { name, path });
            }
            plugins.insert(name, plugin);
        }
    }
    check_keys(plugins.values())?;
    Ok(plugins.into_values().collect())
}

fn plugin_folders(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs_err::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

fn load_folder(path: &Path) -> Result<Plugin, Error> {
    let loaded = data::load(Folder::Disk(path.to_owned()), Origin::User);
    let plugin = loaded.map_err(|source| Error::Load {
        path: path.to_owned(),
        source,
    })?;
    let name = plugin.metadata.name.clone();
    if path.file_name().is_none_or(|file| file != name.as_str()) {
        return Err(Error::FolderName {
            name,
            path: path.to_owned(),
        });
    }
    Ok(plugin)
}

fn check_keys<'a>(plugins: impl Iterator<Item = &'a Plugin>) -> Result<(), Error> {
    let mut owners: BTreeMap<&str, &Owner> = BTreeMap::new();
    for plugin in plugins {
        let name = &plugin.metadata.name;
        for key in &plugin.metadata.keys {
            if let Some(one) = owners.insert(key, name).filter(|one| *one != name) {
                let (one, other) = (one.clone(), name.clone());
                return Err(Error::RepeatedKey {
                    key: key.clone(),
                    one,
                    other,
                });
            }
        }
    }
    Ok(())
}
