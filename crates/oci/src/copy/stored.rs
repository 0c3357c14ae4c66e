//! What the target has of a blob: nothing, a copy that can be used, or one that is damaged.

use super::Copier;
use crate::client::Client;
use crate::error::Error;
use crate::manifest::Descriptor;
use crate::reference::Repository;
use crate::upload::{Mount, Transfer};

/// A blob in the target.
#[derive(Debug, Clone, Copy)]
pub(super) enum Stored<'a> {
    Usable(Transfer),
    /// It must be sent, unless the registry can mount it.
    Missing(Mount<'a>),
    Damaged,
}

impl Copier {
    /// Finds a blob in the target. `mount` is a repository of the same registry that has it.
    pub(super) async fn find_stored<'a>(
        &self,
        to: &Repository,
        blob: &Descriptor,
        mount: Option<&'a str>,
    ) -> Result<Stored<'a>, Error> {
        let target = &self.shared.target;
        if !self.shared.options.check_blobs {
            let found = target.reuse_blob(to, blob, mount).await?;
            return Ok(match found {
                Some(transfer) => Stored::Usable(transfer),
                None => Stored::Missing(mount.into()),
            });
        }
        match target.verify_blob(to, blob).await {
            Ok(()) => Ok(Stored::Usable(Transfer::Skipped)),
            // Another repository of the registry may have it, but nobody verified it there.
            Err(Error::NotFound { .. }) => {
                Ok(Stored::Missing(mount.map_or(Mount::Never, Mount::From)))
            }
            Err(error @ Error::Damaged { .. }) => {
                tracing::debug!("{error}; sending it again");
                Ok(Stored::Damaged)
            }
            Err(error) => Err(error),
        }
    }
}

/// Fails if a registry kept the damaged content that it had.
pub(super) async fn ensure_replaced(
    target: &Client,
    to: &Repository,
    blob: &Descriptor,
) -> Result<(), Error> {
    match target.verify_blob(to, blob).await {
        Err(Error::Damaged {
            digest, repository, ..
        }) => Err(Error::NotReplaced { digest, repository }),
        verified => verified,
    }
}
