//! CloudFormation templates: a root stack whose resources are the other stacks.
//!
//! Resources may contain three functions that only this plugin knows and replaces: `Outrigger::UserData` and
//! `Outrigger::Statements` (of a role) and `Outrigger::Tags` (of the stack, added to those given).

mod functions;

use std::collections::BTreeMap;

use outrigger_model::construct::{Construct as _, Resource, StackName};
use outrigger_model::{Entry, Model, Owner, Placement};
use serde_json::{Map, Value, json};

use super::machine_files::bucket;
use super::user_data::placements;
use crate::finding::Finding;
use crate::plugin::{Failure, Request, Response};
use crate::stage::{Stage, Template};
use crate::stage_files::sha256;
use functions::Functions;

#[expect(clippy::unnecessary_wraps, reason = "the signature of all plugins")]
pub(super) fn run(request: &Request<'_>) -> Result<Response, Failure> {
    let (Stage::Render, Some(model)) = (request.stage, request.model) else {
        return Ok(Response::default());
    };
    let mut response = Response::default();
    let mut nested = BTreeMap::new();
    for stack in stacks(model, request) {
        let body = template(model, request, &stack, &mut response.findings);
        if !body["Resources"].as_object().is_some_and(Map::is_empty) {
            nested.insert(stack.logical_name(), (stack, body));
        }
    }
    let root = Stack {
        name: StackName::Root,
        placement: None,
    };
    let mut body = template(model, request, &root, &mut response.findings);
    for (name, (stack, template)) in &nested {
        body["Resources"][name.as_str()] = nested_stack(model, request, stack, template);
    }
    response.templates.push(Template {
        name: "root".to_owned(),
        body,
    });
    response
        .templates
        .extend(nested.into_values().map(|(stack, body)| Template {
            name: stack.file_name(),
            body,
        }));
    Ok(response)
}

/// A stack of the cluster; each node pool has its own.
struct Stack {
    name: StackName,
    placement: Option<Placement>,
}

impl Stack {
    fn file_name(&self) -> String {
        match (&self.name, &self.placement) {
            (StackName::NodePools, Some(Placement::Worker(pool))) => format!("node-pool-{pool}"),
            (StackName::Additional(name), _) => format!("additional-{name}"),
            (name, _) => name.to_string(),
        }
    }

    /// The logical name in the root stack.
    fn logical_name(&self) -> String {
        match (&self.name, &self.placement) {
            (StackName::NodePools, Some(Placement::Worker(pool))) => {
                // Hyphens are not allowed; `X` keeps names apart that differ in them only.
                format!("NodePool{}", pool.as_str().replace('-', "X"))
            }
            (StackName::Additional(name), _) => name.clone(),
            (StackName::ControlPlane, _) => "ControlPlane".to_owned(),
            (StackName::Etcd, _) => "Etcd".to_owned(),
            _ => "Network".to_owned(),
        }
    }

    /// Whether a contribution to a stack is for this one.
    fn has(&self, name: &StackName) -> bool {
        *name == self.name
    }
}

fn stacks(model: &Model, request: &Request<'_>) -> Vec<Stack> {
    let stack = |name, placement| Stack { name, placement };
    let mut stacks = vec![stack(StackName::Network, None)];
    stacks.extend(
        placements(request)
            .into_iter()
            .map(|placement| match placement {
                Placement::Etcd => stack(StackName::Etcd, Some(placement)),
                Placement::Controller => stack(StackName::ControlPlane, Some(placement)),
                Placement::Worker(_) => stack(StackName::NodePools, Some(placement)),
            }),
    );
    let additional = model
        .additional_stacks
        .entries()
        .map(|entry| entry.value.name.clone());
    stacks.extend(additional.map(|name| stack(StackName::Additional(name), None)));
    stacks
}

/// The entries for a stack: those of its pool, or of the cluster.
macro_rules! entries {
    ($merged:expr, $stack:expr) => {{
        // Stacks other than node pools have entries of the scope cluster only, which reach controllers.
        let placement = $stack.placement.clone().unwrap_or(Placement::Controller);
        let entries: Vec<_> = $merged.for_placement(&placement).filter(|entry| $stack.has(&entry.value.stack)).collect();
        entries
    }};
}

fn template(
    model: &Model,
    request: &Request<'_>,
    stack: &Stack,
    findings: &mut Vec<Finding>,
) -> Value {
    let functions = Functions {
        model,
        request,
        stack: &stack.name,
        placement: stack.placement.as_ref(),
    };
    let mut resources = Map::new();
    for entry in entries!(model.resources, stack) {
        let body = patched(model, stack, entry, findings);
        let body = functions
            .replace(&Value::Object(body))
            .unwrap_or_else(|message| {
                findings.push(Finding::fatal(
                    "",
                    format!(
                        "resource {} of plugin {}: {message}",
                        entry.value.name,
                        owner(&entry.owners)
                    ),
                ));
                Value::Null
            });
        resources.insert(entry.value.name.clone(), body);
    }
    let mut document = json!({"AWSTemplateFormatVersion": "2010-09-09", "Description": description(request, stack), "Resources": resources});
    let parameters = entries!(model.parameters, stack).into_iter().map(|entry| {
        (
            entry.value.name.clone(),
            Value::Object(entry.value.body.clone()),
        )
    });
    let parameters: Map<String, Value> = parameters.collect();
    if !parameters.is_empty() {
        document["Parameters"] = Value::Object(parameters);
    }
    let outputs = entries!(model.outputs, stack).into_iter().map(|entry| {
        let mut output = json!({"Value": entry.value.value});
        if let Some(description) = &entry.value.description {
            output["Description"] = json!(description);
        }
        if let Some(export) = &entry.value.export {
            output["Export"] = json!({"Name": export});
        }
        (entry.value.name.clone(), output)
    });
    let outputs: Map<String, Value> = outputs.collect();
    if !outputs.is_empty() {
        document["Outputs"] = Value::Object(outputs);
    }
    document
}

fn owner(owners: &std::collections::BTreeSet<Owner>) -> &str {
    owners.first().map_or("", Owner::as_str)
}

fn description(request: &Request<'_>, stack: &Stack) -> String {
    format!(
        "Kubernetes cluster {}: {}",
        request.setting("clusterName"),
        stack.file_name()
    )
}

/// A resource with the patches of all plugins.
fn patched(
    model: &Model,
    stack: &Stack,
    entry: &Entry<Resource>,
    findings: &mut Vec<Finding>,
) -> Map<String, Value> {
    let mut body = entry.value.body.clone();
    let placement = stack.placement.clone().unwrap_or(Placement::Controller);
    let patches = model
        .patches
        .covering(&placement)
        .filter(|patch| patch.value.key() == entry.value.key());
    for patch in patches {
        if let Err(error) = patch.value.apply(&mut body) {
            findings.push(Finding::fatal(
                "",
                format!(
                    "patch of {} by plugin {}: {error}",
                    entry.value.name,
                    owner(&patch.owners)
                ),
            ));
        }
    }
    body
}

/// The resource of the root stack for a nested stack. Its template is named by digest, so that it changes with its content.
fn nested_stack(model: &Model, request: &Request<'_>, stack: &Stack, template: &Value) -> Value {
    let (bucket, prefix) = bucket(request.configuration).unwrap_or_default();
    let digest = sha256(template.to_string().as_bytes());
    let url = format!(
        "https://{bucket}.s3.${{AWS::Region}}.${{AWS::URLSuffix}}/{prefix}/templates/{}-{digest}.json",
        stack.file_name()
    );
    let mut parameters = Map::new();
    for entry in entries!(model.parameters, stack) {
        if let Some(value) = &entry.value.value {
            parameters.insert(entry.value.name.clone(), value.clone());
        }
    }
    let mut resource = json!({"Type": "AWS::CloudFormation::Stack", "Properties": {"TemplateURL": {"Fn::Sub": url}}});
    if let StackName::Additional(name) = &stack.name
        && let Some(additional) = model.additional_stacks.in_cluster(name)
    {
        parameters.extend(additional.parameters.clone());
        if !additional.depends_on.is_empty() {
            resource["DependsOn"] = json!(additional.depends_on);
        }
    }
    if !parameters.is_empty() {
        resource["Properties"]["Parameters"] = Value::Object(parameters);
    }
    let tags = entries!(model.tags, stack)
        .into_iter()
        .map(|entry| json!({"Key": entry.value.key, "Value": entry.value.value}));
    let tags: Vec<Value> = tags.collect();
    if !tags.is_empty() {
        resource["Properties"]["Tags"] = Value::Array(tags);
    }
    resource
}
