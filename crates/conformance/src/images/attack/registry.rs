//! Our registry with a full disk, concurrent pushes, garbage collection during pushes, and many tags.

use std::time::{Duration, SystemTime};

use anyhow::{Context as _, ensure};

use super::archives::write_image;
use super::tmpfs::Tmpfs;
use super::{Attack, Scene};
use crate::attack::Outcome;
use crate::images::registries::Registry;
use crate::procfs;

pub(super) fn attacks() -> Vec<Attack> {
    vec![
        Attack::new("a registry whose disk is full", full_disk),
        Attack::new("a registry on a read-only disk", read_only_disk),
        Attack::new("two pushes of one blob", two_pushes),
        Attack::new("pushes during garbage collection", async |scene| {
            collect_during_pushes(scene, "3600").await
        }),
        Attack::new(
            "pushes during garbage collection without grace",
            async |scene| collect_during_pushes(scene, "0").await,
        ),
        Attack::new("a registry with 100,000 tags", many_tags).long(),
    ]
}

/// The command that loads an archive into a registry.
fn load<'a>(archive: &'a str, to: &'a str) -> [&'a str; 7] {
    ["image", "load", archive, "--to", to, "--plain-http", to]
}

/// A push that does not fit fails, others are served, and the push succeeds when there is space again.
async fn full_disk(scene: Scene) -> anyhow::Result<Outcome> {
    let disk = Tmpfs::mount(&scene.folder.join("disk"), 8)?;
    let registry = scene.registry("disk/registry").await?;
    let (large, small) = (
        scene.folder.join("large.tar"),
        scene.folder.join("small.tar"),
    );
    write_image(&large, "example.com/large:1", 20 << 20)?;
    write_image(&small, "example.com/small:1", 1 << 20)?;
    let (large, small) = (large.display().to_string(), small.display().to_string());
    let used = scene.client(&load(&large, &registry.address)).await?;
    let outcome = used.failed_with("full")?;
    let again = scene.client(&load(&small, &registry.address)).await?;
    again.succeeded().context("a push that fits")?;
    scene.check(&registry).await?;
    disk.resize(64)?;
    let again = scene.client(&load(&large, &registry.address)).await?;
    again.succeeded().context("with space again")?;
    scene.check(&registry).await?;
    registry.kill().await?;
    Ok(outcome)
}

/// A registry serves what it has from a disk that it cannot write to, also what was not used for a long time.
async fn read_only_disk(scene: Scene) -> anyhow::Result<Outcome> {
    let disk = Tmpfs::mount(&scene.folder.join("disk"), 64)?;
    let registry = scene.registry("disk/registry").await?;
    let archive = scene.folder.join("image.tar");
    write_image(&archive, "example.com/team/app:1", 2 << 20)?;
    let archive = archive.display().to_string();
    let loaded = scene.client(&load(&archive, &registry.address)).await?;
    loaded.succeeded()?;
    let data = registry.kill().await?;
    // It is opened once more, because it verifies what it had not synced.
    let data = Registry::outrigger(&scene.binary, &data)
        .await?
        .kill()
        .await?;
    let long_ago = SystemTime::UNIX_EPOCH;
    for prefix in fs_err::read_dir(data.join("blobs/sha256"))? {
        for blob in fs_err::read_dir(prefix?.path())? {
            fs_err::File::open(blob?.path())?
                .into_parts()
                .0
                .set_modified(long_ago)?;
        }
    }
    disk.make_read_only()?;
    let log = scene.folder.join("read-only.log");
    let registry = Registry::read_only(&scene.binary, &data, &log).await?;
    let (image, target) = (
        format!("{}/team/app:1", registry.address),
        scene.folder.join("saved.tar"),
    );
    let target = target.display().to_string();
    let save = ["image", "save", &image, "--to", &target];
    let plain = ["--plain-http", &registry.address];
    let saved = scene.client(&[&save[..], &plain].concat()).await?;
    saved.succeeded()?;
    let refused = scene.client(&load(&archive, &registry.address)).await?;
    ensure!(refused.is_success, "the image is there: {}", refused.stderr);
    registry.kill().await?;
    Ok(saved.outcome("pulls work"))
}

/// Two clients push the same image at the same time.
async fn two_pushes(scene: Scene) -> anyhow::Result<Outcome> {
    let registry = scene.registry("registry").await?;
    let archive = scene.folder.join("image.tar");
    write_image(&archive, "example.com/app:1", 30 << 20)?;
    let archive = archive.display().to_string();
    let push = || scene.start(&load(&archive, &registry.address));
    let (a, b, c) = tokio::try_join!(push()?, push()?, push()?)?;
    for used in [&a, &b, &c] {
        used.succeeded()?;
    }
    scene.check(&registry).await?;
    Ok(a.outcome("all succeed"))
}

/// Garbage is collected all the time while images are pushed. With a grace period all pushes succeed; without one, a push
/// may fail, and succeeds when it is repeated.
async fn collect_during_pushes(scene: Scene, grace: &str) -> anyhow::Result<Outcome> {
    const IMAGES: usize = 6;
    let registry = scene.registry("registry").await?;
    let data = registry.data.display().to_string();
    let collect = [
        "registry",
        "gc",
        "--data",
        &data,
        "--untagged",
        "--grace",
        grace,
    ];
    let collecting = async {
        let mut runs = 0;
        loop {
            let collected = scene.client(&collect).await;
            match collected.and_then(|used| used.succeeded().map(drop)) {
                Ok(()) => runs += 1,
                Err(error) => return (runs, Some(error)),
            }
            COLLECTIONS.store(runs, std::sync::atomic::Ordering::Relaxed);
        }
    };
    let pushing = async {
        let mut failed = 0;
        for image in 0..IMAGES {
            let archive = scene.folder.join(format!("{image}.tar"));
            write_image(
                &archive,
                &format!("example.com/app{image}:1"),
                (image as u64 + 1) << 20,
            )?;
            let archive = archive.display().to_string();
            let used = scene.client(&load(&archive, &registry.address)).await?;
            failed += usize::from(!used.is_success);
            ensure!(used.is_success || grace == "0", "{}", used.stderr);
        }
        anyhow::Ok(failed)
    };
    let failed = tokio::select! {
        failed = pushing => failed?,
        (_, error) = collecting => return Err(error.unwrap_or_else(|| anyhow::anyhow!("ended"))),
    };
    for image in 0..IMAGES {
        let archive = scene.folder.join(format!("{image}.tar"));
        let archive = archive.display().to_string();
        let used = scene.client(&load(&archive, &registry.address)).await?;
        used.succeeded().context("the repeated push")?;
    }
    scene.check(&registry).await?;
    let runs = COLLECTIONS.load(std::sync::atomic::Ordering::Relaxed);
    ensure!(runs > 0, "no garbage was collected meanwhile");
    let answer = format!("{runs} collections, {failed} of {IMAGES} pushes had to be repeated");
    Ok(Outcome {
        answer,
        peak: Some(procfs::peak_memory(registry.pid()?)?),
        neighbor: None,
    })
}

/// Collections of the attack that runs.
static COLLECTIONS: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(0);

/// A chart with 100,000 versions, one of which is asked for.
async fn many_tags(scene: Scene) -> anyhow::Result<Outcome> {
    let registry = scene.registry("registry").await?;
    let address = registry.address.clone();
    let chart = scene.folder.join("web");
    fs_err::create_dir(&chart)?;
    fs_err::write(
        chart.join("Chart.yaml"),
        "apiVersion: v2\nname: web\nversion: 1.0.0\n",
    )?;
    scene
        .client(&["chart", "package", "web"])
        .await?
        .succeeded()?;
    let to = format!("oci://{address}/x");
    let push = [
        "chart",
        "push",
        "web-1.0.0.tgz",
        &to,
        "--plain-http",
        &address,
    ];
    scene.client(&push).await?.succeeded()?;
    let tags = registry.data.join("repositories/x/web/_tags");
    let tag = fs_err::read(tags.join("1.0.0"))?;
    for number in 0..100_000 {
        fs_err::write(tags.join(format!("0.0.{number}")), &tag)?;
    }
    let chart = format!("{to}/web");
    let pull = [
        "chart",
        "pull",
        &chart,
        "--version",
        "^1",
        "--plain-http",
        &address,
    ];
    let used = scene.client(&pull).await?;
    used.succeeded()?;
    let peak = procfs::peak_memory(registry.pid()?)?;
    ensure!(peak < 256 << 20, "the registry used {} MiB", peak >> 20);
    let wait = tokio::time::timeout(Duration::from_secs(10), registry.kill());
    wait.await.context("the registry does not end")??;
    Ok(used.outcome(used.stdout.as_str()))
}
