//! Files and outputs that are much larger than what is kept of them.

use std::collections::BTreeSet;
use std::time::Duration;

use anyhow::Context as _;
use outrigger_node::{AttemptId, Command, Entry, Tree};
use outrigger_testing::machines::Server;

use super::start;

const SIZE: u64 = 2 << 30;
/// Much less than the size.
const MAX_MEMORY: u64 = 64 << 20;

/// The most memory that this process had so far, in bytes.
fn peak_memory() -> anyhow::Result<u64> {
    let status = fs_err::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.context("the kernel reports the peak")?;
    let kilobytes: u64 = kilobytes.trim().trim_end_matches(" kB").parse()?;
    Ok(kilobytes * 1024)
}

#[tokio::test]
#[ignore = "writes two gibibytes, which takes a minute"]
async fn a_file_of_two_gibibytes_is_copied_with_little_memory() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let machine = machines.machine(0);
    let root = tempfile::tempdir()?;
    let file = fs_err::File::create(root.path().join("image"))?;
    file.set_len(SIZE)?;
    let entries = [Entry {
        source: "image".into(),
        destination: "/opt/image".to_owned(),
    }];
    let before = peak_memory()?;
    let tree = Tree::scan(root.path(), &entries, &BTreeSet::new())?;
    assert_eq!(machine.copy(&tree).await?.bytes, SIZE);
    let grown = peak_memory()? - before;
    assert!(grown < MAX_MEMORY, "{grown} bytes");
    let copied = fs_err::metadata(machines.machines()[0].stand_in.path("/opt/image"))?;
    assert_eq!(copied.len(), SIZE);
    Ok(())
}

#[tokio::test]
#[ignore = "prints two gibibytes, which takes a minute"]
async fn an_output_of_two_gibibytes_is_bounded_here_and_on_the_machine() -> anyhow::Result<()> {
    let machines = start(Server::OpenSsh);
    let machine = machines.machine(0);
    let before = peak_memory()?;
    let attempt = AttemptId::new("task", "1");
    let command = Command::shell(format!("head -c {SIZE} /dev/zero"));
    let command = command.timeout(Duration::from_mins(5));
    let outcome = machine.run_attempt(&attempt, &command).await?;
    assert!(outcome.is_success(), "{outcome:?}");
    assert!(outcome.output().dropped > SIZE - (2 << 20));
    let grown = peak_memory()? - before;
    assert!(grown < MAX_MEMORY, "{grown} bytes");
    let used = "du -sk /var/lib/outrigger | cut -f1";
    let used = machine.run(&Command::shell(used)).await?.stdout.text();
    assert!(used.trim().parse::<u64>()? < 4096, "{used} KiB");
    Ok(())
}
