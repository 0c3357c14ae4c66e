//! Many plugins at once: made, followed until they are where they should be, and taken away.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use futures::{StreamExt as _, TryStreamExt as _};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt as _};
use outrigger_api::plugin::{Phase, Plugin};
use serde_json::{Value, json};

/// How many requests of ours are under way at once.
const AT_ONCE: usize = 32;

/// The plugins of one namespace.
#[derive(Debug, Clone)]
pub(crate) struct Fleet {
    pub(crate) plugins: Api<Plugin>,
    repository: String,
}

impl Fleet {
    /// Waits until the kind is known.
    pub(crate) async fn new(client: Client, repository: &Path) -> anyhow::Result<Self> {
        let plugins: Api<Plugin> = Api::default_namespaced(client);
        until_known(&plugins).await?;
        Ok(Self {
            plugins,
            repository: format!("file://{}", repository.display()),
        })
    }

    /// A plugin of the small chart.
    pub(crate) fn plugin(&self, name: &str, spec: Value) -> anyhow::Result<Plugin> {
        let mut whole = json!({"repo": self.repository, "chart": "small"});
        if let (Some(whole), Value::Object(spec)) = (whole.as_object_mut(), spec) {
            whole.extend(spec);
        }
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name}, "spec": whole,
        });
        Ok(serde_json::from_value(plugin)?)
    }

    pub(crate) async fn create(&self, plugins: Vec<Plugin>) -> anyhow::Result<()> {
        let created = plugins.into_iter().map(|plugin| async move {
            let params = PostParams::default();
            let name = plugin.name_any();
            let created = self.plugins.create(&params, &plugin).await;
            created
                .map(|_| ())
                .with_context(|| format!("failed to create {name}"))
        });
        let created = futures::stream::iter(created).buffer_unordered(AT_ONCE);
        created.try_collect::<()>().await
    }

    pub(crate) async fn delete(&self, names: Vec<String>) -> anyhow::Result<()> {
        let deleted = names.into_iter().map(|name| async move {
            let deleted = self.plugins.delete(&name, &DeleteParams::default()).await;
            deleted
                .map(|_| ())
                .with_context(|| format!("failed to delete {name}"))
        });
        let deleted = futures::stream::iter(deleted).buffer_unordered(AT_ONCE);
        deleted.try_collect::<()>().await
    }

    /// Follows all plugins until each is settled: the generation that it has is Ready or Disabled, or the plugin is gone.
    /// `count` is how many there must be in the end.
    pub(crate) async fn settled(&self, count: usize, within: Duration) -> anyhow::Result<()> {
        self.until(within, |known, unsettled| known == count && unsettled == 0)
            .await
    }

    /// Follows all plugins until at least so many are settled.
    pub(crate) async fn some_settled(&self, count: usize, within: Duration) -> anyhow::Result<()> {
        self.until(within, |known, unsettled| known - unsettled >= count)
            .await
    }

    /// Follows all plugins until how many there are, and how many of them are unsettled, is as it should be.
    async fn until(
        &self,
        within: Duration,
        is_reached: impl Fn(usize, usize) -> bool,
    ) -> anyhow::Result<()> {
        let mut unsettled = BTreeSet::new();
        let mut known = BTreeSet::new();
        let follow = async {
            let events = watcher::watcher(self.plugins.clone(), watcher::Config::default());
            let mut events = std::pin::pin!(events);
            let mut listed = false;
            loop {
                match events.next().await.context("the watch ended")? {
                    Ok(Event::Init) => {
                        unsettled.clear();
                        known.clear();
                    }
                    Ok(Event::InitDone) => listed = true,
                    Ok(Event::Apply(plugin) | Event::InitApply(plugin)) => {
                        let name = plugin.name_any();
                        if is_settled(&plugin) {
                            unsettled.remove(&name);
                        } else {
                            unsettled.insert(name.clone());
                        }
                        known.insert(name);
                    }
                    Ok(Event::Delete(plugin)) => {
                        unsettled.remove(&plugin.name_any());
                        known.remove(&plugin.name_any());
                    }
                    // It lists anew by itself.
                    Err(_) => {}
                }
                if listed && is_reached(known.len(), unsettled.len()) {
                    return Ok::<(), anyhow::Error>(());
                }
            }
        };
        if let Ok(done) = tokio::time::timeout(within, follow).await {
            return done;
        }
        bail!("not settled in {within:?}: {}", self.complaints().await?);
    }

    /// What plugins say that are not settled.
    async fn complaints(&self) -> anyhow::Result<String> {
        let plugins = self.plugins.list(&ListParams::default()).await?;
        let total = plugins.items.len();
        let complaints: Vec<String> = plugins
            .iter()
            .filter(|plugin| !is_settled(plugin))
            .take(5)
            .map(|plugin| {
                let status = plugin.status.clone().unwrap_or_default();
                let ready = status.conditions.iter().find(|known| known.kind == "Ready");
                let message = ready.map_or("", |ready| ready.message.as_str());
                format!("{} is {:?}: {message}", plugin.name_any(), status.phase)
            })
            .collect();
        Ok(format!("{total} plugins; {}", complaints.join("; ")))
    }
}

/// Waits until the kind is known: the controller puts its definition into the cluster.
pub(crate) async fn until_known(plugins: &Api<Plugin>) -> anyhow::Result<()> {
    let deadline = Instant::now() + Duration::from_secs(30);
    while let Err(error) = plugins.list(&ListParams::default().limit(1)).await {
        if Instant::now() > deadline {
            return Err(error).context("the kind Plugin does not become known");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn is_settled(plugin: &Plugin) -> bool {
    let Some(status) = &plugin.status else {
        return false;
    };
    plugin.metadata.deletion_timestamp.is_none()
        && status.observed_generation == plugin.metadata.generation
        && match status.phase {
            Phase::Ready => plugin.spec.enabled,
            Phase::Disabled => !plugin.spec.enabled,
            _ => false,
        }
}
