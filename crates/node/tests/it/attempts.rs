//! Attempts on the local machine.

use std::time::{Duration, Instant};

use outrigger_node::{AttemptId, AttemptOutcome, Command, Machine, RunError};
use tempfile::TempDir;

struct Fixture {
    folder: TempDir,
    machine: Machine,
}

impl Fixture {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let state = folder.path().join("state").display().to_string();
        let machine = Machine::local_with_state(Some(state));
        Self { folder, machine }
    }

    /// A command that appends to a file, and then runs more.
    fn command(&self, then: &str) -> Command {
        let marker = self.marker();
        Command::shell(format!("echo run >>'{marker}'; {then}"))
    }

    fn marker(&self) -> String {
        self.folder.path().join("marker").display().to_string()
    }

    fn runs(&self) -> usize {
        fs_err::read_to_string(self.marker())
            .unwrap_or_default()
            .lines()
            .count()
    }

    async fn run(&self, id: &str, command: &Command) -> Result<AttemptOutcome, RunError> {
        let attempt = AttemptId::new("task", id);
        self.machine.run_attempt(&attempt, command).await
    }

    async fn wait_for_runs(&self, count: usize) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while self.runs() < count {
            assert!(Instant::now() < deadline, "the command did not start");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    /// Kills the supervisor of the only attempt when its command runs.
    async fn kill_supervisor(&self) {
        self.wait_for_runs(1).await;
        let state = self.folder.path().join("state");
        let kill = format!(
            "until f=$(ls {0} | grep -x '[0-9a-f]*[.][0-9a-f]*') &&
{{ read -r outcome && read -r pid start && read -r group; }} <{0}/$f; do :; done; kill -9 $pid",
            state.join("attempts").display()
        );
        let kill = Command::new("bash", ["-c", &kill]);
        let killed = self.machine.run(&kill).await.unwrap();
        assert!(killed.status.is_success(), "{}", killed.stderr.text());
    }
}

#[tokio::test]
async fn an_attempt_runs_once_and_its_result_is_kept() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("echo out; echo err >&2; exit 7");
    for _ in 0..3 {
        let outcome = fixture.run("1", &command).await?;
        let AttemptOutcome::Exited { code, output } = outcome else {
            panic!("{outcome:?}");
        };
        assert_eq!((code, output.text().as_str()), (7, "out\nerr\n"));
    }
    assert_eq!(fixture.runs(), 1);
    fixture.run("2", &command).await?;
    assert_eq!(fixture.runs(), 2);
    Ok(())
}

#[tokio::test]
async fn a_program_has_a_session_and_gets_its_arguments_with_or_without_a_shebang()
-> anyhow::Result<()> {
    let fixture = Fixture::new();
    for (name, first_line) in [("shebang", "#!/bin/sh\n"), ("plain", "")] {
        let program = fixture.folder.path().join(name);
        let text = "IFS= read -r stat </proc/$$/stat; group=${stat##*) }; group=${group#* * }
case ${group%% *} in $$ | $PPID) ;; *) echo in the group of others ;; esac; printf '%s\\n' \"$1\" \"$KEY\" \"$PWD\"; exit 3\n";
        fs_err::write(&program, format!("{first_line}{text}"))?;
        let path = program.display().to_string();
        let mode = Command::new("chmod", ["755", &path]);
        assert!(fixture.machine.run(&mode).await?.status.is_success());
        let command = Command::new(&path, ["a=$(b) 'c'"])
            .env("KEY", "d e")
            .directory("/proc");
        let outcome = fixture.run(name, &command).await?;
        let AttemptOutcome::Exited { code, output } = outcome else {
            panic!("{outcome:?}");
        };
        let expected = "a=$(b) 'c'\nd e\n/proc\n";
        assert_eq!((code, output.text().as_str()), (3, expected), "{name}");
    }
    Ok(())
}

#[tokio::test]
async fn a_program_that_is_missing_ends_the_attempt_with_the_code_of_shells() -> anyhow::Result<()>
{
    let fixture = Fixture::new();
    let outcome = fixture.run("1", &Command::new("/nope", [])).await?;
    let AttemptOutcome::Exited { code, output } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(code, 127);
    assert!(output.text().contains("/nope"), "{}", output.text());
    Ok(())
}

#[tokio::test]
async fn callers_at_the_same_time_share_one_run() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("sleep 0.3; echo done");
    let callers = (0..6).map(|_| fixture.run("1", &command));
    for outcome in futures::future::try_join_all(callers).await? {
        assert_eq!(outcome.output().text(), "done\n");
    }
    assert_eq!(fixture.runs(), 1);
    Ok(())
}

#[tokio::test]
async fn a_caller_that_goes_away_leaves_the_attempt_running() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("sleep 0.5; echo done");
    let abandoned = tokio::time::timeout(Duration::from_millis(200), fixture.run("1", &command));
    assert!(abandoned.await.is_err());
    let outcome = fixture.run("1", &command).await?;
    assert_eq!(outcome.output().text(), "done\n");
    assert_eq!(fixture.runs(), 1);
    Ok(())
}

#[tokio::test]
async fn a_new_attempt_ends_the_others_at_its_task() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let endless = fixture.command("sleep 60");
    let (first, second) = tokio::join!(fixture.run("1", &endless), async {
        fixture.wait_for_runs(1).await;
        fixture.run("2", &fixture.command("echo second")).await
    });
    assert!(matches!(first?, AttemptOutcome::Cancelled { .. }));
    assert_eq!(second?.output().text(), "second\n");
    Ok(())
}

#[tokio::test]
async fn a_timeout_ends_the_attempt_on_the_machine() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture
        .command("echo before; sleep 60")
        .timeout(Duration::from_secs(1));
    let outcome = fixture.run("1", &command).await?;
    let AttemptOutcome::TimedOut { after, output } = outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(after, Duration::from_secs(1));
    assert_eq!(output.text(), "before\n");
    Ok(())
}

#[tokio::test]
async fn a_timeout_ends_all_process_groups_of_the_attempt() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let pid = fixture.folder.path().join("pid");
    // `timeout` makes a process group of its own.
    let command = Command::shell(format!(
        "timeout 1000 sh -c 'trap \"\" TERM; echo $$ >{}; sleep 1000; sleep 1000'",
        pid.display()
    ));
    let outcome = fixture
        .run("1", &command.timeout(Duration::from_secs(1)))
        .await?;
    assert!(
        matches!(outcome, AttemptOutcome::TimedOut { .. }),
        "{outcome:?}"
    );
    let stat = format!("/proc/{}/stat", fs_err::read_to_string(&pid)?.trim());
    let gone = async {
        while fs_err::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z ")) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let gone = tokio::time::timeout(Duration::from_secs(2), gone).await;
    assert!(gone.is_ok(), "a process of the attempt still runs");
    Ok(())
}

#[tokio::test]
async fn who_asks_for_an_abandoned_attempt_after_its_timeout_ends_it() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture
        .command("echo before; sleep 60")
        .timeout(Duration::from_secs(2));
    tokio::select! {
        outcome = fixture.run("1", &command) => panic!("{outcome:?}"),
        () = fixture.wait_for_runs(1) => {}
    }
    let outcome = fixture.run("1", &command).await?;
    assert!(matches!(outcome, AttemptOutcome::TimedOut { .. }));
    assert_eq!(outcome.output().text(), "before\n");
    assert_eq!(fixture.runs(), 1);
    Ok(())
}

#[tokio::test]
async fn an_attempt_ends_overdue_attempts_at_other_tasks_and_leaves_others_running()
-> anyhow::Result<()> {
    let fixture = Fixture::new();
    let folder = fixture.folder.path().display().to_string();
    let endless = |task: &str| fixture.command(&format!("echo $$ >{folder}/{task}; exec sleep 60"));
    let overdue = endless("overdue").timeout(Duration::from_secs(1));
    let patient = endless("patient");
    for (task, command, runs) in [("overdue", &overdue, 1), ("patient", &patient, 2)] {
        let attempt = AttemptId::new(task, "1");
        tokio::select! {
            outcome = fixture.machine.run_attempt(&attempt, command) => panic!("{outcome:?}"),
            () = fixture.wait_for_runs(runs) => {}
        }
    }
    // Nobody is attached to them. The time of the machine is in whole seconds.
    let uptime = "read -r t r </proc/uptime; until read -r u r </proc/uptime && [ $((${u%.*} - ${t%.*})) -ge 2 ]; do :; done";
    fixture.machine.run(&Command::shell(uptime)).await?;
    assert!(
        fixture
            .run("1", &fixture.command("true"))
            .await?
            .is_success()
    );
    let alive =
        format!("for t in overdue patient; do kill -s 0 $(cat {folder}/$t) && echo $t; done");
    let alive = fixture.machine.run(&Command::shell(alive)).await?;
    assert_eq!(alive.stdout.text(), "patient\n");
    let patient = AttemptId::new("patient", "1");
    let cancelled = fixture.machine.cancel_attempt(&patient).await?;
    assert!(matches!(cancelled, AttemptOutcome::Cancelled { .. }));
    Ok(())
}

#[tokio::test]
async fn a_cancelled_attempt_ends_and_never_begins_again() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let endless = fixture.command("sleep 60");
    let attempt = AttemptId::new("task", "1");
    let (run, cancelled) = tokio::join!(fixture.run("1", &endless), async {
        fixture.wait_for_runs(1).await;
        fixture.machine.cancel_attempt(&attempt).await
    });
    assert!(matches!(run?, AttemptOutcome::Cancelled { .. }));
    assert!(matches!(cancelled?, AttemptOutcome::Cancelled { .. }));
    let early = AttemptId::new("task", "2");
    fixture.machine.cancel_attempt(&early).await?;
    let outcome = fixture.machine.run_attempt(&early, &endless).await?;
    assert!(matches!(outcome, AttemptOutcome::Cancelled { .. }));
    assert_eq!(fixture.runs(), 1);
    Ok(())
}

#[tokio::test]
async fn a_daemon_that_keeps_the_output_open_does_not_hold_the_attempt() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("sleep 30 & echo $!");
    let start = Instant::now();
    let outcome = fixture.run("1", &command).await?;
    assert!(outcome.is_success() && start.elapsed() < Duration::from_secs(15));
    let daemon = outcome.output().text();
    let killed = fixture
        .machine
        .run(&Command::new("kill", [daemon.trim()]))
        .await?;
    assert!(killed.status.is_success(), "the daemon lives on");
    Ok(())
}

#[tokio::test]
async fn endless_output_keeps_its_beginning_and_end() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture
        .command("echo first; head -c 20000000 /dev/zero; printf last")
        .capture(100);
    let outcome = fixture.run("1", &command).await?;
    let output = outcome.output();
    assert!(output.head.starts_with(b"first\n\0"));
    let tail: Vec<u8> = output.tail.iter().copied().collect();
    assert!(
        tail.ends_with(b"\0last"),
        "{:?}",
        String::from_utf8_lossy(&tail)
    );
    assert_eq!(output.dropped + 200, 20_000_000 + 10);
    let state = fixture.folder.path().join("state").display().to_string();
    let size = fixture
        .machine
        .run(&Command::new("du", ["-sk", &state]))
        .await?;
    let size: u64 = size
        .stdout
        .text()
        .split_whitespace()
        .next()
        .unwrap()
        .parse()?;
    assert!(size < 4096, "{size} KiB on disk");
    Ok(())
}

#[tokio::test]
async fn an_attempt_whose_supervisor_was_killed_is_lost_and_its_command_ended() -> anyhow::Result<()>
{
    let fixture = Fixture::new();
    let command = fixture.command("sleep 61");
    let (outcome, ()) = tokio::join!(fixture.run("1", &command), fixture.kill_supervisor());
    assert!(matches!(outcome?, AttemptOutcome::Lost { .. }));
    let again = fixture.run("1", &command).await?;
    assert!(matches!(again, AttemptOutcome::Lost { .. }));
    assert_eq!(fixture.runs(), 1);
    Ok(())
}

#[tokio::test]
async fn a_daemon_does_not_hold_an_attempt_that_ended_one_without_a_supervisor()
-> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("sleep 61");
    tokio::select! {
        outcome = fixture.run("1", &command) => panic!("{outcome:?}"),
        () = fixture.wait_for_runs(1) => {}
    }
    fixture.kill_supervisor().await;
    let daemon = fixture
        .command("sleep 62 & echo $!")
        .timeout(Duration::from_secs(20));
    let outcome = fixture.run("2", &daemon).await?;
    assert!(outcome.is_success(), "{outcome:?}");
    let pid = outcome.output().text();
    let kill = Command::new("kill", [pid.trim()]);
    let killed = fixture.machine.run(&kill).await?;
    assert!(killed.status.is_success(), "the daemon lives on");
    Ok(())
}

#[tokio::test]
async fn a_state_folder_that_cannot_be_written_is_a_clear_error() {
    let machine = Machine::local_with_state(Some("/proc/outrigger".to_owned()));
    let attempt = AttemptId::new("task", "1");
    let error = machine
        .run_attempt(&attempt, &Command::shell("true"))
        .await
        .unwrap_err();
    assert!(matches!(error, RunError::State { .. }), "{error}");
    assert!(error.to_string().contains("/proc/outrigger"), "{error}");
}

#[tokio::test]
async fn forgotten_attempts_leave_nothing_and_others_stay() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    let command = fixture.command("echo out");
    fixture.run("1", &command).await?;
    let other = AttemptId::new("other", "1");
    fixture.machine.run_attempt(&other, &command).await?;
    let state = fixture.folder.path().join("state");
    fixture
        .machine
        .forget_attempts(&["task".to_owned()])
        .await?;
    let again = fixture.machine.run_attempt(&other, &command).await?;
    assert!(again.is_success());
    assert_eq!(fixture.runs(), 2, "the other task has its record");
    fixture
        .machine
        .forget_attempts(&["other".to_owned()])
        .await?;
    assert!(!state.exists());
    // There is nothing left to forget.
    fixture
        .machine
        .forget_attempts(&["other".to_owned()])
        .await?;
    Ok(())
}

/// Shell text that signals the processes above the command: the shell that waits for it, its supervisor, and the shell that
/// answers.
fn signal_ancestors(signal: &str, skipped: usize, count: usize) -> String {
    format!(
        "p=$$; i=0; while [ $i -lt {} ]; do
read -r stat </proc/$p/stat; set -- ${{stat##*) }}; p=$2; i=$((i + 1))
[ $i -le {skipped} ] || kill -s {signal} $p; done",
        skipped + count
    )
}

#[tokio::test]
async fn a_command_that_kills_its_supervisors_has_ended_before_the_next_attempt_begins()
-> anyhow::Result<()> {
    for (count, session) in [
        (1, ""),
        (2, ""),
        (3, ""),
        (1, "setsid"),
        (2, "setsid"),
        (3, "setsid"),
    ] {
        let fixture = Fixture::new();
        let work = fixture.folder.path().join("work");
        let beats = fixture.folder.path().join("beats");
        let text = format!(
            "#!/bin/bash\n{}\necho run >>{}\nexec {session} sh -c 'while echo beat >>{}; do sleep 0.01; done'\n",
            signal_ancestors("KILL", 0, count),
            fixture.marker(),
            beats.display(),
        );
        fs_err::write(&work, text)?;
        let command = Command::shell(format!("bash {}; exit $?", work.display()));
        let outcome = fixture.run("1", &command).await?;
        assert!(
            matches!(
                outcome,
                AttemptOutcome::Lost { .. } | AttemptOutcome::Exited { code: 137, .. }
            ),
            "{count} {session}: {outcome:?}"
        );
        let beats = beats.display();
        let still = format!("a=$(wc -l <{beats}); sleep 0.2; [ $a = $(wc -l <{beats}) ]");
        let next = fixture.run("2", &Command::shell(still)).await?;
        assert!(
            next.is_success(),
            "{count} {session}: the first attempt still runs"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_command_that_stops_its_supervisors_and_ends_has_not_timed_out() -> anyhow::Result<()> {
    for count in [1, 2] {
        let fixture = Fixture::new();
        let stop = format!("{}; exit 3", signal_ancestors("STOP", 0, count));
        let command = Command::shell(stop).timeout(Duration::from_secs(2));
        let outcome = fixture.run("1", &command).await?;
        assert!(
            matches!(outcome, AttemptOutcome::Exited { code: 3, .. }),
            "{count}: {outcome:?}"
        );
    }
    Ok(())
}

#[tokio::test]
async fn a_command_inherits_no_descriptor_of_its_supervisors() -> anyhow::Result<()> {
    let fixture = Fixture::new();
    // The folder itself is open while it is listed.
    let list = "for f in /proc/$$/fd/*; do [ -e $f ] && echo ${f##*/}; done";
    let list = Command::new("sh", ["-c", list]);
    let outcome = fixture.run("1", &list).await?;
    // This process may have been started with others.
    let inherited = fixture.machine.run(&list).await?.stdout.text();
    let expected = inherited
        .lines()
        .filter(|number| number.len() > 1 || *number < "3");
    let text = outcome.output().text();
    assert_eq!(
        text.lines().collect::<Vec<_>>(),
        expected.collect::<Vec<_>>()
    );
    Ok(())
}

#[tokio::test]
async fn a_command_that_is_missing_is_named_and_the_script_that_runs_it_is_not()
-> anyhow::Result<()> {
    let fixture = Fixture::new();
    let outcome = fixture.run("1", &Command::shell("/nope; exit $?")).await?;
    let text = outcome.output().text();
    assert!(text.starts_with("/nope: "), "{text}");
    Ok(())
}
