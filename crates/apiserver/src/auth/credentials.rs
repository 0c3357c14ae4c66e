//! The credentials of a server: static tokens, and the signing key of service account tokens.
//!
//! Nothing here touches the disk. The caller stores [`Token::expose`] and [`SigningKey::to_bytes`] in private files.

use std::collections::HashMap;
use std::fmt;

use aws_lc_rs::constant_time::verify_slices_are_equal;
use aws_lc_rs::encoding::{AsDer as _, PublicKeyX509Der};
use aws_lc_rs::rand::{SystemRandom, fill};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use super::user::{AUTHENTICATED, MASTERS, UserInfo};

/// The issuer of service account tokens, and the audience of those for this server.
pub const ISSUER: &str = "https://kubernetes.default.svc";

/// A bearer token. `Debug` redacts it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// 256 random bits.
    pub fn generate() -> Result<Self, SecretError> {
        let mut bytes = [0; 32];
        fill(&mut bytes).map_err(|_| SecretError::Random)?;
        Ok(Self(URL_SAFE_NO_PAD.encode(bytes)))
    }

    /// Parses a stored token. Surrounding white space is ignored.
    pub fn parse(text: &str) -> Result<Self, SecretError> {
        let text = text.trim();
        if text.len() < 16 || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(SecretError::Token);
        }
        Ok(Self(text.to_owned()))
    }

    /// The secret, for a kubeconfig.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    fn is(&self, other: &str) -> bool {
        verify_slices_are_equal(self.0.as_bytes(), other.as_bytes()).is_ok()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(..)")
    }
}

/// Why a secret cannot be generated or parsed.
#[derive(Debug, thiserror::Error)]
pub enum SecretError {
    #[error("failed to read random bytes")]
    Random,
    #[error("a token must have 16 or more visible characters and no space")]
    Token,
    #[error("the key is not a P-256 key in PKCS #8")]
    Key,
    #[error("line {line} of the token file must have a token, a user name and a user uid")]
    TokenFile { line: usize },
}

/// Users by static token, as in the token file of a real server: `token,user,uid,"group1,group2"`.
#[derive(Clone, Default)]
pub struct StaticTokens {
    /// By digest, so that the duration of a lookup reveals nothing about a token.
    users: HashMap<[u8; 32], UserInfo>,
}

impl StaticTokens {
    pub fn parse(file: &str) -> Result<Self, SecretError> {
        let mut users = HashMap::new();
        for (index, line) in file.lines().enumerate() {
            if line.trim().is_empty() || line.starts_with('#') {
                continue;
            }
            let error = SecretError::TokenFile {
                line: index.saturating_add(1),
            };
            let columns = columns(line);
            let [token, name, uid, groups @ ..] = columns.as_slice() else {
                return Err(error);
            };
            if token.is_empty() {
                return Err(error);
            }
            let groups = groups
                .first()
                .into_iter()
                .flat_map(|groups| groups.split(','));
            let groups = groups.map(str::trim).filter(|group| !group.is_empty());
            let mut groups: Vec<String> = groups.map(str::to_owned).collect();
            groups.push(AUTHENTICATED.to_owned());
            let user = UserInfo {
                name: name.clone(),
                uid: uid.clone(),
                groups,
                ..UserInfo::default()
            };
            users.insert(digest(token), user);
        }
        Ok(Self { users })
    }
}

impl fmt::Debug for StaticTokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let users = self.users.values().map(|user| &user.name);
        f.debug_list().entries(users).finish()
    }
}

/// The columns of a CSV line.
fn columns(line: &str) -> Vec<String> {
    let mut columns = vec![String::new()];
    let mut quoted = false;
    for character in line.chars() {
        match character {
            '"' => quoted = !quoted,
            ',' if !quoted => columns.push(String::new()),
            _ => {
                if let Some(column) = columns.last_mut() {
                    column.push(character);
                }
            }
        }
    }
    for column in &mut columns {
        *column = column.trim().to_owned();
    }
    columns
}

pub(super) fn digest(text: &str) -> [u8; 32] {
    Sha256::digest(text.as_bytes()).into()
}

/// The signing key of service account tokens: ECDSA on P-256.
pub struct SigningKey {
    pair: EcdsaKeyPair,
    bytes: Vec<u8>,
    /// The `kid` of tokens.
    id: String,
}

impl SigningKey {
    pub fn generate() -> Result<Self, SecretError> {
        let random = SystemRandom::new();
        let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
            .map_err(|_| SecretError::Random)?;
        Self::from_bytes(document.as_ref())
    }

    /// The reverse of [`SigningKey::to_bytes`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, SecretError> {
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes)
            .map_err(|_| SecretError::Key)?;
        let public: PublicKeyX509Der<'_> =
            pair.public_key().as_der().map_err(|_| SecretError::Key)?;
        let id = URL_SAFE_NO_PAD.encode(Sha256::digest(public.as_ref()));
        Ok(Self {
            pair,
            bytes: bytes.to_owned(),
            id,
        })
    }

    /// PKCS #8. A secret.
    pub fn to_bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn sign(&self, message: &[u8]) -> Result<Vec<u8>, SecretError> {
        let signature = self.pair.sign(&SystemRandom::new(), message);
        Ok(signature
            .map_err(|_| SecretError::Random)?
            .as_ref()
            .to_vec())
    }

    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> bool {
        let public = self.pair.public_key().as_ref();
        let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, public);
        key.verify(message, signature).is_ok()
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SigningKey")
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

/// The credentials that a server accepts.
#[derive(Debug)]
pub struct Credentials {
    /// The token of the administrator.
    pub admin: Token,
    pub tokens: StaticTokens,
    pub key: SigningKey,
    /// Whether requests without a token are those of `system:anonymous` instead of unauthorized.
    pub anonymous: bool,
}

impl Credentials {
    /// New credentials without static tokens.
    pub fn generate() -> Result<Self, SecretError> {
        Ok(Self::new(Token::generate()?, SigningKey::generate()?))
    }

    pub fn new(admin: Token, key: SigningKey) -> Self {
        Self {
            admin,
            tokens: StaticTokens::default(),
            key,
            anonymous: false,
        }
    }

    /// The user of a static token.
    pub(super) fn user(&self, token: &str) -> Option<UserInfo> {
        if self.admin.is(token) {
            return Some(UserInfo {
                name: "admin".to_owned(),
                uid: "admin".to_owned(),
                groups: vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()],
                ..UserInfo::default()
            });
        }
        if self.tokens.users.is_empty() {
            return None;
        }
        self.tokens.users.get(&digest(token)).cloned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_redacts_secrets() {
        let credentials = Credentials::generate().unwrap();
        let shown = format!("{credentials:?}");
        assert!(!shown.contains(credentials.admin.expose()), "{shown}");
        assert_eq!(credentials.admin.expose().len(), 43);
        assert!(Token::parse("short").is_err());
        assert!(Token::parse("with a space in the middle").is_err());
    }

    #[test]
    fn restores_a_key_from_its_bytes() {
        let key = SigningKey::generate().unwrap();
        let again = SigningKey::from_bytes(key.to_bytes()).unwrap();
        assert_eq!(key.id(), again.id());
        let signature = key.sign(b"message").unwrap();
        assert!(again.verify(b"message", &signature));
        assert!(!again.verify(b"another", &signature));
        assert!(SigningKey::from_bytes(b"no key").is_err());
    }

    #[test]
    fn parses_users_and_groups_of_a_token_file() {
        let file = "admintoken,admin,1,system:masters\n\nalicetoken, alice,2,\"dev,ops\"\nbobtoken,bob,3\n";
        let mut credentials = Credentials::generate().unwrap();
        credentials.tokens = StaticTokens::parse(file).unwrap();
        let alice = credentials.user("alicetoken").unwrap();
        assert_eq!((alice.name.as_str(), alice.uid.as_str()), ("alice", "2"));
        assert_eq!(alice.groups, ["dev", "ops", "system:authenticated"]);
        assert_eq!(
            credentials.user("bobtoken").unwrap().groups,
            ["system:authenticated"]
        );
        assert!(credentials.user("").is_none());
        assert!(StaticTokens::parse("token,alice\n").is_err());
        assert_eq!(
            format!("{:?}", StaticTokens::parse("t,alice,2").unwrap()),
            r#"["alice"]"#
        );
    }
}
