//! Flags of mirrors: of chart repositories, and of what the controller pulls charts from.

use std::collections::BTreeSet;
use std::path::PathBuf;

use outrigger_oci::Mirrors;
use outrigger_repository::{Access, ChartMirrors, Options, Tls, server_of};

use super::registry_flags::{read_authfile, read_ca};
use super::registry_name::{parse_mirror, parse_plain_http, parse_server};
use crate::report::{HintExt as _, UsageError};

/// Mirrors of chart repositories.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct ChartMirrorFlag {
    /// Fetch charts of a repository from another one; `*` stands for all repositories; repeatable
    #[arg(
        long = "chart-mirror",
        value_name = "URL=URL",
        help_heading = "Registries"
    )]
    chart_mirrors: Vec<String>,
}

impl ChartMirrorFlag {
    pub(crate) fn mirrors(&self) -> anyhow::Result<ChartMirrors> {
        let mut mirrors = ChartMirrors::default();
        for rule in &self.chart_mirrors {
            mirrors.add(rule)?;
        }
        Ok(mirrors)
    }
}

/// Where the controller fetches charts. The files of the command line are for servers that it names: plugins, which others
/// write, name any server, and get what Secrets have.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct MirrorFlags {
    #[command(flatten)]
    charts: ChartMirrorFlag,
    /// Pull OCI charts of PREFIX from TARGET; `*` stands for all registries, whose names are left out if TARGET ends with /*;
    /// repeatable
    #[arg(
        long = "registry-mirror",
        value_name = "PREFIX=TARGET",
        value_parser = parse_mirror,
        help_heading = "Registries"
    )]
    registries: Vec<String>,
    /// Registry of charts to reach over plain HTTP; repeatable
    #[arg(long, value_name = "HOST[:PORT]", value_parser = parse_plain_http, help_heading = "Registries")]
    plain_http: Vec<String>,
    /// Certificate authorities, in PEM, to trust for mirrors and for servers of --auth-server
    #[arg(long, value_name = "FILE", help_heading = "Registries")]
    ca_file: Option<PathBuf>,
    /// File with credentials, in the format of Docker's config.json, of mirrors and of servers of --auth-server
    #[arg(long, value_name = "FILE", help_heading = "Registries")]
    authfile: Option<PathBuf>,
    /// Server, besides mirrors, that --ca-file and --authfile are for. All plugins may fetch from it; repeatable
    #[arg(long = "auth-server", value_name = "HOST[:PORT]", value_parser = parse_server, help_heading = "Registries")]
    auth_servers: Vec<String>,
}

impl MirrorFlags {
    pub(crate) fn apply(&self, mut options: Options) -> anyhow::Result<Options> {
        let mut registries = Mirrors::default();
        for rule in &self.registries {
            registries.add(rule)?;
        }
        options.chart_mirrors = self.charts.mirrors()?;
        options.image_mirrors = registries;
        options.plain_http = self.plain_http.iter().cloned().collect();
        let servers = self.servers();
        self.check_use(&servers)?;
        if let Some(path) = &self.ca_file {
            let tls = Tls {
                ca: Some(read_ca(path)?),
                client: None,
            };
            for server in &servers {
                let credentials = None;
                let tls = tls.clone();
                let access = Access { credentials, tls };
                options.logins.insert(server.clone(), access);
            }
        }
        if let Some(path) = &self.authfile {
            options.docker = read_authfile(path)?.only_for(servers);
        }
        Ok(options)
    }

    /// The servers of the mirrors, and those of `--auth-server`.
    fn servers(&self) -> BTreeSet<String> {
        fn targets(rules: &[String]) -> impl Iterator<Item = &str> {
            rules
                .iter()
                .filter_map(|rule| Some(rule.split_once('=')?.1))
        }
        let charts = targets(&self.charts.chart_mirrors).filter_map(server_of);
        let registries = targets(&self.registries);
        let registries = registries.filter_map(|target| server_of(&format!("oci://{target}")));
        let named = self.auth_servers.iter().cloned();
        charts.chain(registries).chain(named).collect()
    }

    /// Fails for flags without effect.
    fn check_use(&self, servers: &BTreeSet<String>) -> anyhow::Result<()> {
        let has_files = self.ca_file.is_some() || self.authfile.is_some();
        if has_files && servers.is_empty() {
            let error = "--ca-file and --authfile are for no server";
            return Err(UsageError(error.to_owned()))
                .hint("name servers with --chart-mirror, --registry-mirror or --auth-server");
        }
        if !has_files && !self.auth_servers.is_empty() {
            let error = "--auth-server needs --ca-file or --authfile";
            return Err(UsageError(error.to_owned()).into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(Debug, clap::Parser)]
    struct CommandLine {
        #[command(flatten)]
        flags: MirrorFlags,
    }

    fn options(arguments: &[&str]) -> anyhow::Result<Options> {
        let flags = CommandLine::try_parse_from([&["x"], arguments].concat())?.flags;
        flags.apply(Options::default())
    }

    #[test]
    fn files_of_the_controller_are_for_servers_that_the_command_line_names() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, content: String| {
            let path = folder.path().join(name);
            fs_err::write(&path, content).unwrap();
            path.display().to_string()
        };
        let ca = write("ca.crt", "-----BEGIN CERTIFICATE-----\n".to_owned());
        let named = ["charts.local:5000", "r.local", "other.local"];
        let servers = [&named[..], &["evil.local"]].concat();
        let entries = servers
            .iter()
            .map(|server| format!(r#""{server}": {{"auth": "YW5uOmh1bnRlcjI="}}"#));
        let entries = entries.collect::<Vec<_>>().join(",");
        let auth = write("auth.json", format!(r#"{{"auths": {{{entries}}}}}"#));
        let files = ["--ca-file", &ca, "--authfile", &auth];
        let rules = [
            "--chart-mirror",
            "*=oci://charts.local:5000/charts",
            "--registry-mirror",
            "quay.io=R.local/quay",
            "--auth-server",
            "other.local",
        ];
        let options_of = options(&[&files[..], &rules].concat()).unwrap();
        for server in servers {
            let is_named = named.contains(&server);
            let credentials = options_of.docker.credentials(server).unwrap();
            assert_eq!(credentials.is_some(), is_named, "{server}");
            let login = options_of.logins.get(server);
            let is_trusted = login.is_some_and(|login| login.tls.ca.is_some());
            assert_eq!(is_trusted, is_named, "{server}");
        }
        assert_eq!(options_of.ca, None);
        let error = options(&files).unwrap_err().to_string();
        assert_eq!(error, "--ca-file and --authfile are for no server");
        assert!(options(&["--auth-server", "r.local"]).is_err());
        let missing = ["--authfile", "/nope", "--auth-server", "r.local"];
        assert!(options(&missing).is_err());
        assert!(options(&["--auth-server", "https://r.local"]).is_err());
    }
}
