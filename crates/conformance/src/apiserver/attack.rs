//! `attack apiserver`: each attack gets an error or is bounded, another client is served throughout, and the server
//! starts again on the same data directory.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use futures::future::BoxFuture;
use serde_json::json;
use tokio::time::timeout;

use super::CONFIG_MAPS;
use crate::attack::{self, Args, Named, Outcome};
use crate::client::Client;
use crate::process::{EmbeddedServer, Options, signal};
use crate::procfs;
use neighbor::Neighbor;
use target::Target;

mod connections;
mod counts;
mod definitions;
mod depth;
mod disk;
mod expensive;
mod neighbor;
mod numbers;
mod patches;
mod requests;
mod roles;
mod shutdown;
mod slow_watcher;
mod target;
mod unread_lists;
mod watchers;

/// The limit for the neighbor's response times.
const NEIGHBOR_P99: Duration = Duration::from_millis(100);
/// How long the server may take to end on SIGTERM.
const SHUTDOWN: Duration = Duration::from_secs(5);

type Run = for<'a> fn(&'a Target) -> BoxFuture<'a, anyhow::Result<String>>;

struct Attack {
    name: &'static str,
    run: Run,
    simulate_workloads: bool,
    /// The limit of open files of the server.
    open_files: Option<u32>,
    time: Duration,
    /// The limit for the peak memory of the server in MiB.
    memory: u64,
    is_short: bool,
}

impl Attack {
    const fn new(name: &'static str, run: Run) -> Self {
        Self {
            name,
            run,
            simulate_workloads: false,
            open_files: None,
            time: Duration::from_secs(10),
            memory: 200,
            is_short: true,
        }
    }

    const fn simulated(self) -> Self {
        Self {
            simulate_workloads: true,
            ..self
        }
    }

    const fn open_files(self, limit: u32) -> Self {
        Self {
            open_files: Some(limit),
            ..self
        }
    }

    const fn within(self, seconds: u64) -> Self {
        Self {
            time: Duration::from_secs(seconds),
            is_short: false,
            ..self
        }
    }

    /// Takes only seconds, although it has more time.
    const fn short(self) -> Self {
        Self {
            is_short: true,
            ..self
        }
    }

    const fn memory(self, mebibytes: u64) -> Self {
        Self {
            memory: mebibytes,
            ..self
        }
    }
}

impl Named for Attack {
    fn name(&self) -> &str {
        self.name
    }

    fn is_short(&self) -> bool {
        self.is_short
    }
}

const ATTACKS: &[Attack] = &[
    Attack::new("grace period of an orphan at the limit", |t| {
        Box::pin(numbers::orphan(t))
    }),
    Attack::new("grace period of a deletion at the limit", |t| {
        Box::pin(numbers::deletion(t))
    }),
    Attack::new("timeout of a watch at the limit", |t| {
        Box::pin(numbers::watch_timeout(t))
    }),
    Attack::new("token requests of any form", |t| {
        Box::pin(numbers::token_requests(t))
    }),
    Attack::new("integers of workloads at their limits", |t| {
        Box::pin(numbers::workloads(t))
    })
    .simulated(),
    Attack::new("query parameters at their limits", |t| {
        Box::pin(numbers::query_parameters(t))
    }),
    Attack::new("quantities and numbers beyond every range", |t| {
        Box::pin(numbers::beyond_every_range(t))
    })
    .simulated(),
    Attack::new("nested defaults that explode", |t| {
        Box::pin(definitions::nested_defaults(t))
    })
    .within(60)
    .memory(400),
    Attack::new("eight nested all() in a rule", |t| {
        Box::pin(definitions::nested_all(t))
    }),
    Attack::new("rules that end the process", |t| {
        Box::pin(definitions::fatal_rules(t))
    }),
    Attack::new("patterns that explode", |t| {
        Box::pin(definitions::patterns(t))
    }),
    Attack::new("schema of 5,000 levels", |t| {
        Box::pin(definitions::deep_schema(t))
    }),
    Attack::new("nested lists on every way in", |t| {
        Box::pin(depth::every_way_in(t))
    }),
    Attack::new("object of 150 levels is readable for ever", |t| {
        Box::pin(depth::readable(t))
    }),
    Attack::new("built-in object of 9,000 levels", |t| {
        Box::pin(depth::built_in(t))
    }),
    Attack::new("aliases that expand without end", |t| {
        Box::pin(depth::aliases(t))
    }),
    Attack::new("10,000 moves in a JSON patch", |t| {
        Box::pin(patches::moves(t))
    }),
    Attack::new("strategic merge patch that deletes 20,000 items", |t| {
        Box::pin(patches::deletions(t))
    }),
    Attack::new("30,000 rules in a role, 50 bindings of it", |t| {
        Box::pin(roles::bound_often(t))
    }),
    Attack::new("JSON patch that doubles its object", |t| {
        Box::pin(patches::doubling(t))
    }),
    Attack::new("merge patches of 9,000 levels", |t| {
        Box::pin(patches::deep(t))
    }),
    Attack::new("1,020 silent connections, 1,024 files", |t| {
        Box::pin(connections::silent(t))
    })
    .open_files(1024)
    .within(90),
    Attack::new("1,020 HTTP/2 prefaces, 1,024 files", |t| {
        Box::pin(connections::preface_only(t))
    })
    .open_files(1024)
    .within(90),
    Attack::new("400 bodies that never end", |t| {
        Box::pin(connections::slow_bodies(t))
    })
    .within(90),
    Attack::new("HTTP/2 rapid reset", |t| {
        Box::pin(connections::rapid_reset(t))
    })
    .within(30),
    Attack::new("5,000 watchers come and go", |t| {
        Box::pin(watchers::come_and_go(t))
    })
    .within(60)
    .memory(300),
    Attack::new("watcher that does not read", |t| {
        Box::pin(slow_watcher::run(t))
    })
    .within(60),
    Attack::new("cycle of 1,000 owners", |t| {
        Box::pin(counts::owner_cycle(t))
    })
    .within(30),
    Attack::new("300 custom resource definitions", |t| {
        Box::pin(counts::definitions(t))
    })
    .within(60)
    .memory(400),
    Attack::new("selectors of a megabyte", |t| {
        Box::pin(counts::selectors(t))
    }),
    Attack::new("long label selectors", |t| {
        Box::pin(counts::long_selectors(t))
    }),
    Attack::new("80 unread lists of 100 MB in YAML", |t| {
        Box::pin(unread_lists::yaml(t))
    })
    .within(90)
    .memory(500),
    Attack::new("80 unread lists of 100 MB in pretty JSON", |t| {
        Box::pin(unread_lists::pretty_json(t))
    })
    .within(90)
    .memory(500),
    Attack::new("80 unread tables of 100 MB", |t| {
        Box::pin(unread_lists::tables(t))
    })
    .within(90)
    .memory(500),
    Attack::new("80 unread lists of 100 MB, compressed", |t| {
        Box::pin(unread_lists::compressed(t))
    })
    .within(90)
    .memory(500),
    Attack::new("rules that take a second, 8 clients", |t| {
        Box::pin(expensive::rules(t))
    })
    .within(60),
    Attack::new("rules that take a second, clients leave", |t| {
        Box::pin(expensive::abandoned_rules(t))
    }),
    Attack::new("objects of 20,000 fields, 8 clients", |t| {
        Box::pin(expensive::large_objects(t))
    })
    .within(60)
    .memory(600),
    Attack::new("lists of 10,000 objects, 8 clients", |t| {
        Box::pin(expensive::lists(t))
    })
    .within(60)
    .memory(600),
    Attack::new("documents after each definition, 8 clients", |t| {
        Box::pin(expensive::documents(t))
    })
    .within(60),
    Attack::new("body of 100 MB", |t| Box::pin(requests::large_body(t))),
    Attack::new("invalid protobuf", |t| {
        Box::pin(requests::invalid_protobuf(t))
    }),
    Attack::new("invalid token", |t| Box::pin(requests::invalid_token(t))),
    Attack::new("bytes that are not TLS", |t| Box::pin(requests::not_tls(t))),
    Attack::new("two servers on one data directory", |t| {
        Box::pin(disk::share(t))
    }),
    Attack::new("SIGTERM during writes", |t| {
        Box::pin(shutdown::during_writes(t))
    })
    .within(60),
    Attack::new("file size limit", |t| Box::pin(disk::limit_file_size(t)))
        .within(60)
        .short(),
    Attack::new("full disk", |t| Box::pin(disk::fill(t))).within(60),
];

pub(crate) async fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let run = async |attack: &Attack, directory: &Path| {
        let options = Options {
            binary: binary.to_owned(),
            data: directory.join("data"),
            simulate_workloads: attack.simulate_workloads,
        };
        Box::pin(repel(attack, options, args.patience)).await
    };
    attack::run(args, ATTACKS, run).await
}

async fn repel(attack: &Attack, options: Options, patience: u32) -> anyhow::Result<Outcome> {
    let time = attack.time * patience;
    let server = match attack.open_files {
        Some(files) => EmbeddedServer::start_with_limit(&options, "n", files.into()).await?,
        None => EmbeddedServer::start(&options).await?,
    };
    let target = Target::new(server, options).await?;
    let neighbor = Neighbor::start(&target.server.endpoint).await?;
    let answer = timeout(time, (attack.run)(&target)).await;
    let neighbor = neighbor.stop().await;
    let peak = procfs::peak_memory(target.server.pid()?)
        .with_context(|| format!("the server has exited: {}", target.log_tail()))?;
    let answer = answer
        .with_context(|| format!("not answered in {time:?}"))?
        .with_context(|| target.log_tail())?;
    let p99 = neighbor?;
    check_serving(&target.server).await?;
    ensure!(
        peak >> 20 <= attack.memory,
        "{answer}; but the server used {} MiB, limit {}",
        peak >> 20,
        attack.memory
    );
    ensure!(
        p99 <= NEIGHBOR_P99 * patience,
        "{answer}; but another client waited {p99:?}"
    );
    check_restart(target).await?;
    Ok(Outcome {
        answer,
        peak: Some(peak),
        neighbor: Some(p99),
    })
}

/// Checks that the server starts on its data directory after SIGKILL, and ends on SIGTERM.
async fn check_restart(target: Target) -> anyhow::Result<()> {
    let Target {
        mut server,
        options,
        client,
    } = target;
    drop(client);
    server.kill().await?;
    let mut server = EmbeddedServer::start(&options)
        .await
        .context("after the attack")?;
    check_serving(&server).await.context("after a restart")?;
    signal("TERM", server.pid()?).await?;
    let exited = timeout(SHUTDOWN, server.wait()).await;
    exited.with_context(|| format!("SIGTERM did not end the server in {SHUTDOWN:?}"))??;
    Ok(())
}

/// Checks that the server still handles reads and writes.
async fn check_serving(server: &EmbeddedServer) -> anyhow::Result<()> {
    let client = Client::connect(&server.endpoint).await?;
    let name = format!("after-{:x}", fastrand::u64(..));
    let status = client.post(CONFIG_MAPS, config_map(&name, "x")).await?;
    let status = status.status();
    ensure!(status == 201, "a create after the attack returned {status}");
    let path = format!("{CONFIG_MAPS}/{name}");
    let status = client.get(&path).await?.status();
    ensure!(status == 200, "a GET after the attack returned {status}");
    Ok(())
}

fn config_map(name: &str, text: &str) -> String {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"text": text}})
        .to_string()
}
