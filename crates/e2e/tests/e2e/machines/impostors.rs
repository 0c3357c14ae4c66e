//! What accepts connections and is no decent SSH server.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use outrigger_node::{
    Address, ConnectError, Connector, Credentials, HostKeyPolicy, Machine, RunError, Settings,
    Target,
};
use outrigger_testing::machines::{Machines, Options, Server};
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};

/// Connects to a server that does something with each connection.
async fn error_with<F>(serve: impl Fn(TcpStream) -> F + Send + 'static) -> ConnectError
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream));
        }
    });
    error_of(address).await
}

async fn error_of(address: SocketAddr) -> ConnectError {
    let settings = Settings {
        handshake_timeout: Duration::from_secs(1),
        authentication_timeout: Duration::from_secs(1),
        ..Settings::default()
    };
    let target = Target {
        address: Address::new("root", address.ip().to_string(), address.port()).unwrap(),
        credentials: Credentials::password("x"),
        host_key: HostKeyPolicy::RecordFirst,
        jump: None,
    };
    let begin = Instant::now();
    let result = Machine::connect(target, &Connector::new(settings)).await;
    assert!(begin.elapsed() < Duration::from_secs(10));
    match result {
        Err(RunError::Connect(error)) => error,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_server_that_accepts_and_never_answers_times_out() {
    let error = error_with(async |stream| {
        let _open = stream;
        std::future::pending::<()>().await;
    })
    .await;
    assert!(matches!(error, ConnectError::Silent { .. }), "{error}");
}

#[tokio::test]
async fn a_server_that_greets_and_then_is_silent_times_out() {
    let error = error_with(async |mut stream| {
        let _ = stream.write_all(b"SSH-2.0-silent\r\n").await;
        std::future::pending::<()>().await;
    })
    .await;
    assert!(matches!(error, ConnectError::Silent { .. }), "{error}");
}

#[tokio::test]
async fn garbage_and_a_greeting_without_end_are_refused() {
    let garbage = error_with(async |mut stream| {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
    })
    .await;
    assert!(
        matches!(garbage, ConnectError::Protocol { .. }),
        "{garbage}"
    );
    let endless = error_with(
        async |mut stream| {
            while stream.write_all(&[b'a'; 16384]).await.is_ok() {}
        },
    )
    .await;
    assert!(
        matches!(endless, ConnectError::Protocol { .. }),
        "{endless}"
    );
    let packets = error_with(async |mut stream| {
        let _ = stream.write_all(b"SSH-2.0-x\r\n").await;
        while stream.write_all(&[0xff; 16384]).await.is_ok() {}
    })
    .await;
    assert!(
        matches!(packets, ConnectError::Protocol { .. }),
        "{packets}"
    );
}

#[tokio::test]
async fn a_banner_of_megabytes_is_refused() -> anyhow::Result<()> {
    let mut options = Options::new(Server::OpenSsh);
    options.configuration = "Banner /etc/banner".to_owned();
    options.mounts = "head -c 1000000 /dev/zero | tr '\\0' a >etc/banner".to_owned();
    let machines = Machines::start(options)?;
    let result = Machine::connect(machines.target(0, "root"), &Connector::default()).await;
    let error = result.unwrap_err();
    assert!(
        matches!(error, RunError::Connect(ConnectError::Protocol { .. })),
        "{error}"
    );
    Ok(())
}
