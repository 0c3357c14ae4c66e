//! The rule of each key of `expansion.yaml` when two packages are combined.

use std::collections::BTreeMap;

use outrigger_api::step;
use serde_json::{Map, Value, json};

use super::{Combine, Naming};
use crate::definition::{At, Definition, FileEntry, HookChoice, Text};
use crate::package::Package;

/// What becomes of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRule {
    /// Given with the command, or the same in both.
    Chosen,
    /// Both ranges must hold.
    BothRanges,
    /// The items of both, each once.
    Union,
    /// The entries of both by key; another value for the same key is a conflict.
    ByKey,
    /// The same in both, or in one only.
    Same,
    /// Merged into `values.yaml`.
    Values,
}

/// All keys with their rules.
pub const KEYS: [(&str, KeyRule); 17] = [
    ("name", KeyRule::Chosen),
    ("version", KeyRule::Chosen),
    ("requires", KeyRule::BothRanges),
    ("charts", KeyRule::Union),
    ("images", KeyRule::Union),
    ("files", KeyRule::Union),
    ("hooks", KeyRule::Union),
    ("provider", KeyRule::Union),
    ("plugins", KeyRule::Union),
    ("installer_skip_steps", KeyRule::Union),
    ("create_cluster_skip_conditions", KeyRule::Union),
    ("create_cluster_delegate_conditions", KeyRule::Union),
    ("create_cluster_extra_args", KeyRule::ByKey),
    ("operator", KeyRule::Same),
    ("values", KeyRule::Values),
    ("images_loaded", KeyRule::Same),
    ("disable_pass_through_to_platform", KeyRule::Same),
];

impl Combine {
    /// The definition of the result.
    pub(super) fn definition(
        &mut self,
        first: &Package,
        second: &Package,
        naming: &Naming,
    ) -> Value {
        let (one, two) = (&first.definition, &second.definition);
        let mut result = Map::new();
        for (key, rule) in KEYS {
            let value = match rule {
                KeyRule::Chosen => self.chosen(key, first, second, naming),
                KeyRule::BothRanges => self.ranges(one, two),
                KeyRule::Union => union(list(one, key), list(two, key)),
                KeyRule::ByKey => self.arguments(one, two),
                KeyRule::Same => self.same(key, one, two),
                KeyRule::Values => None,
            };
            if let Some(value) = value {
                result.insert(key.to_owned(), value);
            }
        }
        self.check_skipped_and_delegated(one, two);
        Value::Object(result)
    }

    fn chosen(
        &mut self,
        key: &str,
        first: &Package,
        second: &Package,
        naming: &Naming,
    ) -> Option<Value> {
        let (chosen, one, two) = if key == "name" {
            let names = (Some(first.name.clone()), Some(second.name.clone()));
            (&naming.name, names.0, names.1)
        } else {
            (
                &naming.version,
                first.version.clone(),
                second.version.clone(),
            )
        };
        let value = if let Some(chosen) = chosen {
            Some(chosen.clone())
        } else {
            if one != two {
                let says = |value: &Option<String>| match value {
                    Some(value) => format!("is {value:?}"),
                    None => "is not set".to_owned(),
                };
                self.conflict(key, says(&one), says(&two));
            }
            one
        };
        value.map(Value::String)
    }

    /// A range of alternatives cannot be joined with another one.
    fn ranges(&mut self, one: &Definition, two: &Definition) -> Option<Value> {
        let of = |one: &Option<Text>, two: &Option<Text>| match (one, two) {
            (Some(one), Some(two)) if one.value != two.value => {
                let is_joined = !one.value.contains("||") && !two.value.contains("||");
                let joined = is_joined.then(|| format!("{}, {}", one.value, two.value));
                joined
                    .ok_or_else(|| (one.value.clone(), two.value.clone()))
                    .map(Some)
            }
            (one, two) => Ok(one
                .as_ref()
                .or(two.as_ref())
                .map(|range| range.value.clone())),
        };
        let ranges = [
            (
                "outrigger",
                of(&one.requires.outrigger, &two.requires.outrigger),
            ),
            (
                "kubernetes",
                of(&one.requires.kubernetes, &two.requires.kubernetes),
            ),
        ];
        let mut result = Map::new();
        for (key, range) in ranges {
            match range {
                Ok(Some(range)) => {
                    result.insert(key.to_owned(), Value::String(range));
                }
                Ok(None) => {}
                Err((one, two)) => {
                    let says = |range: String| format!("requires {range}");
                    self.conflict(format!("requires.{key}"), says(one), says(two));
                }
            }
        }
        (!result.is_empty()).then_some(Value::Object(result))
    }

    fn arguments(&mut self, one: &Definition, two: &Definition) -> Option<Value> {
        let mut all: BTreeMap<String, BTreeMap<String, String>> = BTreeMap::new();
        for (component, arguments) in &one.create_cluster_extra_args {
            let arguments = arguments
                .iter()
                .map(|(name, text)| (name.clone(), text.value.clone()));
            all.insert((*component).to_owned(), arguments.collect());
        }
        for (component, arguments) in &two.create_cluster_extra_args {
            for (name, text) in arguments {
                let known = all.entry((*component).to_owned()).or_default();
                match known.get(name) {
                    Some(known) if *known != text.value => {
                        let says = |value: &str| format!("sets it to {value}");
                        let (one, two) = (says(known), says(&text.value));
                        let field = format!("create_cluster_extra_args.{component}.{name}");
                        self.conflict(field, one, two);
                    }
                    Some(_) => {}
                    None => {
                        known.insert(name.clone(), text.value.clone());
                    }
                }
            }
        }
        (!all.is_empty()).then(|| json!(all))
    }

    fn same(&mut self, key: &str, one: &Definition, two: &Definition) -> Option<Value> {
        let (one, two) = (scalar(one, key), scalar(two, key));
        match (one, two) {
            (Some(one), Some(two)) if one != two => {
                self.conflict(
                    key,
                    format!("sets it to {one}"),
                    format!("sets it to {two}"),
                );
                None
            }
            (one, two) => one.or(two),
        }
    }

    /// A step that one skips is not delegated by the other.
    fn check_skipped_and_delegated(&mut self, one: &Definition, two: &Definition) {
        const FIELD: &str = "create_cluster_delegate_conditions";
        let skipped = |definition: &Definition| ids(&definition.create_cluster_skip_conditions);
        let delegated =
            |definition: &Definition| ids(&definition.create_cluster_delegate_conditions);
        let (skips, delegates) = (skipped(one), delegated(two));
        for id in skips.into_iter().filter(|id| delegates.contains(id)) {
            self.conflict(FIELD, format!("skips {id}"), format!("delegates {id}"));
        }
        let (delegates, skips) = (delegated(one), skipped(two));
        for id in delegates.into_iter().filter(|id| skips.contains(id)) {
            self.conflict(FIELD, format!("delegates {id}"), format!("skips {id}"));
        }
    }
}

/// A package that says nothing about a flag says `false`.
fn scalar(definition: &Definition, key: &str) -> Option<Value> {
    match key {
        "operator" => definition.operator.as_ref().map(|text| json!(text.value)),
        "images_loaded" => Some(json!(definition.images_loaded)),
        _ => Some(json!(definition.disable_pass_through_to_platform)),
    }
}

fn ids(names: &[Text]) -> Vec<String> {
    let ids = names
        .iter()
        .map(|name| step::find(&name.value).unwrap_or(&name.value).to_owned());
    ids.collect()
}

fn list(definition: &Definition, key: &str) -> Vec<Value> {
    let texts = match key {
        "charts" => &definition.charts,
        "images" => &definition.images,
        "hooks" => &definition.hooks,
        "provider" => &definition.provider,
        "plugins" => &definition.plugins,
        "installer_skip_steps" => &definition.installer_skip_steps,
        "create_cluster_skip_conditions" => &definition.create_cluster_skip_conditions,
        "create_cluster_delegate_conditions" => &definition.create_cluster_delegate_conditions,
        _ => return definition.files.iter().map(file).collect(),
    };
    texts.iter().map(|text| json!(text.value)).collect()
}

fn union(one: Vec<Value>, two: Vec<Value>) -> Option<Value> {
    let mut all: Vec<Value> = Vec::new();
    for item in one.into_iter().chain(two) {
        if !all.contains(&item) {
            all.push(item);
        }
    }
    (!all.is_empty()).then_some(Value::Array(all))
}

/// An entry of `files` as it is written: a path, if it says nothing else.
fn file(entry: &At<FileEntry>) -> Value {
    let entry = &entry.value;
    let mut result = json!({"src": entry.src});
    if let Some(dst) = &entry.dst {
        result["dst"] = json!(dst.value);
    }
    if let Some(mode) = &entry.mode {
        result["mode"] = json!(format!("{:04o}", mode.value));
    }
    if let Some(hook) = &entry.hook {
        result["hook"] = match &hook.value {
            HookChoice::None => json!("none"),
            HookChoice::Named(name) => json!(name),
        };
    }
    if entry.force {
        result["force"] = json!(true);
    }
    if let Some(render) = &entry.render {
        result["render"] = json!(render.value);
    }
    match result.as_object() {
        Some(fields) if fields.len() == 1 => json!(entry.src),
        _ => result,
    }
}
