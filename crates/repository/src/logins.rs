//! Credentials for requests without their own: those of the options for the server of a repository, else those of Docker
//! once the server requires some. They are for that server only.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use outrigger_oci::IDENTITY_TOKEN;
use outrigger_transport::Credentials;
use url::{Host, Url};

use crate::Error;
use crate::download::blocking;
use crate::request::{Options, Request};

/// What Docker has for servers that required credentials.
#[derive(Debug, Default)]
pub(crate) struct Logins {
    found: Mutex<HashMap<String, LookedUp>>,
}

/// What Docker has for a server.
#[derive(Debug, Clone)]
enum LookedUp {
    Nothing,
    Found(Credentials),
}

impl LookedUp {
    fn credentials(self) -> Option<Credentials> {
        match self {
            Self::Nothing => None,
            Self::Found(credentials) => Some(credentials),
        }
    }
}

impl Logins {
    /// The request with the credentials that are known for its server. Registries ask for those of Docker themselves.
    pub(crate) fn apply(&self, options: &Options, mut request: Request) -> Result<Request, Error> {
        let access = &mut request.access;
        let server = server_of(&request.repo);
        let login = server.as_ref().and_then(|name| options.logins.get(name));
        if access.tls.ca.is_none() {
            let of_server = login.and_then(|login| login.tls.ca.clone());
            access.tls.ca = of_server.or_else(|| options.ca.clone());
        }
        let Some(server) = server else {
            return Ok(request);
        };
        if let Some(login) = login {
            if access.tls.client.is_none() {
                access.tls.client.clone_from(&login.tls.client);
            }
            if access.credentials.is_none() && login.credentials.is_some() {
                check_encrypted(options, &request.repo, &server)?;
                access.credentials.clone_from(&login.credentials);
            }
        }
        let is_safe = || check_encrypted(options, &request.repo, &server).is_ok();
        if access.credentials.is_none() && is_http(&request.repo) && is_safe() {
            access.credentials = self.known(&server).and_then(LookedUp::credentials);
        }
        Ok(request)
    }

    /// Adds the credentials of Docker to a request that was rejected for its lack of some. `false` if there are none.
    pub(crate) async fn look_up(
        &self,
        options: &Options,
        request: &mut Request,
        error: &Error,
    ) -> Result<bool, Error> {
        let is_asked = matches!(error.cause(), Error::CredentialsRequired { .. });
        let Some(server) = server_of(&request.repo).filter(|_| is_http(&request.repo)) else {
            return Ok(false);
        };
        if !is_asked || request.access.credentials.is_some() {
            return Ok(false);
        }
        let found = match self.known(&server) {
            Some(found) => found,
            None => of_docker(options, &server).await?,
        };
        if matches!(found, LookedUp::Found(_)) {
            check_encrypted(options, &request.repo, &server)?;
        }
        self.lock().insert(server, found.clone());
        request.access.credentials = found.credentials();
        Ok(request.access.credentials.is_some())
    }

    fn known(&self, server: &str) -> Option<LookedUp> {
        self.lock().get(server).cloned()
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<String, LookedUp>> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The credentials that Docker has for a server. May run a program that asks the user.
async fn of_docker(options: &Options, server: &str) -> Result<LookedUp, Error> {
    let (docker, host) = (options.docker.clone(), server.to_owned());
    let found = blocking(move || docker.credentials(&host)).await;
    let found = found.unwrap_or(Err(outrigger_oci::Error::Canceled));
    let found = found.map_err(|source| Error::Docker {
        host: server.to_owned(),
        source: Box::new(source),
    })?;
    // An identity token is for the token services of registries.
    let is_token = |found: &Credentials| match found {
        Credentials::Basic { username, .. } => username == IDENTITY_TOKEN,
        Credentials::Bearer(_) => false,
    };
    let found = found.filter(|found| !is_token(found));
    Ok(found.map_or(LookedUp::Nothing, LookedUp::Found))
}

fn is_http(repository: &str) -> bool {
    repository.starts_with("https://") || repository.starts_with("http://")
}

/// The server of a repository or a registry, `HOST[:PORT]`, as it is named in Docker's configuration.
pub fn server_of(repository: &str) -> Option<String> {
    if let Some(rest) = repository.strip_prefix("oci://") {
        let host = rest.split('/').next().unwrap_or(rest);
        let found = outrigger_oci::Repository::new(host, "any").ok()?;
        return Some(found.registry().to_owned());
    }
    let url = Url::parse(repository)
        .ok()
        .filter(|_| is_http(repository))?;
    let host = url.host_str()?;
    Some(match url.port() {
        Some(port) => format!("{host}:{port}"),
        None => host.to_owned(),
    })
}

/// Refuses to send credentials that anyone on the way can read, unless the user allows it for that server. A chart may name
/// a dependency of any URL.
fn check_encrypted(options: &Options, repository: &str, server: &str) -> Result<(), Error> {
    let url = Url::parse(repository).ok();
    let Some(url) = url.filter(|url| url.scheme() == "http") else {
        return Ok(());
    };
    let is_loopback = match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    };
    if is_loopback || options.plain_http.contains(server) {
        return Ok(());
    }
    Err(Error::PlainCredentials {
        url: outrigger_transport::redact(&url),
        host: server.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use outrigger_transport::Secret;

    use super::*;
    use crate::Access;

    fn login() -> Access {
        Access {
            credentials: Some(Credentials::Basic {
                username: "ann".to_owned(),
                password: Secret::new("hunter2"),
            }),
            ..Access::default()
        }
    }

    #[test]
    fn the_server_of_a_repository_is_named_as_docker_does() {
        for (url, server) in [
            ("https://charts.local/a/b", "charts.local"),
            ("https://charts.local:443/a", "charts.local"),
            ("http://127.0.0.1:5000", "127.0.0.1:5000"),
            ("oci://r.local:5000/charts/web", "r.local:5000"),
            ("oci://index.docker.io/a/b", "docker.io"),
        ] {
            assert_eq!(server_of(url).as_deref(), Some(server), "{url}");
        }
        for local in ["./charts", "file:///charts", "stable"] {
            assert_eq!(server_of(local), None, "{local}");
        }
    }

    #[test]
    fn credentials_are_for_one_server_and_not_readable_on_the_way() {
        let mut options = Options::default();
        for server in ["charts.local", "charts.local:8080", "127.0.0.1:5000"] {
            options.logins.insert(server.to_owned(), login());
        }
        let apply = |options: &Options, repo: &str| {
            let repo = repo.to_owned();
            let request = Request {
                repo,
                ..Request::default()
            };
            let applied = Logins::default().apply(options, request);
            applied.map(|request| request.access.credentials.is_some())
        };
        assert!(apply(&options, "https://charts.local/x").unwrap());
        assert!(apply(&options, "http://127.0.0.1:5000").unwrap());
        for other in [
            "https://other.local/x",
            "https://charts.local:8443/x",
            "./charts.local",
        ] {
            assert!(!apply(&options, other).unwrap(), "{other}");
        }
        for plain in ["http://charts.local/x", "http://charts.local:8080/x"] {
            let error = apply(&options, plain).unwrap_err();
            assert!(matches!(error, Error::PlainCredentials { .. }), "{error}");
        }
        options.plain_http.insert("charts.local:8080".to_owned());
        assert!(apply(&options, "http://charts.local:8080/x").unwrap());
    }

    #[test]
    fn the_authorities_of_a_login_are_trusted_for_its_server_only() {
        let mut login = login();
        login.tls.ca = Some(b"site".to_vec());
        let mut options = Options::default();
        options.logins.insert("charts.local".to_owned(), login);
        let ca = |options: &Options, repo: &str, own: Option<&[u8]>| {
            let mut request = Request {
                repo: repo.to_owned(),
                ..Request::default()
            };
            request.access.tls.ca = own.map(<[u8]>::to_vec);
            let applied = Logins::default().apply(options, request).unwrap();
            applied.access.tls.ca
        };
        let (mirror, other) = ("oci://charts.local/x", "https://other.local");
        assert_eq!(ca(&options, mirror, None).as_deref(), Some(&b"site"[..]));
        assert_eq!(ca(&options, other, None), None);
        let own = ca(&options, mirror, Some(b"own"));
        assert_eq!(own.as_deref(), Some(&b"own"[..]));
        options.ca = Some(b"all".to_vec());
        assert_eq!(ca(&options, other, None).as_deref(), Some(&b"all"[..]));
    }

    #[tokio::test]
    async fn credentials_that_were_looked_up_are_not_readable_on_the_way_either() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config.json");
        let config = r#"{"auths": {"charts.local": {"auth": "YW5uOmh1bnRlcjI="}}}"#;
        fs_err::write(&path, config).unwrap();
        let options = Options {
            docker: outrigger_oci::DockerConfig::read(&path).unwrap(),
            ..Options::default()
        };
        let logins = Logins::default();
        let request = |repo: &str| Request {
            repo: repo.to_owned(),
            ..Request::default()
        };
        let asked = |url: &str| Error::CredentialsRequired {
            url: url.to_owned(),
            status: 401,
        };
        let (encrypted, plain) = ("https://charts.local/x", "http://charts.local/x");
        let mut first = request(encrypted);
        let looked_up = logins
            .look_up(&options, &mut first, &asked(encrypted))
            .await;
        assert!(looked_up.unwrap() && first.access.credentials.is_some());
        let again = logins.apply(&options, request(encrypted)).unwrap();
        assert!(again.access.credentials.is_some());
        let mut second = logins.apply(&options, request(plain)).unwrap();
        assert_eq!(second.access.credentials, None);
        let looked_up = logins.look_up(&options, &mut second, &asked(plain)).await;
        assert!(matches!(looked_up, Err(Error::PlainCredentials { .. })));
    }

    #[test]
    fn a_request_keeps_its_own_credentials() {
        let mut options = Options::default();
        options.logins.insert("charts.local".to_owned(), login());
        let token = Some(Credentials::Bearer(Secret::new("token")));
        let request = Request {
            repo: "https://charts.local".to_owned(),
            access: Access {
                credentials: token.clone(),
                ..Access::default()
            },
            ..Request::default()
        };
        let request = Logins::default().apply(&options, request).unwrap();
        assert_eq!(request.access.credentials, token);
    }
}
