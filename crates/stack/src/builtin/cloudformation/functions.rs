//! The functions in resources that are replaced by what all plugins contribute.

use outrigger_model::construct::StackName;
use outrigger_model::{Model, Placement};
use serde_json::{Map, Value, json};

use crate::builtin::user_data::path_of;
use crate::plugin::Request;

/// What the functions of one stack refer to.
pub(super) struct Functions<'a> {
    pub(super) model: &'a Model,
    pub(super) request: &'a Request<'a>,
    pub(super) stack: &'a StackName,
    pub(super) placement: Option<&'a Placement>,
}

impl Functions<'_> {
    /// The value with all functions replaced.
    pub(super) fn replace(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::Object(object) => match single(object) {
                Some(("Outrigger::UserData", role)) => self.user_data(role),
                Some(("Outrigger::Statements", role)) => self.statements(role),
                Some(("Outrigger::Tags", given)) => self.tags(given),
                Some((name, _)) if name.starts_with("Outrigger::") => {
                    Err(format!("unknown function {name}"))
                }
                _ => {
                    let fields = object
                        .iter()
                        .map(|(key, value)| Ok((key.clone(), self.replace(value)?)));
                    Ok(Value::Object(fields.collect::<Result<_, String>>()?))
                }
            },
            Value::Array(items) => Ok(Value::Array(
                items
                    .iter()
                    .map(|item| self.replace(item))
                    .collect::<Result<_, _>>()?,
            )),
            other => Ok(other.clone()),
        }
    }

    fn placement(&self, role: &Value) -> Result<&Placement, String> {
        let placement = self
            .placement
            .filter(|placement| role == placement.role().name());
        placement.ok_or_else(|| format!("the stack {} has no machines of role {role}", self.stack))
    }

    fn user_data(&self, role: &Value) -> Result<Value, String> {
        let path = path_of(self.placement(role)?);
        let file = self
            .request
            .rendered
            .files
            .iter()
            .find(|file| file.path == path);
        let file = file.ok_or_else(|| format!("{path} was not rendered"))?;
        Ok(json!({"Fn::Base64": file.content}))
    }

    fn statements(&self, role: &Value) -> Result<Value, String> {
        let statements = self.model.iam_statements.for_placement(self.placement(role)?).map(|entry| {
            let statement = &entry.value;
            let mut value = json!({"Effect": statement.effect, "Action": statement.actions, "Resource": statement.resources});
            if let Some(condition) = &statement.condition {
                value["Condition"] = condition.clone();
            }
            value
        });
        Ok(statements.collect())
    }

    fn tags(&self, given: &Value) -> Result<Value, String> {
        let mut tags = given
            .as_array()
            .cloned()
            .ok_or("Outrigger::Tags needs a list")?;
        let cluster = format!(
            "kubernetes.io/cluster/{}",
            self.request.setting("clusterName")
        );
        tags.push(json!({"Key": cluster, "Value": "owned", "PropagateAtLaunch": true}));
        let placement = self.placement.cloned().unwrap_or(Placement::Controller);
        let contributed = self
            .model
            .tags
            .for_placement(&placement)
            .filter(|entry| entry.value.stack == *self.stack);
        tags.extend(contributed.map(|entry| {
            let tag = &entry.value;
            json!({"Key": tag.key, "Value": tag.value, "PropagateAtLaunch": tag.propagate_at_launch})
        }));
        Ok(Value::Array(tags))
    }
}

/// The only field of an object.
fn single(object: &Map<String, Value>) -> Option<(&str, &Value)> {
    let mut fields = object.iter();
    let (name, value) = fields.next()?;
    fields.next().is_none().then_some((name.as_str(), value))
}
