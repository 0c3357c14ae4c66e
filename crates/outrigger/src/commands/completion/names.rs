//! Completes the names of objects: shell text for the completion scripts, and the names for it.

use std::process::ExitCode;
use std::time::Duration;

use clap::ValueEnum;
use clap_complete::Shell;
use kube::api::ListParams;
use kube::{Api, Client, Resource, ResourceExt};
use outrigger_api::cluster::Cluster;
use outrigger_api::machine::Machine;
use outrigger_api::plugin::Plugin;
use serde::de::DeserializeOwned;

use crate::commands::plugin::connect::ServerFlags;
use crate::commands::runtime;
use crate::printer::Printer;

/// A user does not wait longer for a completion.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Verbs whose name is that of a new object.
const CREATE: &[&str] = &["add", "create", "install"];

/// What has names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Kind {
    Clusters,
    Machines,
    Plugins,
}

impl Kind {
    const ALL: [Self; 3] = [Self::Clusters, Self::Machines, Self::Plugins];

    /// The value of the flag.
    fn name(self) -> &'static str {
        match self {
            Self::Clusters => "clusters",
            Self::Machines => "machines",
            Self::Plugins => "plugins",
        }
    }

    /// The command for these objects.
    fn noun(self) -> &'static str {
        self.name().trim_end_matches('s')
    }
}

/// Prints the names, one in each line. Without a connection there are none.
pub(super) fn print(kind: Kind, printer: &Printer) -> anyhow::Result<ExitCode> {
    let names = runtime::run(async { tokio::time::timeout(TIMEOUT, list(kind)).await? });
    let Ok(names) = names else {
        return Ok(ExitCode::FAILURE);
    };
    for name in names {
        printer.line(&name)?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn list(kind: Kind) -> anyhow::Result<Vec<String>> {
    let connection = ServerFlags::default().connect().await?;
    let client = connection.client;
    match kind {
        Kind::Clusters => names(Api::<Cluster>::all(client)).await,
        Kind::Machines => names(Api::<Machine>::all(client)).await,
        Kind::Plugins => names(plugins(client, &connection.namespace)).await,
    }
}

fn plugins(client: Client, namespace: &str) -> Api<Plugin> {
    Api::namespaced(client, namespace)
}

async fn names<K>(api: Api<K>) -> anyhow::Result<Vec<String>>
where
    K: Resource + Clone + DeserializeOwned + std::fmt::Debug,
{
    let list = api.list_metadata(&ListParams::default()).await?;
    Ok(list.iter().map(ResourceExt::name_any).collect())
}

/// The script of a shell, with the completion of names.
pub(super) fn with_names(shell: Shell, command: &clap::Command, script: &str) -> String {
    match shell {
        Shell::Bash => format!("{script}{}", bash(command)),
        Shell::Fish => format!("{script}{}", fish(command)),
        Shell::Zsh => zsh(command, script),
        _ => script.to_owned(),
    }
}

/// The commands of a kind, with their aliases, and the verbs that take the name of an object.
fn verbs(command: &clap::Command, kind: Kind) -> (Vec<&str>, Vec<&str>) {
    let noun = command.find_subcommand(kind.noun());
    let aliases = noun.into_iter().flat_map(|noun| {
        let aliases = noun.get_visible_aliases();
        std::iter::once(noun.get_name()).chain(aliases)
    });
    let takes_name = |verb: &&clap::Command| {
        let first = verb.get_positionals().next();
        let is_name = first.is_some_and(|it| ["name", "names"].contains(&it.get_id().as_str()));
        is_name && !CREATE.contains(&verb.get_name())
    };
    let verbs = noun.into_iter().flat_map(clap::Command::get_subcommands);
    let verbs = verbs.filter(takes_name).map(clap::Command::get_name);
    (aliases.collect(), verbs.collect())
}

/// The branches of a `case` by noun and verb that set the kind, in the syntax of bash and zsh.
fn cases(command: &clap::Command) -> String {
    let cases = Kind::ALL.map(|kind| {
        let (nouns, verbs) = verbs(command, kind);
        let pairs = nouns
            .iter()
            .flat_map(|noun| verbs.iter().map(move |verb| format!("'{noun} {verb}'")));
        let pairs: Vec<String> = pairs.collect();
        format!("        {}) kind={} ;;\n", pairs.join("|"), kind.name())
    });
    cases.concat()
}

/// The end of the script that clap generates for zsh, which registers its function or, when it is loaded from `fpath`, calls
/// it.
const ZSH_END: &str = "if [ \"$funcstack[1]\" = \"_outrigger\" ]; then";

fn zsh(command: &clap::Command, script: &str) -> String {
    let script = script.split(ZSH_END).next().unwrap_or_default();
    format!(
        r#"{script}_outrigger_with_names() {{
    local kind=
    local -a names
    case "$words[2] $words[3]" in
{}    esac
    case "$words[2] $words[CURRENT-1]" in
        machine*' --cluster'|plugin*' --cluster') kind=clusters ;;
        cluster*' --machine') kind=machines ;;
    esac
    if [[ -n $kind && $PREFIX != -* ]] && (( CURRENT > 3 )); then
        names=(${{(f)"$($words[1] completion --names $kind 2>/dev/null)"}})
        (( $#names )) && compadd -a names
    fi
    _outrigger "$@"
}}

if [ "$funcstack[1]" = "_outrigger" ]; then
    compdef _outrigger_with_names outrigger
    _outrigger_with_names "$@"
else
    compdef _outrigger_with_names outrigger
fi
"#,
        cases(command)
    )
}

fn bash(command: &clap::Command) -> String {
    format!(
        r#"
_outrigger_with_names() {{
    _outrigger "$@"
    local kind= names current=${{COMP_WORDS[COMP_CWORD]}}
    [[ $current == -* ]] && return 0
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[2]}}" in
{}    esac
    case "${{COMP_WORDS[1]}} ${{COMP_WORDS[COMP_CWORD-1]}}" in
        machine*' --cluster'|plugin*' --cluster') kind=clusters ;;
        cluster*' --machine') kind=machines ;;
    esac
    [[ -n $kind ]] && names=$("${{COMP_WORDS[0]}}" completion --names "$kind" 2>/dev/null) || return 0
    COMPREPLY+=($(compgen -W "$names" -- "$current"))
}}
complete -F _outrigger_with_names -o nosort -o bashdefault -o default outrigger
"#,
        cases(command)
    )
}

fn fish(command: &clap::Command) -> String {
    let lines = Kind::ALL.map(|kind| {
        let (nouns, verbs) = verbs(command, kind);
        format!(
            "complete -c outrigger -n \"__fish_seen_subcommand_from {}; and __fish_seen_subcommand_from {}\" \
             -f -a \"(outrigger completion --names {} 2>/dev/null)\"\n",
            nouns.join(" "),
            verbs.join(" "),
            kind.name()
        )
    });
    lines.concat()
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::arguments::Arguments;

    #[test]
    fn verbs_with_the_name_of_an_object_are_known() {
        let mut command = Arguments::command();
        command.build();
        let (nouns, names) = verbs(&command, Kind::Clusters);
        assert_eq!(nouns, ["cluster", "clusters"]);
        assert_eq!(
            names,
            [
                "backup",
                "certificates",
                "delete",
                "kubeconfig",
                "logs",
                "restore",
                "retry",
                "show",
                "status",
                "support-bundle",
                "upgrade"
            ]
        );
        let (_, names) = verbs(&command, Kind::Machines);
        assert_eq!(names, ["facts", "remove", "replace", "run"]);
        let (_, names) = verbs(&command, Kind::Plugins);
        assert!(names.contains(&"uninstall") && !names.contains(&"install"));
    }

    #[test]
    fn zsh_completes_names_whether_its_script_is_sourced_or_loaded() {
        let mut command = Arguments::command();
        let mut script = Vec::new();
        clap_complete::generate(Shell::Zsh, &mut command, "outrigger", &mut script);
        let script = String::from_utf8(script).unwrap();
        assert_eq!(
            script.matches(ZSH_END).count(),
            1,
            "clap ends its script otherwise"
        );
        let script = with_names(Shell::Zsh, &command, &script);
        assert!(script.starts_with("#compdef outrigger\n"));
        assert!(script.contains("'plugin uninstall'"));
        let (_, end) = script.split_once(ZSH_END).unwrap();
        assert_eq!(
            end.matches("compdef _outrigger_with_names outrigger")
                .count(),
            2
        );
        assert!(!script.contains("compdef _outrigger outrigger"));
    }
}
