//! The kubeconfig for clients of the server.

use std::io::{self, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fs_err::os::unix::fs::OpenOptionsExt as _;
use serde_json::{Map, Value, json};

use super::credentials::{ServerCredentials, write_secret};

/// How long another server on this machine has to accept a connection.
const PROBE_TIMEOUT: Duration = Duration::from_millis(100);

/// The name of the cluster, user and context of this server in a kubeconfig.
pub const KUBECONFIG_NAME: &str = "outrigger";

/// A kubeconfig that could not be written.
#[derive(Debug, thiserror::Error)]
pub enum KubeconfigError {
    #[error("failed to read the kubeconfig")]
    Read(#[source] io::Error),
    #[error("failed to write the kubeconfig")]
    Write(#[source] io::Error),
    /// A file of something else, or a damaged one. It is left as it is.
    #[error("{} exists and is not a kubeconfig: {reason}", path.display())]
    NotKubeconfig { path: PathBuf, reason: String },
}

impl KubeconfigError {
    pub fn is_disk_full(&self) -> bool {
        matches!(self, Self::Write(error) if is_full(error))
    }
}

fn is_full(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

/// A kubeconfig that has been written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Whether clients of the file use this server without naming a context.
    pub is_current: bool,
    /// The address of another server that runs, and whose entries in the file were replaced.
    pub replaced: Option<String>,
}

/// Writes a kubeconfig for the server at `address`, readable by its owner only. It holds the admin token. Clusters, users
/// and contexts with other names in the file are kept, and then its current context too.
pub fn write_kubeconfig(
    path: &Path,
    address: SocketAddr,
    credentials: &ServerCredentials,
) -> Result<Written, KubeconfigError> {
    // A link stays one, as with kubectl.
    let path = fs_err::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let existing = match fs_err::read(&path) {
        Ok(bytes) => parse(&bytes).map_err(|reason| KubeconfigError::NotKubeconfig {
            path: path.clone(),
            reason,
        })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => Map::new(),
        Err(error) => return Err(KubeconfigError::Read(error)),
    };
    let replaced = other_server(&existing, address, credentials);
    let is_ours = LISTS.iter().all(|(list, _)| has_only_ours(&existing, list));
    let merged = merge(existing, is_ours, entries(address, credentials));
    let is_current = merged.get("current-context") == Some(&json!(KUBECONFIG_NAME));
    write(
        &path,
        &outrigger_goyaml::write_json(&merged.into()),
        is_ours,
    )
    .map_err(KubeconfigError::Write)?;
    Ok(Written {
        is_current,
        replaced,
    })
}

/// The address of the server whose entries are in a kubeconfig, if it is another one and accepts connections.
fn other_server(
    config: &Map<String, Value>,
    address: SocketAddr,
    credentials: &ServerCredentials,
) -> Option<String> {
    let clusters = config.get("clusters")?.as_array()?;
    let mut clusters = clusters.iter();
    let ours = clusters.find(|entry| entry["name"] == KUBECONFIG_NAME)?;
    let authority = STANDARD.encode(credentials.root_certificate());
    if ours["cluster"]["certificate-authority-data"] == authority {
        return None;
    }
    let server = ours["cluster"]["server"].as_str()?;
    let other: SocketAddr = server.strip_prefix("https://")?.parse().ok()?;
    let is_running = other != address
        && other.ip().is_loopback()
        && TcpStream::connect_timeout(&other, PROBE_TIMEOUT).is_ok();
    is_running.then(|| server.to_owned())
}

/// The lists of named entries, and the field that has the content of one.
const LISTS: [(&str, &str); 3] = [
    ("clusters", "cluster"),
    ("users", "user"),
    ("contexts", "context"),
];

/// The cluster, user and context of the server.
fn entries(mut address: SocketAddr, credentials: &ServerCredentials) -> [Value; 3] {
    if address.ip().is_unspecified() {
        // The server listens on all addresses, of which its certificate has this one.
        address.set_ip(Ipv4Addr::LOCALHOST.into());
    }
    let authority = STANDARD.encode(credentials.root_certificate());
    [
        json!({"server": format!("https://{address}"), "certificate-authority-data": authority}),
        json!({"token": credentials.admin_token().expose()}),
        json!({"cluster": KUBECONFIG_NAME, "user": KUBECONFIG_NAME}),
    ]
}

fn parse(bytes: &[u8]) -> Result<Map<String, Value>, String> {
    let value = outrigger_goyaml::parse_json(bytes).map_err(|error| error.full_text())?;
    let config = match value {
        Value::Null => Map::new(),
        Value::Object(config) => config,
        _ => return Err("it is not a mapping".to_owned()),
    };
    if let Some(kind) = config.get("kind").filter(|kind| **kind != "Config") {
        return Err(format!("its kind is {kind}"));
    }
    for (list, _) in LISTS {
        let is_list_of_objects = match config.get(list) {
            None | Some(Value::Null) => true,
            Some(Value::Array(entries)) => entries.iter().all(Value::is_object),
            Some(_) => false,
        };
        if !is_list_of_objects {
            return Err(format!("{list} is not a list of named entries"));
        }
    }
    Ok(config)
}

fn has_only_ours(config: &Map<String, Value>, list: &str) -> bool {
    let mut entries = config.get(list).and_then(Value::as_array).into_iter();
    entries.all(|entries| entries.iter().all(|entry| entry["name"] == KUBECONFIG_NAME))
}

/// Adds or replaces the entries of this server, in a file that has only them or other ones too.
fn merge(mut config: Map<String, Value>, is_ours: bool, entries: [Value; 3]) -> Map<String, Value> {
    config.insert("apiVersion".to_owned(), json!("v1"));
    config.insert("kind".to_owned(), json!("Config"));
    if is_ours {
        config.insert("current-context".to_owned(), json!(KUBECONFIG_NAME));
    }
    for ((list, field), content) in LISTS.into_iter().zip(entries) {
        let entry = json!({"name": KUBECONFIG_NAME, field: content});
        let list = config.entry(list).or_insert(Value::Null);
        let mut named = match list.take() {
            Value::Array(named) => named,
            _ => Vec::new(),
        };
        match named
            .iter_mut()
            .find(|entry| entry["name"] == KUBECONFIG_NAME)
        {
            Some(earlier) => *earlier = entry,
            None => named.push(entry),
        }
        *list = Value::Array(named);
    }
    config
}

/// On a full disk, the kubeconfig of an earlier server is overwritten, which needs no space. One with other entries is
/// not: they could be lost.
fn write(path: &Path, bytes: &[u8], is_ours: bool) -> io::Result<()> {
    match write_secret(path, bytes) {
        Err(error) if is_ours && is_full(&error) => overwrite(path, bytes).map_err(|_| error),
        written => written,
    }
}

fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let flags = rustix::fs::OFlags::NOFOLLOW.bits().cast_signed();
    let mut options = fs_err::OpenOptions::new();
    let mut file = options.write(true).custom_flags(flags).open(path)?;
    file.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kubeconfig_of_an_earlier_server_is_overwritten_in_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubeconfig");
        assert!(overwrite(&path, b"new").is_err(), "it does not exist");
        fs_err::write(&path, "something longer").unwrap();
        overwrite(&path, b"new").unwrap();
        assert_eq!(fs_err::read(&path).unwrap(), b"new");
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert!(overwrite(&link, b"other").is_err());
        assert!(write(&folder.path().join("no/kubeconfig"), b"new", true).is_err());
    }

    const OTHERS: &str = "\
current-context: work
clusters:
- name: work
  cluster: {server: 'https://work', extensions: [{name: a}]}
- name: outrigger
  cluster: {server: 'https://127.0.0.1:1', insecure-skip-tls-verify: true}
- name: home
  cluster: {server: 'https://home'}
users:
- name: work
  user: {exec: {command: login}}
contexts:
- name: work
  context: {cluster: work, user: work, namespace: team}
preferences: {colors: true}
something: new
";

    #[test]
    fn other_clusters_of_a_kubeconfig_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let link = folder.path().join("link");
        fs_err::write(&path, OTHERS).unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        let credentials = ServerCredentials::load(None).unwrap();
        let address = "127.0.0.1:7445".parse().unwrap();
        let written = write_kubeconfig(&link, address, &credentials).unwrap();
        assert!(!written.is_current);
        let before = outrigger_goyaml::parse_json(OTHERS.as_bytes()).unwrap();
        let config = outrigger_goyaml::parse_json(&fs_err::read(&path).unwrap()).unwrap();
        for field in ["current-context", "preferences", "something"] {
            assert_eq!(config[field], before[field]);
        }
        let names = |list: &str| -> Vec<_> {
            let entries = config[list].as_array().unwrap();
            entries.iter().map(|entry| entry["name"].clone()).collect()
        };
        assert_eq!(names("clusters"), ["work", "outrigger", "home"]);
        assert_eq!(names("users"), ["work", "outrigger"]);
        assert_eq!(names("contexts"), ["work", "outrigger"]);
        for (list, index) in [
            ("clusters", 0),
            ("clusters", 2),
            ("users", 0),
            ("contexts", 0),
        ] {
            assert_eq!(config[list][index], before[list][index]);
        }
        let ours = &config["clusters"][1]["cluster"];
        assert_eq!(ours["server"], "https://127.0.0.1:7445");
        assert_eq!(ours.get("insecure-skip-tls-verify"), None);
        let mode = fs_err::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert!(link.is_symlink());
    }

    #[test]
    fn the_context_of_a_kubeconfig_of_this_server_becomes_the_current_one() {
        let folder = tempfile::tempdir().unwrap();
        let credentials = ServerCredentials::load(None).unwrap();
        let address = "127.0.0.1:7445".parse().unwrap();
        let path = folder.path().join("config");
        for existing in [None, Some(""), Some("users: [{name: outrigger}]")] {
            if let Some(text) = existing {
                fs_err::write(&path, text).unwrap();
            }
            let written = write_kubeconfig(&path, address, &credentials).unwrap();
            assert!(written.is_current, "{existing:?}");
        }
    }

    #[test]
    fn the_entries_of_another_server_that_runs_are_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let running = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let first = ServerCredentials::load(None).unwrap();
        let second = ServerCredentials::load(None).unwrap();
        let other = running.local_addr().unwrap();
        let address = "127.0.0.1:7445".parse().unwrap();
        let replaced = |address, credentials| {
            write_kubeconfig(&path, address, credentials)
                .unwrap()
                .replaced
        };
        assert_eq!(replaced(other, &first), None);
        assert_eq!(replaced(address, &first), None, "a restart");
        assert_eq!(replaced(other, &first), None);
        assert_eq!(replaced(address, &second), Some(format!("https://{other}")));
        assert_eq!(replaced(other, &first), None, "it does not run");
    }

    #[test]
    fn a_file_that_is_not_a_kubeconfig_is_left_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let credentials = ServerCredentials::load(None).unwrap();
        let address = "127.0.0.1:7445".parse().unwrap();
        let path = folder.path().join("config");
        for text in ["a: [", "- a", "kind: Pod", "clusters: {}", "users: [work]"] {
            fs_err::write(&path, text).unwrap();
            let error = write_kubeconfig(&path, address, &credentials).unwrap_err();
            let text_of_error = error.to_string();
            assert!(text_of_error.contains("is not a kubeconfig"), "{error}");
            assert_eq!(fs_err::read_to_string(&path).unwrap(), text);
        }
    }
}
