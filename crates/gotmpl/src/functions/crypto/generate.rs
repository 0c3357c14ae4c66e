//! The functions that generate certificates.

use std::net::IpAddr;

use outrigger_gostd::base64;

use super::certificate::{CertificateObject, Issuer, Template, create};
use super::key::PrivateKey;
use super::pem;
use crate::fmt::display_text;
use crate::function::{Call, CallError};
use crate::functions::CallResult;
use crate::functions::args::{any, bytes, int, items, text};
use crate::value::Value;

const RSA_BITS: usize = 2048;

pub(super) fn authority(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = new_rsa_key(call)?;
    make_authority(call, args, &key)
}

pub(super) fn authority_with_key(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = key_argument(args, 2)?;
    make_authority(call, args, &key)
}

pub(super) fn self_signed(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = new_rsa_key(call)?;
    make_self_signed(call, args, &key)
}

pub(super) fn self_signed_with_key(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = key_argument(args, 4)?;
    make_self_signed(call, args, &key)
}

pub(super) fn signed(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = new_rsa_key(call)?;
    make_signed(call, args, &key)
}

pub(super) fn signed_with_key(call: &mut Call<'_>, args: &[Value]) -> CallResult {
    let key = key_argument(args, 5)?;
    make_signed(call, args, &key)
}

fn new_rsa_key(call: &Call<'_>) -> Result<PrivateKey, CallError> {
    let key = call.host.rsa_key(RSA_BITS);
    key.map(PrivateKey::Rsa)
        .map_err(|error| CallError::returned(format!("error generating rsa key: {error}")))
}

fn key_argument(args: &[Value], at: usize) -> Result<PrivateKey, CallError> {
    PrivateKey::from_pem(&text(args, at))
        .map_err(|error| CallError::returned(format!("parsing private key: {error}")))
}

fn make_authority(call: &Call<'_>, args: &[Value], key: &PrivateKey) -> CallResult {
    let name = text(args, 0);
    let mut template = template(call, &name, &[], &[], int(args, 1))?;
    template.is_authority = true;
    finish(&template, key, None)
}

fn make_self_signed(call: &Call<'_>, args: &[Value], key: &PrivateKey) -> CallResult {
    let name = text(args, 0);
    let template = template(call, &name, items(args, 1), items(args, 2), int(args, 3))?;
    finish(&template, key, None)
}

fn make_signed(call: &Call<'_>, args: &[Value], key: &PrivateKey) -> CallResult {
    let authority = CertificateObject::of(any(args, 4));
    let (certificate, authority_key) =
        authority.map_or(("", ""), |object| (&object.certificate, &object.key));
    let block = pem::decode(certificate)
        .ok_or_else(|| CallError::returned("unable to decode certificate"))?;
    let issuer = Issuer::from_der(&block.bytes).ok_or_else(|| {
        CallError::returned(
            "error parsing certificate: decodedSignerCert.Bytes: x509: malformed certificate",
        )
    })?;
    let signer = PrivateKey::from_pem(authority_key)
        .map_err(|error| CallError::returned(format!("error parsing private key: {error}")))?;
    let name = text(args, 0);
    let template = template(call, &name, items(args, 1), items(args, 2), int(args, 3))?;
    finish(&template, key, Some((&issuer, &signer)))
}

fn finish(
    template: &Template<'_>,
    key: &PrivateKey,
    issuer: Option<(&Issuer, &PrivateKey)>,
) -> CallResult {
    let der = create(template, key, issuer)
        .map_err(|error| CallError::returned(format!("error creating certificate: {error}")))?;
    Ok(CertificateObject::new(&der, key).into_value())
}

fn template<'n>(
    call: &Call<'_>,
    common_name: &'n str,
    addresses: &[Value],
    names: &[Value],
    days: i64,
) -> Result<Template<'n>, CallError> {
    let addresses = addresses.iter().map(address).collect::<Result<_, _>>()?;
    let names = names
        .iter()
        .map(alternative_name)
        .collect::<Result<_, _>>()?;
    let mut serial = [0; 16];
    call.host.fill_random(&mut serial);
    // A Go duration overflows silently.
    let valid_nanos = days.wrapping_mul(86_400_000_000_000);
    let now = call.host.now();
    let seconds = |nanos: i128| i64::try_from(nanos.div_euclid(1_000_000_000)).unwrap_or(0);
    Ok(Template {
        common_name,
        addresses,
        names,
        not_before: seconds(now),
        not_after: seconds(now + i128::from(valid_nanos)),
        serial,
        is_authority: false,
        sha256_key_id: call.dialect.must_to_functions,
    })
}

fn address(value: &Value) -> Result<IpAddr, CallError> {
    let Value::Str(text) = value else {
        let shown = display_text(value);
        return Err(CallError::returned(format!(
            "error parsing ip: {shown} is not a string"
        )));
    };
    let text = text.to_text();
    text.parse()
        .map_err(|_| CallError::returned(format!("error parsing ip: {text}")))
}

fn alternative_name(value: &Value) -> Result<String, CallError> {
    match value {
        Value::Str(text) => Ok(text.to_text().into_owned()),
        other => {
            let shown = display_text(other);
            Err(CallError::returned(format!(
                "error processing alternate dns name: {shown} is not a string"
            )))
        }
    }
}

/// Checks a certificate and a key that the chart's user supplies, both base64-encoded PEM.
pub(super) fn build_custom(_: &mut Call<'_>, args: &[Value]) -> CallResult {
    let decoded = |at: usize, what: &str| {
        let bytes = base64::decode(bytes(args, at))
            .map_err(|_| CallError::returned(format!("unable to decode base64 {what}")))?;
        Ok::<String, CallError>(String::from_utf8_lossy(&bytes).into_owned())
    };
    let certificate = decoded(0, "certificate")?;
    let key = decoded(1, "private key")?;
    let block = pem::decode(&certificate)
        .ok_or_else(|| CallError::returned("unable to decode certificate"))?;
    if Issuer::from_der(&block.bytes).is_none() {
        return Err(CallError::returned(
            "error parsing certificate: decodedCert.Bytes: x509: malformed certificate",
        ));
    }
    PrivateKey::from_pem(&key)
        .map_err(|error| CallError::returned(format!("error parsing private key: {error}")))?;
    Ok(CertificateObject::from_pem(certificate, key).into_value())
}
