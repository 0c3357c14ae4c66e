//! `bench stack`: initialises and renders a cluster with many plugins and node pools.

use std::path::Path;

use anyhow::{Context as _, ensure};

use crate::bench::measure;
use crate::bench::{Report, mebibytes};
use crate::process::command_in;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Plugins besides those that are built in
    #[arg(long, default_value_t = 50)]
    plugins: usize,
    #[arg(long, default_value_t = 20)]
    pools: usize,
    #[arg(long, default_value_t = 15)]
    rounds: usize,
}

pub(crate) fn run(binary: &Path, args: &Args) -> anyhow::Result<()> {
    let scratch = tempfile::tempdir()?;
    fs_err::write(scratch.path().join("cluster.yaml"), cluster(args))?;
    for plugin in 0..args.plugins {
        let folder = scratch.path().join(format!("plugins/bench-{plugin}"));
        fs_err::create_dir_all(&folder)?;
        fs_err::write(folder.join("plugin.yaml"), plugin_file(plugin))?;
    }
    let render = || {
        let mut command = command_in(scratch.path(), binary);
        command.args(["stack", "render", "--plugins", "plugins"]);
        command
    };
    let mut costs = Vec::new();
    // The first run warms the caches and is not counted.
    for round in 0..=args.rounds {
        let cost = measure::run(&mut render())?;
        if round > 0 {
            costs.push(cost);
        }
    }
    ensure!(
        scratch.path().join("stack/render/index.yaml").exists(),
        "nothing was rendered"
    );
    let cost = measure::summary(&costs).context("--rounds is 0")?;
    let mut report = Report::default();
    let name = format!(
        "{} plugins, {} node pools: render",
        args.plugins, args.pools
    );
    let milliseconds = cost.wall.as_secs_f64() * 1e3;
    report.at_most(&name, milliseconds, 300.0, "ms");
    Report::measured("memory", mebibytes(cost.memory), "MiB");
    report.finish()
}

/// All plugins are enabled for the cluster, and have values of their own in each node pool.
fn cluster(args: &Args) -> String {
    let mut text =
        "clusterName: demo\nregion: eu-west-1\ns3URI: s3://bucket/prefix\nplugins:\n".to_owned();
    for plugin in 0..args.plugins {
        text.push_str(&format!(
            "  bench-{plugin}: {{enabled: true, level: debug}}\n"
        ));
    }
    text.push_str("nodePools:\n");
    for pool in 0..args.pools {
        text.push_str(&format!("- name: pool-{pool}\n  plugins:\n"));
        for plugin in 0..args.plugins {
            text.push_str(&format!("    bench-{plugin}: {{level: level-{pool}}}\n"));
        }
    }
    text
}

/// A plugin with a file, a unit, a permission and a kubelet flag on workers, and an object.
fn plugin_file(number: usize) -> String {
    format!(
        "\
metadata:
  name: bench-{number}
  version: 0.0.1
spec:
  cluster:
    values:
      level: info
    machine:
      roles:
        worker:
          files:
          - path: /etc/bench/{number}.conf
            permissions: 0644
            content: |
              level={{{{ .Values.level }}}}
              cluster={{{{ .Config.ClusterName }}}}
              pool={{{{ .NodePool }}}}
          systemd:
            units:
            - name: bench-{number}.service
              content: |
                [Service]
                ExecStart=/bin/echo {{{{ .Values.level }}}}
          iam:
            policy:
              statements:
              - actions: [\"s3:GetObject\"]
                effect: Allow
                resources: [\"arn:aws:s3:::bench-{number}/{{{{ .Config.ClusterName }}}}/key\"]
"
    )
}
