//! A local web server in place of all upstream repositories: every directory has the same index, and an archive is found by
//! its file name.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context as _;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

use super::archives::pack;
use super::children::{Child, image, stand_in};

type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

pub(super) struct Upstream {
    pub(super) url: String,
    files: Files,
    server: JoinHandle<()>,
}

impl Drop for Upstream {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Upstream {
    pub(super) async fn start() -> anyhow::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener
            .local_addr()
            .context("a bound socket has an address")?;
        let files = Files::default();
        let served = Arc::clone(&files);
        let server = tokio::spawn(async move {
            while let Ok((connection, _)) = listener.accept().await {
                let files = Arc::clone(&served);
                tokio::spawn(async move {
                    // The client may give up at any time.
                    let _ = answer(connection, &files).await;
                });
            }
        });
        Ok(Self {
            url: format!("http://{address}"),
            files,
            server,
        })
    }

    /// Serves a file, in every directory.
    pub(super) fn add(&self, name: &str, data: Vec<u8>) {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        files.insert(name.to_owned(), data);
    }

    /// Serves a stand-in chart for the source of each plugin, with images of a registry if there is one. Returns the names
    /// of the images.
    pub(super) fn add_stand_ins(
        &self,
        children: &[Child],
        registry: Option<&str>,
    ) -> anyhow::Result<BTreeSet<String>> {
        let mut images = BTreeSet::new();
        let mut index = "apiVersion: v1\nentries:\n".to_owned();
        let mut names: Vec<(&str, &str)> = Vec::new();
        for child in children {
            images.insert(image(&child.chart, &child.version));
            if let Some(path) = &child.path {
                let files = stand_in(&child.chart, &child.version, path, registry);
                let name = child.url.rsplit('/').next().unwrap_or_default();
                self.add(name, pack(&files)?);
                continue;
            }
            names.push((&child.chart, &child.version));
        }
        names.sort_unstable();
        names.dedup();
        for versions in names.chunk_by(|a, b| a.0 == b.0) {
            index.push_str(&format!("  {}:\n", versions[0].0));
            for (chart, version) in versions {
                let file = format!("{chart}-{version}.tgz");
                self.add(&file, pack(&stand_in(chart, version, chart, registry))?);
                index.push_str(&format!(
                    "  - {{name: {chart}, version: {version:?}, urls: [{file:?}]}}\n"
                ));
            }
        }
        self.add("index.yaml", index.into_bytes());
        Ok(images)
    }
}

async fn answer(mut connection: TcpStream, files: &Files) -> std::io::Result<()> {
    let mut request = vec![0; 4096];
    let length = connection.read(&mut request).await?;
    let request = String::from_utf8_lossy(&request[..length]).into_owned();
    let path = request.split_whitespace().nth(1).unwrap_or_default();
    let name = path.rsplit('/').next().unwrap_or_default();
    let found = {
        let files = files.lock().unwrap_or_else(PoisonError::into_inner);
        files.get(name).cloned()
    };
    let (status, body) = match found {
        Some(body) => ("200 OK", body),
        None => ("404 Not Found", Vec::new()),
    };
    let header = format!(
        "HTTP/1.1 {status}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    connection.write_all(header.as_bytes()).await?;
    connection.write_all(&body).await
}
