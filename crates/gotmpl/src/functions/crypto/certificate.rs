//! `x509.CreateCertificate`: X.509 certificates, byte for byte as Go encodes them.

use std::any::Any;
use std::net::IpAddr;
use std::rc::Rc;

use aws_lc_rs::digest;

use outrigger_gostd::strconv::quote;
use outrigger_gostd::time::civil_from_days;

use super::der::{self, Reader};
use super::key::PrivateKey;
use super::pem;
use crate::value::memory::Charge;
use crate::value::{Json, Kind, Object, StructField, Value};

const COMMON_NAME: &[u8] = &[0x55, 0x04, 0x03];
const SERVER_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x01];
const CLIENT_AUTH: &[u8] = &[0x2b, 0x06, 0x01, 0x05, 0x05, 0x07, 0x03, 0x02];

/// The last component of an extension id, after `2.5.29`.
const SUBJECT_KEY_ID: u8 = 14;
const KEY_USAGE: u8 = 15;
const ALTERNATIVE_NAMES: u8 = 17;
const BASIC_CONSTRAINTS: u8 = 19;
const AUTHORITY_KEY_ID: u8 = 35;
const EXTENDED_KEY_USAGE: u8 = 37;

/// Why a certificate cannot be created, with the message of crypto/x509.
#[derive(Debug, thiserror::Error)]
pub(super) enum CertificateError {
    #[error("x509: unsupported public key type: {0}")]
    UnsupportedKey(&'static str),
    #[error("x509: certificate private key does not implement crypto.Signer")]
    NoSigner,
    #[error("x509: provided PrivateKey doesn't match parent's PublicKey")]
    ParentMismatch,
    #[error("x509: the key cannot sign")]
    Signing,
    #[error("asn1: structure error: cannot represent time as GeneralizedTime")]
    Time,
    #[error("x509: {0} cannot be encoded as an IA5String")]
    NotIa5String(String),
}

/// The certificate to create.
pub(super) struct Template<'t> {
    pub(super) common_name: &'t str,
    pub(super) addresses: Vec<IpAddr>,
    pub(super) names: Vec<String>,
    /// Seconds since 1970.
    pub(super) not_before: i64,
    pub(super) not_after: i64,
    pub(super) serial: [u8; 16],
    pub(super) is_authority: bool,
    /// Since Go 1.25 key identifiers are SHA-256 digests.
    pub(super) sha256_key_id: bool,
}

/// The fields of the signing certificate that the new one refers to.
pub(super) struct Issuer {
    pub(super) subject: Vec<u8>,
    key_id: Vec<u8>,
    public_key: Vec<u8>,
}

impl Issuer {
    /// Parses the certificate of a signer.
    pub(super) fn from_der(bytes: &[u8]) -> Option<Self> {
        let mut certificate = Reader::sequence(bytes)?;
        let mut fields = Reader::new(certificate.expect(der::SEQUENCE)?.contents);
        fields.take(0xa0);
        fields.expect(der::INTEGER)?;
        fields.expect(der::SEQUENCE)?;
        fields.expect(der::SEQUENCE)?;
        fields.expect(der::SEQUENCE)?;
        let subject = fields.expect(der::SEQUENCE)?.whole.to_vec();
        let public_key = fields.expect(der::SEQUENCE)?.whole.to_vec();
        let mut key_id = Vec::new();
        while let Some(field) = fields.next() {
            if field.tag == 0xa3 {
                key_id = subject_key_id(field.contents)?;
            }
        }
        certificate.expect(der::SEQUENCE)?;
        certificate.expect(der::BIT_STRING)?;
        certificate.is_empty().then_some(Self {
            subject,
            key_id,
            public_key,
        })
    }
}

/// The key identifier among the extensions; empty if there is none.
fn subject_key_id(extensions: &[u8]) -> Option<Vec<u8>> {
    let mut list = Reader::sequence(extensions)?;
    while let Some(extension) = list.next() {
        let mut parts = Reader::new(extension.contents);
        let is_key_id = parts.expect(der::OID)?.contents == [0x55, 0x1d, SUBJECT_KEY_ID];
        parts.take(0x01);
        let value = parts.expect(der::OCTET_STRING)?.contents;
        if is_key_id {
            return Some(
                Reader::new(value)
                    .expect(der::OCTET_STRING)?
                    .contents
                    .to_vec(),
            );
        }
    }
    Some(Vec::new())
}

/// Creates a certificate for `key`, signed by the key itself or by that of the issuer.
pub(super) fn create(
    template: &Template<'_>,
    key: &PrivateKey,
    issuer: Option<(&Issuer, &PrivateKey)>,
) -> Result<Vec<u8>, CertificateError> {
    let unsupported = CertificateError::UnsupportedKey(match key {
        PrivateKey::Dsa(_) => "*dsa.PublicKey",
        _ => "key",
    });
    let (algorithm, public_bits) = key.public_key().ok_or(unsupported)?;
    let public_key = der::sequence(&[&algorithm, &der::bit_string(&public_bits)]);
    let signer = issuer.map_or(key, |(_, signer)| signer);
    let signature_algorithm = signer
        .signature_algorithm()
        .ok_or(CertificateError::NoSigner)?;
    if let Some((issuer, signer)) = issuer
        && public_key_of(signer).as_ref() != Some(&issuer.public_key)
    {
        return Err(CertificateError::ParentMismatch);
    }
    let subject = name(template.common_name);
    let issuer_name = issuer.map_or(&subject, |(issuer, _)| &issuer.subject);
    let authority_key_id = match issuer {
        Some((issuer, _)) if *issuer_name != subject => &issuer.key_id[..],
        _ => &[],
    };
    let extensions = extensions(
        template,
        &public_bits,
        authority_key_id,
        subject == [0x30, 0],
    )?;
    let body = der::sequence(&[
        &der::element(0xa0, &der::integer(&[2])),
        &der::integer(&template.serial),
        &signature_algorithm,
        issuer_name,
        &der::sequence(&[&time(template.not_before)?, &time(template.not_after)?]),
        &subject,
        &public_key,
        &der::element(0xa3, &der::element(der::SEQUENCE, &extensions)),
    ]);
    let signature = signer.sign(&body).ok_or(CertificateError::Signing)?;
    Ok(der::sequence(&[
        &body,
        &signature_algorithm,
        &der::bit_string(&signature),
    ]))
}

fn public_key_of(key: &PrivateKey) -> Option<Vec<u8>> {
    let (algorithm, bits) = key.public_key()?;
    Some(der::sequence(&[&algorithm, &der::bit_string(&bits)]))
}

/// A distinguished name with only a common name, or an empty one.
fn name(common_name: &str) -> Vec<u8> {
    if common_name.is_empty() {
        return der::sequence(&[]);
    }
    let is_printable = |b: u8| b.is_ascii_alphanumeric() || b" '()+,-./:=?".contains(&b);
    let tag = if common_name.bytes().all(is_printable) {
        0x13
    } else {
        0x0c
    };
    let attribute = der::sequence(&[
        &der::element(der::OID, COMMON_NAME),
        &der::element(tag, common_name.as_bytes()),
    ]);
    der::sequence(&[&der::element(der::SET, &attribute)])
}

/// `UTCTime` up to 2049, `GeneralizedTime` from then on.
fn time(seconds: i64) -> Result<Vec<u8>, CertificateError> {
    let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
    let rest = seconds.rem_euclid(86_400);
    let tail = format!(
        "{month:02}{day:02}{:02}{:02}{:02}Z",
        rest / 3600,
        rest / 60 % 60,
        rest % 60
    );
    match year {
        1950..2050 => Ok(der::element(
            0x17,
            format!("{:02}{tail}", year % 100).as_bytes(),
        )),
        0..10_000 => Ok(der::element(0x18, format!("{year:04}{tail}").as_bytes())),
        _ => Err(CertificateError::Time),
    }
}

fn extension(id: u8, critical: bool, value: &[u8]) -> Vec<u8> {
    let flag = if critical {
        der::element(0x01, &[0xff])
    } else {
        Vec::new()
    };
    der::sequence(&[
        &der::element(der::OID, &[0x55, 0x1d, id]),
        &flag,
        &der::element(der::OCTET_STRING, value),
    ])
}

fn extensions(
    template: &Template<'_>,
    public_bits: &[u8],
    authority_key_id: &[u8],
    subject_is_empty: bool,
) -> Result<Vec<u8>, CertificateError> {
    // Digital signature and key encipherment; a CA also signs certificates.
    let usage: &[u8] = if template.is_authority {
        &[2, 0xa4]
    } else {
        &[5, 0xa0]
    };
    let constraints = if template.is_authority {
        der::element(0x01, &[0xff])
    } else {
        Vec::new()
    };
    let mut out = extension(KEY_USAGE, true, &der::element(der::BIT_STRING, usage));
    let purposes = der::sequence(&[
        &der::element(der::OID, SERVER_AUTH),
        &der::element(der::OID, CLIENT_AUTH),
    ]);
    out.extend(extension(EXTENDED_KEY_USAGE, false, &purposes));
    out.extend(extension(
        BASIC_CONSTRAINTS,
        true,
        &der::element(der::SEQUENCE, &constraints),
    ));
    if template.is_authority {
        let id = der::element(
            der::OCTET_STRING,
            &key_id(public_bits, template.sha256_key_id),
        );
        out.extend(extension(SUBJECT_KEY_ID, false, &id));
    }
    if !authority_key_id.is_empty() {
        let id = der::sequence(&[&der::element(0x80, authority_key_id)]);
        out.extend(extension(AUTHORITY_KEY_ID, false, &id));
    }
    let names = alternative_names(template)?;
    if !names.is_empty() {
        let names = der::element(der::SEQUENCE, &names);
        out.extend(extension(ALTERNATIVE_NAMES, subject_is_empty, &names));
    }
    Ok(out)
}

fn key_id(public_bits: &[u8], sha256: bool) -> Vec<u8> {
    let algorithm = if sha256 {
        &digest::SHA256
    } else {
        &digest::SHA1_FOR_LEGACY_USE_ONLY
    };
    digest::digest(algorithm, public_bits).as_ref()[..20].to_vec()
}

fn alternative_names(template: &Template<'_>) -> Result<Vec<u8>, CertificateError> {
    let mut out = Vec::new();
    for name in &template.names {
        if !name.is_ascii() {
            return Err(CertificateError::NotIa5String(quote(name)));
        }
        out.extend(der::element(0x82, name.as_bytes()));
    }
    for address in &template.addresses {
        out.extend(match address.to_canonical() {
            IpAddr::V4(address) => der::element(0x87, &address.octets()),
            IpAddr::V6(address) => der::element(0x87, &address.octets()),
        });
    }
    Ok(out)
}

/// `sprig.certificate`: a certificate and its key in PEM.
#[derive(Debug, Clone)]
pub(super) struct CertificateObject {
    pub(super) certificate: String,
    pub(super) key: String,
    _memory: Charge,
}

impl CertificateObject {
    pub(super) fn new(der: &[u8], key: &PrivateKey) -> Self {
        Self::from_pem(pem::encode("CERTIFICATE", der), key.to_pem())
    }

    pub(super) fn from_pem(certificate: String, key: String) -> Self {
        Self {
            _memory: Charge::new(certificate.len() + key.len()),
            certificate,
            key,
        }
    }

    pub(super) fn into_value(self) -> Value {
        Value::Object(Rc::new(self))
    }

    pub(super) fn of(value: &Value) -> Option<&Self> {
        match value {
            Value::Object(object) => object.as_any().downcast_ref(),
            _ => None,
        }
    }
}

impl Object for CertificateObject {
    fn type_name(&self) -> &'static str {
        "sprig.certificate"
    }

    fn kind(&self) -> Kind {
        Kind::Struct
    }

    fn struct_fields(&self) -> Option<Vec<StructField>> {
        let field = |name, text: &str| StructField::new(name, Json::Key(name), Value::str(text));
        Some(vec![
            field("Cert", &self.certificate),
            field("Key", &self.key),
        ])
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
