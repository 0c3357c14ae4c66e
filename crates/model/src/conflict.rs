//! Why contributions cannot be merged.

use std::fmt;

use crate::names::Owner;
use crate::scope::Scope;

/// Contributions that exclude each other, or one that cannot be valid. Names everyone involved.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub struct Conflict {
    /// The construct, such as `file`.
    pub kind: &'static str,
    /// What identifies it, such as a path.
    pub key: String,
    /// The owner of the first contribution, in the order of names.
    pub owner: Owner,
    /// The scope of the first contribution.
    pub scope: Scope,
    /// What is wrong.
    pub problem: Problem,
}

/// What is wrong with a contribution.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub enum Problem {
    /// Another contribution is for the same thing, and reaches the same machines.
    Claimed {
        /// The owner of the other contribution.
        other: Owner,
        /// The scope of the other contribution.
        scope: Scope,
    },
    /// A contribution is malformed.
    Invalid(String),
    /// A contribution needs something that nobody contributes.
    Missing(String),
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            kind,
            key,
            owner,
            scope,
            problem,
        } = self;
        match problem {
            Problem::Claimed {
                other,
                scope: other_scope,
            } if owner == other => {
                write!(
                    f,
                    "{kind} {key}: plugin {owner} contributes it twice ({scope} and {other_scope})"
                )
            }
            Problem::Claimed {
                other,
                scope: other_scope,
            } => {
                write!(
                    f,
                    "{kind} {key}: claimed by plugin {owner} ({scope}) and by plugin {other} ({other_scope})"
                )
            }
            Problem::Invalid(reason) => {
                write!(f, "{kind} {key} of plugin {owner} ({scope}): {reason}")
            }
            Problem::Missing(what) => {
                write!(
                    f,
                    "{kind} {key} of plugin {owner} ({scope}): {what} does not exist"
                )
            }
        }
    }
}
