//! Typed `Chart.yaml` and `Chart.lock`, with Helm's validation.

use outrigger_gostd::unicode;

use crate::decode::{Decoder, TypeError};
use crate::profile::Profile;
use crate::yaml_value::YamlValue;

/// `apiVersion` of charts whose dependencies are in `requirements.yaml`.
pub const API_V1: &str = "v1";
/// `apiVersion` of charts whose dependencies are in `Chart.yaml`.
pub const API_V2: &str = "v2";

/// The contents of `Chart.yaml`. As in Helm, an empty string is an unset field.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metadata {
    pub name: String,
    pub home: String,
    pub sources: Vec<String>,
    pub version: String,
    pub description: String,
    pub keywords: Vec<String>,
    pub maintainers: Vec<Maintainer>,
    pub icon: String,
    pub api_version: String,
    pub condition: String,
    pub tags: String,
    pub app_version: String,
    pub deprecated: bool,
    /// In byte order of the keys.
    pub annotations: Vec<(String, String)>,
    pub kube_version: String,
    /// `None` if the field is unset: Helm then does not process the subcharts.
    pub dependencies: Option<Vec<Dependency>>,
    pub chart_type: String,
    /// A list with a null node, which validation rejects.
    pub(crate) null_node_in: Option<&'static str>,
    /// Lists and maps that the file sets to an empty one. In Go they are not nil.
    pub(crate) empty_fields: Vec<&'static str>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Maintainer {
    pub name: String,
    pub email: String,
    pub url: String,
}

/// A dependency in `Chart.yaml` or `Chart.lock`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Dependency {
    pub name: String,
    pub version: String,
    pub repository: String,
    pub condition: String,
    pub tags: Vec<String>,
    pub enabled: bool,
    pub import_values: Vec<YamlValue>,
    pub alias: String,
    /// Whether `tags` is set to an empty list. In Go it is not nil.
    pub has_empty_tags: bool,
}

/// The contents of `Chart.lock`.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Lock {
    /// The time in RFC 3339, as in the file.
    pub generated: String,
    pub digest: String,
    pub dependencies: Vec<Dependency>,
}

/// Why a `Chart.yaml` is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    #[error("validation: chart.metadata.{0} is required")]
    Missing(&'static str),
    #[error("validation: chart.metadata.name {0:?} is not allowed")]
    NameNotAllowed(String),
    #[error("validation: chart.metadata.{0} {1:?} is invalid")]
    Malformed(&'static str, String),
    #[error("validation: chart.metadata.type must be application or library")]
    Type,
    #[error("validation: {0} must not contain empty or null nodes")]
    NullNode(&'static str),
    #[error("validation: dependency {0:?} has disallowed characters in the alias")]
    Alias(String),
    #[error("validation: more than one dependency with name or alias {0:?}")]
    Duplicate(String),
}

impl Metadata {
    /// Sets the fields of a parsed `Chart.yaml` or `requirements.yaml`.
    pub(crate) fn update(&mut self, node: &YamlValue, profile: Profile) -> Result<(), TypeError> {
        let package = profile.rules().chart_package;
        let mut decoder = Decoder::default();
        decoder.object(
            node,
            "Metadata",
            &format!("{package}.Metadata"),
            |decoder, key, value| self.field(decoder, key, value, package),
        );
        decoder.finish(())
    }

    fn field(&mut self, decoder: &mut Decoder, key: &str, node: &YamlValue, package: &str) {
        let collections = ["sources", "keywords", "maintainers", "annotations"];
        let name = collections
            .iter()
            .find(|name| name.eq_ignore_ascii_case(key));
        self.empty_fields
            .extend(name.filter(|_| is_empty_collection(node)));
        match key.to_ascii_lowercase().as_str() {
            "name" => decoder.string("name", node, &mut self.name),
            "home" => decoder.string("home", node, &mut self.home),
            "sources" => decoder.strings("sources", node, &mut self.sources),
            "version" => decoder.string("version", node, &mut self.version),
            "description" => decoder.string("description", node, &mut self.description),
            "keywords" => decoder.strings("keywords", node, &mut self.keywords),
            "maintainers" => {
                let mut items = Vec::new();
                let go_type = format!("[]*{package}.Maintainer");
                decoder.list(
                    "maintainers",
                    node,
                    &go_type,
                    &mut items,
                    |decoder, item| Maintainer::decode(decoder, item, package),
                );
                self.maintainers = self.without_nulls("maintainers", items);
            }
            "icon" => decoder.string("icon", node, &mut self.icon),
            "apiversion" => decoder.string("apiVersion", node, &mut self.api_version),
            "condition" => decoder.string("condition", node, &mut self.condition),
            "tags" => decoder.string("tags", node, &mut self.tags),
            "appversion" => decoder.string("appVersion", node, &mut self.app_version),
            "deprecated" => decoder.bool("deprecated", node, &mut self.deprecated),
            "annotations" => decoder.string_map("annotations", node, &mut self.annotations),
            "kubeversion" => decoder.string("kubeVersion", node, &mut self.kube_version),
            "dependencies" => {
                let mut items = Vec::new();
                let go_type = format!("[]*{package}.Dependency");
                decoder.list(
                    "dependencies",
                    node,
                    &go_type,
                    &mut items,
                    |decoder, item| Dependency::decode(decoder, item, package),
                );
                let items = self.without_nulls("dependencies", items);
                self.dependencies = (*node != YamlValue::Null).then_some(items);
            }
            "type" => decoder.string("type", node, &mut self.chart_type),
            _ => {}
        }
    }

    /// Sanitizes and validates the fields as Helm does.
    pub(crate) fn validate(&mut self, profile: Profile) -> Result<(), Invalid> {
        for text in [
            &mut self.name,
            &mut self.description,
            &mut self.home,
            &mut self.icon,
            &mut self.condition,
            &mut self.tags,
            &mut self.app_version,
            &mut self.kube_version,
        ] {
            sanitize(text);
        }
        self.sources.iter_mut().for_each(sanitize);
        self.keywords.iter_mut().for_each(sanitize);
        self.validate_fields(profile)?;
        if let Some(list) = self.null_node_in {
            return Err(Invalid::NullNode(list));
        }
        for maintainer in &mut self.maintainers {
            sanitize(&mut maintainer.name);
            sanitize(&mut maintainer.email);
            sanitize(&mut maintainer.url);
        }
        let mut seen: Vec<&str> = Vec::new();
        for dependency in self.dependencies.iter_mut().flatten() {
            dependency.validate()?;
            let key = dependency.effective_name();
            if seen.contains(&key) {
                return Err(Invalid::Duplicate(key.to_owned()));
            }
            seen.push(key);
        }
        Ok(())
    }

    fn validate_fields(&self, profile: Profile) -> Result<(), Invalid> {
        if self.api_version.is_empty() {
            return Err(Invalid::Missing("apiVersion"));
        }
        if self.name.is_empty() {
            return Err(Invalid::Missing("name"));
        }
        if profile.rules().rejects_dot_names && (self.name == "." || self.name == "..") {
            return Err(Invalid::NameNotAllowed(self.name.clone()));
        }
        if self.name != outrigger_gostd::path::base(&self.name) {
            return Err(Invalid::Malformed("name", self.name.clone()));
        }
        if self.version.is_empty() {
            return Err(Invalid::Missing("version"));
        }
        if !crate::version::is_valid(&self.version, profile) {
            return Err(Invalid::Malformed("version", self.version.clone()));
        }
        match self.chart_type.as_str() {
            "" | "application" | "library" => Ok(()),
            _ => Err(Invalid::Type),
        }
    }

    pub fn declared(&self) -> &[Dependency] {
        self.dependencies.as_deref().unwrap_or_default()
    }

    fn without_nulls<T>(&mut self, list: &'static str, items: Vec<Option<T>>) -> Vec<T> {
        if self.null_node_in.is_none() && items.iter().any(Option::is_none) {
            self.null_node_in = Some(list);
        }
        items.into_iter().flatten().collect()
    }

    /// The first unknown field, in the order of Go's decoder.
    pub(crate) fn unknown_field(node: &YamlValue) -> Option<String> {
        const FIELDS: &[&str] = &[
            "name",
            "home",
            "sources",
            "version",
            "description",
            "keywords",
            "maintainers",
            "icon",
            "apiVersion",
            "condition",
            "tags",
            "appVersion",
            "deprecated",
            "annotations",
            "kubeVersion",
            "dependencies",
            "type",
        ];
        let YamlValue::Map(entries) = node else {
            return None;
        };
        entries.iter().find_map(|(key, value)| {
            if !is_field(key, FIELDS) {
                return Some(key.clone());
            }
            let fields: &[&str] = match key.to_ascii_lowercase().as_str() {
                "maintainers" => &["name", "email", "url"],
                "dependencies" => &[
                    "name",
                    "version",
                    "repository",
                    "condition",
                    "tags",
                    "enabled",
                    "import-values",
                    "alias",
                ],
                _ => return None,
            };
            value.as_list()?.iter().find_map(|item| match item {
                YamlValue::Map(entries) => {
                    let unknown = entries.iter().find(|(key, _)| !is_field(key, fields));
                    unknown.map(|(key, _)| key.clone())
                }
                _ => None,
            })
        })
    }

    pub fn is_library(&self) -> bool {
        self.chart_type.eq_ignore_ascii_case("library")
    }
}

impl Maintainer {
    fn decode(decoder: &mut Decoder, node: &YamlValue, package: &str) -> Option<Self> {
        if *node == YamlValue::Null {
            return None;
        }
        let mut maintainer = Self::default();
        let go_type = format!("{package}.Maintainer");
        decoder.object(
            node,
            "Maintainer",
            &go_type,
            |decoder, key, value| match key.to_ascii_lowercase().as_str() {
                "name" => decoder.string("name", value, &mut maintainer.name),
                "email" => decoder.string("email", value, &mut maintainer.email),
                "url" => decoder.string("url", value, &mut maintainer.url),
                _ => {}
            },
        );
        Some(maintainer)
    }
}

impl Dependency {
    fn decode(decoder: &mut Decoder, node: &YamlValue, package: &str) -> Option<Self> {
        if *node == YamlValue::Null {
            return None;
        }
        let mut dependency = Self::default();
        let go_type = format!("{package}.Dependency");
        decoder.object(node, "Dependency", &go_type, |decoder, key, value| {
            dependency.field(decoder, key, value);
        });
        Some(dependency)
    }

    fn field(&mut self, decoder: &mut Decoder, key: &str, node: &YamlValue) {
        match key.to_ascii_lowercase().as_str() {
            "name" => decoder.string("name", node, &mut self.name),
            "version" => decoder.string("version", node, &mut self.version),
            "repository" => decoder.string("repository", node, &mut self.repository),
            "condition" => decoder.string("condition", node, &mut self.condition),
            "tags" => {
                decoder.strings("tags", node, &mut self.tags);
                self.has_empty_tags = is_empty_collection(node);
            }
            "enabled" => decoder.bool("enabled", node, &mut self.enabled),
            "import-values" => decoder.list(
                "import-values",
                node,
                "[]interface {}",
                &mut self.import_values,
                |_, item| item.clone(),
            ),
            "alias" => decoder.string("alias", node, &mut self.alias),
            _ => {}
        }
    }

    fn validate(&mut self) -> Result<(), Invalid> {
        sanitize(&mut self.name);
        sanitize(&mut self.version);
        sanitize(&mut self.repository);
        sanitize(&mut self.condition);
        self.tags.iter_mut().for_each(sanitize);
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if !self.alias.chars().all(is_plain) {
            return Err(Invalid::Alias(self.name.clone()));
        }
        Ok(())
    }

    /// The alias, or the name without an alias.
    pub fn effective_name(&self) -> &str {
        if self.alias.is_empty() {
            &self.name
        } else {
            &self.alias
        }
    }
}

fn is_empty_collection(node: &YamlValue) -> bool {
    match node {
        YamlValue::List(items) => items.is_empty(),
        YamlValue::Map(entries) => entries.is_empty(),
        _ => false,
    }
}

impl Lock {
    pub(crate) fn decode(node: &YamlValue, profile: Profile) -> Result<Self, TypeError> {
        let package = profile.rules().chart_package;
        let mut lock = Self::default();
        let mut decoder = Decoder::default();
        let go_type = format!("{package}.Lock");
        decoder.object(node, "Lock", &go_type, |decoder, key, value| {
            match key.to_ascii_lowercase().as_str() {
                "generated" => decoder.string("generated", value, &mut lock.generated),
                "digest" => decoder.string("digest", value, &mut lock.digest),
                "dependencies" => {
                    let mut dependencies = Vec::new();
                    decoder.list(
                        "dependencies",
                        value,
                        &format!("[]*{package}.Dependency"),
                        &mut dependencies,
                        |decoder, item| Dependency::decode(decoder, item, package),
                    );
                    lock.dependencies = dependencies.into_iter().flatten().collect();
                }
                _ => {}
            }
        });
        decoder.finish(lock)
    }
}

fn is_field(key: &str, fields: &[&str]) -> bool {
    fields.iter().any(|field| field.eq_ignore_ascii_case(key))
}

/// Replaces white space by blanks and removes characters that are not printable.
fn sanitize(text: &mut String) {
    if text.bytes().all(|b| (b' '..=b'~').contains(&b)) {
        return;
    }
    *text = text
        .chars()
        .filter_map(|c| match c {
            c if unicode::is_space(c) => Some(' '),
            c if unicode::is_print(c) => Some(c),
            _ => None,
        })
        .collect();
}
