//! The images of a release, and their relocation to another registry.
//!
//! Images are found by structure: containers and image volumes in any kind, fields named `image` or `...Image` in custom
//! resources, full references in arguments and environment variables of containers. After the relocation, the image finder
//! of the chart crate, which walks the objects independently, verifies that no image was missed.

use outrigger_chart::images::{self, ImageUse, is_full_reference, is_image_key, is_reference};
use outrigger_chart::{Manifest, Rendered};
use serde_json::{Map, Value};

use super::{Desired, Document};
use crate::error::Error;
use crate::record::Hook;

impl Desired {
    /// All images of the release, each use once.
    pub fn images(&self) -> Vec<ImageUse> {
        images::find(&as_rendered(&self.documents, &self.hooks))
    }

    /// Replaces the registries of all images by `registry`, `HOST[:PORT][/PATH]`. Paths, tags and digests are kept. Changes
    /// nothing if an image cannot be relocated.
    pub fn relocate_images(&mut self, registry: &str) -> Result<(), Error> {
        let registry = registry.trim_end_matches('/');
        if registry.is_empty() || registry.contains("://") || registry.contains(' ') {
            return Err(Error::InvalidRegistry(registry.to_owned()));
        }
        let mut documents = self.documents.clone();
        for document in &mut documents {
            if let Some(content) = relocate_text(&document.content, registry) {
                document.content = content;
            }
        }
        let mut hooks = self.hooks.clone();
        for hook in &mut hooks {
            if let Some(content) = relocate_text(&hook.manifest, registry) {
                hook.manifest = content;
            }
        }
        check(&documents, &hooks, registry)?;
        self.objects = self.parse(&documents)?;
        self.documents = documents;
        self.hooks = hooks;
        Ok(())
    }
}

fn check(documents: &[Document], hooks: &[Hook], registry: &str) -> Result<(), Error> {
    let images = images::find(&as_rendered(documents, hooks));
    let prefix = format!("{registry}/");
    match images.iter().find(|use_| !use_.image.starts_with(&prefix)) {
        None => Ok(()),
        Some(missed) => Err(Error::ImageNotRelocated {
            image: missed.image.clone(),
            object: format!("{}/{}", missed.kind, missed.name),
            field: missed.field.clone(),
            registry: registry.to_owned(),
        }),
    }
}

fn as_rendered(documents: &[Document], hooks: &[Hook]) -> Rendered {
    let manifest = |source: &str, content: &str| Manifest {
        path: source.to_owned(),
        content: content.to_owned(),
        api_version: String::new(),
        kind: String::new(),
        name: String::new(),
    };
    let documents = documents
        .iter()
        .map(|document| manifest(&document.source, &document.content));
    let hooks = hooks
        .iter()
        .map(|hook| manifest(&hook.path, &hook.manifest));
    Rendered {
        manifests: documents.chain(hooks).collect(),
        ..Rendered::default()
    }
}

/// Relocates the images of a document; none if it has no images.
fn relocate_text(content: &str, registry: &str) -> Option<String> {
    let mut object = outrigger_goyaml::parse_json(content.as_bytes()).ok()?;
    let mut relocator = Relocator {
        registry,
        has_relocated: false,
    };
    relocator.object(&mut object, 0);
    let text = relocator
        .has_relocated
        .then(|| outrigger_goyaml::write_json(&object))?;
    String::from_utf8(text).ok()
}

/// Maximum nesting of objects.
const MAX_DEPTH: usize = 128;

struct Relocator<'a> {
    registry: &'a str,
    has_relocated: bool,
}

impl Relocator<'_> {
    fn object(&mut self, object: &mut Value, depth: usize) {
        let kind = object["kind"].as_str().unwrap_or_default().to_owned();
        if kind.ends_with("List") && depth < MAX_DEPTH {
            if let Some(items) = object["items"].as_array_mut() {
                for item in items {
                    self.object(item, depth + 1);
                }
            }
            return;
        }
        if matches!(
            kind.as_str(),
            "ConfigMap" | "Secret" | "CustomResourceDefinition"
        ) {
            return;
        }
        let group = object["apiVersion"].as_str().unwrap_or_default();
        let group = group.split_once('/').map_or("", |(group, _)| group);
        let is_custom = group.contains('.') && !group.ends_with(".k8s.io");
        self.walk(object, is_custom, 0);
    }

    fn walk(&mut self, node: &mut Value, is_custom: bool, depth: usize) {
        if depth > MAX_DEPTH {
            return;
        }
        match node {
            Value::Array(items) => {
                for item in items {
                    self.walk(item, is_custom, depth + 1);
                }
            }
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    self.field(key, value, is_custom);
                    self.walk(value, is_custom, depth + 1);
                }
            }
            _ => {}
        }
    }

    fn field(&mut self, key: &str, value: &mut Value, is_custom: bool) {
        match value {
            Value::Array(items)
                if ["containers", "initContainers", "ephemeralContainers"].contains(&key) =>
            {
                for item in items {
                    self.container(item);
                }
            }
            Value::Array(items) if key == "volumes" => {
                for item in items {
                    if let Some(Value::String(image)) = item.pointer_mut("/image/reference") {
                        self.reference(image);
                    }
                }
            }
            Value::String(image) if is_custom && is_image_key(key) && is_reference(image) => {
                self.reference(image);
            }
            Value::Object(parts) if is_custom && is_image_key(key) => self.parts(parts),
            _ => {}
        }
    }

    fn container(&mut self, container: &mut Value) {
        if let Some(Value::String(image)) = container.get_mut("image")
            && !image.is_empty()
        {
            self.reference(image);
        }
        for list in ["args", "command"] {
            let items = container.get_mut(list).and_then(Value::as_array_mut);
            for item in items.into_iter().flatten() {
                if let Value::String(text) = item {
                    self.argument(text);
                }
            }
        }
        let variables = container.get_mut("env").and_then(Value::as_array_mut);
        for variable in variables.into_iter().flatten() {
            if let Some(Value::String(value)) = variable.get_mut("value")
                && is_full_reference(value)
            {
                self.reference(value);
            }
        }
    }

    /// An argument that is an image reference, or a flag with one: `--image=quay.io/a/b:1`.
    fn argument(&mut self, text: &mut String) {
        let (flag, image) = match text.split_once('=') {
            Some((flag, image)) => (format!("{flag}="), image),
            None => (String::new(), text.as_str()),
        };
        if is_full_reference(image) {
            let mut image = image.to_owned();
            self.reference(&mut image);
            *text = flag + &image;
        }
    }

    /// An image with separate `registry`, `repository` and `tag`.
    fn parts(&mut self, parts: &mut Map<String, Value>) {
        let keys = ["repository", "name", "image"];
        let Some(key) = keys
            .into_iter()
            .find(|&key| matches!(parts.get(key), Some(Value::String(text)) if !text.is_empty()))
        else {
            return;
        };
        let Some(Value::String(repository)) = parts.get(key).cloned() else {
            return;
        };
        if !is_reference(&repository) {
            return;
        }
        let has_registry =
            matches!(parts.get("registry"), Some(Value::String(text)) if !text.is_empty());
        if has_registry {
            let image = format!(
                "{}/{repository}",
                parts["registry"].as_str().unwrap_or_default()
            );
            let relocated = relocate(&image, self.registry);
            let path = relocated
                .strip_prefix(&format!("{}/", self.registry))
                .unwrap_or(&relocated)
                .to_owned();
            parts.insert("registry".to_owned(), Value::from(self.registry));
            parts.insert(key.to_owned(), Value::from(path));
        } else {
            parts.insert(
                key.to_owned(),
                Value::from(relocate(&repository, self.registry)),
            );
        }
        self.has_relocated = true;
    }

    fn reference(&mut self, image: &mut String) {
        *image = relocate(image, self.registry);
        self.has_relocated = true;
    }
}

/// Replaces the registry of an image, unless it is `registry` already.
fn relocate(image: &str, registry: &str) -> String {
    if image
        .strip_prefix(registry)
        .is_some_and(|rest| rest.starts_with('/'))
    {
        return image.to_owned();
    }
    let path = match image.split_once('/') {
        Some((host, path)) if is_host(host) => path.to_owned(),
        Some(_) => image.to_owned(),
        // Official images of Docker Hub have the implicit path `library`.
        None => format!("library/{image}"),
    };
    let path = match image.split_once('/') {
        Some(("docker.io" | "index.docker.io", name)) if !name.contains('/') => {
            format!("library/{name}")
        }
        _ => path,
    };
    format!("{registry}/{path}")
}

/// Whether the first component of a reference is a host: it has a dot or a port, or is `localhost`.
fn is_host(part: &str) -> bool {
    part.contains(['.', ':']) || part == "localhost"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relocated_image_keeps_its_path_tag_and_digest() {
        let registry = "reg.local:5000/mirror";
        let rows = [
            ("nginx", "library/nginx"),
            ("nginx:1.27", "library/nginx:1.27"),
            ("docker.io/nginx:1.27", "library/nginx:1.27"),
            ("bitnami/redis:7", "bitnami/redis:7"),
            ("quay.io/a/b/c/d:v1@sha256:00", "a/b/c/d:v1@sha256:00"),
            ("localhost/a:1", "a:1"),
            ("reg:5000/a/b", "a/b"),
        ];
        for (image, path) in rows {
            assert_eq!(relocate(image, registry), format!("{registry}/{path}"));
        }
        let relocated = "reg.local:5000/mirror/a:1";
        assert_eq!(relocate(relocated, registry), relocated);
    }

    fn relocated(yaml: &str) -> Value {
        let text = relocate_text(yaml, "r.local").unwrap();
        let document = Document {
            source: String::new(),
            content: text.clone(),
        };
        check(&[document], &[], "r.local").unwrap();
        outrigger_goyaml::parse_json(text.as_bytes()).unwrap()
    }

    #[test]
    fn all_images_that_the_finder_finds_are_relocated() {
        let object = relocated(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec:\n  template:\n    spec:\n      initContainers:\n      - {name: i, image: busybox}\n      containers:\n      - name: c\n        image: quay.io/a/b:1\n        args: ['--sidecar=ghcr.io/x/y:2', '--other=1']\n        env: [{name: IMG, value: 'gcr.io/p/q:3'}]\n      volumes:\n      - {name: v, image: {reference: 'quay.io/v/w:4'}}\n",
        );
        let spec = &object["spec"]["template"]["spec"];
        assert_eq!(
            spec["initContainers"][0]["image"],
            "r.local/library/busybox"
        );
        let container = &spec["containers"][0];
        assert_eq!(container["image"], "r.local/a/b:1");
        assert_eq!(container["args"][0], "--sidecar=r.local/x/y:2");
        assert_eq!(container["args"][1], "--other=1");
        assert_eq!(container["env"][0]["value"], "r.local/p/q:3");
        assert_eq!(spec["volumes"][0]["image"]["reference"], "r.local/v/w:4");
    }

    #[test]
    fn references_and_separate_parts_in_custom_resources_are_relocated() {
        let object = relocated(
            "apiVersion: example.com/v1\nkind: Boat\nmetadata: {name: a}\nspec:\n  baseImage: quay.io/a/b:1\n  image: {registry: quay.io, repository: c/d, tag: '2'}\n  otherImage: {repository: ghcr.io/e/f, tag: '3'}\n",
        );
        let spec = &object["spec"];
        assert_eq!(spec["baseImage"], "r.local/a/b:1");
        assert_eq!(spec["image"]["registry"], "r.local");
        assert_eq!(spec["image"]["repository"], "c/d");
        assert_eq!(spec["otherImage"]["repository"], "r.local/e/f");
    }

    #[test]
    fn a_document_without_images_is_unchanged() {
        assert_eq!(
            relocate_text(
                "apiVersion: v1\nkind: ConfigMap\ndata: {image: a/b:1}\n",
                "r"
            ),
            None
        );
    }
}
