//! What kubeadm was called for on a machine: the provider folder has a program of its name, which records calls.

use std::collections::BTreeMap;

use anyhow::{Context as _, ensure};

/// The record on a machine.
const FILE: &str = "/var/log/kubeadm-calls";
/// Where the real programs are, by their versions.
pub(super) const PROGRAMS: &str = "/opt/kubeadm";

/// Prints the record, if there is one.
pub(super) const READ: &str = "cat /var/log/kubeadm-calls 2>/dev/null || :";

/// The recording program of a version.
pub(super) fn wrapper(version: &str) -> String {
    format!(
        "#!/bin/sh
id=$(cat /proc/sys/kernel/random/uuid)
echo \"begin $id {version} $*\" >>{FILE}
code=0
{PROGRAMS}/{version} \"$@\" || code=$?
echo \"end $id $code\" >>{FILE}
exit $code
"
    )
}

/// Which step of a flow a call is of; `None` if it only asks, or may be repeated.
fn step(call: &str) -> Option<String> {
    let (version, arguments) = call.split_once(' ')?;
    let words: Vec<&str> = arguments.split(' ').collect();
    let name = match words[..] {
        // The first phase of a step, which ends with the second one; and what each machine that joins asks for.
        ["init", "phase", "bootstrap-token" | "upload-certs", ..] => return None,
        ["init", "phase", phase, part, ..] => format!("init phase {phase} {part}"),
        ["join", ..] => "join".to_owned(),
        ["upgrade", command, ..] => format!("upgrade {command}"),
        _ => return None,
    };
    Some(format!("{name} {version}"))
}

/// Checks that no step began again after it had succeeded. Returns the steps, with the number of their calls.
pub(super) fn check(record: &str) -> anyhow::Result<BTreeMap<String, usize>> {
    let mut begun: BTreeMap<&str, String> = BTreeMap::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    let mut succeeded: Vec<String> = Vec::new();
    for line in record.lines() {
        let mut words = line.splitn(3, ' ');
        let (event, id) = words
            .next()
            .zip(words.next())
            .context("a line is cut off")?;
        let rest = words.next().unwrap_or_default();
        if event == "begin" {
            let Some(step) = step(rest) else { continue };
            ensure!(
                !succeeded.contains(&step),
                "{step} ran again after it had succeeded:\n{record}"
            );
            *counts.entry(step.clone()).or_default() += 1;
            begun.insert(id, step);
        } else if rest == "0" {
            succeeded.extend(begun.remove(id));
        }
    }
    Ok(counts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_may_be_repeated_until_it_has_succeeded() {
        let record = "begin a 1.36.4 init phase certs all --config x
begin b 1.36.4 init phase certs all --config x
end b 0
begin g 1.36.4 init phase certs admin --config x
end g 0
begin c 1.36.4 token create
end c 0
begin d 1.36.4 token create
begin e 1.37.0 upgrade apply --config x
end e 1
begin f 1.37.0 upgrade apply --config x
";
        let counts = check(record).unwrap();
        assert_eq!(counts["init phase certs all 1.36.4"], 2);
        assert_eq!(counts["upgrade apply 1.37.0"], 2);
        assert_eq!(counts.len(), 3);
    }

    #[test]
    fn a_step_that_runs_again_after_its_success_is_found() {
        let record = "begin a 1.36.4 join --config x\nend a 0\nbegin b 1.36.4 join --config x\n";
        let error = check(record).unwrap_err().to_string();
        assert!(error.starts_with("join 1.36.4 ran again"), "{error}");
    }
}
