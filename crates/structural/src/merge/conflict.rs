//! Conflicts of an apply with other field managers.

use std::fmt;

use super::managed_fields::ManagedFields;
use super::path::Path;
use super::set::Set;

/// A field that another manager owns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// Identifies the entry of the other manager.
    pub(super) identifier: String,
    /// The other manager as in messages: `"kubectl" using apps/v1`.
    pub manager: String,
    pub field: Path,
}

/// All conflicts of an apply, grouped by manager.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflicts(pub Vec<Conflict>);

impl Conflicts {
    /// The conflicts in the order of the message.
    pub(super) fn new(managed: &ManagedFields, conflicts: &[(String, Set)]) -> Self {
        let conflicts = conflicts
            .iter()
            .filter_map(|(id, set)| Some((id, managed.get(id)?, set)));
        let conflicts = conflicts.flat_map(|(id, entry, set)| {
            set.paths().into_iter().map(|field| Conflict {
                identifier: id.clone(),
                manager: entry.display_manager(),
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
        let mut current = None;
        for conflict in &self.0 {
            if current != Some(&conflict.identifier) {
                let separator = if current.is_some() { "\n" } else { "" };
                write!(f, "{separator}conflicts with {}:", conflict.manager)?;
                current = Some(&conflict.identifier);
            }
            write!(f, "\n- {}", conflict.field)?;
        }
        Ok(())
    }
}
