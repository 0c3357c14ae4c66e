//! Contributions, and the model they become. A new construct is one file in `construct/`, and one line here.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::conflict::Conflict;
use crate::construct::{self, Construct as _};
use crate::merged::{Entry, Merged};
use crate::names::Owner;
use crate::scope::Scope;

/// One thing that one plugin adds to a cluster. As JSON: `{"owner": …, "scope": …, "file": {…}}`, with one construct.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>")]
pub struct Contribution {
    /// The plugin that adds it.
    pub owner: Owner,
    /// The machines that it is for.
    pub scope: Scope,
    /// What is added.
    #[serde(flatten)]
    pub construct: AnyConstruct,
}

/// Why a JSON object is not a contribution.
#[derive(Debug, thiserror::Error)]
pub enum InvalidContribution {
    /// The owner is missing.
    #[error("a contribution has no owner")]
    NoOwner,
    /// There is no construct, or more than one.
    #[error("a contribution has one construct, but this one has: {0}")]
    NotOneConstruct(String),
    /// A field is unknown, is missing or has another type.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl TryFrom<Map<String, Value>> for Contribution {
    type Error = InvalidContribution;

    fn try_from(mut object: Map<String, Value>) -> Result<Self, InvalidContribution> {
        let owner = object.remove("owner").ok_or(InvalidContribution::NoOwner)?;
        let scope = object
            .remove("scope")
            .map(serde_json::from_value)
            .transpose()?;
        if object.len() != 1 {
            let names: Vec<String> = object.into_iter().map(|(name, _)| name).collect();
            return Err(InvalidContribution::NotOneConstruct(names.join(", ")));
        }
        Ok(Self {
            owner: serde_json::from_value(owner)?,
            scope: scope.unwrap_or(Scope::Cluster),
            construct: serde_json::from_value(Value::Object(object))?,
        })
    }
}

macro_rules! constructs {
    ($($(#[$doc:meta])* $field:ident: $construct:ident,)*) => {
        /// Any construct, under the name of its type in camel case.
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "camelCase")]
        pub enum AnyConstruct {
            $($(#[$doc])* $construct(construct::$construct),)*
        }

        impl AnyConstruct {
            /// The name of the construct in messages.
            pub fn kind(&self) -> &'static str {
                match self { $(Self::$construct(_) => construct::$construct::KIND,)* }
            }

            /// What identifies it among those of its kind.
            pub fn key(&self) -> String {
                match self { $(Self::$construct(value) => value.key(),)* }
            }
        }

        $(impl From<construct::$construct> for AnyConstruct {
            fn from(construct: construct::$construct) -> Self {
                Self::$construct(construct)
            }
        })*

        /// Everything that all plugins contribute, without conflicts.
        #[derive(Debug, Clone, PartialEq, Eq, Default)]
        pub struct Model {
            $($(#[$doc])* pub $field: Merged<construct::$construct>,)*
        }

        impl Model {
            /// Merges the contributions of each construct; conflicts are added to the list.
            pub(crate) fn collect(
                contributions: impl IntoIterator<Item = Contribution>,
                conflicts: &mut Vec<Conflict>,
            ) -> Self {
                $(let mut $field = Vec::new();)*
                for Contribution { owner, scope, construct } in contributions {
                    match construct {
                        $(AnyConstruct::$construct(value) => $field.push((owner, scope, value)),)*
                    }
                }
                Self { $($field: Merged::collect($field, conflicts),)* }
            }

            /// The contributions that the model consists of, in a stable order.
            pub fn contributions(&self) -> Vec<Contribution> {
                let mut all = Vec::new();
                $(all.extend(self.$field.entries().flat_map(contributions_of));)*
                all
            }
        }
    };
}

constructs! {
    /// Stacks besides those of the cluster.
    additional_stacks: AdditionalStack,
    /// CloudFormation resources.
    resources: Resource,
    /// CloudFormation outputs.
    outputs: Output,
    /// CloudFormation parameters.
    parameters: Parameter,
    /// Tags of stacks.
    tags: Tag,
    /// Changes to resources of other plugins.
    patches: Patch,
    /// systemd units.
    units: Unit,
    /// Drop-ins of systemd units.
    drop_ins: DropIn,
    /// Files on machines.
    files: File,
    /// Kernel settings.
    kernel_settings: KernelSetting,
    /// Command-line flags of components.
    flags: Flag,
    /// Host paths that components mount.
    volumes: Volume,
    /// Fields of configuration files of components.
    component_settings: ComponentSetting,
    /// Labels of nodes.
    node_labels: NodeLabel,
    /// Taints of nodes.
    node_taints: NodeTaint,
    /// Permissions of the machines' IAM roles.
    iam_statements: IamStatement,
    /// Certificates and their private keys.
    key_pairs: KeyPair,
    /// Kubernetes objects.
    manifests: Manifest,
    /// Helm releases.
    helm_releases: HelmRelease,
    /// Files in the bucket of the cluster.
    s3_files: S3File,
}

fn contributions_of<T: Clone + Into<AnyConstruct>>(
    entry: &Entry<T>,
) -> impl Iterator<Item = Contribution> {
    entry.owners.iter().map(|owner| Contribution {
        owner: owner.clone(),
        scope: entry.scope.clone(),
        construct: entry.value.clone().into(),
    })
}
