//! Pushes the images to the registry of the site. What it has is not sent.

use std::sync::Arc;

use outrigger_oci::{
    Client, Copier, Copy, CopyOptions, Options, Progress, Reference, Repository, Source,
};

use super::{Effects, message};
use crate::contents::PackagedImage;

pub(super) fn push(effects: &Effects) -> Result<(), String> {
    let contents = &effects.contents;
    let (Some(package), Some(site)) = (&contents.package, &contents.site_registry) else {
        return Ok(());
    };
    let url = effects
        .registry_url
        .as_deref()
        .ok_or("the registry is not served")?;
    let local = url.trim_start_matches("http://");
    let images = package.images.iter();
    let copies = images.map(|image| copy(image, local, site));
    let copies: Vec<Copy> = copies.collect::<Result<_, String>>()?;
    let mut options: Options = effects.push.clone();
    options.plain_http.insert(local.to_owned());
    let client = Client::new(options);
    let copier = Copier::new(
        client.clone(),
        CopyOptions::default(),
        Arc::new(Progress::default()),
    );
    let results = tokio::runtime::Handle::current()
        .block_on(async { copier.copy_all(&Source::Registry(client), &copies).await });
    let failed = results.into_iter().filter_map(Result::err);
    let failed: Vec<String> = failed.map(|error| message(&error)).collect();
    if failed.is_empty() {
        return Ok(());
    }
    Err(failed.join("; "))
}

/// From our registry to that of the site, where images keep their paths.
fn copy(image: &PackagedImage, local: &str, site: &str) -> Result<Copy, String> {
    let path = image.name.repository().path();
    let invalid = |error: outrigger_oci::InvalidReference| message(&error);
    let repository = |registry: &str| -> Result<Repository, String> {
        let name = format!("{}/{path}", registry.trim_end_matches('/'));
        name.parse().map_err(invalid)
    };
    let source = repository(local)?.with_digest(image.digest.clone());
    let target: Reference = match image.name.tag() {
        Some(tag) => repository(site)?.with_tag(tag).map_err(invalid)?,
        None => repository(site)?.with_digest(image.digest.clone()),
    };
    Ok(Copy { source, target })
}

#[cfg(test)]
mod tests {
    use outrigger_oci::Digest;

    use super::*;

    #[test]
    fn images_keep_their_paths() {
        let image = PackagedImage {
            name: "quay.io/a/b:1".parse().unwrap(),
            digest: Digest::of(b"x"),
        };
        let copy = copy(&image, "127.0.0.1:5000", "registry.site:5000/mirror/").unwrap();
        assert_eq!(copy.target.to_string(), "registry.site:5000/mirror/a/b:1");
        let expected = format!("127.0.0.1:5000/a/b@{}", Digest::of(b"x"));
        assert_eq!(copy.source.to_string(), expected);
    }
}
