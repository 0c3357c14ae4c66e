//! The Go values behind `.Capabilities`, as templates access them.

use std::any::Any;
use std::rc::Rc;

use outrigger_gotmpl::function::CallError;
use outrigger_gotmpl::value::{Contents, Kind, List, Map, MapType, Object, Str, Value};

use super::{Capabilities, KubeVersion};
use crate::profile::{Profile, Rules};

/// `*chartutil.Capabilities` or `*common.Capabilities`.
#[derive(Debug)]
pub(crate) struct CapabilitiesObject {
    kube_version: Rc<KubeVersionObject>,
    api_versions: Rc<VersionSet>,
    helm_version: Rc<HelmVersion>,
    type_name: String,
}

impl CapabilitiesObject {
    pub(crate) fn new(capabilities: &Capabilities, profile: Profile) -> Self {
        let rules = profile.rules();
        let package = rules.capabilities_package;
        let Value::List(list) =
            Value::strings(capabilities.api_versions.iter().map(String::as_str))
        else {
            unreachable!("a list of strings is a list")
        };
        Self {
            kube_version: Rc::new(KubeVersionObject {
                version: capabilities.kube_version.clone(),
                shows_normalized: rules.kube_version_keeps_suffix,
                type_name: format!("{package}.KubeVersion"),
            }),
            api_versions: Rc::new(VersionSet {
                list,
                type_name: format!("{package}.VersionSet"),
            }),
            helm_version: Rc::new(HelmVersion { rules }),
            type_name: format!("*{package}.Capabilities"),
        }
    }
}

impl Object for CapabilitiesObject {
    fn type_name(&self) -> &str {
        &self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Ptr
    }

    fn field(&self, name: &str) -> Option<Value> {
        match name {
            "KubeVersion" => Some(Value::Object(self.kube_version.clone())),
            "APIVersions" => Some(Value::Object(self.api_versions.clone())),
            "HelmVersion" => Some(Value::Object(self.helm_version.clone())),
            _ => None,
        }
    }

    fn to_plain(&self) -> Value {
        plain_struct([
            ("KubeVersion", self.kube_version.to_plain()),
            ("APIVersions", self.api_versions.to_plain()),
            ("HelmVersion", self.helm_version.to_plain()),
        ])
    }

    fn display(&self) -> String {
        format!(
            "&{{{} {} {}}}",
            self.kube_version.display(),
            self.api_versions.display(),
            self.helm_version.display()
        )
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[derive(Debug)]
struct KubeVersionObject {
    version: KubeVersion,
    shows_normalized: bool,
    type_name: String,
}

impl Object for KubeVersionObject {
    fn type_name(&self) -> &str {
        &self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn field(&self, name: &str) -> Option<Value> {
        let version = &self.version;
        let text = match name {
            "Version" | "GitVersion" => &version.version,
            "String" => &version.normalized,
            "Major" => &version.major,
            "Minor" => &version.minor,
            _ => return None,
        };
        Some(Value::str(text.as_str()))
    }

    fn to_plain(&self) -> Value {
        plain_struct([
            ("Version", Value::str(self.version.version.as_str())),
            ("Major", Value::str(self.version.major.as_str())),
            ("Minor", Value::str(self.version.minor.as_str())),
        ])
    }

    fn printed(&self) -> Option<String> {
        Some(self.version.normalized.clone())
    }

    fn display(&self) -> String {
        let KubeVersion {
            version,
            normalized,
            major,
            minor,
        } = &self.version;
        if self.shows_normalized {
            format!("{{{version} {normalized} {major} {minor}}}")
        } else {
            format!("{{{version} {major} {minor}}}")
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The API versions: a list of strings with the method `Has`.
#[derive(Debug)]
struct VersionSet {
    list: List,
    type_name: String,
}

impl Object for VersionSet {
    fn type_name(&self) -> &str {
        &self.type_name
    }

    fn kind(&self) -> Kind {
        Kind::Slice
    }

    fn field(&self, _name: &str) -> Option<Value> {
        None
    }

    fn has_method(&self, name: &str) -> bool {
        name == "Has"
    }

    fn signature(&self, name: &str) -> Option<outrigger_gotmpl::function::Signature> {
        crate::files::one_string(name, &["Has"])
    }

    fn call_method(&self, name: &str, args: &[Value]) -> Result<Value, CallError> {
        let [Value::Str(argument)] = args else {
            return Err(CallError::NoSuchMethod);
        };
        if name != "Has" {
            return Err(CallError::NoSuchMethod);
        }
        let has = |item: &Value| matches!(item, Value::Str(version) if version == argument);
        Ok(Value::Bool(self.list.items().iter().any(has)))
    }

    fn contents(&self) -> Contents {
        Contents::List(self.list.clone())
    }

    fn to_plain(&self) -> Value {
        Value::List(self.list.clone())
    }

    fn display(&self) -> String {
        outrigger_gotmpl::fmt::display_text(&self.to_plain())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// `version.BuildInfo` of the Helm version that the profile selects.
#[derive(Debug)]
struct HelmVersion {
    rules: &'static Rules,
}

impl HelmVersion {
    /// Field name, JSON name, value.
    fn fields(&self) -> Vec<(&'static str, &'static str, &'static str)> {
        let rules = self.rules;
        let mut fields = vec![
            ("Version", "version", rules.helm_version),
            ("GitCommit", "git_commit", rules.helm_git_commit),
            ("GitTreeState", "git_tree_state", "clean"),
            ("GoVersion", "go_version", rules.go_version),
        ];
        if let Some(client) = rules.kube_client_version {
            fields.push(("KubeClientVersion", "kube_client_version", client));
        }
        fields
    }
}

impl Object for HelmVersion {
    fn type_name(&self) -> &'static str {
        "version.BuildInfo"
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn field(&self, name: &str) -> Option<Value> {
        let fields = self.fields();
        let (_, _, value) = fields.iter().find(|(field, _, _)| *field == name)?;
        Some(Value::str(*value))
    }

    fn to_plain(&self) -> Value {
        let entries = self
            .fields()
            .into_iter()
            .filter(|(_, _, value)| !value.is_empty())
            .map(|(_, json, value)| (Str::from(json), Value::str(value)))
            .collect();
        Value::Map(Map::from_entries(MapType::Any, entries))
    }

    fn display(&self) -> String {
        let values: Vec<&str> = self.fields().into_iter().map(|(_, _, v)| v).collect();
        format!("{{{}}}", values.join(" "))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

fn plain_struct<const N: usize>(fields: [(&str, Value); N]) -> Value {
    let entries = fields
        .into_iter()
        .map(|(name, value)| (Str::from(name), value))
        .collect();
    Value::Map(Map::from_entries(MapType::Any, entries))
}
