//! Connections that are opened and not used.

use std::time::Duration;

use anyhow::ensure;
use futures::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use super::target::Target;
use crate::client::open_tls;

/// Connections that send nothing at all: half before, half after the TLS handshake.
pub(super) async fn silent(target: &Target) -> anyhow::Result<String> {
    let mut plain = Vec::new();
    for _ in 0..510 {
        plain.extend(TcpStream::connect(&target.server.endpoint.authority).await);
    }
    let encrypted = open_all(target, 510, b"").await;
    all_closed(plain, encrypted).await
}

/// Connections that begin as HTTP/2 and stop.
pub(super) async fn preface_only(target: &Target) -> anyhow::Result<String> {
    let mut streams = open_all(target, 510, b"PRI").await;
    streams.extend(open_all(target, 510, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await);
    all_closed(Vec::new(), streams).await
}

/// Requests whose body is announced and never sent.
pub(super) async fn slow_bodies(target: &Target) -> anyhow::Result<String> {
    let request = format!(
        "POST /api/v1/namespaces/default/configmaps HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-type: application/json\r\ncontent-length: 100000\r\n\r\n{{",
        target.server.endpoint.token
    );
    let streams = open_all(target, 400, request.as_bytes()).await;
    all_closed(Vec::new(), streams).await
}

/// Opens and resets streams as fast as possible.
pub(super) async fn rapid_reset(target: &Target) -> anyhow::Result<String> {
    let mut answered = 0;
    let requests: usize = 20_000;
    for _ in 0..requests {
        let request = target
            .client
            .request("GET", "/api/v1/namespaces/default/configmaps")
            .body(http_body_util::Full::default())?;
        // Dropping the future resets the stream.
        let response =
            tokio::time::timeout(Duration::from_micros(50), target.client.stream(request)).await;
        answered += usize::from(response.is_ok_and(|response| response.is_ok()));
    }
    Ok(format!(
        "{} of {requests} requests were reset",
        requests - answered
    ))
}

async fn open_all(target: &Target, count: usize, bytes: &[u8]) -> Vec<TlsStream<TcpStream>> {
    let mut streams = Vec::new();
    for _ in 0..count {
        // The server may refuse or close connections beyond its limit.
        let opened = tokio::time::timeout(
            Duration::from_secs(5),
            open_tls(&target.server.endpoint, &[]),
        )
        .await;
        if let Ok(Ok(mut stream)) = opened
            && stream.write_all(bytes).await.is_ok()
        {
            streams.push(stream);
        }
    }
    streams
}

/// Waits until the server has closed all connections.
async fn all_closed(
    plain: Vec<TcpStream>,
    encrypted: Vec<TlsStream<TcpStream>>,
) -> anyhow::Result<String> {
    let count = plain.len() + encrypted.len();
    ensure!(count > 0, "the server accepts no connection");
    let plain = join_all(plain.into_iter().map(async |mut stream| {
        let mut rest = Vec::new();
        // A reset closes the connection, too.
        let _ = stream.read_to_end(&mut rest).await;
    }));
    let encrypted = join_all(encrypted.into_iter().map(async |mut stream| {
        let mut rest = Vec::new();
        let _ = stream.read_to_end(&mut rest).await;
    }));
    futures::future::join(plain, encrypted).await;
    Ok(format!(
        "{count} connections were opened, the server closed all"
    ))
}
