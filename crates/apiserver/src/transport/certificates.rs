//! The CA and the serving certificate of a server.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, SanType,
};

/// PEM-encoded certificates and key.
#[derive(Clone)]
pub(super) struct Certificates {
    pub(super) authority: String,
    pub(super) server: String,
    pub(super) server_key: String,
}

/// The validity of certificates.
const YEARS: i32 = 10;

/// DNS names of the server.
const NAMES: [&str; 5] = [
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
];

/// Generates new certificates. The CA key is discarded: nothing else is ever signed.
pub(super) fn generate() -> Result<Certificates, rcgen::Error> {
    let authority_key = KeyPair::generate()?;
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "outrigger-ca");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![
        KeyUsagePurpose::KeyCertSign,
        KeyUsagePurpose::DigitalSignature,
    ];
    set_validity(&mut params);
    let authority = params.self_signed(&authority_key)?;
    let issuer = Issuer::new(params, authority_key);

    let server_key = KeyPair::generate()?;
    let mut params = CertificateParams::new(NAMES.map(str::to_owned))?;
    params
        .distinguished_name
        .push(DnType::CommonName, "outrigger-apiserver");
    for address in [
        IpAddr::V4(Ipv4Addr::LOCALHOST),
        IpAddr::V6(Ipv6Addr::LOCALHOST),
        IpAddr::V4(Ipv4Addr::new(10, 96, 0, 1)),
    ] {
        params.subject_alt_names.push(SanType::IpAddress(address));
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    set_validity(&mut params);
    let server = params.signed_by(&server_key, &issuer)?;
    Ok(Certificates {
        authority: authority.pem(),
        server: server.pem(),
        server_key: server_key.serialize_pem(),
    })
}

fn set_validity(params: &mut CertificateParams) {
    let year = i32::from(
        jiff::Timestamp::now()
            .to_zoned(jiff::tz::TimeZone::UTC)
            .year(),
    );
    params.not_before = rcgen::date_time_ymd(year.saturating_sub(1), 1, 1);
    params.not_after = rcgen::date_time_ymd(year.saturating_add(YEARS), 1, 1);
}
