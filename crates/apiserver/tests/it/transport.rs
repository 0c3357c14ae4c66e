//! The server over HTTPS, and its folder.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use outrigger_apiserver::auth::UserInfo;
use outrigger_apiserver::loopback::{Client, ResourcePath};
use outrigger_apiserver::server::{Options, Server, backup};
use outrigger_apiserver::transport::{ListenError, Listener, write_kubeconfig};
use outrigger_store::Scope;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

/// A connection of a client that trusts the server's authority.
async fn connect(server: &Server, address: SocketAddr) -> TlsStream<TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    let authority = server.credentials().root_certificate();
    roots
        .add(CertificateDer::from_pem_slice(authority.as_bytes()).unwrap())
        .unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let stream = TcpStream::connect(address).await.unwrap();
    let name = ServerName::try_from("127.0.0.1").unwrap();
    let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
    connector.connect(name, stream).await.unwrap()
}

/// What a client gets that sends these headers.
async fn get(server: &Server, address: SocketAddr, headers: &str) -> String {
    let mut stream = connect(server, address).await;
    let request =
        format!("GET /api/v1/namespaces HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{headers}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn requires_a_valid_token() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let listener = Listener::bind(loopback(), false).await.unwrap();
    let address = listener.address();
    server.serve(listener);
    assert!(get(&server, address, "").await.starts_with("HTTP/1.1 401"));
    let wrong = "authorization: Bearer wrong\r\n";
    assert!(
        get(&server, address, wrong)
            .await
            .starts_with("HTTP/1.1 401")
    );
    let token = server.credentials().admin_token().expose();
    let right = format!("authorization: Bearer {token}\r\n");
    assert!(
        get(&server, address, &right)
            .await
            .starts_with("HTTP/1.1 200")
    );
    server.close().await;
}

#[tokio::test]
async fn http_1_1_requires_one_valid_host_header() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let listener = Listener::bind(loopback(), false).await.unwrap();
    let address = listener.address();
    server.serve(listener);
    let malformed = "400 Bad Request: malformed Host header";
    for (version, headers, expected) in [
        ("1.1", "", "400 Bad Request: missing required Host header"),
        ("1.1", "host: a\r\nHost: a\r\n", "400 Bad Request"),
        ("1.0", "host: a\r\nhost: b\r\n", "400 Bad Request"),
        ("1.1", "host: a b\r\n", malformed),
        ("1.1", "host: a/b\r\n", malformed),
        ("1.1", "host: user@a\r\n", malformed),
        ("1.1", "host: h\u{f6}st\r\n", malformed),
        ("1.0", "host: a\"b\r\n", malformed),
        ("1.1", "host:\r\n", "ok"),
        ("1.1", "host: [::1%25lo]:6443\r\n", "ok"),
        ("1.0", "", "ok"),
    ] {
        let mut stream = connect(&server, address).await;
        let close = if expected == "ok" {
            "close"
        } else {
            "keep-alive"
        };
        let request = format!("GET /readyz HTTP/{version}\r\n{headers}connection: {close}\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        let code = if expected == "ok" { " 200 " } else { " 400 " };
        assert!(response[..16].contains(code), "{headers:?}: {response}");
        assert!(
            response.ends_with(&format!("\r\n\r\n{expected}")),
            "{headers:?}: {response}"
        );
    }
    server.close().await;
}

#[tokio::test]
async fn listens_on_other_addresses_only_if_allowed() {
    let everywhere: SocketAddr = ([0, 0, 0, 0], 0).into();
    let refused = Listener::bind(everywhere, false).await;
    assert!(matches!(refused, Err(ListenError::NotLoopback { .. })));
    assert!(Listener::bind(everywhere, true).await.is_ok());
}

#[tokio::test]
async fn keeps_credentials_and_objects_across_a_restart_and_locks_the_folder() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::open(Options::in_folder(&data)).await.unwrap();
    assert!(Server::open(Options::in_folder(&data)).await.is_err());
    let token = server.credentials().admin_token().expose().to_owned();
    let revision = server.store().revision();
    let config = folder.path().join("kubeconfig");
    write_kubeconfig(&config, loopback(), server.credentials()).unwrap();
    server.close().await;
    for file in [config, data.join("credentials.json")] {
        let mode = fs_err::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.display());
    }
    let again = Server::open(Options::in_folder(&data)).await.unwrap();
    assert_eq!(again.credentials().admin_token().expose(), token);
    assert_eq!(again.store().revision(), revision);
    again.close().await;
}

/// An error and its causes.
fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    let causes: Vec<_> = causes.map(ToString::to_string).collect();
    causes.join(": ")
}

#[tokio::test]
async fn damaged_credentials_are_reported_with_file_and_field_and_leave_the_folder_unlocked() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(Options::in_folder(folder.path())).await;
    server.unwrap().close().await;
    let path = folder.path().join("credentials.json");
    let good = fs_err::read_to_string(&path).unwrap();
    let with = |field: &str, value: Value| {
        let mut stored: Value = serde_json::from_str(&good).unwrap();
        stored[field] = value;
        stored.to_string()
    };
    let certificate: Value = serde_json::from_str(&good).unwrap();
    let other_key = rcgen::KeyPair::generate().unwrap().serialize_pem();
    for (damaged, expected) in [
        (
            String::new(),
            "not valid JSON: EOF while parsing a value at line 1 column 0",
        ),
        (
            good[..20].to_owned(),
            "not valid JSON: EOF while parsing a string at line 1 column 20",
        ),
        (
            "[]".to_owned(),
            "field \"authority\" is missing or not a string",
        ),
        (
            with("key", Value::Null),
            "field \"key\" is missing or not a string",
        ),
        (
            with("authority", json!("x")),
            "field \"authority\" is not PEM: ",
        ),
        (
            with("certificate", json!("-----BEGIN CERTIFICATE-----")),
            "field \"certificate\" is not PEM: ",
        ),
        (
            with("key", certificate["certificate"].clone()),
            "field \"key\" is not PEM: ",
        ),
        (
            with("certificate", json!("")),
            "fields \"certificate\" and \"key\" cannot be used for TLS: ",
        ),
        (
            with("key", json!(other_key)),
            "fields \"certificate\" and \"key\" cannot be used for TLS: ",
        ),
        (
            with("admin_token", json!("secret")),
            "field \"admin_token\" is invalid: a token must have",
        ),
        (
            with("signing_key", json!("*")),
            "field \"signing_key\" is not base64",
        ),
        (
            with("signing_key", json!("AAAA")),
            "field \"signing_key\" is invalid: the key is not a P-256 key",
        ),
    ] {
        fs_err::write(&path, damaged).unwrap();
        let error = Server::open(Options::in_folder(folder.path()))
            .await
            .unwrap_err();
        let error = chain(&error);
        let expected = format!("{} is damaged: {expected}", path.display());
        assert!(error.starts_with(&expected), "{error}");
    }
    fs_err::write(&path, good).unwrap();
    let server = Server::open(Options::in_folder(folder.path())).await;
    server.unwrap().close().await;
}

async fn is_closed(stream: &mut TlsStream<TcpStream>) -> bool {
    let mut rest = Vec::new();
    let read = stream.read_to_end(&mut rest);
    tokio::time::timeout(Duration::from_secs(20), read)
        .await
        .is_ok()
}

#[tokio::test]
async fn closes_silent_connections_and_serves_others_meanwhile() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let listener = Listener::bind(loopback(), false).await.unwrap();
    let address = listener.address();
    server.serve(listener);
    let mut without_tls = TcpStream::connect(address).await.unwrap();
    let mut silent = connect(&server, address).await;
    let mut incomplete = connect(&server, address).await;
    incomplete.write_all(b"PRI * HTTP/2.0\r\n").await.unwrap();
    let mut slow = connect(&server, address).await;
    slow.write_all(b"GET / HTTP/1.1\r\nhost: ").await.unwrap();
    let token = server.credentials().admin_token().expose();
    let header = format!("authorization: Bearer {token}\r\n");
    assert!(
        get(&server, address, &header)
            .await
            .starts_with("HTTP/1.1 200")
    );
    let mut rest = Vec::new();
    let read = without_tls.read_to_end(&mut rest);
    let closed = tokio::join!(
        is_closed(&mut silent),
        is_closed(&mut incomplete),
        is_closed(&mut slow),
        async {
            tokio::time::timeout(Duration::from_secs(20), read)
                .await
                .is_ok()
        },
    );
    assert_eq!(closed, (true, true, true, true));
    server.close().await;
}

#[tokio::test]
async fn a_backup_of_a_running_server_can_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data");
    let server = Server::open(Options::in_folder(&data)).await.unwrap();
    let request = Request::get(backup::PATH)
        .body(Full::<Bytes>::default())
        .unwrap();
    let response = server.service().handle(request).await;
    assert_eq!(response.status(), StatusCode::OK);
    let revision = response.headers()[backup::REVISION].clone();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    let files = fs_err::read_dir(&data).unwrap();
    let names: BTreeSet<_> = files.map(|file| file.unwrap().file_name()).collect();
    assert_eq!(
        names,
        ["credentials.json", "lock", "reserve", "store.redb"]
            .map(Into::into)
            .into()
    );
    let restored = folder.path().join("restored");
    fs_err::create_dir(&restored).unwrap();
    fs_err::write(restored.join("store.redb"), bytes).unwrap();
    let copy = Server::open(Options::in_folder(&restored)).await.unwrap();
    assert_eq!(
        copy.store().revision().to_string(),
        revision.to_str().unwrap()
    );
    let count = |server: &Server| server.store().snapshot().list(&Scope::everything()).count();
    assert_eq!(count(&copy), count(&server));
    copy.close().await;
    server.close().await;
}

#[tokio::test]
async fn only_administrators_get_a_backup() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::open(Options::in_folder(folder.path().join("data")))
        .await
        .unwrap();
    let service = server.service().as_user(UserInfo::anonymous());
    let request = Request::get(backup::PATH)
        .body(Full::<Bytes>::default())
        .unwrap();
    assert_eq!(
        service.handle(request).await.status(),
        StatusCode::FORBIDDEN
    );
    server.close().await;
}

/// The value of a header in a raw response.
fn header<'r>(response: &'r str, name: &str) -> Option<&'r str> {
    let head = response.split("\r\n\r\n").next().unwrap_or_default();
    let mut headers = head.lines().filter_map(|line| line.split_once(": "));
    headers
        .find(|(key, _)| key.eq_ignore_ascii_case(name))
        .map(|(_, value)| value)
}

#[tokio::test]
async fn responses_name_the_flow_schema_and_the_priority_level_of_the_request() {
    let server = Server::open(Options::in_memory()).await.unwrap();
    let listener = Listener::bind(loopback(), false).await.unwrap();
    let address = listener.address();
    server.serve(listener);
    let client = Client::new(server.service(), "test");
    let uid = async |plural: &str, name: &str| {
        let path = ResourcePath::all("flowcontrol.apiserver.k8s.io/v1", plural).named(name);
        let object = client.get(&path).await.unwrap();
        object["metadata"]["uid"].as_str().unwrap().to_owned()
    };
    let token = server.credentials().admin_token().expose();
    let admin = format!("authorization: Bearer {token}\r\n");
    let person =
        format!("{admin}impersonate-user: jane\r\nimpersonate-group: system:authenticated\r\n");
    for (headers, name) in [(admin, "exempt"), (person, "global-default")] {
        let response = get(&server, address, &headers).await;
        for (header_name, plural) in [
            ("x-kubernetes-pf-flowschema-uid", "flowschemas"),
            (
                "x-kubernetes-pf-prioritylevel-uid",
                "prioritylevelconfigurations",
            ),
        ] {
            let expected = uid(plural, name).await;
            assert_eq!(
                header(&response, header_name),
                Some(&*expected),
                "{response}"
            );
        }
    }
    server.close().await;
}
