//! The failures of `apimachinery`: requests and the `Status` that answers them, byte for byte.

use http::Request;
use regex::Regex;
use serde_json::Value;

use crate::file::{Files, with_answer};
use crate::resources::{items, text};
use crate::server::{Answer, Server};

const PATH: &str = "crates/apimachinery/tests/data/status.jsonl";

/// Each case may have requests that come before it.
pub(crate) async fn record(files: &Files) -> anyhow::Result<()> {
    if !files.selects(PATH) {
        return Ok(());
    }
    let server = Server::with_namespaces(&["default"]).await?;
    let masks = [
        (
            Regex::new("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")?,
            "UID",
        ),
        (
            Regex::new(r"ResourceVersion in record \([0-9]+\)")?,
            "ResourceVersion in record (RV)",
        ),
        (Regex::new("current: [0-9]+")?, "current: 7"),
    ];
    let mut recorded = String::new();
    for case in files.lines(PATH)? {
        for request in items(&case["before"]) {
            send(&server, request).await?.object()?;
        }
        let mut answer = compact(&send(&server, &case).await?.text);
        for (pattern, constant) in &masks {
            answer = pattern.replace_all(&answer, *constant).into_owned();
        }
        recorded.push_str(&with_answer(&case, &answer));
    }
    files.write(PATH, &recorded)
}

/// The answer on one line, and without the escapes that are safe in HTML: some handlers write it another way.
fn compact(answer: &str) -> String {
    let lines: String = answer.lines().map(str::trim_start).collect();
    let lines = if answer.trim_end().contains('\n') {
        lines.replace("\": ", "\":")
    } else {
        lines
    };
    lines.replace("\\u0026", "&")
}

/// Sends a request as a case describes it: method and path, headers, body, and whether the token is wrong.
async fn send(server: &Server, case: &Value) -> anyhow::Result<Answer> {
    let (method, uri) = text(&case["request"]).split_once(' ').unwrap_or_default();
    let mut request = Request::builder().method(method).uri(uri);
    for (name, value) in case["headers"].as_object().into_iter().flatten() {
        request = request.header(name, text(value));
    }
    let body = match case.get("body") {
        Some(body) => {
            if case["headers"]["content-type"].is_null() {
                request = request.header("content-type", "application/json");
            }
            body.to_string().into_bytes()
        }
        None => Vec::new(),
    };
    let request = request.body(body)?;
    if case["unauthenticated"] == true {
        server.send_unauthenticated(request).await
    } else {
        server.send(request).await
    }
}
