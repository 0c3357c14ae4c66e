//! Flags of all commands that talk to registries and chart repositories, and the clients that they configure.
//!
//! Credentials and client certificates of the command line are for one server, which the command names. Other servers get
//! those of Docker, or none.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::Context as _;
use outrigger_oci::{Client, Credentials, DockerConfig, LOG_IN, Mirrors, Options, Secret, Tls};
use outrigger_repository::{Access, Error as FetchError, RequestError, TransportError};

use super::registry_name::{parse_mirror, parse_plain_http, parse_realm};
use crate::input_file;
use crate::report::{self, HintExt as _, UsageError};

/// The heading of these flags in help texts.
const HEADING: &str = "Registries";

#[derive(Debug, Clone, clap::Args)]
pub(crate) struct RegistryFlags {
    /// Registry to reach over plain HTTP; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_plain_http, help_heading = HEADING)]
    plain_http: Vec<String>,
    /// Certificate authorities to trust, in PEM
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    ca_file: Option<PathBuf>,
    /// Client certificate in PEM, for the server that the command names
    #[arg(long, value_name = "FILE", requires = "key_file", help_heading = HEADING)]
    cert_file: Option<PathBuf>,
    /// Key of the client certificate in PEM
    #[arg(long, value_name = "FILE", requires = "cert_file", help_heading = HEADING)]
    key_file: Option<PathBuf>,
    /// User of the server that the command names: the one that it pushes to, else the one that it pulls from
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    username: Option<String>,
    /// Password of the user, which other users of this machine can see; --password-stdin hides it
    #[arg(long, value_name = "PASSWORD", value_parser = parse_secret, requires = "username", conflicts_with = "password_stdin", help_heading = HEADING)]
    password: Option<Secret>,
    /// Read the password of the user from stdin
    #[arg(long, requires = "username", help_heading = HEADING)]
    password_stdin: bool,
    /// File with credentials, in the format of Docker's config.json [default: `REGISTRY_AUTH_FILE`, else that of Docker]
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    authfile: Option<PathBuf>,
    /// Pull PREFIX from TARGET; `*` stands for all registries, whose names are left out if TARGET ends with /*; repeatable
    #[arg(long = "registry-mirror", value_name = "PREFIX=TARGET", value_parser = parse_mirror, help_heading = HEADING)]
    mirrors: Vec<String>,
    /// Never pull from the registry itself if there is a mirror
    #[arg(long, help_heading = HEADING)]
    mirrors_only: bool,
    /// Host of a token service that may receive credentials of registries; repeatable
    #[arg(long = "token-realm", value_name = "HOST", value_parser = parse_realm, help_heading = HEADING)]
    token_realms: Vec<String>,
    /// Follow redirects to loopback and link-local addresses
    #[arg(long, help_heading = HEADING)]
    allow_local_redirects: bool,
    /// The password from stdin, which is read once.
    #[arg(skip)]
    stdin: OnceLock<Secret>,
}

#[expect(clippy::unnecessary_wraps, reason = "the signature that clap requires")]
fn parse_secret(text: &str) -> Result<Secret, std::convert::Infallible> {
    Ok(Secret::new(text))
}

/// The longest password on stdin.
const MAX_PASSWORD: u64 = 64 << 10;

impl RegistryFlags {
    /// A client whose credentials of the command line are for `server`. `None` is a command that may use several.
    pub(crate) fn client(&self, server: Option<&str>) -> anyhow::Result<Client> {
        Ok(Client::new(self.options(server)?))
    }

    fn mirrors(&self) -> anyhow::Result<Mirrors> {
        let mut mirrors = Mirrors::default();
        mirrors.only = self.mirrors_only;
        for rule in &self.mirrors {
            mirrors.add(rule)?;
        }
        Ok(mirrors)
    }

    /// The same settings for fetching charts.
    pub(crate) fn chart_options(
        &self,
        server: Option<&str>,
        mut options: outrigger_repository::Options,
    ) -> anyhow::Result<outrigger_repository::Options> {
        options.plain_http = self.plain_http.iter().cloned().collect();
        options.image_mirrors = self.mirrors()?;
        options.token_realms = self.token_realms.iter().cloned().collect();
        options.allow_local_redirects = self.allow_local_redirects;
        options.docker = self.docker()?;
        options.ca = self.ca()?;
        if let Some((server, access)) = self.login(server)? {
            options.logins.insert(server, access);
        }
        Ok(options)
    }

    fn options(&self, server: Option<&str>) -> anyhow::Result<Options> {
        let mut options = Options {
            plain_http: self.plain_http.iter().cloned().collect(),
            docker: self.docker()?,
            mirrors: self.mirrors()?,
            token_realms: self.token_realms.iter().cloned().collect(),
            allow_local_redirects: self.allow_local_redirects,
            ..Options::default()
        };
        let ca = self.ca()?;
        if let Some((server, access)) = self.login(server)? {
            let tls = Tls {
                ca: ca.clone(),
                client: access.tls.client,
            };
            options.tls.insert(server.clone(), tls);
            options
                .credentials
                .extend(access.credentials.map(|found| (server, found)));
        }
        options.tls.insert(String::new(), Tls { ca, client: None });
        Ok(options)
    }

    fn docker(&self) -> anyhow::Result<DockerConfig> {
        match &self.authfile {
            Some(path) => read_authfile(path),
            None => DockerConfig::load().hint(OTHER_AUTHFILE),
        }
    }

    fn ca(&self) -> anyhow::Result<Option<Vec<u8>>> {
        self.ca_file.as_deref().map(read_ca).transpose()
    }

    /// What the command line has for one server: credentials and a client certificate.
    fn login(&self, server: Option<&str>) -> anyhow::Result<Option<(String, Access)>> {
        let credentials = self.credentials()?;
        let client = self.client_certificate()?;
        if credentials.is_none() && client.is_none() {
            return Ok(None);
        }
        let Some(server) = server else {
            let error =
                "--username and --cert-file are for one server, but this command may use several";
            return Err(UsageError(error.to_owned()))
                .hint("log in with `docker login`, or pass credentials of several servers with --authfile");
        };
        let tls = Tls { ca: None, client };
        Ok(Some((server.to_owned(), Access { credentials, tls })))
    }

    fn credentials(&self) -> anyhow::Result<Option<Credentials>> {
        let Some(username) = self.username.clone() else {
            return Ok(None);
        };
        let password = match &self.password {
            Some(password) => password.clone(),
            None if self.password_stdin => self.read_password()?,
            None => {
                let error = UsageError(format!("the password of the user {username} is missing"));
                return Err(error).hint("pass it with --password-stdin");
            }
        };
        Ok(Some(Credentials::Basic { username, password }))
    }

    /// The password on stdin, without the line break at its end.
    fn read_password(&self) -> anyhow::Result<Secret> {
        if let Some(password) = self.stdin.get() {
            return Ok(password.clone());
        }
        let mut text = String::new();
        let read = std::io::stdin()
            .take(MAX_PASSWORD)
            .read_to_string(&mut text);
        read.context("failed to read the password from stdin")?;
        let password = text.trim_end_matches(['\r', '\n']);
        anyhow::ensure!(!password.is_empty(), "there is no password on stdin");
        Ok(self.stdin.get_or_init(|| Secret::new(password)).clone())
    }

    fn client_certificate(&self) -> anyhow::Result<Option<(Vec<u8>, Secret)>> {
        let (Some(certificate), Some(key)) = (&self.cert_file, &self.key_file) else {
            return Ok(None);
        };
        let read = |path: &Path, label| {
            let pem = input_file::read(path).context("failed to read the client certificate")?;
            ensure_pem(path, &pem, label)?;
            anyhow::Ok(pem)
        };
        let key = String::from_utf8(read(key, KEY)?)
            .context("the key of the client certificate is not PEM")?;
        Ok(Some((read(certificate, CERTIFICATE)?, Secret::new(key))))
    }
}

const OTHER_AUTHFILE: &str = "log in again, or pass another file with --authfile";

/// The credentials of `--authfile`.
pub(crate) fn read_authfile(path: &Path) -> anyhow::Result<DockerConfig> {
    anyhow::ensure!(path.exists(), "{} does not exist", path.display());
    DockerConfig::read(path).hint(OTHER_AUTHFILE)
}

/// The certificate authorities of `--ca-file`.
pub(crate) fn read_ca(path: &Path) -> anyhow::Result<Vec<u8>> {
    let pem = input_file::read(path);
    let pem = pem.context("failed to read the certificate authorities")?;
    ensure_pem(path, &pem, CERTIFICATE)?;
    Ok(pem)
}

/// How blocks of PEM begin; that of a key may say of which kind it is.
const CERTIFICATE: &str = "CERTIFICATE-----";
const KEY: &str = "PRIVATE KEY-----";

/// Fails for a file that has no such block. Without, a mistake would go unnoticed.
fn ensure_pem(path: &Path, pem: &[u8], label: &str) -> anyhow::Result<()> {
    let text = String::from_utf8_lossy(pem);
    let mut lines = text.lines();
    let is_begin = |line: &str| line.starts_with("-----BEGIN ") && line.trim_end().ends_with(label);
    let what = label.trim_end_matches('-').to_lowercase();
    anyhow::ensure!(
        lines.any(is_begin),
        "{} has no {what} in PEM",
        path.display()
    );
    Ok(())
}

/// The only server among those that a command uses.
pub(crate) fn only_one<'a>(mut servers: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let first = servers.next()?;
    servers.all(|server| server == first).then_some(first)
}

/// Adds the hint of a registry error.
pub(crate) fn hinted(error: outrigger_oci::Error) -> anyhow::Error {
    let hint = error.hint();
    report::hinted(error, hint)
}

/// Adds the hint of an error of a chart repository that was reached with these flags.
pub(crate) fn fetch_error(error: FetchError) -> anyhow::Error {
    let hint = match error.cause() {
        FetchError::Oci { source, .. } => source.hint(),
        FetchError::Unauthorized { .. } | FetchError::CredentialsRequired { .. } => {
            Some(LOG_IN.to_owned())
        }
        FetchError::Request(error) => request_hint(error),
        FetchError::InvalidSource { url, .. } if !url.contains("://") => {
            Some(format!("use a URL, such as https://{url}"))
        }
        cause => cause.hint(),
    };
    report::hinted(error, hint)
}

/// Advice about a request to a chart repository.
fn request_hint(error: &RequestError) -> Option<String> {
    if let Some(hint) = error.tls_hint() {
        return Some(hint.to_owned());
    }
    let text = match error {
        RequestError::UntrustedCertificate { .. } => {
            "pass a private certificate authority with --ca-file"
        }
        RequestError::KeyMismatch { .. } => "--cert-file and --key-file have to be of one pair",
        RequestError::InvalidCertificates { .. } => return None,
        RequestError::Unreachable { source, .. } => match source {
            TransportError::NoTls => "use http:// if it serves plain HTTP",
            TransportError::OnlyTls => "use https://",
            TransportError::ClientCertificate { .. } => {
                "pass a client certificate that the server trusts with --cert-file and --key-file"
            }
            _ => "check the URL, and whether a proxy or a firewall blocks it",
        },
    };
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        flags: RegistryFlags,
    }

    fn flags(arguments: &[&str]) -> RegistryFlags {
        CommandLine::parse_from([&["x"], arguments].concat()).flags
    }

    #[test]
    fn credentials_of_the_command_line_are_for_one_server() {
        let login = ["--username", "ann", "--password", "hunter2"];
        let flags = flags(&[&login[..], &["--authfile", "/dev/null"]].concat());
        assert!(!format!("{flags:?}").contains("hunter2"));
        let (server, access) = flags.login(Some("r.local")).unwrap().unwrap();
        assert_eq!(server, "r.local");
        assert!(matches!(
            access.credentials,
            Some(Credentials::Basic { .. })
        ));
        let error = flags.login(None).unwrap_err().to_string();
        assert!(error.contains("for one server"), "{error}");
    }

    #[test]
    fn a_user_without_a_password_is_a_mistake() {
        let error = flags(&["--username", "ann"]).login(Some("r.local"));
        let error = error.unwrap_err().to_string();
        assert_eq!(error, "the password of the user ann is missing");
        for wrong in [
            &["--password", "x"][..],
            &["--password-stdin"],
            &["--username", "a", "--password", "x", "--password-stdin"],
            &["--cert-file", "a.crt"],
            &["--plain-http", "https://r.local"],
        ] {
            let arguments = [&["x"], wrong].concat();
            assert!(CommandLine::try_parse_from(arguments).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_file_without_a_certificate_is_not_trusted_silently() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.crt");
        let ca = |content: &str| {
            fs_err::write(&path, content).unwrap();
            flags(&["--ca-file", path.to_str().unwrap()]).ca()
        };
        let error = ca("name: web\n").unwrap_err().to_string();
        assert!(
            error.ends_with("ca.crt has no certificate in PEM"),
            "{error}"
        );
        assert!(ca("-----BEGIN PRIVATE KEY-----\n").is_err());
        assert!(ca("-----BEGIN CERTIFICATE-----\r\n").is_ok());
        let key = ensure_pem(&path, b"-----BEGIN EC PRIVATE KEY-----\n", KEY);
        assert!(key.is_ok());
    }

    #[test]
    fn credentials_for_several_servers_are_for_none() {
        assert_eq!(only_one(["a", "a"].into_iter()), Some("a"));
        assert_eq!(only_one(["a", "b"].into_iter()), None);
        assert_eq!(only_one([].into_iter()), None);
    }
}
