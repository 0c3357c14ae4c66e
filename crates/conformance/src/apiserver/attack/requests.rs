//! Invalid requests.

use std::time::Duration;

use anyhow::ensure;
use bytes::Bytes;
use http::Response;
use http_body_util::Full;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::config_map;
use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;

pub(super) async fn large_body(target: &Target) -> anyhow::Result<String> {
    let client = Client::connect(&target.server.endpoint).await?;
    let body = config_map("large", &"x".repeat(100_000_000));
    let response = client.post(CONFIG_MAPS, body).await?;
    expect_status(&response, 413, "RequestEntityTooLarge")
}

pub(super) async fn invalid_protobuf(target: &Target) -> anyhow::Result<String> {
    let client = Client::connect(&target.server.endpoint).await?;
    let mut outcome = String::new();
    for length in 0..200_usize {
        let mut bytes = b"k8s\0".to_vec();
        bytes.extend((0..length).map(|_| fastrand::u8(..)));
        let request = client
            .request("POST", CONFIG_MAPS)
            .header("content-type", "application/vnd.kubernetes.protobuf")
            .body(Full::new(Bytes::from(bytes)))?;
        let response = client.send(request).await?;
        // Random bytes can be a valid message, but one without a name.
        outcome = expect_status(&response, 400, "BadRequest")
            .or_else(|error| expect_status(&response, 422, "Invalid").map_err(|_| error))?;
    }
    Ok(outcome)
}

pub(super) async fn invalid_token(target: &Target) -> anyhow::Result<String> {
    let mut outcome = String::new();
    for token in [
        "wrong",
        "",
        "eyJhbGciOiJSUzI1NiJ9.e30.AAAA",
        &"x".repeat(5000),
    ] {
        let client = Client::connect(&target.server.endpoint).await?;
        let request = client
            .anonymous("GET", CONFIG_MAPS)
            .header("authorization", format!("Bearer {token}"))
            .body(Full::default())?;
        let response = client.send(request).await?;
        outcome = expect_status(&response, 401, "Unauthorized")?;
    }
    Ok(outcome)
}

/// Sends plain HTTP and random bytes; the server must close the connection.
pub(super) async fn not_tls(target: &Target) -> anyhow::Result<String> {
    for bytes in [&b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"[..], &[0xff; 4096]] {
        let mut stream = TcpStream::connect(&target.server.endpoint.authority).await?;
        stream.write_all(bytes).await?;
        let mut response = Vec::new();
        // A reset closes the connection, too.
        let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut response)).await?;
    }
    Ok("the connection is closed".to_owned())
}

fn expect_status(response: &Response<Bytes>, code: u16, reason: &str) -> anyhow::Result<String> {
    let status: Value = serde_json::from_slice(response.body()).unwrap_or_default();
    ensure!(
        response.status() == code && status["kind"] == "Status" && status["reason"] == reason,
        "the response is {} {:?}, not {code} {reason}",
        response.status(),
        response.body()
    );
    let message = status["message"].as_str().unwrap_or_default();
    let message: String = message.chars().take(80).collect();
    Ok(format!("{code} {message}"))
}
