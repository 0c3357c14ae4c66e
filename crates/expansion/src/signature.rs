//! Signatures of the root document: Ed25519 in envelopes of the format DSSE, which other tools know. Pure but for keys.
//!
//! What is signed is a statement with the digest of the root document and, optionally, the time until which it counts. The
//! root document has the digest of the lock, which has those of everything else.

mod key;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use outrigger_oci::Digest;
use serde::{Deserialize, Serialize};

use crate::root::{DocumentError, FORMAT, check_version, text};

pub use key::{KeyError, PrivateKey, PublicKey};

/// The type of the statement in an envelope.
const PAYLOAD_TYPE: &str = "application/vnd.outrigger.expansion.statement+json";

/// The document of signatures in a package.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Signatures {
    format_version: u32,
    envelopes: Vec<Envelope>,
}

/// An envelope of the format DSSE.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Envelope {
    payload_type: String,
    /// The statement, in Base64.
    payload: String,
    signatures: Vec<EnvelopeSignature>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EnvelopeSignature {
    keyid: String,
    /// In Base64.
    sig: String,
}

/// What a key signs.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Statement {
    root: Digest,
    /// RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    expires: Option<String>,
}

/// A signature that counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verified {
    /// The id of the key.
    pub key: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires: Option<String>,
}

/// Why a package is not trusted.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the package is not signed")]
    Unsigned,
    #[error("the signatures of the package cannot be read")]
    Document(#[source] DocumentError),
    #[error("the package is signed by unknown keys only: {}", .0.join(", "))]
    UnknownKey(Vec<String>),
    #[error("the signature of key {key} expired at {at}")]
    Expired { key: String, at: String },
    #[error(
        "the signature of key {key} is over another document: {signed}, and the package is {found}"
    )]
    OtherDocument {
        key: String,
        signed: Digest,
        found: Digest,
    },
    #[error("the signature that claims to be of key {key} is not valid")]
    Invalid { key: String },
    #[error("failed to sign")]
    Sign,
}

impl Error {
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Unsigned => {
                "`outrigger expansion sign` signs it; --allow-unsigned accepts it as it is"
            }
            Self::UnknownKey(_) => "pass the public key of who built it with --trusted-key",
            Self::Expired { .. } => "ask for a package that was signed again",
            Self::OtherDocument { .. } | Self::Invalid { .. } => {
                "the package or its signature was changed; get it again from who built it"
            }
            Self::Document(_) | Self::Sign => return None,
        };
        Some(text.to_owned())
    }
}

/// Signs a root document. Signatures of other keys are kept, and one of the same key is replaced.
pub fn sign(
    existing: Option<&[u8]>,
    root: &[u8],
    key: &PrivateKey,
    expires: Option<Timestamp>,
) -> Result<String, Error> {
    let mut envelopes = match existing {
        Some(bytes) => parse(bytes)?.envelopes,
        None => Vec::new(),
    };
    let id = key.public().id();
    envelopes.retain(|envelope| {
        envelope
            .signatures
            .iter()
            .all(|signature| signature.keyid != id)
    });
    let statement = Statement {
        root: Digest::of(root),
        expires: expires.map(|time| time.to_string()),
    };
    // A digest and a time are always valid JSON.
    let payload = serde_json::to_vec(&statement).unwrap_or_default();
    let signature = key
        .sign(&encoded(PAYLOAD_TYPE, &payload))
        .ok_or(Error::Sign)?;
    envelopes.push(Envelope {
        payload_type: PAYLOAD_TYPE.to_owned(),
        payload: STANDARD.encode(&payload),
        signatures: vec![EnvelopeSignature {
            keyid: id,
            sig: STANDARD.encode(signature),
        }],
    });
    // The same signatures are the same document, whoever signed first.
    envelopes.sort_by_key(key_of);
    Ok(text(&Signatures {
        format_version: FORMAT,
        envelopes,
    }))
}

fn key_of(envelope: &Envelope) -> String {
    let first = envelope.signatures.first();
    first
        .map(|signature| signature.keyid.clone())
        .unwrap_or_default()
}

fn parse(bytes: &[u8]) -> Result<Signatures, Error> {
    check_version(bytes).map_err(Error::Document)?;
    let parsed = serde_json::from_slice(bytes);
    parsed.map_err(|error| Error::Document(DocumentError::Json(error)))
}

/// The bytes that are signed, which begin with the type, so that no statement can be taken for one of another kind.
fn encoded(payload_type: &str, payload: &[u8]) -> Vec<u8> {
    let mut bytes = format!(
        "DSSEv1 {} {payload_type} {} ",
        payload_type.len(),
        payload.len()
    )
    .into_bytes();
    bytes.extend_from_slice(payload);
    bytes
}

/// Whether a trusted key signed a root document. Any one is enough; the error is that of the first signature by one.
pub fn verify(
    signatures: Option<&[u8]>,
    root: &[u8],
    trusted: &[PublicKey],
    now: Timestamp,
) -> Result<Vec<Verified>, Error> {
    let document = parse(signatures.ok_or(Error::Unsigned)?)?;
    let (mut verified, mut failed, mut unknown) = (Vec::new(), None, Vec::new());
    for envelope in &document.envelopes {
        for signature in &envelope.signatures {
            let id = &signature.keyid;
            let Some(key) = trusted.iter().find(|key| key.id() == *id) else {
                // What the package says is shown, so that it is cut and escaped.
                unknown.push(id.escape_debug().take(80).collect());
                continue;
            };
            match check(envelope, signature, key, root, now) {
                Ok(signature) => verified.push(signature),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
    }
    match failed {
        _ if !verified.is_empty() => Ok(verified),
        Some(error) => Err(error),
        None if unknown.is_empty() => Err(Error::Unsigned),
        None => Err(Error::UnknownKey(unknown)),
    }
}

fn check(
    envelope: &Envelope,
    signature: &EnvelopeSignature,
    key: &PublicKey,
    root: &[u8],
    now: Timestamp,
) -> Result<Verified, Error> {
    let id = key.id();
    let invalid = || Error::Invalid { key: id.clone() };
    let payload = STANDARD.decode(&envelope.payload).map_err(|_| invalid())?;
    let bytes = STANDARD.decode(&signature.sig).map_err(|_| invalid())?;
    let is_statement = envelope.payload_type == PAYLOAD_TYPE;
    if !is_statement || !key.verifies(&encoded(PAYLOAD_TYPE, &payload), &bytes) {
        return Err(invalid());
    }
    let statement: Statement = serde_json::from_slice(&payload).map_err(|_| invalid())?;
    let found = Digest::of(root);
    if statement.root != found {
        let (key, signed) = (id, statement.root);
        return Err(Error::OtherDocument { key, signed, found });
    }
    if let Some(at) = &statement.expires {
        let time: Timestamp = at.parse().map_err(|_| invalid())?;
        if time <= now {
            let (key, at) = (id, at.clone());
            return Err(Error::Expired { key, at });
        }
    }
    Ok(Verified {
        key: id,
        expires: statement.expires,
    })
}

#[cfg(test)]
mod tests;
