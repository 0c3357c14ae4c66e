//! RSA keys for hosts: the one costly thing that templates ask for, so a host makes them when and where it likes.

use aws_lc_rs::encoding::{AsDer as _, Pkcs8V1Der};
use aws_lc_rs::rsa::{KeyPair, KeySize};

use super::der::{INTEGER, OCTET_STRING, Reader, SEQUENCE};
use crate::function::CallError;

/// A new private key of so many bits, as PKCS#1 DER.
pub fn rsa_key(bits: usize) -> Result<Vec<u8>, CallError> {
    let size = match bits {
        2048 => KeySize::Rsa2048,
        3072 => KeySize::Rsa3072,
        4096 => KeySize::Rsa4096,
        8192 => KeySize::Rsa8192,
        _ => {
            return Err(CallError::returned(format!(
                "no RSA keys of {bits} bits can be made"
            )));
        }
    };
    let failed = |_| CallError::returned("failed to make an RSA key");
    let key = KeyPair::generate(size).map_err(failed)?;
    let der: Pkcs8V1Der<'_> = key.as_der().map_err(failed)?;
    let inner =
        pkcs1(der.as_ref()).ok_or_else(|| CallError::returned("failed to encode an RSA key"))?;
    Ok(inner.to_vec())
}

/// The key inside a PKCS#8 wrapper: after a version and an algorithm.
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
    fn a_key_is_a_sequence_that_begins_with_version_0() {
        let key = rsa_key(2048).unwrap();
        let mut reader = Reader::sequence(&key).unwrap();
        assert_eq!(reader.expect(INTEGER).unwrap().contents, [0]);
        assert_eq!(reader.expect(INTEGER).unwrap().contents.len(), 257);
    }

    #[test]
    fn an_odd_size_is_refused() {
        assert!(rsa_key(1000).is_err());
    }
}
