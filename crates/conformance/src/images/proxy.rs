//! A proxy that damages connections: resets, truncation, 503, changed bytes, and delays.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A running proxy; dropping it closes the listener.
#[derive(Debug)]
pub(crate) struct FaultyProxy {
    pub(crate) address: SocketAddr,
    faults: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

/// What happens to one connection.
#[derive(Debug, Clone, Copy)]
enum Fault {
    None,
    /// Closes both sides after this many bytes from the server
    CutDownload(usize),
    /// Closes both sides after this many bytes from the client
    CutUpload(usize),
    /// Changes a byte that the server sends at this position
    Change(usize),
    Unavailable,
    Slow,
}

impl Drop for FaultyProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl FaultyProxy {
    /// Starts a proxy to a server. About every third connection has a fault.
    pub(crate) async fn start(target: String, seed: u64) -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let faults = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&faults);
        let mut random = fastrand::Rng::with_seed(seed);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let fault = choose(&mut random);
                if !matches!(fault, Fault::None) {
                    counter.fetch_add(1, Ordering::Relaxed);
                }
                tokio::spawn(forward(client, target.clone(), fault));
            }
        });
        Ok(Self {
            address,
            faults,
            task,
        })
    }

    /// Connections with a fault so far.
    pub(crate) fn faults(&self) -> u64 {
        self.faults.load(Ordering::Relaxed)
    }
}

fn choose(random: &mut fastrand::Rng) -> Fault {
    match random.u8(..15) {
        0 => Fault::CutDownload(random.usize(..3_000_000)),
        1 => Fault::CutUpload(random.usize(..3_000_000)),
        2 => Fault::Change(random.usize(..3_000_000)),
        3 => Fault::Unavailable,
        4 => Fault::Slow,
        _ => Fault::None,
    }
}

async fn forward(mut client: TcpStream, target: String, fault: Fault) {
    if matches!(fault, Fault::Unavailable) {
        let answer =
            b"HTTP/1.1 503 Service Unavailable\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let mut request = [0; 4096];
        let _ = client.read(&mut request).await;
        let _ = client.write_all(answer).await;
        return;
    }
    let Ok(server) = TcpStream::connect(target).await else {
        return;
    };
    let (client_read, client_write) = client.into_split();
    let (server_read, server_write) = server.into_split();
    let (up, down) = match fault {
        Fault::CutUpload(limit) => (Some(limit), None),
        Fault::CutDownload(limit) => (None, Some(limit)),
        _ => (None, None),
    };
    let change = match fault {
        Fault::Change(position) => Some(position),
        _ => None,
    };
    let delay = matches!(fault, Fault::Slow).then_some(Duration::from_millis(2));
    // Whichever direction ends first closes both.
    tokio::select! {
        () = pipe(client_read, server_write, up, None, delay) => {}
        () = pipe(server_read, client_write, down, change, delay) => {}
    }
}

async fn pipe(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    limit: Option<usize>,
    change: Option<usize>,
    delay: Option<Duration>,
) {
    let mut buffer = vec![0; 64 << 10];
    let mut position = 0;
    while let Ok(length @ 1..) = from.read(&mut buffer).await {
        let mut end = length;
        if let Some(limit) = limit {
            end = end.min(limit.saturating_sub(position));
        }
        if let Some(byte) = change.and_then(|at| buffer.get_mut(at.checked_sub(position)?)) {
            *byte ^= 1;
        }
        if let Some(delay) = delay {
            tokio::time::sleep(delay).await;
        }
        if to.write_all(&buffer[..end]).await.is_err() || end < length {
            return;
        }
        position += length;
    }
}
