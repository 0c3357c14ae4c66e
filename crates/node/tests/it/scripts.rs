//! The programs for machines are valid in all shells of this machine. `e2e` runs them.

use outrigger_node::{Command, Machine};

const SCRIPTS: [&str; 5] = [
    include_str!("../../src/attempt.sh"),
    include_str!("../../src/copy/compare.sh"),
    include_str!("../../src/copy/remove.sh"),
    include_str!("../../src/stand_in.sh"),
    include_str!("../../src/trust.sh"),
];

#[tokio::test]
async fn scripts_are_valid_in_all_shells() -> anyhow::Result<()> {
    let mut checked = 0;
    for shell in [
        "sh",
        "dash",
        "bash --posix",
        "busybox sh",
        "ksh",
        "zsh --emulate sh",
    ] {
        let name = shell.split(' ').next().unwrap_or_default();
        let find = Command::shell(format!("command -v {name}"));
        if !Machine::local().run(&find).await?.status.is_success() {
            continue;
        }
        for script in SCRIPTS {
            let check = Command::shell(format!("{shell} -n")).input(script);
            let output = Machine::local().run(&check).await?;
            let errors = output.stderr.text();
            assert!(output.status.is_success(), "{shell}: {errors}");
            assert_eq!(errors, "", "{shell}");
            checked += 1;
        }
    }
    assert!(checked >= SCRIPTS.len());
    Ok(())
}
