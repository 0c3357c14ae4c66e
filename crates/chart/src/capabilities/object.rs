//! The Go values behind `.Capabilities`, as templates access them.

use std::any::Any;
use std::rc::Rc;

use outrigger_gotmpl::function::CallError;
use outrigger_gotmpl::value::{Contents, Json, Kind, List, Object, StructField, Value};

use super::{Capabilities, KubeVersion};
use crate::go_struct::Struct;
use crate::profile::{Profile, Rules};

/// `*chartutil.Capabilities` or `*common.Capabilities`.
pub(crate) fn value(capabilities: &Capabilities, profile: Profile) -> Value {
    let rules = profile.rules();
    let package = rules.capabilities_package;
    let Value::List(list) = Value::strings(capabilities.api_versions.iter().map(String::as_str))
    else {
        unreachable!("a list of strings is a list")
    };
    let kube_version = KubeVersionObject {
        version: capabilities.kube_version.clone(),
        has_normalized: rules.kube_version_keeps_suffix,
        type_name: format!("{package}.KubeVersion"),
    };
    let api_versions = VersionSet {
        list,
        type_name: format!("{package}.VersionSet"),
    };
    let field = |name, value| StructField::new(name, Json::Key(name), value);
    Struct::value(
        format!("*{package}.Capabilities"),
        vec![
            field("KubeVersion", Value::Object(Rc::new(kube_version))),
            field("APIVersions", Value::Object(Rc::new(api_versions))),
            field("HelmVersion", helm_version(rules)),
        ],
    )
}

/// `version.BuildInfo` of the Helm version that the profile selects.
fn helm_version(rules: &Rules) -> Value {
    let field =
        |name, json, text: &str| StructField::new(name, Json::OmitEmpty(json), Value::str(text));
    let mut fields = vec![
        field("Version", "version", rules.helm_version),
        field("GitCommit", "git_commit", rules.helm_git_commit),
        field("GitTreeState", "git_tree_state", "clean"),
        field("GoVersion", "go_version", rules.go_version),
    ];
    if let Some(client) = rules.kube_client_version {
        // Its JSON name has no `omitempty`.
        let json = Json::Key("kube_client_version");
        fields.push(StructField::new(
            "KubeClientVersion",
            json,
            Value::str(client),
        ));
    }
    Struct::value("version.BuildInfo", fields)
}

#[derive(Debug)]
struct KubeVersionObject {
    version: KubeVersion,
    /// Helm 4 has the unexported field `normalizedVersion`.
    has_normalized: bool,
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

    fn struct_fields(&self) -> Option<Vec<StructField>> {
        let field = |name, text: &str| StructField::new(name, Json::Key(name), Value::str(text));
        let version = &self.version;
        let mut fields = vec![
            field("Version", &version.version),
            field("Major", &version.major),
            field("Minor", &version.minor),
        ];
        if self.has_normalized {
            let normalized = Value::str(version.normalized.as_str());
            let field = StructField::new("normalizedVersion", Json::Unexported, normalized);
            fields.insert(1, field);
        }
        Some(fields)
    }

    fn printed(&self) -> Option<String> {
        Some(self.version.normalized.clone())
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
