//! Every image that a chart would run, found by structure in its rendered objects.
//!
//! Containers of pods in any kind are certain, and so are image volumes. Custom resources name images in fields of
//! their own; those count when they look like an image reference. Operators get images as arguments or environment
//! of their container; those count when they are full references.

use std::collections::BTreeSet;

use crate::plain::Plain;
use crate::render::Rendered;
use crate::yaml;

/// One use of one image.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImageUse {
    pub image: String,
    pub kind: String,
    pub name: String,
    /// The field, such as `spec.template.spec.containers[0].image`.
    pub field: String,
    pub origin: Origin,
    /// The template that the object came from.
    pub source: String,
}

/// How an image was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Origin {
    /// A container of a pod.
    Container,
    /// An image mounted as a volume.
    Volume,
    /// A field of a custom resource.
    Field,
    /// An argument or a variable of a container.
    Argument,
}

impl Origin {
    pub fn name(self) -> &'static str {
        match self {
            Self::Container => "container",
            Self::Volume => "volume",
            Self::Field => "field",
            Self::Argument => "argument",
        }
    }
}

/// Objects nest at most this deep.
const MAX_DEPTH: usize = 128;

/// All images, each use once, ordered by image.
pub fn find(rendered: &Rendered) -> Vec<ImageUse> {
    let mut uses = BTreeSet::new();
    for manifest in &rendered.manifests {
        scan(&manifest.content, &manifest.path, &mut uses);
    }
    for hook in &rendered.hooks {
        scan(&hook.manifest, &hook.path, &mut uses);
    }
    uses.into_iter().collect()
}

fn scan(content: &str, source: &str, uses: &mut BTreeSet<ImageUse>) {
    let Ok(object) = yaml::read(content.as_bytes()) else {
        return;
    };
    object_images(&object, source, uses, 0);
}

fn object_images(object: &Plain, source: &str, uses: &mut BTreeSet<ImageUse>, depth: usize) {
    let text = |node: Option<&Plain>| node.and_then(Plain::as_str).unwrap_or_default().to_owned();
    let kind = text(object.get("kind"));
    // The parts of a list are objects of their own.
    if let Some(items) = object.get("items").and_then(Plain::as_list)
        && kind.ends_with("List")
        && depth < MAX_DEPTH
    {
        for item in items {
            object_images(item, source, uses, depth + 1);
        }
        return;
    }
    if matches!(
        kind.as_str(),
        "ConfigMap" | "Secret" | "CustomResourceDefinition"
    ) {
        return;
    }
    let mut finder = Finder {
        is_custom: is_custom(&text(object.get("apiVersion"))),
        kind,
        name: text(
            object
                .get("metadata")
                .and_then(|metadata| metadata.get("name")),
        ),
        source,
        uses,
    };
    finder.walk(object, "", 0);
}

/// Whether the group is not one of Kubernetes' own.
fn is_custom(api_version: &str) -> bool {
    api_version
        .split_once('/')
        .is_some_and(|(group, _)| group.contains('.') && !group.ends_with(".k8s.io"))
}

struct Finder<'a> {
    kind: String,
    name: String,
    is_custom: bool,
    source: &'a str,
    uses: &'a mut BTreeSet<ImageUse>,
}

impl Finder<'_> {
    fn walk(&mut self, node: &Plain, path: &str, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node {
            Plain::List(items) => {
                for (at, item) in items.iter().enumerate() {
                    self.walk(item, &format!("{path}[{at}]"), depth + 1);
                }
            }
            Plain::Map(entries) => {
                for (key, value) in entries {
                    let path = if path.is_empty() {
                        key.clone()
                    } else {
                        format!("{path}.{key}")
                    };
                    self.entry(key, value, &path);
                    self.walk(value, &path, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn entry(&mut self, key: &str, value: &Plain, path: &str) {
        match (key, value) {
            ("containers" | "initContainers" | "ephemeralContainers", Plain::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    self.container(item, &format!("{path}[{at}]"));
                }
            }
            ("volumes", Plain::List(items)) => {
                for (at, item) in items.iter().enumerate() {
                    let reference = item.get("image").and_then(|image| image.get("reference"));
                    if let Some(image) = reference.and_then(Plain::as_str) {
                        let field = format!("{path}[{at}].image.reference");
                        self.push(image, field, Origin::Volume);
                    }
                }
            }
            (_, Plain::Str(image))
                if self.is_custom && is_image_key(key) && is_reference(image) =>
            {
                self.push(image, path.to_owned(), Origin::Field);
            }
            (_, Plain::Map(_)) if self.is_custom && is_image_key(key) => {
                if let Some(image) = assemble(value) {
                    self.push(&image, path.to_owned(), Origin::Field);
                }
            }
            _ => {}
        }
    }

    fn container(&mut self, container: &Plain, path: &str) {
        if let Some(image) = container.get("image").and_then(Plain::as_str)
            && !image.is_empty()
        {
            self.push(image, format!("{path}.image"), Origin::Container);
        }
        for list in ["args", "command"] {
            let items = container
                .get(list)
                .and_then(Plain::as_list)
                .unwrap_or_default();
            for (at, item) in items.iter().enumerate() {
                let Some(text) = item.as_str() else { continue };
                let value = text.split_once('=').map_or(text, |(_, value)| value);
                if is_full_reference(value) {
                    self.push(value, format!("{path}.{list}[{at}]"), Origin::Argument);
                }
            }
        }
        let variables = container
            .get("env")
            .and_then(Plain::as_list)
            .unwrap_or_default();
        for (at, variable) in variables.iter().enumerate() {
            let value = variable.get("value").and_then(Plain::as_str);
            if let Some(value) = value.filter(|value| is_full_reference(value)) {
                self.push(value, format!("{path}.env[{at}].value"), Origin::Argument);
            }
        }
    }

    fn push(&mut self, image: &str, field: String, origin: Origin) {
        // A container of a custom resource is also a field called image: the certain finding stays.
        let is_known = origin == Origin::Field
            && self.uses.iter().any(|known| {
                known.field == field && known.name == self.name && known.kind == self.kind
            });
        if is_known {
            return;
        }
        self.uses.insert(ImageUse {
            image: image.to_owned(),
            kind: self.kind.clone(),
            name: self.name.clone(),
            field,
            origin,
            source: self.source.to_owned(),
        });
    }
}

/// Whether a field of a custom resource may be an image: `image`, `baseImage`, `sidecarImage`, ...
pub fn is_image_key(key: &str) -> bool {
    key == "image" || key.ends_with("Image")
}

/// One reference out of `registry`, `repository`, `tag` and `digest`.
fn assemble(parts: &Plain) -> Option<String> {
    let part = |names: &[&str]| {
        let found = names.iter().find_map(|name| match parts.get(name) {
            Some(Plain::Str(text)) => Some(text.clone()),
            Some(Plain::Int(number)) => Some(number.to_string()),
            Some(Plain::Float(number)) => {
                Some(outrigger_gostd::strconv::format_float(*number, b'g', None))
            }
            _ => None,
        });
        found.filter(|text| !text.is_empty())
    };
    let repository = part(&["repository", "name", "image"])?;
    let mut image = match part(&["registry"]) {
        Some(registry) => format!("{}/{repository}", registry.trim_end_matches('/')),
        None => repository,
    };
    if let Some(tag) = part(&["tag", "version"]) {
        image = format!("{image}:{tag}");
    }
    if let Some(digest) = part(&["digest", "sha"]) {
        let digest = digest.strip_prefix("sha256:").unwrap_or(&digest);
        image = format!("{image}@sha256:{digest}");
    }
    is_reference(&image).then_some(image)
}

/// Whether a container runtime accepts the text as an image reference.
pub fn is_reference(text: &str) -> bool {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "./-_:@+".contains(c);
    let (name, digest) = text.split_once('@').unwrap_or((text, "sha256:0"));
    let last = name.rsplit('/').next().unwrap_or(name);
    let repository = last.split(':').next().unwrap_or(last);
    !text.contains("://")
        && text.chars().all(is_plain)
        && digest.contains(':')
        && repository.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !repository.contains(|c: char| c.is_ascii_uppercase())
        && name.split('/').all(|part| !part.is_empty())
}

/// Whether the text is an image reference with a registry host and a tag or digest.
pub fn is_full_reference(text: &str) -> bool {
    let Some((host, rest)) = text.split_once('/') else {
        return false;
    };
    let has_tag = rest
        .rsplit('/')
        .next()
        .is_some_and(|last| last.contains(':') || last.contains("@sha256:"));
    host.contains('.') && !host.starts_with('.') && has_tag && is_reference(text)
}

#[cfg(test)]
mod tests;
