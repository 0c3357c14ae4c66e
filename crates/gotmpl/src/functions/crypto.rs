//! Keys, certificates, passwords and encryption.
//!
//! Randomness comes from the host, except for that in ECDSA signatures.

mod aes;
mod certificate;
mod der;
mod dsa;
mod generate;
mod key;
mod password;
mod pem;
mod rsa;

#[cfg(test)]
mod tests;

use super::args::{bytes, text};
use super::{CallResult, fixed};
use crate::function::{Call, Function, Ty};
use crate::value::Value;
use key::PrivateKey;

pub use rsa::rsa_key;

const CERTIFICATE: Ty = Ty::Named("sprig.certificate");
const INT: Ty = Ty::Int;
const LIST: Ty = Ty::List;
const STR: Ty = Ty::String;

pub(super) const FUNCTIONS: &[Function] = &[
    fixed("bcrypt", &[STR], STR, |call, args| {
        call.check_interrupt()?;
        Ok(Value::str(password::bcrypt(call.host, bytes(args, 0))))
    }),
    fixed("htpasswd", &[STR, STR], STR, htpasswd),
    fixed(
        "derivePassword",
        &[Ty::Named("uint32"), STR, STR, STR, STR],
        STR,
        password::derive,
    ),
    fixed("genPrivateKey", &[STR], STR, generate_private_key),
    fixed(
        "buildCustomCert",
        &[STR, STR],
        CERTIFICATE,
        generate::build_custom,
    ),
    fixed("genCA", &[STR, INT], CERTIFICATE, generate::authority),
    fixed(
        "genCAWithKey",
        &[STR, INT, STR],
        CERTIFICATE,
        generate::authority_with_key,
    ),
    fixed(
        "genSelfSignedCert",
        &[STR, LIST, LIST, INT],
        CERTIFICATE,
        generate::self_signed,
    ),
    fixed(
        "genSelfSignedCertWithKey",
        &[STR, LIST, LIST, INT, STR],
        CERTIFICATE,
        generate::self_signed_with_key,
    ),
    fixed(
        "genSignedCert",
        &[STR, LIST, LIST, INT, CERTIFICATE],
        CERTIFICATE,
        generate::signed,
    ),
    fixed(
        "genSignedCertWithKey",
        &[STR, LIST, LIST, INT, CERTIFICATE, STR],
        CERTIFICATE,
        generate::signed_with_key,
    ),
    fixed("encryptAES", &[STR, STR], STR, aes::encrypt),
    fixed("decryptAES", &[STR, STR], STR, aes::decrypt),
];

fn htpasswd(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    call.check_interrupt()?;
    let user = bytes(args, 0);
    if user.contains(&b':') {
        return Ok(Value::str([b"invalid username: ", user].concat()));
    }
    let hash = password::bcrypt(call.host, bytes(args, 1));
    Ok(Value::str([user, b":", hash.as_bytes()].concat()))
}

/// Returns the error for an unknown type as text.
fn generate_private_key(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let kind = text(args, 0);
    let key = match &*kind {
        "" | "rsa" => PrivateKey::Rsa(call.host.rsa_key(4096)?),
        "dsa" => PrivateKey::Dsa(dsa::generate(call, dsa::SIZES)?),
        "ecdsa" => PrivateKey::generate_ecdsa(call.host)?,
        "ed25519" => PrivateKey::generate_ed25519(call.host)?,
        unknown => return Ok(Value::str(format!("Unknown type {unknown}"))),
    };
    Ok(Value::str(key.to_pem()))
}
