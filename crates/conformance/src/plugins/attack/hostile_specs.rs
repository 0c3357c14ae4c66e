//! Health rules, timeouts and values that would crash or stall a careless controller.

use std::time::Duration;

use anyhow::ensure;
use kube::api::PostParams;
use outrigger_api::plugin::Phase;
use serde_json::{Value, json};

use super::good_plugin::{self, until};
use crate::plugins::cluster::Cluster;

fn health(rule: &str) -> Value {
    json!({"health": [{"apiVersion": "v1", "kind": "Secret", "healthy": rule}]})
}

fn specs() -> Vec<Value> {
    let nested = (0..8).fold("true".to_owned(), |inner, level| {
        format!(
            "[1,2,3,4,5,6,7,8,9,10].all(v{level}, [1,2,3,4,5,6,7,8,9,10].all(w{level}, {inner}))"
        )
    });
    let deep = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!({"a": inner}));
    vec![
        health("Foo{a:1}.a == 1"),
        health("'%.9999999999999999999f'.format([1.0]) == ''"),
        health(&format!("self{} == 1", ".a".repeat(20_000))),
        health(&format!("// '\nself{} == 1", ".a".repeat(3_900))),
        health(&nested),
        health(&"(".repeat(5_000)),
        health("self.data.token.matches('(a*)*b')"),
        json!({"timeout": "9223372036854775807s"}),
        json!({"timeout": "2562047h47m16.854775807s"}),
        json!({"values": deep(90)}),
        json!({"values": {"maps": 1_000_000}}),
        json!({"values": {"maps": -1, "word": "\u{0}\u{feff}{{ .Release }}"}}),
        json!({"version": ">=1 <2 || * || ".repeat(2_000)}),
        json!({"retries": 4_294_967_295_u32, "history": 4_294_967_295_u32}),
        json!({"installNamespace": "kube-system", "releaseName": "x".repeat(53)}),
    ]
}

/// Each spec is rejected by the API server, or the plugin ends in some phase; the controller lives.
pub(super) async fn attack(cluster: &Cluster, limit: Duration) -> anyhow::Result<String> {
    let plugins = &cluster.plugins;
    let (mut rejected, mut failed, mut others) = (0, 0, 0);
    let mut created = Vec::new();
    for (number, spec) in specs().into_iter().enumerate() {
        let plugin = plugins.plugin(&format!("hostile-{number}"), spec)?;
        match plugins.api.create(&PostParams::default(), &plugin).await {
            Ok(_) => created.push(format!("hostile-{number}")),
            Err(_) => rejected += 1,
        }
    }
    let good = good_plugin::exercise(plugins, limit).await?;
    for name in &created {
        let is_observed = |plugin: &outrigger_api::plugin::Plugin| {
            plugin.is_observed() && plugin.phase() != Phase::Pending
        };
        match until(plugins, name, is_observed).await?.phase() {
            Phase::Failed => failed += 1,
            _ => others += 1,
        }
    }
    for name in &created {
        good_plugin::remove(plugins, name).await?;
    }
    ensure!(failed > 0, "no hostile spec failed");
    Ok(format!(
        "{rejected} rejected by the API server, {failed} Failed, {others} in other phases; {good}"
    ))
}
