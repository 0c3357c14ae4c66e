//! Charts that never end, and charts that create themselves.

use std::time::Duration;

use anyhow::ensure;
use kube::api::ListParams;
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::json;

use super::good_plugin::{self, until};
use crate::plugins::cluster::Cluster;

/// The number of plugins whose charts loop.
const LOOPS: usize = 60;

pub(super) const LOOP: &str = r#"{{ range until 1000000 }}{{ $ca := genCA "ca" 365 }}{{ end }}"#;

/// Each plugin of this chart creates two others of it.
const MULTIPLYING: &str = r#"{{- range list "a" "b" }}
---
apiVersion: outrigger.dev/v1beta1
kind: Plugin
metadata:
  name: {{ $.Release.Name }}-{{ . }}
spec:
  kind: template
  repo: {{ $.Values.repo }}
  chart: multiplying
  values: {repo: {{ $.Values.repo | quote }}}
{{- end }}
"#;

/// A good plugin is installed, changed and removed while charts loop.
pub(super) async fn looping(cluster: &Cluster, limit: Duration) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    plugins.write_chart("loop", LOOP)?;
    let loops = (0..LOOPS).map(|number| {
        let spec = json!({"chart": "loop"});
        plugins.plugin(&format!("loop-{number}"), spec)
    });
    plugins.create(loops.collect::<Result<_, _>>()?).await?;
    let good = good_plugin::exercise(plugins, limit).await?;
    Ok(format!("{LOOPS} charts loop; {good}"))
}

/// A chart that creates itself stops, and the plugin of the user says why.
pub(super) async fn multiplying(cluster: &Cluster, limit: Duration) -> anyhow::Result<String> {
    const MAX_PLUGINS: usize = 1000;
    let plugins = &cluster.plugins;
    plugins.write_chart("multiplying", MULTIPLYING)?;
    let repo = plugins.repository();
    let spec = json!({"chart": "multiplying", "kind": "template", "values": {"repo": repo}});
    plugins.create(vec![plugins.plugin("root", spec)?]).await?;
    let says_why = |plugin: &Plugin| {
        let ready = plugin.condition("Ready");
        plugin.phase() == Phase::Failed
            && ready.is_some_and(|ready| ready.message.contains("more than"))
    };
    until(plugins, "root", says_why).await?;
    let good = good_plugin::exercise(plugins, limit).await?;
    let count = plugins.api.list(&ListParams::default()).await?.items.len();
    ensure!(count <= MAX_PLUGINS, "there are {count} plugins");
    Ok(format!("stops at {count} plugins; {good}"))
}
