//! JSON Web Tokens in compact serialization.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::{Value, json};

use super::credentials::{SecretError, SigningKey};

/// The longest token in bytes.
const MAX_LENGTH: usize = 16 * 1024;

pub(super) fn sign(key: &SigningKey, claims: &Value) -> Result<String, SecretError> {
    let header = json!({"alg": "ES256", "kid": key.id()});
    let [header, claims] = [&header, claims].map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
    let message = format!("{header}.{claims}");
    let signature = key.sign(message.as_bytes())?;
    Ok(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature)))
}

/// The claims of a token whose signature is not verified.
pub(super) fn claims(token: &str) -> Option<Value> {
    let mut parts = token.split('.');
    let (_, claims, _) = (parts.next()?, parts.next()?, parts.next()?);
    if parts.next().is_some() || token.len() > MAX_LENGTH {
        return None;
    }
    part(claims)
}

/// Why the signature is invalid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum SignatureError {
    #[error("invalid signature, no keys found")]
    Key,
    #[error("go-jose/go-jose: error in cryptographic primitive")]
    Signature,
}

pub(super) fn verify(key: &SigningKey, token: &str) -> Result<(), SignatureError> {
    let (message, signature) = token.rsplit_once('.').ok_or(SignatureError::Signature)?;
    let (header, _) = message.split_once('.').ok_or(SignatureError::Signature)?;
    let header = part(header).ok_or(SignatureError::Signature)?;
    match header["kid"].as_str() {
        Some(id) if !id.is_empty() && id != key.id() => return Err(SignatureError::Key),
        _ => {}
    }
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| SignatureError::Signature)?;
    let is_ours = header["alg"] == "ES256" && key.verify(message.as_bytes(), &signature);
    is_ours.then_some(()).ok_or(SignatureError::Signature)
}

fn part(text: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(text).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verifies_only_signatures_of_its_own_key() {
        let key = SigningKey::generate().unwrap();
        let token = sign(&key, &json!({"iss": "us"})).unwrap();
        assert_eq!(claims(&token), Some(json!({"iss": "us"})));
        assert_eq!(verify(&key, &token), Ok(()));
        let other = SigningKey::generate().unwrap();
        assert_eq!(verify(&other, &token), Err(SignatureError::Key));
        let changed = token.replacen('.', ".e30", 1);
        assert_eq!(verify(&key, &changed), Err(SignatureError::Signature));
        assert_eq!(
            verify(&key, &format!("{token}x")),
            Err(SignatureError::Signature)
        );
    }

    #[test]
    fn rejects_a_token_without_a_signature() {
        let key = SigningKey::generate().unwrap();
        let [header, claims] = [json!({"alg": "none"}), json!({})]
            .map(|part| URL_SAFE_NO_PAD.encode(part.to_string()));
        assert_eq!(
            verify(&key, &format!("{header}.{claims}.")),
            Err(SignatureError::Signature)
        );
        for text in ["", ".", "..", "a.b.c", "....", "\u{e9}.\u{e9}.\u{e9}"] {
            assert!(super::claims(text).is_none());
            assert!(verify(&key, text).is_err());
        }
    }
}
