//! Authentication: private key, agent, password.

use std::path::Path;
use std::sync::Arc;

use russh::MethodSet;
use russh::client::{AuthResult, Handle, KeyboardInteractiveAuthResponse};
use russh::keys::agent::client::AgentClient;
use russh::keys::{Algorithm, HashAlg, PrivateKeyWithHashAlg, PublicKey};

use super::handler::Handler;
use crate::{Address, ConnectError, Credentials, Secret};

/// How often a server may ask in keyboard-interactive authentication.
const MAX_QUESTIONS: usize = 4;
/// How many keys of an agent are tried. Servers disconnect after about six.
const MAX_AGENT_KEYS: usize = 5;

/// Logs in with the first method that the server accepts.
pub(super) async fn authenticate(
    handle: &mut Handle<Handler>,
    address: &Address,
    credentials: &Credentials,
) -> Result<(), ConnectError> {
    let mut login = Login {
        handle,
        address,
        attempted: Vec::new(),
        accepted: MethodSet::empty(),
    };
    if let Some(key) = &credentials.private_key
        && login
            .private_key(key, credentials.passphrase.as_ref())
            .await?
    {
        return Ok(());
    }
    if let Some(agent) = &credentials.agent
        && login.agent(agent).await?
    {
        return Ok(());
    }
    if let Some(password) = &credentials.password
        && (login.password(password).await? || login.keyboard_interactive(password).await?)
    {
        return Ok(());
    }
    Err(login.rejected().await)
}

struct Login<'a> {
    handle: &'a mut Handle<Handler>,
    address: &'a Address,
    attempted: Vec<&'static str>,
    accepted: MethodSet,
}

impl Login<'_> {
    async fn private_key(
        &mut self,
        key: &Secret,
        passphrase: Option<&Secret>,
    ) -> Result<bool, ConnectError> {
        self.attempted.push("private key");
        let key = russh::keys::decode_secret_key(key.expose(), passphrase.map(Secret::expose));
        let key = key.map_err(|source| ConnectError::PrivateKey {
            address: self.address.clone(),
            source: source.into(),
        })?;
        let hash = self.rsa_hash(&key.algorithm()).await?;
        let key = PrivateKeyWithHashAlg::new(Arc::new(key), hash);
        let user = self.address.user();
        let result = self.handle.authenticate_publickey(user, key).await;
        self.outcome(result)
    }

    async fn agent(&mut self, socket: &Path) -> Result<bool, ConnectError> {
        self.attempted.push("agent");
        let address = self.address.clone();
        let failed = |source: russh::keys::Error| ConnectError::Agent {
            address,
            source: source.into(),
        };
        let connected = AgentClient::connect_uds(socket).await;
        let mut agent = connected.map_err(failed.clone())?;
        let identities = agent.request_identities().await.map_err(failed)?;
        for identity in identities.iter().take(MAX_AGENT_KEYS) {
            let key: PublicKey = identity.public_key().into_owned();
            let hash = self.rsa_hash(&key.algorithm()).await?;
            let user = self.address.user();
            let result = self
                .handle
                .authenticate_publickey_with(user, key, hash, &mut agent)
                .await;
            // An agent that declines to sign with one key may sign with another.
            let Ok(result) = result else { continue };
            if self.outcome(Ok(result))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    async fn password(&mut self, password: &Secret) -> Result<bool, ConnectError> {
        self.attempted.push("password");
        let user = self.address.user();
        let result = self
            .handle
            .authenticate_password(user, password.expose())
            .await;
        self.outcome(result)
    }

    /// Answers every question whose answer is hidden with the password.
    async fn keyboard_interactive(&mut self, password: &Secret) -> Result<bool, ConnectError> {
        let method = russh::MethodKind::KeyboardInteractive;
        if self.handle.is_closed() || !self.accepted.contains(&method) {
            return Ok(false);
        }
        self.attempted.push("keyboard-interactive");
        let user = self.address.user();
        let mut response = self
            .handle
            .authenticate_keyboard_interactive_start(user, None)
            .await;
        for _ in 0..MAX_QUESTIONS {
            let prompts = match response {
                Ok(KeyboardInteractiveAuthResponse::InfoRequest { prompts, .. }) => prompts,
                Ok(KeyboardInteractiveAuthResponse::Success) => return Ok(true),
                Ok(KeyboardInteractiveAuthResponse::Failure { .. }) => return Ok(false),
                Err(source) => return Err(self.protocol(source)),
            };
            let answer = |hidden: bool| if hidden { password.expose() } else { "" };
            let answers = prompts.iter().map(|prompt| answer(!prompt.echo).to_owned());
            response = self
                .handle
                .authenticate_keyboard_interactive_respond(answers.collect())
                .await;
        }
        Ok(false)
    }

    /// The signature hash for RSA keys, which the server must support.
    async fn rsa_hash(&self, algorithm: &Algorithm) -> Result<Option<HashAlg>, ConnectError> {
        if !matches!(algorithm, Algorithm::Rsa { .. }) {
            return Ok(None);
        }
        let supported = self.handle.best_supported_rsa_hash().await;
        let supported = supported.map_err(|source| self.protocol(source))?;
        Ok(supported.unwrap_or(Some(HashAlg::Sha256)))
    }

    fn outcome(&mut self, result: Result<AuthResult, russh::Error>) -> Result<bool, ConnectError> {
        match result {
            Ok(AuthResult::Success) => Ok(true),
            Ok(AuthResult::Failure {
                remaining_methods, ..
            }) => {
                self.accepted = remaining_methods;
                Ok(false)
            }
            Err(source) => Err(self.protocol(source)),
        }
    }

    /// The reason for which no method succeeded.
    async fn rejected(self) -> ConnectError {
        if self.handle.is_closed() && self.accepted.is_empty() {
            let ended = (&mut *self.handle).await;
            let source = ended.err().unwrap_or(russh::Error::Disconnect);
            return self.protocol(source);
        }
        if self.attempted.is_empty() {
            return ConnectError::NoCredentials(self.address.clone());
        }
        ConnectError::Rejected {
            address: self.address.clone(),
            attempted: self.attempted,
            accepted: self
                .accepted
                .iter()
                .map(|method| <&str>::from(method).to_owned())
                .collect(),
        }
    }

    fn protocol(&self, source: russh::Error) -> ConnectError {
        ConnectError::Protocol {
            address: self.address.clone(),
            source: source.into(),
        }
    }
}
