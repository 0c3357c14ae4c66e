//! Builds a package of a folder: everything is verified and every digest is known before the first byte is written.
//!
//! ```text
//! folder ─scan, verify→ files ──┐
//! images of the list ─resolve→ ─┴→ Plan (root document, lock, contents) ─write→ package, or chunks
//! ```
//!
//! Images come from the archive in the folder, and from their registries if it lacks them. Their blobs are streamed into the
//! package, each once; nothing else is written to disk.

mod combined;
pub(crate) mod files;
mod images;
mod plan;
mod write;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use outrigger_oci::{Client, Platform};

use crate::archive;
use crate::built::open_base;
use crate::finding::Finding;
use crate::merge::Conflict;
use crate::package::Package;
use crate::progress::Progress;
use crate::root::DocumentError;
use crate::scan::{self, Scanned, scan};
use crate::verify::verify_sources;

pub use combined::plan_combined;
pub use plan::Plan;
pub use write::WriteOptions;

/// What a package is built with.
#[derive(Debug, Clone, Default)]
pub struct BuildOptions {
    /// The platforms of its images; all if empty.
    pub platforms: Vec<Platform>,
    /// The package that has what a delta does not carry.
    pub base: Option<PathBuf>,
}

/// Why a package cannot be built.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    Scan(#[from] scan::Error),
    #[error("{} has fatal findings", folder.display())]
    Findings {
        folder: PathBuf,
        findings: Vec<Finding>,
    },
    #[error("the packages conflict")]
    Conflicts(Vec<Conflict>),
    #[error("{} is built already; a package is built of a folder", .0.display())]
    AlreadyBuilt(PathBuf),
    #[error("failed to find the image {image}{}", not_in(.archives))]
    Image {
        image: String,
        /// The archives that lack the image.
        archives: Vec<String>,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("failed to read {what}")]
    Content {
        what: String,
        #[source]
        source: Box<outrigger_oci::Error>,
    },
    #[error("failed to read {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("{} changed while the package was built", .0.display())]
    Changed(PathBuf),
    #[error("the package cannot be described")]
    Document(#[from] DocumentError),
    #[error("failed to read the base")]
    Base(#[source] archive::Error),
    #[error("failed to write {}", path.display())]
    Write {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("the build was canceled")]
    Canceled,
}

fn not_in(archives: &[String]) -> String {
    if archives.is_empty() {
        String::new()
    } else {
        format!(", which {} lacks", archives.join(" and "))
    }
}

impl Error {
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Image { source, .. } | Self::Content { source, .. } => source.hint().or_else(|| {
                Some("`outrigger image save` writes images to images.tar.gz where there is internet".to_owned())
            }),
            Self::Base(error) => error.hint(),
            Self::AlreadyBuilt(_) => {
                Some("`outrigger expansion extract` makes a folder of a package".to_owned())
            }
            Self::Changed(_) => Some("nothing was written; build it again".to_owned()),
            _ => None,
        }
    }
}

/// Plans a package: verifies the folder, finds its images, and computes all digests. Nothing is written.
pub async fn plan(folder: &Path, registry: &Client, options: &BuildOptions) -> Result<Plan, Error> {
    let (scanned, findings) = read_folder(folder).await?;
    let (package, _) = Package::read(&scanned);
    let layout = images::collect(
        &[(folder, &scanned)],
        &package,
        registry,
        &options.platforms,
    )
    .await?;
    let (folder, options) = (folder.to_owned(), options.clone());
    blocking(move || {
        let base = open_base(options.base.as_deref(), &Arc::new(Progress::default()));
        let base = base.map_err(Error::Base)?;
        let files = files::of_folder(&folder, scanned)?;
        let mut plan = Plan::new(&package, files, &layout, &options.platforms)?;
        if let Some(base) = base {
            plan = plan.leave_to(&base)?;
        }
        plan.findings = findings;
        Ok(plan)
    })
    .await
}

/// Scans and verifies a folder. Returns it with its warnings.
async fn read_folder(folder: &Path) -> Result<(Scanned, Vec<Finding>), Error> {
    let path = folder.to_owned();
    let scanned = blocking(move || {
        if path.is_file() {
            return Err(Error::AlreadyBuilt(path));
        }
        Ok(scan(&path)?)
    });
    let scanned = scanned.await?;
    let findings = check(folder, &scanned)?;
    Ok((scanned, findings))
}

/// The warnings of a package, unless a finding is fatal.
fn check(folder: &Path, scanned: &Scanned) -> Result<Vec<Finding>, Error> {
    let findings = verify_sources(scanned);
    if findings.iter().any(Finding::is_fatal) {
        let folder = folder.to_owned();
        return Err(Error::Findings { folder, findings });
    }
    Ok(findings)
}

/// Whether a path of a folder is the archive of its images, which the layout of the package replaces.
fn is_image_archive(scanned: &Scanned, path: &str) -> bool {
    let archive = scanned
        .archive
        .as_ref()
        .map(|archive| archive.path.as_str());
    archive.is_some_and(|archive| {
        path.strip_prefix(archive)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}

async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or(Err(Error::Canceled))
}
