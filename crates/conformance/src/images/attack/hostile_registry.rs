//! A web server whose answers are made by a function, bytes and all.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

pub(super) enum Answer {
    Text(String),
    /// Bytes of any content with a status and headers
    Content(String, Vec<u8>),
    /// A header, then bytes without end
    Endless(String),
    Silent,
    Close,
}

/// The first line of a request.
pub(super) struct Request {
    pub(super) method: String,
    pub(super) path: String,
}

type AnswerFn = dyn Fn(&Request) -> Answer + Send + Sync;

/// A running server; dropping it closes the listener.
pub(super) struct HostileRegistry {
    pub(super) address: String,
    server: JoinHandle<()>,
}

impl Drop for HostileRegistry {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl HostileRegistry {
    pub(super) async fn start(
        answer: impl Fn(&Request) -> Answer + Send + Sync + 'static,
    ) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?.to_string();
        let answer: Arc<AnswerFn> = Arc::new(answer);
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                tokio::spawn(respond(connection, Arc::clone(&answer)));
            }
        });
        Ok(Self { address, server })
    }
}

async fn respond(mut connection: TcpStream, answer: Arc<AnswerFn>) -> anyhow::Result<()> {
    let mut buffer = vec![0; 16 << 10];
    loop {
        let length = connection.read(&mut buffer).await?;
        if length == 0 {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&buffer[..length]).into_owned();
        let mut words = text.split(' ').map(str::to_owned);
        let request = Request {
            method: words.next().unwrap_or_default(),
            path: words.next().unwrap_or_default(),
        };
        let is_head = request.method == "HEAD";
        match answer(&request) {
            Answer::Text(text) => connection.write_all(text.as_bytes()).await?,
            Answer::Content(header, body) => {
                let header = format!("{header}\r\ncontent-length: {}\r\n\r\n", body.len());
                connection.write_all(header.as_bytes()).await?;
                if !is_head {
                    connection.write_all(&body).await?;
                }
            }
            Answer::Close => return Ok(()),
            Answer::Silent => std::future::pending::<()>().await,
            Answer::Endless(header) => {
                connection.write_all(header.as_bytes()).await?;
                let chunk = vec![b'a'; 64 << 10];
                loop {
                    connection.write_all(&chunk).await?;
                }
            }
        }
    }
}
