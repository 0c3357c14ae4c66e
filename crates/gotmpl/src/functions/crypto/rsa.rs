//! RSA keys. Generating them is expensive, so hosts decide when and on which thread to do it.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};

use super::der::{INTEGER, OCTET_STRING, Reader, SEQUENCE};
use crate::function::CallError;

/// A new private key as PKCS#1 DER.
pub fn rsa_key(bits: usize) -> Result<Vec<u8>, CallError> {
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        _ => {
            return Err(CallError::returned(format!(
                "unsupported RSA key size: {bits} bits"
            )));
        }
    };
    let failed = |_| CallError::returned("failed to generate an RSA key");
    let key = KeyPair::generate(size).map_err(failed)?;
    let der: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
    let inner =
        pkcs1(der.as_ref()).ok_or_else(|| CallError::returned("failed to encode an RSA key"))?;
    Ok(inner.to_vec())
}

/// The PKCS#1 key in a PKCS#8 structure, after the version and the algorithm.
fn pkcs1(pkcs8: &[u8]) -> Option<&[u8]> {
    let mut reader = Reader::sequence(pkcs8)?;
    reader.expect(INTEGER)?;
    reader.expect(SEQUENCE)?;
    Some(reader.expect(OCTET_STRING)?.contents)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generates_a_pkcs1_key_with_version_0() {
        let key = rsa_key(2048).unwrap();
        let mut reader = Reader::sequence(&key).unwrap();
        assert_eq!(reader.expect(INTEGER).unwrap().contents, [0]);
        assert_eq!(reader.expect(INTEGER).unwrap().contents.len(), 257);
    }

    #[test]
    fn rejects_an_unsupported_size() {
        assert!(rsa_key(1000).is_err());
    }
}
