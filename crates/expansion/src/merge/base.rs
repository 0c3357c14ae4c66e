//! The configuration that a package is merged into: `tke.json` of TKEStack, or a Cluster.

use outrigger_api::compat;
use serde_json::{Map, Value};

use super::fields::{get, key_like};
use super::rules::{How, RULES, Target};

/// A base configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base {
    /// Where it comes from, in conflicts.
    owner: String,
    document: Value,
    form: Form,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// `{cluster, Config}`
    Tke,
    /// A Cluster of Outrigger or TKEStack.
    Cluster,
}

/// Why a text is no base configuration.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error("{owner} is not valid YAML or JSON")]
    Syntax {
        owner: String,
        #[source]
        source: outrigger_goyaml::Error,
    },
    #[error("{owner} has {count} documents; a configuration has one")]
    Documents { owner: String, count: usize },
    #[error("{owner} is neither {{cluster, Config}} as tke.json nor a Cluster")]
    Form { owner: String },
    #[error("{owner}: unknown key {key:?} beside cluster and Config")]
    UnknownKey { owner: String, key: String },
    #[error("{owner} is not a valid Cluster")]
    Cluster {
        owner: String,
        #[source]
        source: compat::Error,
    },
    #[error("{owner}: {field} must be {expected}")]
    Type {
        owner: String,
        field: String,
        expected: &'static str,
    },
}

impl Base {
    /// Parses a configuration. JSON may have comments.
    pub fn parse(owner: &str, text: &str) -> Result<Self, BaseError> {
        let syntax = |source| BaseError::Syntax {
            owner: owner.to_owned(),
            source,
        };
        let text = compat::strip_comments(text);
        let count = documents(text.as_bytes());
        if count > 1 {
            let owner = owner.to_owned();
            return Err(BaseError::Documents { owner, count });
        }
        outrigger_goyaml::check_strict(text.as_bytes()).map_err(syntax)?;
        let document = outrigger_goyaml::parse_json(text.as_bytes()).map_err(syntax)?;
        let form = form(owner, &document)?;
        let base = Self {
            owner: owner.to_owned(),
            document,
            form,
        };
        base.check_types()?;
        Ok(base)
    }

    /// A configuration that was merged before, from the same source.
    #[must_use]
    pub fn with_document(&self, document: Value) -> Self {
        Self {
            document,
            ..self.clone()
        }
    }

    pub(super) fn owner(&self) -> &str {
        &self.owner
    }

    pub(super) fn document(&self) -> &Value {
        &self.document
    }

    /// The path of a field. `None` if this form has no such field.
    pub(super) fn path(&self, target: Target) -> Option<Vec<String>> {
        let owned = |keys: Vec<&str>| keys.into_iter().map(ToOwned::to_owned).collect();
        match (target, self.form) {
            (Target::Config(_), Form::Cluster) => None,
            (Target::Config(field), Form::Tke) => {
                let config = key_like(Some(&self.document), "Config");
                let field = key_like(self.document.get(config), field);
                Some(owned(vec![config, field]))
            }
            (Target::Cluster(field), form) => {
                let mut path = vec!["spec"];
                if form == Form::Tke {
                    path.insert(0, key_like(Some(&self.document), "cluster"));
                }
                path.extend(match field {
                    "dockerExtraArgs" if self.is_own() => vec!["containerRuntimeExtraArgs"],
                    _ => field.split('.').collect(),
                });
                Some(owned(path))
            }
        }
    }

    /// Whether it is a Cluster of Outrigger, which has names of its own for some fields.
    fn is_own(&self) -> bool {
        let api_version = self.document["apiVersion"].as_str();
        api_version
            == Some(&format!(
                "{}/{}",
                outrigger_api::GROUP,
                outrigger_api::VERSION
            ))
    }

    /// The fields that are merged have the types of the rules.
    fn check_types(&self) -> Result<(), BaseError> {
        for rule in RULES {
            let Some(path) = self.path(rule.target) else {
                continue;
            };
            self.check_objects(&path)?;
            let Some(value) = get(&self.document, &path) else {
                continue;
            };
            let expected = match rule.how {
                How::AppendUnique if !is_text_list(value) => "a list of strings",
                How::ByDestination if !is_file_list(value) => "a list of objects with src and dst",
                How::SameOrConflict | How::BaseWins if !is_text_map(value) => {
                    "an object with strings"
                }
                How::Satisfied if !value.is_string() => "a string",
                _ => continue,
            };
            return Err(self.mismatch(&path, expected));
        }
        Ok(())
    }

    /// What is above a field is an object, or missing.
    fn check_objects(&self, path: &[String]) -> Result<(), BaseError> {
        for length in 1..path.len() {
            let above = get(&self.document, &path[..length]);
            if above.is_some_and(|value| !value.is_object()) {
                return Err(self.mismatch(&path[..length], "an object"));
            }
        }
        Ok(())
    }

    fn mismatch(&self, path: &[String], expected: &'static str) -> BaseError {
        BaseError::Type {
            owner: self.owner.clone(),
            field: path.join("."),
            expected,
        }
    }
}

/// The number of documents that are not empty.
fn documents(text: &[u8]) -> usize {
    let documents = outrigger_goyaml::documents(text).filter_map(Result::ok);
    documents
        .filter(|document| {
            let parsed = outrigger_goyaml::parse_json(document);
            parsed.is_ok_and(|document| !document.is_null())
        })
        .count()
}

fn form(owner: &str, document: &Value) -> Result<Form, BaseError> {
    let not_a_configuration = || BaseError::Form {
        owner: owner.to_owned(),
    };
    let fields = document.as_object().ok_or_else(not_a_configuration)?;
    if fields.keys().any(|key| key.eq_ignore_ascii_case("cluster")) {
        check_keys(owner, fields)?;
        return Ok(Form::Tke);
    }
    match compat::read_cluster(document.clone()) {
        Ok(Some(_)) => Ok(Form::Cluster),
        Ok(None) => Err(not_a_configuration()),
        Err(source) => Err(BaseError::Cluster {
            owner: owner.to_owned(),
            source,
        }),
    }
}

/// `tke.json` has `cluster` and `Config`, each once, whatever their case.
fn check_keys(owner: &str, fields: &Map<String, Value>) -> Result<(), BaseError> {
    let mut left = vec!["cluster", "config"];
    for key in fields.keys() {
        let lower = key.to_ascii_lowercase();
        match left.iter().position(|name| *name == lower) {
            Some(position) => {
                left.remove(position);
            }
            None => {
                return Err(BaseError::UnknownKey {
                    owner: owner.to_owned(),
                    key: key.clone(),
                });
            }
        }
    }
    Ok(())
}

fn is_text_list(value: &Value) -> bool {
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(Value::is_string))
}

fn is_file_list(value: &Value) -> bool {
    let is_file = |file: &Value| file["src"].is_string() && file["dst"].is_string();
    let items = value.as_array();
    items.is_some_and(|items| items.iter().all(is_file))
}

fn is_text_map(value: &Value) -> bool {
    let fields = value.as_object();
    fields.is_some_and(|fields| {
        fields
            .values()
            .all(|value| value.is_string() || value.is_null())
    })
}
