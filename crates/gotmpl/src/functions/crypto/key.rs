//! Private keys: generation, PEM, and signing.

use aws_lc_rs::agreement::{self, ECDH_P256, ECDH_P384, ECDH_P521};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_ASN1_SIGNING, ECDSA_P384_SHA384_ASN1_SIGNING, ECDSA_P521_SHA512_ASN1_SIGNING,
    EcdsaKeyPair, EcdsaSigningAlgorithm, Ed25519KeyPair, KeyPair, RSA_PKCS1_SHA256, RsaKeyPair,
};

use super::der::{self, Reader};
use super::dsa::DsaKey;
use super::pem;
use crate::function::{CallError, Host};

/// `1.2.840.113549.1.1.1`
const RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01];
/// `1.2.840.113549.1.1.11`
const SHA256_WITH_RSA_OID: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
/// `1.2.840.10045.2.1`
const EC_OID: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01];
/// `1.3.101.112`
const ED25519_OID: &[u8] = &[0x2b, 0x65, 0x70];

/// Why PEM data is not a private key, with the message of Sprig.
#[derive(Debug, thiserror::Error)]
pub(super) enum KeyError {
    #[error("no PEM data in input")]
    NoPem,
    #[error("decoding PEM as PKCS#8: asn1: structure error: not a supported key")]
    Pkcs8,
    #[error("no private key data in PEM block of type {0}")]
    NotAPrivateKey(String),
    #[error("parsing {0} private key from PEM: asn1: structure error: malformed key")]
    Malformed(String),
    #[error("invalid private key type {0}")]
    UnknownType(String),
}

#[derive(Debug)]
pub(super) enum PrivateKey {
    /// In PKCS#1 form.
    Rsa(Vec<u8>),
    Ecdsa {
        curve: &'static Curve,
        secret: Vec<u8>,
        public: Vec<u8>,
    },
    Ed25519 {
        seed: Vec<u8>,
        public: Vec<u8>,
    },
    Dsa(DsaKey),
}

#[derive(Debug)]
pub(super) struct Curve {
    oid: &'static [u8],
    /// The size of a secret in bytes.
    size: usize,
    agreement: &'static agreement::Algorithm,
    signing: &'static EcdsaSigningAlgorithm,
    signature_oid: &'static [u8],
}

static CURVES: [Curve; 3] = [
    Curve {
        oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07],
        size: 32,
        agreement: &ECDH_P256,
        signing: &ECDSA_P256_SHA256_ASN1_SIGNING,
        signature_oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02],
    },
    Curve {
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x22],
        size: 48,
        agreement: &ECDH_P384,
        signing: &ECDSA_P384_SHA384_ASN1_SIGNING,
        signature_oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03],
    },
    Curve {
        oid: &[0x2b, 0x81, 0x04, 0x00, 0x23],
        size: 66,
        agreement: &ECDH_P521,
        signing: &ECDSA_P521_SHA512_ASN1_SIGNING,
        signature_oid: &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04],
    },
];

impl PrivateKey {
    pub(super) fn generate_ecdsa(host: &dyn Host) -> Result<Self, CallError> {
        let curve = &CURVES[0];
        let mut secret = vec![0; curve.size];
        // Almost all numbers are valid secrets.
        for _ in 0..16 {
            host.fill_random(&mut secret);
            if let Some(key) = Self::ecdsa(curve, secret.clone()) {
                return Ok(key);
            }
        }
        Err(CallError::returned(
            "failed to generate private key: no valid secret",
        ))
    }

    fn ecdsa(curve: &'static Curve, secret: Vec<u8>) -> Option<Self> {
        let key = agreement::PrivateKey::from_private_key(curve.agreement, &secret).ok()?;
        let public = key.compute_public_key().ok()?.as_ref().to_vec();
        Some(Self::Ecdsa {
            curve,
            secret,
            public,
        })
    }

    pub(super) fn generate_ed25519(host: &dyn Host) -> Result<Self, CallError> {
        let mut seed = vec![0; 32];
        host.fill_random(&mut seed);
        Self::ed25519(seed).ok_or_else(|| CallError::returned("failed to generate private key"))
    }

    fn ed25519(seed: Vec<u8>) -> Option<Self> {
        let pair = Ed25519KeyPair::from_seed_unchecked(&seed).ok()?;
        let public = pair.public_key().as_ref().to_vec();
        Some(Self::Ed25519 { seed, public })
    }

    /// Parses a PEM block of any supported type.
    pub(super) fn from_pem(text: &str) -> Result<Self, KeyError> {
        let block = pem::decode(text).ok_or(KeyError::NoPem)?;
        if block.label == "PRIVATE KEY" {
            return Self::from_pkcs8(&block.bytes).ok_or(KeyError::Pkcs8);
        }
        let Some(kind) = block.label.strip_suffix(" PRIVATE KEY") else {
            return Err(KeyError::NotAPrivateKey(block.label));
        };
        let malformed = || KeyError::Malformed(kind.to_owned());
        match kind {
            "RSA" => rsa_public_parts(&block.bytes)
                .map(|_| Self::Rsa(block.bytes.clone()))
                .ok_or_else(malformed),
            "EC" => Self::from_sec1(&block.bytes, None).ok_or_else(malformed),
            "DSA" => DsaKey::from_der(&block.bytes)
                .map(Self::Dsa)
                .ok_or_else(malformed),
            _ => Err(KeyError::UnknownType(block.label.clone())),
        }
    }

    fn from_pkcs8(bytes: &[u8]) -> Option<Self> {
        let mut outer = Reader::sequence(bytes)?;
        outer.expect(der::INTEGER)?;
        let mut algorithm = Reader::new(outer.expect(der::SEQUENCE)?.contents);
        let oid = algorithm.expect(der::OID)?.contents;
        let key = outer.expect(der::OCTET_STRING)?.contents;
        match oid {
            RSA_OID => rsa_public_parts(key).map(|_| Self::Rsa(key.to_vec())),
            EC_OID => {
                let curve = curve_of(algorithm.expect(der::OID)?.contents)?;
                Self::from_sec1(key, Some(curve))
            }
            ED25519_OID => {
                let seed = Reader::new(key).expect(der::OCTET_STRING)?.contents;
                Self::ed25519(seed.to_vec())
            }
            _ => None,
        }
    }

    fn from_sec1(bytes: &[u8], curve: Option<&'static Curve>) -> Option<Self> {
        let mut key = Reader::sequence(bytes)?;
        key.expect(der::INTEGER)?;
        let secret = key.expect(der::OCTET_STRING)?.contents;
        let named = match key.take(0xa0) {
            Some(parameters) => {
                curve_of(Reader::new(parameters.contents).expect(der::OID)?.contents)
            }
            None => None,
        };
        let curve = named.or(curve)?;
        let padding = curve.size.checked_sub(secret.len())?;
        Self::ecdsa(curve, [&vec![0; padding], secret].concat())
    }

    pub(super) fn to_pem(&self) -> String {
        match self {
            Self::Rsa(bytes) => pem::encode("RSA PRIVATE KEY", bytes),
            Self::Ecdsa {
                curve,
                secret,
                public,
            } => {
                let bytes = der::sequence(&[
                    &der::integer(&[1]),
                    &der::element(der::OCTET_STRING, secret),
                    &der::element(0xa0, &der::element(der::OID, curve.oid)),
                    &der::element(0xa1, &der::bit_string(public)),
                ]);
                pem::encode("EC PRIVATE KEY", &bytes)
            }
            Self::Ed25519 { seed, .. } => {
                let inner = der::element(der::OCTET_STRING, seed);
                let bytes = der::sequence(&[
                    &der::integer(&[0]),
                    &der::sequence(&[&der::element(der::OID, ED25519_OID)]),
                    &der::element(der::OCTET_STRING, &inner),
                ]);
                pem::encode("PRIVATE KEY", &bytes)
            }
            Self::Dsa(key) => pem::encode("DSA PRIVATE KEY", &key.to_der()),
        }
    }

    /// The `SubjectPublicKeyInfo` parts: the algorithm and the key bits.
    pub(super) fn public_key(&self) -> Option<(Vec<u8>, Vec<u8>)> {
        match self {
            Self::Rsa(bytes) => {
                let (modulus, exponent) = rsa_public_parts(bytes)?;
                let algorithm = der::sequence(&[&der::element(der::OID, RSA_OID), &der::null()]);
                Some((algorithm, der::sequence(&[modulus, exponent])))
            }
            Self::Ecdsa { curve, public, .. } => {
                let oids = [
                    der::element(der::OID, EC_OID),
                    der::element(der::OID, curve.oid),
                ];
                Some((der::sequence(&[&oids[0], &oids[1]]), public.clone()))
            }
            Self::Ed25519 { public, .. } => Some((
                der::sequence(&[&der::element(der::OID, ED25519_OID)]),
                public.clone(),
            )),
            Self::Dsa(_) => None,
        }
    }

    /// The algorithm that [`Self::sign`] uses.
    pub(super) fn signature_algorithm(&self) -> Option<Vec<u8>> {
        match self {
            Self::Rsa(_) => Some(der::sequence(&[
                &der::element(der::OID, SHA256_WITH_RSA_OID),
                &der::null(),
            ])),
            Self::Ecdsa { curve, .. } => Some(der::sequence(&[&der::element(
                der::OID,
                curve.signature_oid,
            )])),
            Self::Ed25519 { .. } => Some(der::sequence(&[&der::element(der::OID, ED25519_OID)])),
            Self::Dsa(_) => None,
        }
    }

    pub(super) fn sign(&self, message: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Rsa(bytes) => {
                let pair = RsaKeyPair::from_der(bytes).ok()?;
                let mut signature = vec![0; pair.public_modulus_len()];
                pair.sign(
                    &RSA_PKCS1_SHA256,
                    &SystemRandom::new(),
                    message,
                    &mut signature,
                )
                .ok()?;
                Some(signature)
            }
            Self::Ecdsa {
                curve,
                secret,
                public,
            } => {
                let pair =
                    EcdsaKeyPair::from_private_key_and_public_key(curve.signing, secret, public)
                        .ok()?;
                let signature = pair.sign(&SystemRandom::new(), message).ok()?;
                Some(signature.as_ref().to_vec())
            }
            Self::Ed25519 { seed, .. } => {
                let pair = Ed25519KeyPair::from_seed_unchecked(seed).ok()?;
                Some(pair.sign(message).as_ref().to_vec())
            }
            Self::Dsa(_) => None,
        }
    }
}

fn curve_of(oid: &[u8]) -> Option<&'static Curve> {
    CURVES.iter().find(|curve| curve.oid == oid)
}

/// The encoded modulus and exponent of a PKCS#1 key.
fn rsa_public_parts(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut key = Reader::sequence(bytes)?;
    key.expect(der::INTEGER)?;
    let modulus = key.expect(der::INTEGER)?;
    let exponent = key.expect(der::INTEGER)?;
    Some((modulus.whole, exponent.whole))
}
