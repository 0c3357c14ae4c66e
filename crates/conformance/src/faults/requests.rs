//! Requests that nobody should send.

use bytes::Bytes;
use http_body_util::Full;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Duration, timeout};

use crate::client::{Answer, Client};
use crate::embedded::Embedded;

pub(super) const PATH: &str = "/api/v1/namespaces/default/configmaps";

pub(super) fn config_map(name: &str, text: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
        .to_string()
}

pub(super) async fn large(server: &Embedded) -> anyhow::Result<String> {
    let client = Client::connect(&server.endpoint).await?;
    let body = config_map("large", &"x".repeat(100_000_000));
    let answer = client.post(PATH, body).await?;
    expect(&answer, 413, "RequestEntityTooLarge")
}

pub(super) async fn protobuf(server: &Embedded) -> anyhow::Result<String> {
    let client = Client::connect(&server.endpoint).await?;
    let mut outcome = String::new();
    for round in 0..200_usize {
        let mut bytes = b"k8s\0".to_vec();
        bytes.extend((0..round).map(|_| fastrand::u8(..)));
        let request = client
            .request("POST", PATH)
            .header("content-type", "application/vnd.kubernetes.protobuf")
            .body(Full::new(Bytes::from(bytes)))?;
        let answer = client.send(request).await?;
        // Noise can happen to be a message; then there is still no name in it.
        outcome = expect(&answer, 400, "BadRequest")
            .or_else(|error| expect(&answer, 422, "Invalid").map_err(|_| error))?;
    }
    Ok(outcome)
}

pub(super) async fn token(server: &Embedded) -> anyhow::Result<String> {
    let mut outcome = String::new();
    for token in [
        "wrong",
        "",
        "eyJhbGciOiJSUzI1NiJ9.e30.AAAA",
        &"x".repeat(5000),
    ] {
        let client = Client::connect(&server.endpoint).await?;
        let request = client
            .anonymous("GET", PATH)
            .header("authorization", format!("Bearer {token}"))
            .body(Full::default())?;
        let answer = client.send(request).await?;
        outcome = expect(&answer, 401, "Unauthorized")?;
    }
    Ok(outcome)
}

/// Neither plain HTTP nor noise gets an answer that hangs.
pub(super) async fn not_tls(server: &Embedded) -> anyhow::Result<String> {
    for bytes in [&b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"[..], &[0xff; 4096]] {
        let mut stream = TcpStream::connect(&server.endpoint.authority).await?;
        stream.write_all(bytes).await?;
        let mut answer = Vec::new();
        // A reset is as good an end as any.
        let _ = timeout(Duration::from_secs(20), stream.read_to_end(&mut answer)).await?;
    }
    Ok("the connection is closed".to_owned())
}

fn expect(answer: &Answer, code: u16, reason: &str) -> anyhow::Result<String> {
    let status: Value = serde_json::from_slice(&answer.body).unwrap_or_default();
    anyhow::ensure!(
        answer.status == code && status["kind"] == "Status" && status["reason"] == reason,
        "the answer is {} {:?}, not {code} {reason}",
        answer.status,
        answer.body
    );
    let message = status["message"].as_str().unwrap_or_default();
    Ok(format!(
        "{code} {}",
        message.chars().take(80).collect::<String>()
    ))
}
