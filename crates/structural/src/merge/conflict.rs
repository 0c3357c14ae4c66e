//! What keeps an apply from going through: fields that others own.

use std::fmt;

use super::managed::Managed;
use super::path::Path;
use super::set::Set;

/// One field that somebody else owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The owner's entry, by identity.
    pub(super) identity: String,
    /// The owner as a message names it: `"kubectl" using apps/v1`.
    pub manager: String,
    pub field: Path,
}

/// The fields that kept an apply from going through, by owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// Sorted by owner, as the message is.
    pub(super) fn new(managed: &Managed, conflicts: &[(String, Set)]) -> Self {
        let conflicts = conflicts
            .iter()
            .filter_map(|(id, set)| Some((id, managed.get(id)?, set)));
        let conflicts = conflicts.flat_map(|(id, entry, set)| {
            set.paths().into_iter().map(|field| Conflict {
                identity: id.clone(),
                manager: entry.title(),
                field,
            })
        });
        Self(conflicts.collect())
    }

    pub(super) fn fields(&self) -> Set {
        self.0
            .iter()
            .map(|conflict| conflict.field.clone())
            .collect()
    }
}

impl fmt::Display for Conflicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [only] = self.0.as_slice() {
            let (manager, field) = (&only.manager, &only.field);
            return write!(
                f,
                "Apply failed with 1 conflict: conflict with {manager}: {field}"
            );
        }
        write!(f, "Apply failed with {} conflicts: ", self.0.len())?;
        let mut owner = None;
        for conflict in &self.0 {
            if owner != Some(&conflict.identity) {
                let break_ = if owner.is_some() { "\n" } else { "" };
                write!(f, "{break_}conflicts with {}:", conflict.manager)?;
                owner = Some(&conflict.identity);
            }
            write!(f, "\n- {}", conflict.field)?;
        }
        Ok(())
    }
}
