//! Small blobs per second, beside Debian's registry: pushes and pulls of several connections, and the memory that they take.

use std::path::Path;
use std::time::Instant;

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use outrigger_oci::{Blob, Client, Descriptor, Digest, Options, Repository};

use super::registries::Registry;
use crate::bench::{Report, mebibytes};
use crate::procfs;

/// Requests at a time.
const PARALLEL: usize = 8;

/// Blobs that are pushed.
const BLOBS: usize = 500;

/// How often each is pulled.
const PULLS: usize = 8;

/// Bytes of a blob.
const SIZE: usize = 64 << 10;

/// What a registry achieves.
#[derive(Debug, Clone, Copy)]
struct Rates {
    pushes: f64,
    pulls: f64,
    memory: f64,
}

/// Compares our registry with Debian's.
pub(super) async fn compare(binary: &Path, report: &mut Report) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let debian = Registry::debian(&folder.path().join("debian")).await?;
    let theirs = measure("Debian's", &debian).await?;
    debian.kill().await?;
    let outrigger = Registry::outrigger(binary, &folder.path().join("ours")).await?;
    let ours = measure("ours", &outrigger).await?;
    outrigger.kill().await?;
    for (name, ratio) in [
        ("pushes per second", ours.pushes / theirs.pushes),
        ("pulls per second", ours.pulls / theirs.pulls),
    ] {
        report.at_least(&format!("{name} of Debian's registry"), ratio, 1.0, "x");
    }
    let share = ours.memory / theirs.memory;
    report.at_most("memory of Debian's registry", share, 1.0, "x");
    Ok(())
}

async fn measure(name: &str, registry: &Registry) -> anyhow::Result<Rates> {
    let mut options = Options::default();
    options.plain_http.insert(registry.address.clone());
    let client = Client::new(options);
    let repository: Repository = format!("{}/team/app", registry.address).parse()?;
    let mut random = fastrand::Rng::with_seed(17);
    let blobs: Vec<(Descriptor, Vec<u8>)> = (0..BLOBS)
        .map(|_| {
            let mut content = vec![0; SIZE];
            random.fill(&mut content);
            let digest = Digest::of(&content);
            (Descriptor::new("a/b", digest, SIZE as u64), content)
        })
        .collect();
    let start = Instant::now();
    stream::iter(&blobs)
        .map(|(descriptor, content)| {
            let blob = Blob::memory(content.clone(), descriptor);
            client.push_blob(&repository, blob, None)
        })
        .buffer_unordered(PARALLEL)
        .try_for_each(async |_| Ok(()))
        .await?;
    let pushes = per_second(BLOBS, start);
    let start = Instant::now();
    stream::iter(0..BLOBS * PULLS)
        .map(|pull| {
            let (descriptor, _) = &blobs[pull % BLOBS];
            Blob::remote(&client, &repository, descriptor).read_all(SIZE as u64)
        })
        .buffer_unordered(PARALLEL)
        .try_for_each(async |_| Ok(()))
        .await?;
    let rates = Rates {
        pushes,
        pulls: per_second(BLOBS * PULLS, start),
        memory: mebibytes(procfs::peak_memory(registry.pid()?)?),
    };
    Report::measured(&format!("{name}: pushes"), rates.pushes, "/s");
    Report::measured(&format!("{name}: pulls"), rates.pulls, "/s");
    Report::measured(&format!("{name}: memory"), rates.memory, "MiB");
    Ok(rates)
}

fn per_second(count: usize, start: Instant) -> f64 {
    let count = u32::try_from(count).unwrap_or(u32::MAX);
    f64::from(count) / start.elapsed().as_secs_f64()
}
