//! What a machine is: one round trip.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Command, Machine, RunError, answer};

/// Facts about a machine. What it does not tell is absent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    pub hostname: String,
    /// `ID` of os-release, such as `debian`.
    pub os: String,
    /// `VERSION_ID` of os-release.
    pub os_version: String,
    /// `PRETTY_NAME` of os-release.
    pub os_name: String,
    pub kernel: String,
    /// As Go and container images name it: `amd64`, `arm64`.
    pub architecture: String,
    pub cpus: Option<u32>,
    pub memory_bytes: Option<u64>,
    /// Free space by folder.
    pub free_bytes: BTreeMap<String, u64>,
    /// Programs such as `containerd` and `dockerd` that are installed.
    pub container_runtimes: Vec<String>,
    pub has_systemd: bool,
    pub swap_bytes: Option<u64>,
    pub machine_id: Option<String>,
    pub boot_id: Option<String>,
    pub is_root: bool,
}

/// Prints `key value` lines.
const PROGRAM: &str = r#"
say() { printf '%s %s\n' "$1" "$2"; }
read_file() { { IFS= read -r v <"$2"; } 2>/dev/null && say "$1" "$v"; }
read_file hostname /proc/sys/kernel/hostname
read_file kernel /proc/sys/kernel/osrelease
read_file boot-id /proc/sys/kernel/random/boot_id
read_file machine-id /etc/machine-id
for f in /etc/os-release /usr/lib/os-release; do
  [ -r "$f" ] || continue
  while IFS= read -r l; do
    case $l in
      ID=*|VERSION_ID=*|PRETTY_NAME=*) v=${l#*=}; v=${v#\"}; v=${v%\"}; v=${v#\'}; v=${v%\'}; say "${l%%=*}" "$v";;
    esac
  done <"$f"
  break
done
n=0
while IFS= read -r l; do case $l in processor*:*) n=$((n+1));; esac; done </proc/cpuinfo
say cpus $n
while read -r k v u; do case $k in MemTotal:) say memory "$v";; SwapTotal:) say swap "$v"; break;; esac; done </proc/meminfo
{ IFS= read -r v </proc/sys/kernel/arch; } 2>/dev/null || v=$(uname -m)
say machine "$v"
while read -r k v u rest; do [ "$k" != Uid: ] || break; done </proc/self/status
say uid "$u"
df -Pk / /var /var/lib /tmp 2>/dev/null | { read -r l; for d in / /var /var/lib /tmp; do
  [ -d "$d" ] || continue; read -r a b c free e && say free "$free $d"; done; }
for r in containerd dockerd crio podman; do command -v "$r" >/dev/null 2>&1 && say runtime "$r"; done
[ -d /run/systemd/system ] && say systemd yes
say facts end
"#;
/// The last line.
const END: &str = "facts end";

impl Machine {
    /// Gathers facts.
    pub async fn facts(&self) -> Result<Facts, RunError> {
        let command = Command::shell(PROGRAM).timeout(Duration::from_mins(1));
        let output = self.run(&command).await?;
        let text = String::from_utf8_lossy(&output.stdout.head);
        if text.lines().last() != Some(END) {
            let answer = format!("{text}{}", output.stderr.text());
            return Err(answer::unexpected(self.name(), &answer));
        }
        Ok(parse(&text))
    }
}

fn parse(text: &str) -> Facts {
    let mut facts = Facts::default();
    for (key, value) in text.lines().filter_map(|line| line.split_once(' ')) {
        set(&mut facts, key, value);
    }
    facts
}

fn set(facts: &mut Facts, key: &str, value: &str) {
    let kibibytes = |text: &str| text.parse::<u64>().ok().map(|n| n.saturating_mul(1024));
    match key {
        "hostname" => value.clone_into(&mut facts.hostname),
        "kernel" => value.clone_into(&mut facts.kernel),
        "boot-id" => facts.boot_id = Some(value.to_owned()),
        "machine-id" => facts.machine_id = Some(value.to_owned()),
        "ID" => value.clone_into(&mut facts.os),
        "VERSION_ID" => value.clone_into(&mut facts.os_version),
        "PRETTY_NAME" => value.clone_into(&mut facts.os_name),
        "cpus" => facts.cpus = value.parse().ok().filter(|count| *count > 0),
        "memory" => facts.memory_bytes = kibibytes(value),
        "swap" => facts.swap_bytes = kibibytes(value),
        "machine" => architecture(value).clone_into(&mut facts.architecture),
        "uid" => facts.is_root = value == "0",
        "runtime" => facts.container_runtimes.push(value.to_owned()),
        "systemd" => facts.has_systemd = true,
        "free" => {
            if let Some((free, folder)) = value.split_once(' ')
                && let Some(free) = kibibytes(free)
            {
                facts.free_bytes.insert(folder.to_owned(), free);
            }
        }
        _ => {}
    }
}

/// Go's name of an architecture of the kernel.
fn architecture(machine: &str) -> &str {
    match machine {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "armv7l" | "armv6l" => "arm",
        "i686" | "i386" => "386",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_what_a_machine_prints() {
        let facts = parse(
            "hostname n1\nID debian\nPRETTY_NAME Debian GNU/Linux 12\ncpus 2\nmemory 4\nmachine aarch64\n\
             free 10 /var/lib\nruntime containerd\nsystemd yes\nuid 0\ngarbage\n",
        );
        assert_eq!(facts.hostname, "n1");
        assert_eq!(facts.os_name, "Debian GNU/Linux 12");
        assert_eq!((facts.cpus, facts.memory_bytes), (Some(2), Some(4096)));
        assert_eq!(facts.architecture, "arm64");
        assert_eq!(facts.free_bytes["/var/lib"], 10240);
        assert!(facts.has_systemd && facts.is_root);
    }

    #[test]
    fn answers_without_facts_are_no_facts() {
        assert_eq!(parse("\n\u{0}\nfree\nfree x y\ncpus 0\n"), Facts::default());
    }
}
