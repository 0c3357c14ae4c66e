//! From the fields of `plugin.yaml` to contributions, for the cluster or for one node pool.

use outrigger_model::{AnyConstruct, PoolName, Role, Scope};
use serde_json::{Map, Value};

use super::Draft;
use super::spec::Cluster;
use crate::folder::Folder;
use crate::plugin::Failure;
use crate::template::{Context, TemplateConfiguration};

/// Turns parts of `plugin.yaml` into contributions of one scope.
pub(super) struct Contributor<'a> {
    pub(super) folder: &'a Folder,
    pub(super) context: Context,
    pub(super) plugin: &'a str,
    pool: Option<&'a PoolName>,
}

pub(super) type Drafts = Result<Vec<Draft>, Failure>;

impl<'a> Contributor<'a> {
    pub(super) fn new(
        folder: &'a Folder,
        plugin: &'a str,
        configuration: &TemplateConfiguration,
        values: &Map<String, Value>,
        pool: Option<&'a PoolName>,
    ) -> Result<Self, Failure> {
        let pool_name = pool.map(PoolName::as_str);
        let values = Value::Object(values.clone());
        // Values may be templates of the configuration and of plain values.
        let plain = Context::new(configuration, &values, pool_name, plugin)?;
        let values = plain.render_value("values", &values)?;
        let context = Context::new(configuration, &values, pool_name, plugin)?;
        Ok(Self {
            folder,
            context,
            plugin,
            pool,
        })
    }

    /// What the plugin contributes to the cluster, apart from its node pools.
    pub(super) fn cluster(&self, cluster: &Cluster) -> Drafts {
        let roles = &cluster.machine.roles;
        let mut drafts = self.cluster_stacks(&cluster.cloudformation.stacks)?;
        drafts.extend(self.control_plane_components(&cluster.kubernetes)?);
        drafts.extend(self.node_components(&cluster.kubernetes, &Scope::Role(Role::Controller))?);
        drafts.extend(self.manifests(&cluster.kubernetes.manifests)?);
        drafts.extend(self.releases(&cluster.helm.releases)?);
        drafts.extend(self.key_pairs(&cluster.pki.keypairs)?);
        drafts.extend(self.s3_files(&cluster.s3.files)?);
        if let Some(role) = &roles.controller {
            drafts.extend(self.role(role, &Scope::Role(Role::Controller))?);
        }
        if let Some(role) = &roles.etcd {
            drafts.extend(self.role(role, &Scope::Role(Role::Etcd))?);
        }
        Ok(drafts)
    }

    /// What the plugin contributes to its node pool.
    pub(super) fn pool(&self, cluster: &Cluster) -> Drafts {
        let Some(pool) = self.pool else {
            return Ok(Vec::new());
        };
        let scope = Scope::NodePool(pool.clone());
        let mut drafts = self.pool_stack(&cluster.cloudformation.stacks.node_pool, &scope)?;
        drafts.extend(self.node_components(&cluster.kubernetes, &scope)?);
        if let Some(role) = &cluster.machine.roles.worker {
            drafts.extend(self.role(role, &scope)?);
        }
        Ok(drafts)
    }

    /// Renders a text of `plugin.yaml`.
    pub(super) fn text(&self, field: &str, text: &str) -> Result<String, Failure> {
        self.context.render(field, text)
    }

    /// A scalar as text: kube-aws accepts `value: true` beside `value: "true"`.
    pub(super) fn scalar(&self, field: &str, value: &Value) -> Result<String, Failure> {
        match value {
            Value::String(text) => self.text(field, text),
            Value::Null => Ok(String::new()),
            Value::Bool(_) | Value::Number(_) => Ok(value.to_string()),
            _ => Err(Failure(format!("{field} must be a scalar"))),
        }
    }
}

/// A contribution without its owner.
pub(super) fn draft(scope: &Scope, construct: impl Into<AnyConstruct>) -> Result<Draft, Failure> {
    let construct = serde_json::to_value(construct.into());
    let Ok(Value::Object(mut draft)) = construct else {
        return Err(Failure("a construct is not an object".to_owned()));
    };
    draft.insert("scope".to_owned(), Value::String(scope.to_string()));
    Ok(draft)
}

/// A contribution from fields that the plugin gives, checked when the pipeline parses it.
pub(super) fn raw_draft(scope: &Scope, kind: &str, fields: Map<String, Value>) -> Draft {
    let scope = Value::String(scope.to_string());
    Map::from_iter([
        ("scope".to_owned(), scope),
        (kind.to_owned(), Value::Object(fields)),
    ])
}
