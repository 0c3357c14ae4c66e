//! SIGTERM while clients write.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::future::join_all;
use tokio::time::timeout;

use super::config_map;
use super::target::Target;
use crate::apiserver::CONFIG_MAPS;
use crate::client::Client;
use crate::process::{EmbeddedServer, Options, signal};

const WRITERS: usize = 16;
const ROUNDS: usize = 3;
/// Large enough to be decoded on the threads for expensive requests.
const SIZE: usize = 100_000;

/// What a server answered about writes, by the name of the object.
type Answers = BTreeMap<String, u16>;

/// A write that was answered with 201 exists after a restart, and one that was answered with an error does not.
pub(super) async fn during_writes(target: &Target) -> anyhow::Result<String> {
    let options = Options {
        data: target.options.data.with_extension("shutdown"),
        ..target.options.clone()
    };
    let (mut created, mut rejected) = (0, 0);
    for round in 0..ROUNDS {
        let mut server = EmbeddedServer::start(&options).await?;
        let mut writers = Vec::new();
        for writer in 0..WRITERS {
            let client = Client::connect(&server.endpoint).await?;
            let name = format!("r{round}-w{writer}");
            writers.push(tokio::spawn(write_until_closed(client, name)));
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
        signal("TERM", server.pid()?).await?;
        let ended = timeout(super::SHUTDOWN, server.wait()).await;
        ended.context("SIGTERM did not end the server")??;
        let mut answers = Answers::new();
        for writer in join_all(writers).await {
            answers.extend(writer?);
        }
        let mut server = EmbeddedServer::start(&options).await?;
        check(&server, &answers).await?;
        server.kill().await?;
        created += answers.values().filter(|code| **code == 201).count();
        rejected += answers.values().filter(|code| **code != 201).count();
    }
    ensure!(created > 0, "no write succeeded");
    Ok(format!(
        "{ROUNDS} times SIGTERM: {created} writes were committed, {rejected} rejected"
    ))
}

/// Creates objects one after the other. Writes without an answer are left out: nobody knows their result.
async fn write_until_closed(client: Client, name: String) -> Answers {
    let mut answers = Answers::new();
    for number in 0.. {
        let name = format!("{name}-{number}");
        let object = config_map(&name, &"x".repeat(SIZE));
        let Ok(response) = client.post(CONFIG_MAPS, object).await else {
            break;
        };
        let code = response.status().as_u16();
        answers.insert(name, code);
        if code != 201 {
            break;
        }
    }
    answers
}

async fn check(server: &EmbeddedServer, answers: &Answers) -> anyhow::Result<()> {
    let client = Client::connect(&server.endpoint).await?;
    for (name, code) in answers {
        let stored = client.get(&format!("{CONFIG_MAPS}/{name}")).await?.status();
        let exists = stored == 200;
        ensure!(
            exists == (*code == 201),
            "the write of {name} was answered with {code}, and a read after a restart with {stored}"
        );
    }
    Ok(())
}
