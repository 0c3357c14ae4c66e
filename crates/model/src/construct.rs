//! The constructs that plugins can contribute: one file each.

use std::fmt::Debug;

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::scope::Scope;

mod additional_stack;
mod component;
mod component_setting;
mod content;
mod drop_in;
mod file;
mod flag;
mod helm_release;
mod iam_statement;
mod kernel_setting;
mod key_pair;
mod manifest;
mod node_label;
mod node_taint;
mod output;
mod parameter;
pub mod patch;
mod resource;
mod s3_file;
mod stack;
mod tag;
mod unit;
mod volume;

pub use additional_stack::AdditionalStack;
pub use component::Component;
pub use component_setting::ComponentSetting;
pub use content::{Content, KeyPairPart};
pub use drop_in::DropIn;
pub use file::File;
pub use flag::Flag;
pub use helm_release::{HelmRelease, ValuesFrom};
pub use iam_statement::{Effect, IamStatement};
pub use kernel_setting::KernelSetting;
pub use key_pair::{KeyPair, KeyUsage};
pub use manifest::Manifest;
pub use node_label::NodeLabel;
pub use node_taint::{NodeTaint, TaintEffect};
pub use output::Output;
pub use parameter::Parameter;
pub use patch::{Operation, Patch};
pub use resource::Resource;
pub use s3_file::S3File;
pub use stack::StackName;
pub use tag::Tag;
pub use unit::Unit;
pub use volume::Volume;

/// Whether a thing may have several owners.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// Exactly one owner.
    Exclusive,
    /// Several owners, if their values are equal.
    WhenEqual,
    /// Several owners; the construct compares their values itself, in [`Construct::excludes`].
    Compatible,
}

/// Something that plugins can contribute.
pub trait Construct: Debug + Clone + PartialEq + Serialize + DeserializeOwned {
    /// The name in messages.
    const KIND: &'static str;

    /// Whether it may have several owners.
    const SHARING: Sharing;

    /// What identifies it. Contributions with equal keys are for the same thing.
    fn key(&self) -> String;

    /// The contributions that this one stands for. Lists that may have several owners are split into their items.
    fn parts(self) -> Vec<Self> {
        vec![self]
    }

    /// Whether it is well-formed and may have this scope.
    fn check(&self, _scope: &Scope) -> Result<(), String> {
        Ok(())
    }

    /// Whether two contributions with the same key exclude each other, for [`Sharing::Compatible`].
    fn excludes(&self, other: &Self) -> bool {
        self != other
    }
}

/// Fails unless the scope is the whole cluster, for what exists once.
fn cluster_only(scope: &Scope) -> Result<(), String> {
    match scope {
        Scope::Cluster => Ok(()),
        _ => Err("must have the scope cluster".to_owned()),
    }
}

/// Fails unless the text is not empty and without control characters.
fn require(field: &str, text: &str) -> Result<(), String> {
    if text.is_empty() {
        return Err(format!("{field} is empty"));
    }
    if text.chars().any(char::is_control) {
        return Err(format!("{field} contains control characters"));
    }
    Ok(())
}
