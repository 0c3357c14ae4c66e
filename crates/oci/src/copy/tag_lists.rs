//! Which tags the repositories of a source have, so that tags that do not exist are not asked for.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::OnceCell;

use crate::client::Client;
use crate::error::Error;
use crate::reference::{Reference, Repository};

/// Repositories whose tags are kept.
const MAX_REPOSITORIES: usize = 256;

/// The tags of repositories. Each is listed once.
#[derive(Debug, Default)]
pub(super) struct TagLists {
    lists: Mutex<HashMap<Repository, Arc<OnceCell<TagList>>>>,
}

/// The tags of one repository.
#[derive(Debug, Clone)]
pub(super) struct TagList(Option<Arc<BTreeSet<String>>>);

impl TagLists {
    /// The tags of the repository of an image. A list without the tag of the image itself is not complete.
    pub(super) async fn of(&self, client: &Client, image: &Reference) -> Result<TagList, Error> {
        let repository = image.repository();
        let entry = self.entry(repository);
        let list = entry.get_or_try_init(|| async {
            let tags = client.few_tags(repository).await?;
            Ok::<_, Error>(TagList(tags.map(Arc::new)))
        });
        let list = list.await?.clone();
        Ok(match (&list.0, image.tag()) {
            (Some(tags), Some(tag)) if !tags.contains(tag) => TagList(None),
            _ => list,
        })
    }

    fn entry(&self, repository: &Repository) -> Arc<OnceCell<TagList>> {
        let mut lists = self.lists.lock().unwrap_or_else(PoisonError::into_inner);
        if lists.len() >= MAX_REPOSITORIES && !lists.contains_key(repository) {
            lists.clear();
        }
        Arc::clone(lists.entry(repository.clone()).or_default())
    }
}

impl TagList {
    /// A list that is not known.
    pub(super) fn unknown() -> Self {
        Self(None)
    }

    pub(super) fn is_known(&self) -> bool {
        self.0.is_some()
    }

    /// Whether the repository may have a tag.
    pub(super) fn may_have(&self, tag: &str) -> bool {
        self.0.as_ref().is_none_or(|tags| tags.contains(tag))
    }
}
