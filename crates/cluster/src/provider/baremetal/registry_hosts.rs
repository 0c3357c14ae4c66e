//! How containerd reaches mirrors of registries: pure functions of the spec and credentials.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_api::RedactedBytes;
use outrigger_api::cluster::{ALL_REGISTRIES, RegistryMirror};

/// Where containerd looks for mirrors, each time that it pulls an image.
pub(super) const FOLDER: &str = "/etc/containerd/certs.d";

/// User name and password.
pub(super) type Credentials = (String, RedactedBytes);

/// The folder of a registry.
pub(super) fn folder(mirror: &RegistryMirror) -> &str {
    match mirror.registry.as_str() {
        ALL_REGISTRIES => "_default",
        registry => registry,
    }
}

/// The file `hosts.toml` of a mirror. It has the credentials.
pub(super) fn hosts(mirror: &RegistryMirror, credentials: Option<&Credentials>) -> String {
    let (scheme, rest) = mirror
        .url
        .split_once("://")
        .unwrap_or(("https", &mirror.url));
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let path = path.trim_matches('/');
    // With a path, containerd takes the address as that of the API.
    let (url, is_api) = match path {
        "" => (format!("{scheme}://{host}"), false),
        path => (format!("{scheme}://{host}/v2/{path}"), true),
    };
    let mut text = format!("[host.\"{url}\"]\n  capabilities = [\"pull\", \"resolve\"]\n");
    if is_api {
        text.push_str("  override_path = true\n");
    }
    if mirror.ca_certificate.is_some() {
        let folder = folder(mirror);
        text.push_str(&format!("  ca = \"{FOLDER}/{folder}/ca.crt\"\n"));
    }
    if let Some((username, password)) = credentials {
        let both = [username.as_bytes(), b":", password.expose()].concat();
        let both = STANDARD.encode(both);
        text.push_str(&format!(
            "  [host.\"{url}\".header]\n    authorization = \"Basic {both}\"\n"
        ));
    }
    text
}

/// One line for each mirror: its folder, its hosts.toml, and its CA certificate or `-`, in base64.
pub(super) fn lines(mirrors: &[(&RegistryMirror, Option<Credentials>)]) -> String {
    let lines = mirrors.iter().map(|(mirror, credentials)| {
        let hosts = STANDARD.encode(hosts(mirror, credentials.as_ref()));
        let certificate = mirror.ca_certificate.as_ref();
        let certificate = certificate.map_or_else(|| "-".to_owned(), |text| STANDARD.encode(text));
        format!("{} {hosts} {certificate}", folder(mirror))
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirror(registry: &str, url: &str) -> RegistryMirror {
        RegistryMirror {
            registry: registry.to_owned(),
            url: url.to_owned(),
            ..RegistryMirror::default()
        }
    }

    #[test]
    fn a_mirror_has_its_ca_and_credentials() {
        let mut mirror = mirror("registry.k8s.io", "https://registry.example.com:5000/");
        mirror.ca_certificate = Some("-----BEGIN CERTIFICATE-----".to_owned());
        let credentials = ("user".to_owned(), RedactedBytes::new(*b"secret"));
        let expected = r#"[host."https://registry.example.com:5000"]
  capabilities = ["pull", "resolve"]
  ca = "/etc/containerd/certs.d/registry.k8s.io/ca.crt"
  [host."https://registry.example.com:5000".header]
    authorization = "Basic dXNlcjpzZWNyZXQ="
"#;
        assert_eq!(hosts(&mirror, Some(&credentials)), expected);
    }

    #[test]
    fn a_path_of_a_mirror_comes_before_the_names_of_images() {
        let expected = r#"[host."http://10.0.0.5:5000/v2/site/k8s"]
  capabilities = ["pull", "resolve"]
  override_path = true
"#;
        let mirror = mirror("*", "http://10.0.0.5:5000/site/k8s");
        assert_eq!(hosts(&mirror, None), expected);
        assert_eq!(folder(&mirror), "_default");
        let line = lines(&[(&mirror, None)]);
        assert!(
            line.starts_with("_default W2hvc3Qu") && line.ends_with(" -"),
            "{line}"
        );
    }
}
