//! TLS: authorities of our own, client certificates, and no way round verification.

use std::sync::Arc;

use outrigger_repository::{Access, Error, Request, Secret, Tls};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::charts::{Line, archive, fetcher, index, request};
use crate::server::{Reply, Server};

struct Authority {
    certificate: rcgen::Certificate,
    issuer: Issuer<'static, KeyPair>,
}

impl Authority {
    fn new() -> Self {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).unwrap();
        Self {
            certificate,
            issuer: Issuer::new(params, key),
        }
    }

    fn certify(&self, name: &str) -> (rcgen::Certificate, KeyPair) {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        (params.signed_by(&key, &self.issuer).unwrap(), key)
    }

    /// A server, which asks for certificates of this authority if it should.
    fn acceptor(&self, asks: bool) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let (certificate, key) = self.certify("localhost");
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if asks {
            let mut roots = RootCertStore::empty();
            roots.add(self.certificate.der().clone()).unwrap();
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
            builder.with_client_cert_verifier(verifier.build().unwrap())
        } else {
            builder.with_no_client_auth()
        };
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let config = builder
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        TlsAcceptor::from(Arc::new(config))
    }
}

async fn shop(authority: &Authority, asks: bool) -> Server {
    let answer = |seen: &crate::server::Seen, _| match seen.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[Line::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "1.2.0")),
    };
    Server::start_with(answer, Some(authority.acceptor(asks))).await
}

fn with(tls: Tls, url: &str) -> Request {
    Request {
        access: Access {
            tls,
            ..Access::default()
        },
        ..request(url, "web", "")
    }
}

#[tokio::test]
async fn a_server_is_trusted_by_its_authority_and_never_otherwise() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = shop(&authority, false).await;
    let ca = |authority: &Authority| Tls {
        ca: Some(authority.certificate.pem().into_bytes()),
        client: None,
    };
    fetcher(None)
        .fetch(&with(ca(&authority), &server.url))
        .await
        .unwrap();
    for wrong in [Tls::default(), ca(&other)] {
        let error = fetcher(None)
            .fetch(&with(wrong, &server.url))
            .await
            .unwrap_err();
        assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
        assert!(!error.is_transient());
    }
    // The certificate is for another name.
    let address = server.url.replace("localhost", "127.0.0.1");
    let error = fetcher(None)
        .fetch(&with(ca(&authority), &address))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Untrusted { .. }), "{error:?}");
}

#[tokio::test]
async fn a_client_certificate_opens_what_asks_for_one() {
    let authority = Authority::new();
    let server = shop(&authority, true).await;
    let (certificate, key) = authority.certify("client");
    let ca = Some(authority.certificate.pem().into_bytes());
    let client = Some((
        certificate.pem().into_bytes(),
        Secret::new(key.serialize_pem()),
    ));
    let known = Tls {
        ca: ca.clone(),
        client,
    };
    fetcher(None)
        .fetch(&with(known, &server.url))
        .await
        .unwrap();
    let unknown = Tls { ca, client: None };
    assert!(
        fetcher(None)
            .fetch(&with(unknown, &server.url))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn certificates_that_cannot_be_read_are_told() {
    let tls = Tls {
        ca: Some(b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n".to_vec()),
        client: None,
    };
    let error = fetcher(None)
        .fetch(&with(tls, "https://localhost:1"))
        .await
        .unwrap_err();
    assert!(matches!(error, Error::Tls { .. }), "{error:?}");
}
