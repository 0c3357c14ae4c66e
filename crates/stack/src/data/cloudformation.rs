//! What a plugin contributes to CloudFormation stacks.

use outrigger_goyaml as goyaml;
use outrigger_model::Scope;
use outrigger_model::construct::{AdditionalStack, StackName};
use serde_json::{Map, Value, json};

use super::contribute::{Contributor, Drafts, draft, raw_draft};
use super::spec::{FileSpec, StackSpec, Stacks};
use crate::plugin::Failure;

impl Contributor<'_> {
    pub(super) fn cluster_stacks(&self, stacks: &Stacks) -> Drafts {
        let cluster = [
            (StackName::Root, &stacks.root),
            (StackName::Network, &stacks.network),
            (StackName::ControlPlane, &stacks.control_plane),
            (StackName::Etcd, &stacks.etcd),
        ];
        let mut drafts = Vec::new();
        for (name, spec) in cluster {
            drafts.extend(self.stack(&name, spec, &Scope::Cluster)?);
        }
        for (name, spec) in &stacks.additional {
            let parameters = spec.parameter_values.clone();
            let stack = AdditionalStack {
                name: name.clone(),
                depends_on: spec.depends_on.clone(),
                parameters,
            };
            drafts.push(draft(&Scope::Cluster, stack)?);
            let contents = StackSpec {
                resources: spec.resources.clone(),
                outputs: spec.outputs.clone(),
                parameters: spec.parameters.clone(),
                tags: spec.tags.clone(),
                patches: Vec::new(),
            };
            drafts.extend(self.stack(
                &StackName::Additional(name.clone()),
                &contents,
                &Scope::Cluster,
            )?);
        }
        Ok(drafts)
    }

    pub(super) fn pool_stack(&self, spec: &StackSpec, scope: &Scope) -> Drafts {
        self.stack(&StackName::NodePools, spec, scope)
    }

    fn stack(&self, stack: &StackName, spec: &StackSpec, scope: &Scope) -> Drafts {
        let stack = serde_json::to_value(stack).map_err(|error| Failure(error.to_string()))?;
        let mut drafts = Vec::new();
        let mut add = |kind: &str, mut fields: Map<String, Value>| {
            fields.insert("stack".to_owned(), stack.clone());
            drafts.push(raw_draft(scope, kind, fields));
        };
        for (name, body) in self.json_object("resources", &spec.resources)? {
            add("resource", fields(&json!({"name": name, "body": body})));
        }
        for (name, body) in self.json_object("outputs", &spec.outputs)? {
            add("output", output(&name, &body)?);
        }
        for (name, body) in self.json_object("parameters", &spec.parameters)? {
            add("parameter", fields(&json!({"name": name, "body": body})));
        }
        for tag in tags(self.json_object("tags", &spec.tags)?)? {
            add("tag", tag);
        }
        for patch in &spec.patches {
            let patch = self.context.render_value("patches", patch)?;
            add("patch", fields(&patch));
        }
        Ok(drafts)
    }

    /// A rendered JSON or YAML object; empty if the specification is.
    fn json_object(&self, field: &str, spec: &FileSpec) -> Result<Map<String, Value>, Failure> {
        let Some(text) = self.rendered_text(field, spec)? else {
            return Ok(Map::new());
        };
        // kube-aws' snippets are the members of an object, with or without its braces.
        let text = text.trim();
        let is_snippet = text.starts_with('"');
        let text = if is_snippet {
            format!("{{{}}}", text.trim_end_matches(','))
        } else {
            text.to_owned()
        };
        match goyaml::parse_json(text.as_bytes()) {
            Ok(Value::Object(object)) => Ok(object),
            Ok(Value::Null) => Ok(Map::new()),
            Ok(_) => Err(Failure(format!("{field} is not an object"))),
            Err(error) => Err(Failure(format!("{field}: {error}"))),
        }
    }
}

fn fields(value: &Value) -> Map<String, Value> {
    value.as_object().cloned().unwrap_or_default()
}

/// An output in the form of a template: `Value`, `Description`, `Export.Name`.
fn output(name: &str, body: &Value) -> Result<Map<String, Value>, Failure> {
    let value = body
        .get("Value")
        .ok_or_else(|| Failure(format!("output {name} has no Value")))?;
    let mut output = fields(&json!({"name": name, "value": value}));
    if let Some(description) = body.get("Description") {
        output.insert("description".to_owned(), description.clone());
    }
    if let Some(export) = body.pointer("/Export/Name") {
        output.insert("export".to_owned(), export.clone());
    }
    Ok(output)
}

/// Tags as kube-aws has them (`{"Tags": [{Key, Value, PropagateAtLaunch}]}`), or as an object of keys and values.
fn tags(mut object: Map<String, Value>) -> Result<Vec<Map<String, Value>>, Failure> {
    let listed = match object.remove("Tags") {
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err(Failure("Tags is not a list".to_owned())),
        None => Vec::new(),
    };
    let listed = listed.iter().map(|tag| {
        let text = |name: &str| tag.get(name).cloned().unwrap_or_default();
        let propagate = text("PropagateAtLaunch");
        let propagate = propagate == true || propagate == "true";
        fields(&json!({"key": text("Key"), "value": text("Value"), "propagateAtLaunch": propagate}))
    });
    let plain = object
        .iter()
        .map(|(key, value)| fields(&json!({"key": key, "value": value})));
    Ok(listed.chain(plain).collect())
}
