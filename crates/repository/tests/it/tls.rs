//! TLS: private certificate authorities, client certificates and verification.

use std::sync::Arc;

use outrigger_repository::{Access, Error, Request, RequestError, Secret, Tls, TransportError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio_rustls::TlsAcceptor;

use crate::charts::{IndexEntry, archive, fetcher, index, request};
use crate::server::{RecordedRequest, Reply, Server};

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

    /// The TLS side of a server, which may require client certificates of this authority.
    fn acceptor(&self, requires_client_cert: bool) -> TlsAcceptor {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let (certificate, key) = self.certify("localhost");
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .unwrap();
        let builder = if requires_client_cert {
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

async fn repository(authority: &Authority, requires_client_cert: bool) -> Server {
    let handler = |request: &RecordedRequest, _| match request.path.as_str() {
        "/index.yaml" => Reply::ok(index(&[IndexEntry::of("web", "1.2.0")])),
        _ => Reply::ok(archive("web", "1.2.0")),
    };
    let acceptor = authority.acceptor(requires_client_cert);
    Server::start_with(handler, Some(acceptor)).await
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
async fn trusts_only_servers_with_a_certificate_of_the_authority() {
    let (authority, other) = (Authority::new(), Authority::new());
    let server = repository(&authority, false).await;
    let ca = |authority: &Authority| Tls {
        ca: Some(authority.certificate.pem().into_bytes()),
        client: None,
    };
    fetcher(None)
        .fetch(&with(ca(&authority), &server.url))
        .await
        .unwrap();
    for untrusted in [Tls::default(), ca(&other)] {
        let error = fetcher(None)
            .fetch(&with(untrusted, &server.url))
            .await
            .unwrap_err();
        assert!(
            matches!(
                error,
                Error::Request(RequestError::UntrustedCertificate { .. })
            ),
            "{error:?}"
        );
        assert!(!error.is_transient());
    }
    // The certificate is for another host name.
    let address = server.url.replace("localhost", "127.0.0.1");
    let error = fetcher(None)
        .fetch(&with(ca(&authority), &address))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Request(RequestError::UntrustedCertificate { .. })
        ),
        "{error:?}"
    );
    assert!(error.hint().unwrap().contains("use a name"), "{error:?}");
}

#[tokio::test]
async fn sends_a_client_certificate() {
    let authority = Authority::new();
    let server = repository(&authority, true).await;
    let (certificate, key) = authority.certify("client");
    let ca = Some(authority.certificate.pem().into_bytes());
    let client = Some((
        certificate.pem().into_bytes(),
        Secret::new(key.serialize_pem()),
    ));
    let with_client = Tls {
        ca: ca.clone(),
        client,
    };
    fetcher(None)
        .fetch(&with(with_client, &server.url))
        .await
        .unwrap();
    let without_client = Tls { ca, client: None };
    let request = with(without_client, &server.url);
    let error = fetcher(None).fetch(&request).await.unwrap_err();
    assert!(
        matches!(
            error,
            Error::Request(RequestError::Unreachable {
                source: TransportError::ClientCertificate { .. },
                ..
            })
        ),
        "{error:?}"
    );
    assert!(!error.is_transient());
    assert!(error.hint().unwrap().contains("tls.crt and tls.key"));
}

#[tokio::test]
async fn a_certificate_and_the_key_of_another_are_a_mistake() {
    let authority = Authority::new();
    let ((certificate, _), (_, key)) = (authority.certify("a"), authority.certify("b"));
    let key = Secret::new(key.serialize_pem());
    let tls = Tls {
        ca: None,
        client: Some((certificate.pem().into_bytes(), key)),
    };
    let request = with(tls, "https://localhost:1");
    let error = fetcher(None).fetch(&request).await.unwrap_err();
    assert!(
        matches!(error, Error::Request(RequestError::KeyMismatch { .. })),
        "{error:?}"
    );
    assert!(error.hint().unwrap().contains("of one pair"));
}

#[tokio::test]
async fn rejects_invalid_certificates() {
    let tls = Tls {
        ca: Some(b"-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n".to_vec()),
        client: None,
    };
    let error = fetcher(None)
        .fetch(&with(tls, "https://localhost:1"))
        .await
        .unwrap_err();
    assert!(
        matches!(
            error,
            Error::Request(RequestError::InvalidCertificates { .. })
        ),
        "{error:?}"
    );
}
