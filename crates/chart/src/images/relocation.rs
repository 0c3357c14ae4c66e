//! Relocation: the name of an image in another registry. The full path is kept, so that images rarely collide; those that
//! do are an error.

use std::collections::HashMap;

/// Replaces the registry of an image by `HOST[:PORT][/PATH]`, unless it is there already. Tags and digests are kept.
pub fn relocate(image: &str, registry: &str) -> String {
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

/// Two images that would get one name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Collision {
    pub images: [String; 2],
    pub relocated: String,
}

/// Two images must not get one name: one of them would run in place of the other.
pub fn collision<'a>(
    images: impl IntoIterator<Item = &'a str>,
    registry: &str,
) -> Option<Collision> {
    let mut originals: HashMap<String, String> = HashMap::new();
    for image in images {
        let relocated = relocate(image, registry);
        // It was relocated by the values, so it is what it seems to be.
        if relocated == image {
            continue;
        }
        let original = qualified(image);
        match originals.get(&relocated) {
            Some(other) if *other != original => {
                let images = [other.clone(), original];
                return Some(Collision { images, relocated });
            }
            _ => originals.insert(relocated, original),
        };
    }
    None
}

/// The image with its registry, which is Docker Hub by default.
fn qualified(image: &str) -> String {
    match image.split_once('/') {
        Some(("index.docker.io", path)) => format!("docker.io/{path}"),
        Some((host, _)) if is_host(host) => image.to_owned(),
        _ => format!("docker.io/{image}"),
    }
    .replacen("docker.io/library/", "docker.io/", 1)
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

    #[test]
    fn two_images_never_get_one_name() {
        let check = |images: &[&str]| collision(images.iter().copied(), "r.local");
        let none: &[&[&str]] = &[
            &["quay.io/org/x:1", "gcr.io/org/x:2", "quay.io/org/x:1"],
            &["nginx", "docker.io/library/nginx", "docker.io/nginx"],
            &["quay.io/org/x:1", "r.local/org/x:1"],
        ];
        for images in none {
            assert_eq!(check(images), None);
        }
        let found = check(&["quay.io/org/x:1", "gcr.io/org/x:1"]).unwrap();
        assert_eq!(found.images, ["quay.io/org/x:1", "gcr.io/org/x:1"]);
        assert_eq!(found.relocated, "r.local/org/x:1");
        assert!(check(&["org/x:1", "quay.io/org/x:1"]).is_some());
    }
}
