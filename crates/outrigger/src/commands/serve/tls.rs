//! TLS with a self-signed certificate that is generated at the start, so that tokens are not sent in the clear.
//!
//! As with the metrics of other controllers, a scraper in the cluster does not verify it.

use std::sync::Arc;

use anyhow::Context as _;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

pub(super) type Acceptor = TlsAcceptor;

pub(super) fn acceptor() -> anyhow::Result<Acceptor> {
    let names = vec!["localhost".to_owned(), "outrigger".to_owned()];
    let generated = rcgen::generate_simple_self_signed(names);
    let generated = generated.context("failed to generate a certificate")?;
    let key = PrivateKeyDer::try_from(generated.signing_key.serialize_der());
    let key = key.map_err(|reason| anyhow::anyhow!("failed to generate a key: {reason}"))?;
    let provider = Arc::new(aws_lc_rs::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("failed to configure TLS")?
        .with_no_client_auth()
        .with_single_cert(vec![generated.cert.der().clone()], key)
        .context("failed to configure TLS")?;
    Ok(TlsAcceptor::from(Arc::new(config)))
}
