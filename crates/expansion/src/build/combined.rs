//! Plans a package of two folders. What comes out is verified like any package.

use std::path::Path;

use outrigger_oci::Client;

use super::files::{self, FileContent, PlannedFile};
use super::plan::Plan;
use super::{BuildOptions, Error, blocking, check, images, read_folder};
use crate::combine::{Naming, Part, combine};
use crate::package::Package;
use crate::scan::{Content, Entry, File, MAX_FILE_BYTES, Scanned};

/// Plans a package that has what two others have. Nothing is written.
pub async fn plan_combined(
    folders: [&Path; 2],
    naming: &Naming,
    registry: &Client,
    options: &BuildOptions,
) -> Result<Plan, Error> {
    let [(first, mut findings), (second, more)] = [
        read_folder(folders[0]).await?,
        read_folder(folders[1]).await?,
    ];
    findings.extend(more);
    let parts = [
        part(folders[0], first.clone()).await?,
        part(folders[1], second.clone()).await?,
    ];
    let [one, two] = parts;
    let combined = combine(one, two, naming).map_err(Error::Conflicts)?;
    let scanned = scanned(&combined.files);
    let (package, _) = Package::read(&scanned);
    // The name in messages: the package has no folder.
    findings.extend(check(Path::new(&package.name), &scanned)?);
    let sources = [(folders[0], &first), (folders[1], &second)];
    let layout = images::collect(&sources, &package, registry, &options.platforms).await?;
    let mut plan = Plan::new(&package, combined.files, &layout, &options.platforms)?;
    findings.sort();
    findings.dedup();
    plan.findings = findings;
    plan.notes = combined.notes;
    Ok(plan)
}

async fn part(folder: &Path, scanned: Scanned) -> Result<Part, Error> {
    let folder = folder.to_owned();
    let planned = blocking(move || {
        let (package, _) = Package::read(&scanned);
        let files = files::of_folder(&folder, scanned)?;
        Ok(Part { package, files })
    });
    planned.await
}

/// The files as `scan` would read them in one folder.
fn scanned(files: &[PlannedFile]) -> Scanned {
    let entries = files.iter().map(|file| {
        let locked = &file.locked;
        let content = match &file.content {
            FileContent::Bytes(bytes) => Content::Bytes(bytes.clone()),
            FileContent::Path(_) if locked.size > MAX_FILE_BYTES => Content::TooLarge,
            FileContent::Path(_) => Content::NotRead,
        };
        let file = File {
            size: locked.size,
            mode: locked.mode,
            content,
        };
        (locked.path.clone(), Entry::File(file))
    });
    Scanned {
        entries: entries.collect(),
        ..Scanned::default()
    }
}
