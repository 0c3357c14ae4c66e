//! What a plugin contributes to machines: files, units, permissions, labels.

use std::collections::BTreeMap;

use outrigger_model::Scope;
use outrigger_model::construct::{
    Component, ComponentSetting, DropIn, File, Flag, KernelSetting, NodeLabel, Unit, Volume,
};
use serde_json::{Map, Value};

use super::contribute::{Contributor, Drafts, draft, raw_draft};
use super::spec::{FileSpec, KubeletSpec, RoleSpec};
use crate::plugin::Failure;

impl Contributor<'_> {
    pub(super) fn role(&self, role: &RoleSpec, scope: &Scope) -> Drafts {
        let mut drafts = Vec::new();
        for spec in &role.files {
            drafts.push(draft(scope, self.file(spec)?)?);
        }
        for spec in &role.systemd.units {
            drafts.extend(self.unit(spec, scope)?);
        }
        for statement in &role.iam.policy.statements {
            let rendered = self
                .context
                .render_value("iam.policy.statements", &Value::Object(statement.clone()))?;
            let fields = rendered.as_object().cloned().unwrap_or_default();
            drafts.push(raw_draft(scope, "iamStatement", fields));
        }
        for (name, value) in &role.kernel_settings {
            let value = self.scalar("kernelSettings", value)?;
            drafts.push(draft(
                scope,
                KernelSetting {
                    name: name.clone(),
                    value,
                },
            )?);
        }
        drafts.extend(self.kubelet(&role.kubelet, scope)?);
        Ok(drafts)
    }

    fn file(&self, spec: &FileSpec) -> Result<File, Failure> {
        let path = spec
            .path
            .as_deref()
            .ok_or_else(|| Failure("a file has no path".to_owned()))?;
        let path = self.text("path", path)?;
        let content = self.content(&path, spec)?;
        let default = if content.is_secret() { 0o600 } else { 0o644 };
        Ok(File {
            mode: spec.permissions.unwrap_or(default),
            path,
            content,
        })
    }

    fn unit(&self, spec: &FileSpec, scope: &Scope) -> Drafts {
        let name = spec
            .name
            .clone()
            .ok_or_else(|| Failure("a unit has no name".to_owned()))?;
        let content = self.rendered_text(&name, spec)?;
        let mut drafts = Vec::new();
        let mask = spec.mask.unwrap_or(false);
        let changes_unit =
            content.is_some() || spec.enable.is_some() || spec.start.is_some() || mask;
        if !changes_unit && spec.drop_ins.is_empty() {
            return Err(Failure(format!(
                "unit {name} has neither content nor drop-ins"
            )));
        }
        if changes_unit {
            let (enable, start) = (spec.enable.unwrap_or(!mask), spec.start.unwrap_or(!mask));
            drafts.push(draft(
                scope,
                Unit {
                    name: name.clone(),
                    content,
                    enable,
                    start,
                    mask,
                },
            )?);
        }
        for drop_in in &spec.drop_ins {
            let content = self.text(&drop_in.name, &drop_in.content)?;
            drafts.push(draft(
                scope,
                DropIn {
                    unit: name.clone(),
                    name: drop_in.name.clone(),
                    content,
                },
            )?);
        }
        Ok(drafts)
    }

    fn kubelet(&self, spec: &KubeletSpec, scope: &Scope) -> Drafts {
        let component = Component::Kubelet;
        let mut drafts = Vec::new();
        for (key, value) in &spec.node_labels {
            let value = self.scalar("nodeLabels", value)?;
            drafts.push(draft(
                scope,
                NodeLabel {
                    key: key.clone(),
                    value,
                },
            )?);
        }
        if !spec.feature_gates.is_empty() {
            let path = vec!["featureGates".to_owned()];
            let value = Value::Object(gates(&spec.feature_gates)?);
            drafts.push(draft(
                scope,
                ComponentSetting {
                    component,
                    path,
                    value,
                },
            )?);
        }
        if let Some(kubeconfig) = &spec.kubeconfig {
            let value = self.text("kubeconfig", kubeconfig)?;
            drafts.push(draft(
                scope,
                Flag {
                    component,
                    name: "kubeconfig".to_owned(),
                    value,
                },
            )?);
        }
        for path in &spec.mounts {
            let name = path
                .trim_matches('/')
                .to_lowercase()
                .replace(['/', '.', '_'], "-");
            drafts.push(draft(
                scope,
                Volume {
                    component,
                    name,
                    path: path.clone(),
                    read_only: false,
                },
            )?);
        }
        for taint in &spec.taints {
            drafts.push(raw_draft(scope, "nodeTaint", taint.clone()));
        }
        Ok(drafts)
    }
}

/// Feature gates as booleans, which are often quoted.
fn gates(gates: &BTreeMap<String, Value>) -> Result<Map<String, Value>, Failure> {
    let gates = gates.iter().map(|(name, value)| {
        let enabled = match value {
            Value::Bool(enabled) => *enabled,
            Value::String(text) if text == "true" || text == "false" => text == "true",
            _ => {
                return Err(Failure(format!(
                    "feature gate {name} must be true or false"
                )));
            }
        };
        Ok((name.clone(), Value::Bool(enabled)))
    });
    gates.collect()
}
