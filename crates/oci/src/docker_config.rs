//! Credentials of Docker: `config.json` and credential helpers.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use outrigger_transport::{Credentials, Secret};
use serde::Deserialize;

use crate::error::Error;
use crate::limited_file::read_to_limit;
use crate::reference::DOCKER_HUB;

/// The name of Docker Hub in `config.json`.
const HUB_KEY: &str = "https://index.docker.io/v1/";

/// A credential helper has this time, because some of them ask the user.
const HELPER_TIMEOUT: Duration = Duration::from_secs(30);

/// The largest `config.json`.
const MAX_CONFIG: u64 = 1 << 20;

/// The part of `config.json` with credentials. The default has none.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DockerConfig {
    auths: BTreeMap<String, Entry>,
    creds_store: Option<String>,
    cred_helpers: BTreeMap<String, String>,
    /// The file, for messages
    #[serde(skip)]
    path: PathBuf,
    /// The only registries that get credentials; `None`: all.
    #[serde(skip)]
    only: Option<BTreeSet<String>>,
}

#[derive(Clone, Default, Deserialize)]
#[serde(default)]
struct Entry {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("[redacted]")
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct HelperAnswer {
    username: String,
    secret: String,
}

impl DockerConfig {
    /// Reads the file of `REGISTRY_AUTH_FILE`, else `config.json` of `DOCKER_CONFIG`, else that of the user. A missing file
    /// has no credentials.
    pub fn load() -> Result<Self, Error> {
        let variable = |name: &str| std::env::var_os(name);
        match path_of(variable, std::env::home_dir()) {
            Some(path) => Self::read(&path),
            None => Ok(Self::default()),
        }
    }

    pub fn read(path: &Path) -> Result<Self, Error> {
        let invalid = |reason: String| Error::DockerConfig {
            path: path.to_owned(),
            reason,
        };
        let text = match read_to_limit(path, MAX_CONFIG) {
            Ok(Some(text)) => text,
            Ok(None) => return Err(invalid(format!("it is larger than {MAX_CONFIG} bytes"))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(error) => return Err(Error::io(path, error)),
        };
        // serde's message may quote the text, which has secrets.
        let config: Self = serde_json::from_slice(&text).map_err(|error| {
            invalid(format!("line {}, column {}", error.line(), error.column()))
        })?;
        Ok(Self {
            path: path.to_owned(),
            ..config
        })
    }

    /// The same configuration for some registries only, such as those that the operator chose, not the author of a chart.
    #[must_use]
    pub fn only_for(mut self, registries: BTreeSet<String>) -> Self {
        self.only = Some(registries);
        self
    }

    /// The credentials for a registry. Runs a credential helper, so it blocks.
    pub fn credentials(&self, registry: &str) -> Result<Option<Credentials>, Error> {
        if self
            .only
            .as_ref()
            .is_some_and(|only| !only.contains(registry))
        {
            return Ok(None);
        }
        let key = if registry == DOCKER_HUB {
            HUB_KEY
        } else {
            registry
        };
        let helper = self
            .cred_helpers
            .get(registry)
            .or_else(|| self.cred_helpers.get(key))
            .or(self.creds_store.as_ref());
        if let Some(helper) = helper
            && let Some(found) = run_helper(helper, key)?
        {
            return Ok(Some(found));
        }
        let entry = self.auths.iter().find(|(key, _)| host_of(key) == registry);
        let Some((key, entry)) = entry else {
            return Ok(None);
        };
        let found = entry.credentials();
        if found.is_none() && entry.auth.as_ref().is_some_and(|auth| !auth.is_empty()) {
            return Err(Error::DockerConfig {
                path: self.path.clone(),
                reason: format!("the auth of {key} is not USER:PASSWORD in base64"),
            });
        }
        Ok(found)
    }
}

impl Entry {
    fn credentials(&self) -> Option<Credentials> {
        let present = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        if let Some(token) = present(&self.registrytoken) {
            return Some(Credentials::Bearer(Secret::new(token)));
        }
        if let Some(token) = present(&self.identitytoken) {
            return Some(basic(IDENTITY_TOKEN, &token));
        }
        if let Some(auth) = present(&self.auth) {
            let decoded = STANDARD.decode(auth.trim()).ok()?;
            let decoded = String::from_utf8(decoded).ok()?;
            let (username, password) = decoded.split_once(':')?;
            return Some(basic(username, password.trim_end_matches('\0')));
        }
        Some(basic(&present(&self.username)?, &present(&self.password)?))
    }
}

/// The user name that marks an identity token of Docker.
pub const IDENTITY_TOKEN: &str = "<token>";

fn basic(username: &str, password: &str) -> Credentials {
    Credentials::Basic {
        username: username.to_owned(),
        password: Secret::new(password),
    }
}

/// The file with credentials, by the environment and the home folder of the user.
fn path_of(variable: impl Fn(&str) -> Option<OsString>, home: Option<PathBuf>) -> Option<PathBuf> {
    let variable = |name: &str| variable(name).filter(|value| !value.is_empty());
    // It names a file, which is more specific than a folder.
    if let Some(file) = variable("REGISTRY_AUTH_FILE") {
        return Some(file.into());
    }
    let folder = variable("DOCKER_CONFIG").map(PathBuf::from);
    let folder = folder.or_else(|| Some(home?.join(".docker")));
    Some(folder?.join("config.json"))
}

/// The host of a key, which may be a URL.
fn host_of(key: &str) -> &str {
    if key == HUB_KEY || key == "index.docker.io" {
        return DOCKER_HUB;
    }
    let key = key
        .strip_prefix("https://")
        .or_else(|| key.strip_prefix("http://"))
        .unwrap_or(key);
    key.split('/').next().unwrap_or(key)
}

/// Asks `docker-credential-NAME`. It answers that it has no credentials with an error.
#[expect(
    clippy::disallowed_methods,
    reason = "this is the port that runs credential helpers"
)]
fn run_helper(name: &str, registry: &str) -> Result<Option<Credentials>, Error> {
    let program = format!("docker-credential-{name}");
    let failed = |reason: String| Error::CredentialHelper {
        program: program.clone(),
        reason,
    };
    if !name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
    {
        return Err(failed("its name is invalid".to_owned()));
    }
    let mut child = Command::new(&program)
        .arg("get")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that does not read its input reports that by its exit code.
        let _ = stdin.write_all(registry.as_bytes());
    }
    let (sender, receiver) = std::sync::mpsc::channel();
    let mut stdout = child.stdout.take();
    std::thread::spawn(move || {
        let mut answer = Vec::new();
        if let Some(stdout) = &mut stdout {
            let _ = std::io::Read::read_to_end(
                &mut std::io::Read::take(stdout, MAX_CONFIG),
                &mut answer,
            );
        }
        let _ = sender.send(answer);
    });
    let Ok(answer) = receiver.recv_timeout(HELPER_TIMEOUT) else {
        let _ = child.kill();
        let _ = child.wait();
        return Err(failed(format!(
            "no answer within {} seconds",
            HELPER_TIMEOUT.as_secs()
        )));
    };
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !status.success() {
        let text = String::from_utf8_lossy(&answer);
        return if text.contains("not found") || text.contains("no credentials") {
            Ok(None)
        } else {
            Err(failed(format!("{status}")))
        };
    }
    let answer: HelperAnswer = serde_json::from_slice(&answer)
        .map_err(|_| failed("its answer is not valid".to_owned()))?;
    Ok(Some(basic(&answer.username, &answer.secret)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credentials_are_found_by_host_and_never_printed() {
        let text = r#"{"auths": {
            "https://index.docker.io/v1/": {"auth": "YW5uOmh1bnRlcjI="},
            "reg.local:5000": {"username": "bob", "password": "hunter2"},
            "https://quay.io/v2/": {"identitytoken": "hunter2"},
            "empty.local": {}}}"#;
        let config: DockerConfig = serde_json::from_str(text).unwrap();
        let user = |registry: &str| match config.credentials(registry).unwrap() {
            Some(Credentials::Basic { username, password }) => {
                assert_eq!(password.reveal(), "hunter2");
                username
            }
            _ => String::new(),
        };
        assert_eq!(user("docker.io"), "ann");
        assert_eq!(user("reg.local:5000"), "bob");
        assert_eq!(user("quay.io"), IDENTITY_TOKEN);
        for none in ["reg.local", "empty.local", "evil-reg.local:5000"] {
            assert_eq!(user(none), "", "{none}");
        }
        assert!(!format!("{config:?}").contains("hunter2"));
    }

    #[test]
    fn credentials_can_be_for_some_registries_only() {
        let text = r#"{"auths": {"a.local": {"auth": "YW5uOmh1bnRlcjI="}, "b.local": {"auth": "YW5uOmh1bnRlcjI="}},
            "credsStore": "does-not-exist"}"#;
        let config: DockerConfig = serde_json::from_str(text).unwrap();
        let config = config.only_for(BTreeSet::from(["a.local".to_owned()]));
        // The helper is not even run.
        assert_eq!(config.credentials("b.local").unwrap(), None);
        assert!(config.credentials("a.local").is_err());
    }

    #[test]
    fn the_most_specific_variable_names_the_file() {
        let path = |variables: &[(&str, &str)]| {
            let variable = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            path_of(variable, Some("/home/ann".into())).unwrap()
        };
        let (file, docker) = (("REGISTRY_AUTH_FILE", "/a.json"), ("DOCKER_CONFIG", "/d"));
        assert_eq!(path(&[file, docker]), Path::new("/a.json"));
        assert_eq!(path(&[docker]), Path::new("/d/config.json"));
        let empty = ("DOCKER_CONFIG", "");
        let of_home = Path::new("/home/ann/.docker/config.json");
        assert_eq!(path(&[empty]), of_home);
        assert_eq!(path(&[]), of_home);
    }

    #[test]
    fn a_broken_file_and_a_missing_helper_are_errors_without_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        assert!(DockerConfig::read(&path).is_ok());
        fs_err::write(
            &path,
            r#"{"auths": {"a": {"auth": 1, "password": "hunter2"}}}"#,
        )
        .unwrap();
        let error = DockerConfig::read(&path).unwrap_err().to_string();
        assert!(
            error.contains("line 1") && !error.contains("hunter2"),
            "{error}"
        );
        let config: DockerConfig =
            serde_json::from_str(r#"{"credsStore": "does-not-exist"}"#).unwrap();
        assert!(config.credentials("a.b").is_err());
        fs_err::write(&path, r####"{"auths": {"a.b": {"auth": "###"}}}"####).unwrap();
        let config = DockerConfig::read(&path).unwrap();
        assert!(config.credentials("c.d").unwrap().is_none());
        let error = config.credentials("a.b").unwrap_err().to_string();
        assert!(
            error.contains("config.json is invalid: the auth of a.b"),
            "{error}"
        );
        let hub = r#"{"credHelpers": {"https://index.docker.io/v1/": "does-not-exist"}}"#;
        let config: DockerConfig = serde_json::from_str(hub).unwrap();
        assert!(config.credentials(DOCKER_HUB).is_err());
        assert!(config.credentials("a.b").unwrap().is_none());
        let config: DockerConfig = serde_json::from_str(r#"{"credsStore": "../x"}"#).unwrap();
        assert!(config.credentials("a.b").is_err());
    }
}
