//! Password hashes and passwords derived from a master password.

use aws_lc_rs::hmac;
use scrypt::Params;

use crate::function::{Call, CallError, Host};
use crate::functions::CallResult;
use crate::functions::args::{bytes, int, text};
use crate::value::Value;

/// `bcrypt.DefaultCost`
const BCRYPT_COST: u32 = 10;
const MAX_BCRYPT_PASSWORD: usize = 72;

/// Returns errors as text.
pub(super) fn bcrypt(host: &dyn Host, password: &[u8]) -> String {
    if password.len() > MAX_BCRYPT_PASSWORD {
        return "failed to encrypt string with bcrypt: bcrypt: password length exceeds 72 bytes"
            .into();
    }
    let mut salt = [0; 16];
    host.fill_random(&mut salt);
    match bcrypt::hash_with_salt(password, BCRYPT_COST, salt) {
        Ok(hash) => hash.format_for_version(bcrypt::Version::TwoA),
        Err(error) => format!("failed to encrypt string with bcrypt: {error}"),
    }
}

const SEED: &[u8] = b"com.lyndir.masterpassword";

/// The password templates by type; each letter is a character class.
const TEMPLATES: [(&str, &[&[u8]]); 6] = [
    (
        "maximum",
        &[b"anoxxxxxxxxxxxxxxxxx", b"axxxxxxxxxxxxxxxxxno"],
    ),
    (
        "long",
        &[
            b"CvcvnoCvcvCvcv",
            b"CvcvCvcvnoCvcv",
            b"CvcvCvcvCvcvno",
            b"CvccnoCvcvCvcv",
            b"CvccCvcvnoCvcv",
            b"CvccCvcvCvcvno",
            b"CvcvnoCvccCvcv",
            b"CvcvCvccnoCvcv",
            b"CvcvCvccCvcvno",
            b"CvcvnoCvcvCvcc",
            b"CvcvCvcvnoCvcc",
            b"CvcvCvcvCvccno",
            b"CvccnoCvccCvcv",
            b"CvccCvccnoCvcv",
            b"CvccCvccCvcvno",
            b"CvcvnoCvccCvcc",
            b"CvcvCvccnoCvcc",
            b"CvcvCvccCvccno",
            b"CvccnoCvcvCvcc",
            b"CvccCvcvnoCvcc",
            b"CvccCvcvCvccno",
        ],
    ),
    ("medium", &[b"CvcnoCvc", b"CvcCvcno"]),
    ("short", &[b"Cvcn"]),
    ("basic", &[b"aaanaaan", b"aannaaan", b"aaannaaa"]),
    ("pin", &[b"nnnn"]),
];

fn characters(class: u8) -> &'static [u8] {
    match class {
        b'V' => b"AEIOU",
        b'C' => b"BCDFGHJKLMNPQRSTVWXYZ",
        b'v' => b"aeiou",
        b'c' => b"bcdfghjklmnpqrstvwxyz",
        b'A' => b"AEIOUBCDFGHJKLMNPQRSTVWXYZ",
        b'a' => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz",
        b'n' => b"0123456789",
        b'o' => b"@&%?,=[]_:-+*$#!'^~;()/.",
        _ => b"AEIOUaeiouBCDFGHJKLMNPQRSTVWXYZbcdfghjklmnpqrstvwxyz0123456789!@#$%^&*()",
    }
}

/// `derivePassword` by the Master Password algorithm: counter, type, password, user and site.
pub(super) fn derive(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    call.check_interrupt()?;
    let kind = text(args, 1);
    let Some((_, templates)) = TEMPLATES.iter().find(|(name, _)| *name == kind) else {
        return Ok(Value::str(format!("cannot find password template {kind}")));
    };
    let (password, user) = (bytes(args, 2), bytes(args, 3));
    let counter = u32::try_from(int(args, 0) & 0xffff_ffff).unwrap_or(0);
    let salt = [SEED, &length(user), user].concat();
    let key = master_key(password, &salt)?;
    Ok(Value::str(site_password(
        &key,
        counter,
        templates,
        bytes(args, 4),
    )))
}

/// The scrypt key of a user, with the cost of the Master Password algorithm: N = 2^15, r = 8, p = 2.
fn master_key(password: &[u8], salt: &[u8]) -> Result<[u8; 64], CallError> {
    let failed = |error: &dyn std::error::Error| {
        CallError::returned(format!("failed to derive password: {error}"))
    };
    let params = Params::new(15, 8, 2).map_err(|error| failed(&error))?;
    let mut key = [0; 64];
    scrypt::scrypt(password, salt, &params, &mut key).map_err(|error| failed(&error))?;
    Ok(key)
}

/// The password for one site, from the key of a user.
fn site_password(key: &[u8], counter: u32, templates: &[&[u8]], site: &[u8]) -> Vec<u8> {
    let message = [SEED, &length(site), site, &counter.to_be_bytes()].concat();
    let seed = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), &message);
    let seed = seed.as_ref();
    let template = templates[usize::from(seed[0]) % templates.len()];
    template
        .iter()
        .zip(&seed[1..])
        .map(|(class, number)| {
            let characters = characters(*class);
            characters[usize::from(*number) % characters.len()]
        })
        .collect()
}

fn length(text: &[u8]) -> [u8; 4] {
    u32::try_from(text.len()).unwrap_or(u32::MAX).to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The keys of a user `user` with the password `password`, and of a nameless one with `pässword`.
    const USER_KEY: &str = "c89ecc86ff70a08a61ab19409168fd6b4f09ca2342c951c59427eb587092aff2\
                            822a284a74eaf4037d149306ef16386766c720b679722cc1fc78379000b417ee";
    const NAMELESS_KEY: &str = "226de97b4fbf06d58d1ed1732d5fbf8d21d9e02b6194124d3cce969525ff6bd0\
                                ad9c78055206fdd87be798b245a1e035f295d64a8c50f210cebcb3155b8d76c7";

    #[test]
    fn derives_the_site_passwords_of_helm() {
        for (key, counter, kind, site, expected) in [
            (USER_KEY, 1, "long", "example.com", "ZedaFaxcZaso9*"),
            (
                USER_KEY,
                2,
                "maximum",
                "example.com",
                "O8-6Bwz1*I5XVPPq)@H!",
            ),
            (NAMELESS_KEY, 1, "pin", "", "6514"),
        ] {
            let key: Vec<u8> = (0..64)
                .map(|at| u8::from_str_radix(&key[2 * at..2 * at + 2], 16).unwrap())
                .collect();
            let (_, templates) = TEMPLATES.iter().find(|(name, _)| *name == kind).unwrap();
            let password = site_password(&key, counter, templates, site.as_bytes());
            assert_eq!(String::from_utf8(password).unwrap(), expected);
        }
    }
}
