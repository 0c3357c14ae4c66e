//! Finds the images of objects by structure.
//!
//! Containers and image volumes of pods, in objects of any kind, are always images. In custom resources, fields named
//! `image` or `...Image` are images if they have the syntax of an image reference. Arguments and environment variables
//! of containers are images if they are full references, or if their name says that they are images and they have a
//! tag. These can be relocated. Images that operators derive from other fields (`rules.rs`), and those in annotations
//! and texts (`text.rs`), are only found.

mod relocation;
mod rules;
mod text;

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::render::Rendered;

pub use relocation::{Collision, collision, relocate};

/// One reference to an image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageUse {
    pub image: String,
    pub kind: String,
    pub name: String,
    /// The field, such as `spec.template.spec.containers[0].image`.
    pub field: String,
    pub origin: Origin,
    /// The template of the object.
    pub source: String,
}

/// How an image was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A container of a pod.
    Container,
    /// An image volume.
    Volume,
    /// A field of a custom resource.
    Field,
    /// An argument or an environment variable of a container.
    Argument,
    /// Several fields of a custom resource from which its operator derives an image.
    Rule,
    /// An annotation.
    Annotation,
    /// A text: data of a `ConfigMap` or a Secret, a script, a default of a definition.
    Text,
}

/// How certain it is that a pod will run an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It looks like an image in a text.
    Possible,
    /// A field whose name or value says that it is an image.
    Likely,
    /// A container or a volume of a pod.
    Certain,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Volume => "volume",
            Self::Field => "field",
            Self::Argument => "argument",
            Self::Rule => "rule",
            Self::Annotation => "annotation",
            Self::Text => "text",
        }
    }

    pub fn confidence(self) -> Confidence {
        match self {
            Self::Container | Self::Volume => Confidence::Certain,
            Self::Field | Self::Argument | Self::Rule => Confidence::Likely,
            Self::Annotation | Self::Text => Confidence::Possible,
        }
    }

    /// Whether [`visit`] visits it.
    pub fn is_visited(self) -> bool {
        matches!(
            self,
            Self::Container | Self::Volume | Self::Field | Self::Argument
        )
    }
}

impl Confidence {
    pub fn name(self) -> &'static str {
        match self {
            Self::Possible => "possible",
            Self::Likely => "likely",
            Self::Certain => "certain",
        }
    }
}

/// The value of a field with an image, which a visitor may change.
#[derive(Debug)]
pub enum ImageValue<'a> {
    /// An image reference.
    Reference(&'a mut String),
    /// A flag with an image reference, such as `--image=quay.io/a/b:1`, and the index of the reference.
    Flag(&'a mut String, usize),
    /// Separate fields of a custom resource: `registry`, `repository`, `tag` and `digest`.
    Parts(ImageParts<'a>),
}

/// The separate fields of an image.
#[derive(Debug)]
pub struct ImageParts<'a> {
    fields: &'a mut Map<String, Value>,
    /// The key of the repository.
    repository_key: &'static str,
}

/// Finds all images of a rendered chart, sorted by image.
pub fn find(rendered: &Rendered) -> Vec<ImageUse> {
    let mut uses = BTreeSet::new();
    for manifest in &rendered.manifests {
        find_in_manifest(&manifest.content, &manifest.path, &mut uses);
    }
    for hook in &rendered.hooks {
        find_in_manifest(&hook.manifest, &hook.path, &mut uses);
    }
    uses.into_iter().collect()
}

fn find_in_manifest(content: &str, source: &str, uses: &mut BTreeSet<ImageUse>) {
    let Ok(mut object) = outrigger_goyaml::parse_json(content.as_bytes()) else {
        return;
    };
    let mut add = |location: Location<'_>, image: String| {
        let image = ImageUse {
            image,
            kind: location.kind.to_owned(),
            name: location.name.to_owned(),
            field: location.field.to_owned(),
            origin: location.origin,
            source: source.to_owned(),
        };
        // A container of a custom resource is also a field named `image`, and an argument is also a text.
        let stronger = [Origin::Container, Origin::Field, Origin::Argument];
        let is_known = stronger.into_iter().any(|origin| {
            let image = ImageUse {
                origin,
                ..image.clone()
            };
            uses.contains(&image)
        });
        if !is_known {
            uses.insert(image);
        }
    };
    let unchanged = object.clone();
    visit(&mut object, &mut |location, value| {
        let image = rules::complete(&unchanged, location.field, value.image());
        add(location, image);
    });
    text::find(&object, &mut add);
}

/// The field that an image was found in.
#[derive(Debug, Clone, Copy)]
pub struct Location<'a> {
    pub kind: &'a str,
    pub name: &'a str,
    pub field: &'a str,
    pub origin: Origin,
}

/// The maximum nesting of objects.
const MAX_DEPTH: usize = 128;

/// Visits the images of an object, or of the objects of a list. Containers of custom resources are visited twice: as
/// containers and as fields.
pub fn visit(object: &mut Value, visitor: &mut dyn FnMut(Location<'_>, ImageValue<'_>)) {
    visit_object(object, visitor, 0);
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn visit_object(
    object: &mut Value,
    visitor: &mut dyn FnMut(Location<'_>, ImageValue<'_>),
    depth: usize,
) {
    let kind = string(&object["kind"]);
    if kind.ends_with("List")
        && depth < MAX_DEPTH
        && let Some(Value::Array(items)) = object.get_mut("items")
    {
        for item in items {
            visit_object(item, visitor, depth + 1);
        }
        return;
    }
    if matches!(
        kind.as_str(),
        "ConfigMap" | "Secret" | "CustomResourceDefinition"
    ) {
        return;
    }
    let mut walker = Walker {
        is_custom: is_custom(&string(&object["apiVersion"])),
        name: string(&object["metadata"]["name"]),
        kind,
        visitor,
    };
    walker.walk(object, "", 0);
}

/// Whether the API group is that of a custom resource.
fn is_custom(api_version: &str) -> bool {
    api_version
        .split_once('/')
        .is_some_and(|(group, _)| group.contains('.') && !group.ends_with(".k8s.io"))
}

struct Walker<'a> {
    kind: String,
    name: String,
    is_custom: bool,
    visitor: &'a mut dyn FnMut(Location<'_>, ImageValue<'_>),
}

impl Walker<'_> {
    fn walk(&mut self, node: &mut Value, path: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node {
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.walk(item, &format!("{path}[{index}]"), depth + 1);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    self.field(key, value, &path);
                    self.walk(value, &path, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, key: &str, value: &mut Value, path: &str) {
        match value {
            Value::Array(items)
                if ["containers", "initContainers", "ephemeralContainers"].contains(&key) =>
            {
                for (index, item) in items.iter_mut().enumerate() {
                    self.container(item, &format!("{path}[{index}]"));
                }
            }
            Value::Array(items) if key == "volumes" => {
                for (index, item) in items.iter_mut().enumerate() {
                    if let Some(Value::String(image)) = item.pointer_mut("/image/reference") {
                        let field = format!("{path}[{index}].image.reference");
                        self.visit(&field, Origin::Volume, ImageValue::Reference(image));
                    }
                }
            }
            Value::String(image) if self.is_custom && is_image_key(key) && is_reference(image) => {
                self.visit(path, Origin::Field, ImageValue::Reference(image));
            }
            Value::Object(fields) if self.is_custom && is_image_key(key) => {
                if let Some(parts) = ImageParts::new(fields) {
                    self.visit(path, Origin::Field, ImageValue::Parts(parts));
                }
            }
            _ => {}
        }
    }

    fn container(&mut self, container: &mut Value, path: &str) {
        if let Some(Value::String(image)) = container.get_mut("image")
            && !image.is_empty()
        {
            let field = format!("{path}.image");
            self.visit(&field, Origin::Container, ImageValue::Reference(image));
        }
        for list in ["args", "command"] {
            let items = container.get_mut(list).and_then(Value::as_array_mut);
            let mut flag = String::new();
            for (index, item) in items.into_iter().flatten().enumerate() {
                let Value::String(text) = item else { continue };
                let start = text.find('=').map_or(0, |equals| equals + 1);
                // `--image=REFERENCE`, or `--image` and then the reference.
                let name = if start == 0 {
                    &flag
                } else {
                    &text[..start - 1]
                };
                if is_argument(name, &text[start..]) {
                    let field = format!("{path}.{list}[{index}]");
                    self.visit(&field, Origin::Argument, ImageValue::Flag(text, start));
                    flag.clear();
                } else {
                    flag.clone_from(text);
                }
            }
        }
        let variables = container.get_mut("env").and_then(Value::as_array_mut);
        for (index, variable) in variables.into_iter().flatten().enumerate() {
            let name = string(&variable["name"]);
            if let Some(Value::String(value)) = variable.get_mut("value")
                && is_argument(&name, value)
            {
                let field = format!("{path}.env[{index}].value");
                self.visit(&field, Origin::Argument, ImageValue::Reference(value));
            }
        }
    }

    fn visit(&mut self, field: &str, origin: Origin, value: ImageValue<'_>) {
        let location = Location {
            kind: &self.kind,
            name: &self.name,
            field,
            origin,
        };
        (self.visitor)(location, value);
    }
}

impl ImageValue<'_> {
    /// The image reference.
    pub fn image(&self) -> String {
        match self {
            Self::Reference(image) => (*image).clone(),
            Self::Flag(text, start) => text[*start..].to_owned(),
            Self::Parts(parts) => parts.image(),
        }
    }
}

impl<'a> ImageParts<'a> {
    /// `None` if the fields are not those of an image.
    fn new(fields: &'a mut Map<String, Value>) -> Option<Self> {
        let keys = ["repository", "name", "image"];
        let is_scalar =
            |key: &&str| matches!(fields.get(*key), Some(Value::String(_) | Value::Number(_)));
        let repository_key = keys.into_iter().find(is_scalar)?;
        let parts = Self {
            fields,
            repository_key,
        };
        is_reference(&parts.image()).then_some(parts)
    }

    pub fn registry(&self) -> Option<String> {
        part(self.fields, &["registry"])
    }

    pub fn repository(&self) -> String {
        part(self.fields, &[self.repository_key]).unwrap_or_default()
    }

    /// Sets the repository, and the registry if there is one.
    pub fn set(&mut self, registry: Option<&str>, repository: &str) {
        if let Some(registry) = registry {
            let registry = Value::from(registry);
            self.fields.insert("registry".to_owned(), registry);
        }
        let repository = Value::from(repository);
        self.fields
            .insert(self.repository_key.to_owned(), repository);
    }

    fn image(&self) -> String {
        let repository = self.repository();
        let mut image = match self.registry() {
            Some(registry) => format!("{}/{repository}", registry.trim_end_matches('/')),
            None => repository,
        };
        if let Some(tag) = part(self.fields, &["tag", "version"]) {
            image = format!("{image}:{tag}");
        }
        if let Some(digest) = part(self.fields, &["digest", "sha"]) {
            let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
            image = format!("{image}@sha256:{digest}");
        }
        image
    }
}

/// The first of these fields that is a string or a number, unless it is empty.
fn part(fields: &Map<String, Value>, keys: &[&str]) -> Option<String> {
    let text = keys.iter().find_map(|key| match fields.get(*key)? {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .map(|number| outrigger_gostd::strconv::format_float(number, b'g', None)),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    });
    text.filter(|text| !text.is_empty())
}

/// Whether a field of a custom resource may be an image: `image`, `baseImage`, `docker_image`, `imageName`, ...
fn is_image_key(key: &str) -> bool {
    key == "image" || key == "imageName" || key.ends_with("Image") || key.ends_with("_image")
}

/// Whether an argument or a variable is an image: a full reference, or one with a tag if its name says so.
fn is_argument(name: &str, value: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let is_named = name.ends_with("image") || name.starts_with("related_image");
    is_full_reference(value) || (is_named && has_tag(value) && is_reference(value))
}

/// Whether the text has the syntax of an image reference.
fn is_reference(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "./-_:@+".contains(c);
    let (name, digest) = text.split_once('@').unwrap_or((text, "sha256:0"));
    let last = name.rsplit('/').next().unwrap_or(name);
    let repository = last.split(':').next().unwrap_or(last);
    !text.contains("://")
        && text.chars().all(is_allowed)
        && digest.contains(':')
        && repository.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !repository.contains(|c: char| c.is_ascii_uppercase())
        && name.split('/').all(|part| !part.is_empty())
}

/// Whether the text is an image reference with a registry host and a tag or digest.
fn is_full_reference(text: &str) -> bool {
    let Some((host, _)) = text.split_once('/') else {
        return false;
    };
    host.contains('.') && !host.starts_with('.') && has_tag(text) && is_reference(text)
}

/// Whether the last component has a tag or a digest.
fn has_tag(text: &str) -> bool {
    let last = text.rsplit('/').next().unwrap_or(text);
    last.contains(':')
}

#[cfg(test)]
mod tests;
