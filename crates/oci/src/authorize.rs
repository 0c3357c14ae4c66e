//! Answers what registries ask for: credentials, and tokens of their token services.

use outrigger_transport::{Credentials, Retry, Secret, is_local_url, redact};
use reqwest::header::{AUTHORIZATION, WWW_AUTHENTICATE};
use reqwest::{RequestBuilder, Response};
use url::Url;

use crate::answer::{MAX_ANSWER, read_limited};
use crate::auth::{Challenge, LookedUp, Scope, Token, is_own_realm, parse_challenges};
use crate::client::{AttemptError, Call, Client, check_transient, is_same_host, unauthorized};
use crate::docker_config::IDENTITY_TOKEN;
use crate::error::Error;

impl Client {
    /// Adds the credentials that the registry asked for before.
    pub(crate) async fn authorize(
        &self,
        request: RequestBuilder,
        call: &Call<'_>,
    ) -> Result<RequestBuilder, AttemptError> {
        let registry = call.repository.registry();
        match self.shared.auth.challenge(registry) {
            None => Ok(request),
            Some(Challenge::Basic) => Ok(match self.credentials(registry).await? {
                Some(credentials) => with_credentials(request, &credentials),
                None => request,
            }),
            Some(Challenge::Bearer { realm, service }) => {
                if let Some(token) = self.shared.auth.token(registry, &call.scope) {
                    return Ok(bearer(request, &token));
                }
                let token = self.fetch_token(call, &realm, service.as_deref()).await?;
                Ok(bearer(request, &token))
            }
        }
    }

    /// Learns how a registry authenticates from the answer to a request without credentials.
    pub(crate) async fn answer_challenge(
        &self,
        call: &Call<'_>,
        response: &Response,
    ) -> Result<(), AttemptError> {
        let registry = call.repository.registry();
        let headers = response.headers().get_all(WWW_AUTHENTICATE);
        let headers = headers.iter().filter_map(|value| value.to_str().ok());
        let challenge = parse_challenges(headers, &call.url).map_err(|method| {
            Error::UnsupportedAuthentication {
                registry: registry.to_owned(),
                method,
            }
        })?;
        let has_credentials = self.credentials(registry).await?.is_some();
        if challenge == Challenge::Basic && !has_credentials {
            return Err(credentials_required(call).into());
        }
        self.shared.auth.set_challenge(registry, challenge);
        Ok(())
    }

    async fn fetch_token(
        &self,
        call: &Call<'_>,
        realm: &Url,
        service: Option<&str>,
    ) -> Result<Secret, AttemptError> {
        let registry = call.repository.registry();
        let credentials = self.credentials(registry).await?;
        if let Some(Credentials::Bearer(token)) = credentials {
            return Ok(token);
        }
        let options = &self.shared.options;
        let base = self.url(registry, "")?;
        let host = realm.host_str().unwrap_or_default();
        let is_own = is_own_realm(registry, &base, realm) || options.token_realms.contains(host);
        if credentials.is_some() && !is_own {
            let (registry, realm) = (registry.to_owned(), host.to_owned());
            return Err(Error::ForeignRealm { registry, realm }.into());
        }
        if (realm.scheme() != "https" && base.scheme() == "https")
            || (!is_own && is_local_url(realm))
        {
            let (registry, realm) = (registry.to_owned(), redact(realm));
            return Err(Error::ForeignRealm { registry, realm }.into());
        }
        let client = self.http(registry, !is_same_host(realm, &base))?;
        let request = match &credentials {
            Some(Credentials::Basic { username, password }) if username == IDENTITY_TOKEN => {
                oauth_request(&client, realm, service, &call.scope, password)
            }
            _ => {
                let request = token_request(&client, realm, service, &call.scope);
                match &credentials {
                    Some(credentials) => with_credentials(request, credentials),
                    None => request,
                }
            }
        };
        let response = self.wait(request, realm, false).await?;
        let status = response.status().as_u16();
        if matches!(status, 400 | 401 | 403) {
            return Err(match credentials {
                Some(_) => unauthorized(call, status, Retry::Never),
                None => credentials_required(call).into(),
            });
        }
        let response = check_transient(response, realm)?;
        let time = self.shared.options.first_byte_timeout;
        let bytes = read_limited(response, realm, MAX_ANSWER, time).await?;
        let token = Token::parse(&bytes)
            .filter(|_| status == 200)
            .ok_or_else(|| Error::InvalidToken {
                realm: redact(realm),
                reason: format!("status {status} without a token"),
            })?;
        self.shared.auth.set_token(registry, &call.scope, &token);
        Ok(token.secret)
    }

    /// The credentials for a registry: those of the options, else those of Docker.
    async fn credentials(&self, registry: &str) -> Result<Option<Credentials>, Error> {
        if let Some(found) = self.shared.options.credentials.get(registry) {
            return Ok(Some(found.clone()));
        }
        if let LookedUp::Yes(found) = self.shared.auth.credentials(registry) {
            return Ok(found);
        }
        let (docker, name) = (self.shared.options.docker.clone(), registry.to_owned());
        let found = tokio::task::spawn_blocking(move || docker.credentials(&name)).await;
        let found = found.unwrap_or(Err(Error::Canceled))?;
        self.shared.auth.set_credentials(registry, found.clone());
        Ok(found)
    }
}

fn bearer(request: RequestBuilder, token: &Secret) -> RequestBuilder {
    request.header(AUTHORIZATION, format!("Bearer {}", token.reveal()))
}

fn with_credentials(request: RequestBuilder, credentials: &Credentials) -> RequestBuilder {
    match credentials {
        Credentials::Basic { username, password } => {
            request.basic_auth(username, Some(password.reveal()))
        }
        Credentials::Bearer(token) => bearer(request, token),
    }
}

fn token_request(
    client: &reqwest::Client,
    realm: &Url,
    service: Option<&str>,
    scope: &Scope,
) -> RequestBuilder {
    let mut url = realm.clone();
    {
        let mut query = url.query_pairs_mut();
        if let Some(service) = service {
            query.append_pair("service", service);
        }
        for scope in &scope.0 {
            query.append_pair("scope", scope);
        }
    }
    client.get(url)
}

/// Identity tokens of Docker are refresh tokens of OAuth 2.
fn oauth_request(
    client: &reqwest::Client,
    realm: &Url,
    service: Option<&str>,
    scope: &Scope,
    token: &Secret,
) -> RequestBuilder {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.append_pair("grant_type", "refresh_token")
        .append_pair("refresh_token", token.reveal())
        .append_pair("client_id", "outrigger")
        .append_pair("service", service.unwrap_or_default())
        .append_pair("scope", &scope.0.join(" "));
    client
        .post(realm.clone())
        .header(
            reqwest::header::CONTENT_TYPE,
            "application/x-www-form-urlencoded",
        )
        .body(form.finish())
}

fn credentials_required(call: &Call<'_>) -> Error {
    Error::CredentialsRequired {
        registry: call.repository.registry().to_owned(),
        repository: call.repository.path().to_owned(),
    }
}
