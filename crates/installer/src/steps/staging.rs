//! Writes hooks, files for machines and the provider folder to where they are used: `PatchHookFiles`.
//!
//! The originals stay where they are: the hooks of the site in their folder, the provider folder untouched. What is written
//! is written whole, each time anew, so that nothing of an earlier package stays.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use outrigger_cluster::provider_folder::{self, INDEX};
use outrigger_expansion::Progress;
use outrigger_expansion::contents::source::Wanted;
use tempfile::TempDir;

use super::{Effects, message};
use crate::contents::{Contents, PackageContents};
use crate::reports::Report;

/// The permission bits of hooks, which may contain secrets.
const HOOK_MODE: u32 = 0o700;

pub(super) fn write(effects: &Effects) -> Result<Report, String> {
    let (contents, folders) = (effects.contents.as_ref(), &effects.folders);
    let mut files = Vec::new();
    let hooks = new_folder(folders.data())?;
    for (name, hook) in &contents.hooks {
        write_file(&hooks.path().join(name), &hook.script, HOOK_MODE)?;
        files.push(format!("hooks/{name}"));
    }
    replace(hooks, &folders.hooks())?;
    if let Some(package) = &contents.package {
        if contents.has_staged_files() {
            let staged = new_folder(folders.data())?;
            copy_site_files(contents, staged.path())?;
            write_files(package, staged.path())?;
            replace(staged, &folders.files())?;
            files.extend(
                package
                    .files
                    .iter()
                    .map(|file| format!("files/{}", file.source)),
            );
        }
        if !package.provider.is_empty() {
            let staged = new_folder(folders.data())?;
            write_provider(contents, package, staged.path())?;
            replace(staged, &folders.provider())?;
            files.extend(
                package
                    .provider
                    .keys()
                    .map(|path| format!("provider/{path}")),
            );
        }
    }
    Ok(Report {
        files: Some(files),
        ..Report::default()
    })
}

fn failed(path: &Path) -> impl Fn(std::io::Error) -> String {
    move |error| format!("failed to write {}: {error}", path.display())
}

/// A folder that gets its name when it is complete.
fn new_folder(data: &Path) -> Result<TempDir, String> {
    let folder = tempfile::Builder::new()
        .prefix(".staging-")
        .tempdir_in(data);
    folder.map_err(failed(data))
}

/// Puts a folder in the place of another one.
fn replace(new: TempDir, path: &Path) -> Result<(), String> {
    let failed = failed(path);
    let mode = std::fs::Permissions::from_mode(0o700);
    fs_err::set_permissions(new.path(), mode).map_err(&failed)?;
    if path.exists() {
        fs_err::remove_dir_all(path).map_err(&failed)?;
    }
    fs_err::rename(new.path(), path).map_err(&failed)?;
    // It has another name now.
    let _ = new.keep();
    Ok(())
}

fn write_file(path: &Path, content: &[u8], mode: u32) -> Result<(), String> {
    let failed = failed(path);
    if let Some(parent) = path.parent() {
        fs_err::create_dir_all(parent).map_err(&failed)?;
    }
    fs_err::write(path, content).map_err(&failed)?;
    let mode = std::fs::Permissions::from_mode(mode & 0o777);
    fs_err::set_permissions(path, mode).map_err(&failed)
}

/// Writes a file that only its owner can read. It has its content when it has its name.
pub(crate) fn write_private(path: &Path, content: &[u8]) -> Result<(), String> {
    use std::io::Write as _;
    let failed = failed(path);
    let folder = path.parent().unwrap_or_else(|| Path::new("."));
    fs_err::create_dir_all(folder).map_err(&failed)?;
    let mode = std::fs::Permissions::from_mode(0o700);
    fs_err::set_permissions(folder, mode).map_err(&failed)?;
    // Temporary files have the mode 0600.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(&failed)?;
    file.write_all(content).map_err(&failed)?;
    file.as_file().sync_all().map_err(&failed)?;
    let persisted = file.persist(path);
    persisted.map(drop).map_err(|error| failed(error.error))
}

/// The files of the package for machines, rendered.
fn write_files(package: &PackageContents, root: &Path) -> Result<(), String> {
    let mut wanted = BTreeMap::new();
    for file in &package.files {
        let to = root.join(&file.source);
        if let Some(content) = &file.content {
            write_file(&to, content, file.mode)?;
        } else {
            let (digest, mode) = (file.digest.clone(), file.mode);
            wanted.insert(file.path.clone(), Wanted { digest, to, mode });
        }
    }
    copy(package, &wanted)
}

fn copy(package: &PackageContents, wanted: &BTreeMap<String, Wanted>) -> Result<(), String> {
    let copied = package.source.copy(wanted, &Arc::new(Progress::default()));
    copied.map_err(|error| message(&error))
}

/// Writes the program of the operator.
pub(super) fn write_operator(effects: &Effects) -> Result<(), String> {
    let contents = effects.contents.as_ref();
    let (Some(package), Some((name, digest, _))) = (&contents.package, contents.operator()) else {
        return Ok(());
    };
    let wanted = Wanted {
        digest: digest.clone(),
        to: effects.folders.operator().join(name),
        mode: HOOK_MODE,
    };
    copy(
        package,
        &BTreeMap::from([(format!("operator/{name}"), wanted)]),
    )
}

/// The files of the configuration itself: clusters have one files root.
fn copy_site_files(contents: &Contents, root: &Path) -> Result<(), String> {
    let (Some(cluster), Some(site)) = (&contents.cluster, &contents.site_files) else {
        return Ok(());
    };
    let package = contents.package.iter();
    let of_package: Vec<&str> = package
        .flat_map(|package| &package.files)
        .map(|file| file.source.as_str())
        .collect();
    for file in &cluster.cluster.spec.features.files {
        let source = Path::new(&file.src);
        let is_plain = source
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if of_package.contains(&file.src.as_str()) || !is_plain {
            // Other paths are refused when the cluster is created.
            continue;
        }
        copy_tree(&site.join(source), &root.join(source))?;
    }
    Ok(())
}

/// Copies a file or folder with permissions. Links become what they point to.
fn copy_tree(from: &Path, to: &Path) -> Result<(), String> {
    let mut left: Vec<(PathBuf, PathBuf)> = vec![(from.to_owned(), to.to_owned())];
    while let Some((from, to)) = left.pop() {
        let failed = |error: std::io::Error| format!("failed to copy {}: {error}", from.display());
        if from.is_dir() {
            fs_err::create_dir_all(&to).map_err(failed)?;
            for entry in fs_err::read_dir(&from).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                left.push((entry.path(), to.join(entry.file_name())));
            }
            continue;
        }
        if let Some(parent) = to.parent() {
            fs_err::create_dir_all(parent).map_err(failed)?;
        }
        fs_err::copy(&from, &to).map_err(failed)?;
    }
    Ok(())
}

/// The provider folder of the site, with the files of the package in place of its own. The index is written again.
fn write_provider(
    contents: &Contents,
    package: &PackageContents,
    root: &Path,
) -> Result<(), String> {
    if let Some(original) = &contents.provider {
        link_tree(original, root, &package.provider)?;
    }
    let wanted = package.provider.iter().map(|(path, digest)| {
        let wanted = Wanted {
            digest: digest.clone(),
            to: root.join(path),
            mode: 0o755,
        };
        (format!("provider/{path}"), wanted)
    });
    copy(package, &wanted.collect())?;
    rewrite_index(root)
}

/// Links the files that are not replaced: they have gigabytes.
fn link_tree(
    original: &Path,
    root: &Path,
    replaced: &BTreeMap<String, outrigger_oci::Digest>,
) -> Result<(), String> {
    let files = provider_folder::read_files(original).map_err(|error| message(&error))?;
    for path in files.keys().filter(|path| !replaced.contains_key(*path)) {
        let (from, to) = (original.join(path), root.join(path));
        let failed = failed(&to);
        if let Some(parent) = to.parent() {
            fs_err::create_dir_all(parent).map_err(&failed)?;
        }
        // Another file system has a copy.
        if path == INDEX || fs_err::hard_link(&from, &to).is_err() {
            fs_err::copy(&from, &to).map_err(&failed)?;
        }
    }
    Ok(())
}

/// Gives the files of the package their sizes and digests in the index of the folder.
fn rewrite_index(root: &Path) -> Result<(), String> {
    let path = root.join(INDEX);
    if !path.exists() {
        return Ok(());
    }
    let mut folder = provider_folder::read_index(root).map_err(|error| message(&error))?;
    let files = provider_folder::read_files(root).map_err(|error| message(&error))?;
    for file in folder.releases.iter_mut().flat_map(|it| &mut it.files) {
        if let Some(found) = files.get(&file.path) {
            file.size = found.size;
            file.sha256.clone_from(&found.sha256);
        }
    }
    fs_err::write(&path, folder.to_yaml()).map_err(failed(&path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_replaced_as_a_whole_and_is_private() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("hooks");
        write_file(&path.join("post-install"), b"old", HOOK_MODE).unwrap();
        let new = new_folder(data.path()).unwrap();
        write_file(&new.path().join("pre-install"), b"new", HOOK_MODE).unwrap();
        replace(new, &path).unwrap();
        assert!(!path.join("post-install").exists());
        let mode = |path: &Path| fs_err::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&path.join("pre-install")), 0o700);
        assert_eq!(mode(&path), 0o700);
        let names: Vec<_> = fs_err::read_dir(data.path()).unwrap().collect();
        assert_eq!(names.len(), 1);
    }

    #[test]
    fn a_kubeconfig_is_private_at_all_times() {
        let data = tempfile::tempdir().unwrap();
        let path = data.path().join("share/admin.kubeconfig");
        for content in ["one", "two"] {
            write_private(&path, content.as_bytes()).unwrap();
            assert_eq!(fs_err::read_to_string(&path).unwrap(), content);
            let mode = fs_err::metadata(&path).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
    }
}
