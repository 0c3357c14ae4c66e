//! Commands on the local machine.

use std::time::{Duration, Instant};

use outrigger_node::{AttemptId, Command, Machine, RunError, Status};

#[tokio::test]
async fn captures_output_and_exit_code() -> anyhow::Result<()> {
    let command = Command::shell("echo out; echo err >&2; exit 3");
    let output = Machine::local().run(&command).await?;
    assert_eq!(output.status, Status::Exited(3));
    assert_eq!(output.stdout.text(), "out\n");
    assert_eq!(output.stderr.text(), "err\n");
    Ok(())
}

#[tokio::test]
async fn arguments_arrive_as_they_are() -> anyhow::Result<()> {
    let hostile = [
        "a b", "it's", "\"q\"", "$(id)", "`id`", "x\ny\n", "\\n\\\\", "*", "", "-n", "ü",
    ];
    let arguments = ["-c", r#"printf "[%s]" "$@""#, "sh"]
        .into_iter()
        .chain(hostile);
    let output = Machine::local().run(&Command::new("sh", arguments)).await?;
    let expected: String = hostile
        .iter()
        .map(|argument| format!("[{argument}]"))
        .collect();
    assert_eq!(output.stdout.text(), expected);
    Ok(())
}

#[tokio::test]
async fn a_command_reads_its_input() -> anyhow::Result<()> {
    let input = vec![b'x'; 1_000_000];
    let output = Machine::local()
        .run(&Command::shell("wc -c").input(input))
        .await?;
    assert_eq!(output.stdout.text().trim(), "1000000");
    Ok(())
}

#[tokio::test]
async fn output_without_end_is_bounded_and_ended_by_the_timeout() {
    let command = Command::shell("yes")
        .timeout(Duration::from_millis(500))
        .capture(1000);
    let error = Machine::local().run(&command).await.unwrap_err();
    assert!(matches!(error, RunError::Timeout { .. }), "{error}");
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_call() -> anyhow::Result<()> {
    let start = Instant::now();
    let command = Command::shell("echo started; sleep 60 & echo $!");
    let output = Machine::local().run(&command).await?;
    assert!(start.elapsed() < Duration::from_secs(20));
    let text = output.stdout.text();
    let daemon = text.lines().last().unwrap();
    let killed = Machine::local()
        .run(&Command::new("kill", [daemon]))
        .await?;
    assert!(killed.status.is_success(), "the daemon lives on");
    Ok(())
}

#[tokio::test]
async fn a_timeout_kills_the_whole_process_group() -> anyhow::Result<()> {
    let marker = format!("{}.5", 1_000_000 + u64::from(std::process::id()));
    let command = Command::shell(format!("trap '' TERM; sleep {marker} & sleep {marker}"));
    let command = command.timeout(Duration::from_millis(300));
    assert!(Machine::local().run(&command).await.is_err());
    let count = Command::shell(format!(
        "cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[s]leep {marker}'"
    ));
    // Killing takes place before the call returns.
    let output = Machine::local().run(&count).await?;
    let alive: u32 = output.stdout.text().trim().parse()?;
    assert_eq!(alive, 0, "{}", output.stdout.text());
    Ok(())
}

#[tokio::test]
async fn facts_of_the_local_machine() -> anyhow::Result<()> {
    let facts = Machine::local().facts().await?;
    assert!(!facts.hostname.is_empty() && facts.cpus.is_some() && facts.boot_id.is_some());
    assert!(facts.free_bytes.contains_key("/"), "{facts:?}");
    Ok(())
}

#[tokio::test]
async fn timeouts_beyond_the_clock_are_no_timeouts() -> anyhow::Result<()> {
    let command = Command::shell("echo done").timeout(Duration::MAX);
    let output = Machine::local().run(&command).await?;
    assert_eq!(output.stdout.text(), "done\n");
    let state = tempfile::tempdir()?;
    let state = state.path().join("state").display().to_string();
    let machine = Machine::local_with_state(Some(state));
    let attempt = AttemptId::new("task", "1");
    assert!(machine.run_attempt(&attempt, &command).await?.is_success());
    Ok(())
}

#[tokio::test]
async fn dropped_commands_are_killed_before_the_process_ends() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("pid");
    let command = Command::shell(format!("echo $$ >{}; sleep 1000", path.display()));
    let machine = Machine::local();
    let started = async {
        while fs_err::read_to_string(&path).unwrap_or_default().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::select! {
        output = machine.run(&command) => panic!("{output:?}"),
        () = started => {}
    }
    outrigger_node::dropped_commands_killed().await;
    let pid = fs_err::read_to_string(&path)?;
    let stat = format!("/proc/{}/stat", pid.trim());
    // The signal was sent; a busy machine takes its time to end the process.
    let gone = async {
        while fs_err::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(10), gone).await;
    assert!(gone.is_ok(), "the command still runs");
    Ok(())
}
