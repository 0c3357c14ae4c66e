//! Authentication: which challenge a registry sends, and the tokens that answer it.
//!
//! Credentials are sent to the registry itself, and to its token service only if that is the registry's own: the same
//! host, a subdomain or the parent domain of it, or a host that is configured.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use outrigger_transport::{Credentials, Secret};
use serde::Deserialize;
use tokio::time::{Duration, Instant};
use url::Url;

use crate::reference::DOCKER_HUB;

/// What a registry wants to see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    Bearer { realm: Url, service: Option<String> },
}

/// What a token permits, such as `repository:library/nginx:pull`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Scope(pub(crate) Vec<String>);

impl Scope {
    pub(crate) fn pull(path: &str) -> Self {
        Self(vec![format!("repository:{path}:pull")])
    }

    pub(crate) fn push(path: &str) -> Self {
        Self(vec![format!("repository:{path}:pull,push")])
    }

    /// Push to one repository, and pull from another one that blobs are mounted from.
    pub(crate) fn mount(path: &str, from: &str) -> Self {
        Self(vec![
            format!("repository:{path}:pull,push"),
            format!("repository:{from}:pull"),
        ])
    }
}

#[derive(Debug, Default)]
pub(crate) struct AuthCache {
    entries: Mutex<HashMap<String, RegistryAuth>>,
}

/// Whether the credentials of a registry were looked up, which may ask the user.
#[derive(Debug, Clone, Default)]
pub(crate) enum LookedUp {
    #[default]
    No,
    Yes(Option<Credentials>),
}

#[derive(Debug, Default)]
struct RegistryAuth {
    challenge: Option<Challenge>,
    credentials: LookedUp,
    tokens: HashMap<Scope, (Secret, Instant)>,
}

/// Tokens of one registry that are kept.
const MAX_TOKENS: usize = 1024;

impl AuthCache {
    pub(crate) fn challenge(&self, registry: &str) -> Option<Challenge> {
        self.with(registry, |auth| auth.challenge.clone())
    }

    pub(crate) fn set_challenge(&self, registry: &str, challenge: Challenge) {
        self.with(registry, |auth| auth.challenge = Some(challenge));
    }

    /// The credentials that were looked up before.
    pub(crate) fn credentials(&self, registry: &str) -> LookedUp {
        self.with(registry, |auth| auth.credentials.clone())
    }

    pub(crate) fn set_credentials(&self, registry: &str, credentials: Option<Credentials>) {
        self.with(registry, |auth| {
            auth.credentials = LookedUp::Yes(credentials);
        });
    }

    pub(crate) fn token(&self, registry: &str, scope: &Scope) -> Option<Secret> {
        self.with(registry, |auth| {
            let (token, expires) = auth.tokens.get(scope)?;
            (*expires > Instant::now()).then(|| token.clone())
        })
    }

    pub(crate) fn set_token(&self, registry: &str, scope: &Scope, token: &Token) {
        // A token is renewed before it expires, because a request takes time.
        let lifetime = token.lifetime.mul_f32(0.8);
        self.with(registry, |auth| {
            if auth.tokens.len() >= MAX_TOKENS {
                auth.tokens.clear();
            }
            let entry = (token.secret.clone(), Instant::now() + lifetime);
            auth.tokens.insert(scope.clone(), entry);
        });
    }

    pub(crate) fn forget_token(&self, registry: &str, scope: &Scope) {
        self.with(registry, |auth| auth.tokens.remove(scope));
    }

    fn with<T>(&self, registry: &str, f: impl FnOnce(&mut RegistryAuth) -> T) -> T {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        f(entries.entry(registry.to_owned()).or_default())
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Token {
    pub(crate) secret: Secret,
    lifetime: Duration,
}

/// The answer of a token service.
#[derive(Deserialize)]
struct TokenAnswer {
    token: Option<String>,
    access_token: Option<String>,
    expires_in: Option<u64>,
}

impl Token {
    /// Parses the answer of a token service. Without a lifetime, a token is valid for a minute.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let answer: TokenAnswer = serde_json::from_slice(bytes).ok()?;
        let token = answer.token.filter(|token| !token.is_empty());
        let token = token.or(answer.access_token)?;
        let is_valid = !token.is_empty() && token.bytes().all(|byte| (0x21..0x7f).contains(&byte));
        let seconds = answer.expires_in.unwrap_or(60).clamp(10, 3600);
        is_valid.then(|| Self {
            secret: Secret::new(token),
            lifetime: Duration::from_secs(seconds),
        })
    }
}

/// Parses `WWW-Authenticate` headers. Bearer is preferred. The error is the method that is not supported.
pub(crate) fn parse_challenges<'a>(
    headers: impl Iterator<Item = &'a str>,
    registry_url: &Url,
) -> Result<Challenge, String> {
    let mut methods = Vec::new();
    let mut has_basic = false;
    for header in headers {
        let header = header.trim();
        let (method, rest) = header.split_once(' ').unwrap_or((header, ""));
        if method.eq_ignore_ascii_case("bearer") {
            let parameters = parameters(rest);
            let realm = parameters
                .get("realm")
                .and_then(|realm| registry_url.join(realm).ok());
            if let Some(realm) = realm {
                let service = parameters.get("service").cloned();
                return Ok(Challenge::Bearer { realm, service });
            }
        }
        has_basic |= method.eq_ignore_ascii_case("basic");
        methods.push(method.chars().take(40).collect::<String>());
    }
    if has_basic {
        Ok(Challenge::Basic)
    } else {
        Err(methods.join(", "))
    }
}

/// `key="value"` pairs, where quoted values may have commas.
fn parameters(text: &str) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let mut rest = text;
    while let Some((key, after)) = rest.split_once('=') {
        let key = key
            .trim()
            .trim_start_matches(',')
            .trim()
            .to_ascii_lowercase();
        let (value, after) = match after.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => after.split_once(',').unwrap_or((after, "")),
        };
        found.insert(key, value.trim().to_owned());
        rest = after;
    }
    found
}

/// Whether a token service may receive the credentials of a registry.
pub(crate) fn is_own_realm(registry: &str, registry_url: &Url, realm: &Url) -> bool {
    let (Some(host), Some(realm_host)) = (registry_url.host_str(), realm.host_str()) else {
        return false;
    };
    if realm.scheme() != "https" && realm.scheme() != registry_url.scheme() {
        return false;
    }
    let is_below = |child: &str, parent: &str| {
        parent.contains('.')
            && url::Host::parse(parent).is_ok_and(|host| matches!(host, url::Host::Domain(_)))
            && child
                .strip_suffix(parent)
                .is_some_and(|rest| rest.ends_with('.'))
    };
    host == realm_host
        || is_below(host, realm_host)
        || is_below(realm_host, host)
        || (registry == DOCKER_HUB && realm_host == "auth.docker.io")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    #[test]
    fn challenges_are_parsed_and_bearer_is_preferred() {
        let registry = url("https://reg.local/v2/");
        let headers = [
            "Basic realm=\"x\"",
            "Bearer realm=\"https://auth.local/token?a=1,2\",service=\"reg\",scope=\"repository:a:pull,push\"",
        ];
        let Ok(Challenge::Bearer { realm, service }) =
            parse_challenges(headers.into_iter(), &registry)
        else {
            panic!("not a bearer challenge");
        };
        assert_eq!(
            (realm.as_str(), service.as_deref()),
            ("https://auth.local/token?a=1,2", Some("reg"))
        );
        assert_eq!(
            parse_challenges(["BASIC"].into_iter(), &registry),
            Ok(Challenge::Basic)
        );
        assert_eq!(
            parse_challenges(["Negotiate"].into_iter(), &registry),
            Err("Negotiate".to_owned())
        );
        assert!(parse_challenges(["Bearer realm="].into_iter(), &registry).is_ok());
    }

    #[test]
    fn credentials_are_sent_to_the_own_token_service_only() {
        let rows = [
            ("https://reg.local", "https://reg.local:8443/token", true),
            (
                "https://registry.gitlab.com",
                "https://gitlab.com/jwt/auth",
                true,
            ),
            ("https://reg.local", "https://auth.reg.local/token", true),
            ("https://reg.local", "http://reg.local/token", false),
            ("http://reg.local", "http://reg.local/token", true),
            ("https://reg.local", "https://evil.local/token", false),
            ("https://reg.local", "https://evilreg.local/token", false),
            ("https://a.github.io", "https://b.github.io/token", false),
            ("https://reg.com", "https://com/token", false),
            ("https://10.0.0.1", "https://0.0.1/token", false),
        ];
        for (registry, realm, is_own) in rows {
            assert_eq!(
                is_own_realm("", &url(registry), &url(realm)),
                is_own,
                "{registry} {realm}"
            );
        }
        assert!(is_own_realm(
            DOCKER_HUB,
            &url("https://registry-1.docker.io"),
            &url("https://auth.docker.io/token")
        ));
    }

    #[test]
    fn answers_of_token_services_are_checked() {
        assert!(Token::parse(br#"{"token":"abc"}"#).is_some());
        assert!(
            Token::parse(br#"{"access_token":"abc","expires_in":18446744073709551615}"#).is_some()
        );
        for text in [
            "",
            "[]",
            "{}",
            r#"{"token":""}"#,
            r#"{"token":"a\r\nX: y"}"#,
        ] {
            assert!(Token::parse(text.as_bytes()).is_none(), "{text}");
        }
    }
}
