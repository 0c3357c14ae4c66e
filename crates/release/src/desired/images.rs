//! The images of a release, and their relocation to another registry.
//!
//! The image finder of the chart crate finds the images, and verifies the result of the relocation.

use outrigger_chart::images::{self, Collision, ImageUse, ImageValue, collision, relocate};
use outrigger_chart::{Manifest, Rendered};

use super::{Desired, Document};
use crate::error::Error;
use crate::record::Hook;

impl Desired {
    /// All images of the release, each use once.
    pub fn images(&self) -> Vec<ImageUse> {
        images::find(&as_rendered(&self.documents, &self.hooks))
    }

    /// Replaces the registries of all images by `registry`, `HOST[:PORT][/PATH]`. Paths, tags and digests are kept. Changes
    /// nothing if an image cannot be relocated, or if two images would get one name. Images in texts of a ConfigMap are
    /// not relocated; they are reported as warnings, as are those in annotations and those that operators derive.
    pub fn relocate_images(&mut self, registry: &str) -> Result<(), Error> {
        let registry = registry.trim_end_matches('/');
        if registry.is_empty() || registry.contains("://") || registry.contains(' ') {
            return Err(Error::InvalidRegistry(registry.to_owned()));
        }
        check_names(&self.images(), registry)?;
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
        let warnings = self.unrelocated_images(registry);
        self.warnings.extend(warnings);
        Ok(())
    }

    /// The images in annotations and texts, and those that operators derive.
    fn unrelocated_images(&self, registry: &str) -> Vec<String> {
        let prefix = format!("{registry}/");
        let missed = self
            .images()
            .into_iter()
            .filter(|found| !found.origin.is_visited() && !found.image.starts_with(&prefix));
        missed
            .map(|found| {
                let ImageUse {
                    image,
                    kind,
                    name,
                    field,
                    ..
                } = found;
                format!("image {image} in {kind}/{name} ({field}) is not pulled from {registry}")
            })
            .collect()
    }
}

fn check_names(images: &[ImageUse], registry: &str) -> Result<(), Error> {
    let visited = images.iter().filter(|image| image.origin.is_visited());
    let names = visited.map(|image| image.image.as_str());
    match collision(names, registry) {
        None => Ok(()),
        Some(Collision { images, relocated }) => Err(Error::ImagesCollide { images, relocated }),
    }
}

fn check(documents: &[Document], hooks: &[Hook], registry: &str) -> Result<(), Error> {
    let images = images::find(&as_rendered(documents, hooks));
    let prefix = format!("{registry}/");
    let is_missed =
        |found: &&ImageUse| found.origin.is_visited() && !found.image.starts_with(&prefix);
    match images.iter().find(is_missed) {
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
    let mut has_images = false;
    images::visit(&mut object, &mut |_, value| {
        has_images = true;
        relocate_value(value, registry);
    });
    let text = has_images.then(|| outrigger_goyaml::write_json(&object))?;
    String::from_utf8(text).ok()
}

fn relocate_value(value: ImageValue<'_>, registry: &str) {
    match value {
        ImageValue::Reference(image) => *image = relocate(image, registry),
        ImageValue::Flag(text, start) => {
            let image = relocate(&text[start..], registry);
            text.replace_range(start.., &image);
        }
        ImageValue::Parts(mut parts) => {
            let repository = parts.repository();
            let Some(host) = parts.registry() else {
                return parts.set(None, &relocate(&repository, registry));
            };
            let image = format!("{}/{repository}", host.trim_end_matches('/'));
            let image = relocate(&image, registry);
            let path = image.strip_prefix(registry).unwrap_or(&image);
            parts.set(Some(registry), path.trim_start_matches('/'));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

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
    fn images_that_would_get_one_name_are_an_error() {
        let content = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - {name: c, image: 'quay.io/org/x:1'}\n  - {name: d, image: 'gcr.io/org/x:1'}\n";
        let document = Document {
            source: String::new(),
            content: content.to_owned(),
        };
        let images = images::find(&as_rendered(&[document], &[]));
        let error = check_names(&images, "r.local").unwrap_err().to_string();
        for name in ["quay.io/org/x:1", "gcr.io/org/x:1", "r.local/org/x:1"] {
            assert!(error.contains(name), "{error}");
        }
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
