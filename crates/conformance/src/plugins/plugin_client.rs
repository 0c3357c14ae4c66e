//! Creates and deletes many plugins, and waits until the controller has reconciled them.

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

const CONCURRENT_REQUESTS: usize = 32;
const CRD_TIMEOUT: Duration = Duration::from_secs(30);

/// The plugins of the default namespace, all of the test chart.
#[derive(Debug, Clone)]
pub(super) struct PluginClient {
    pub(super) api: Api<Plugin>,
    repository: String,
}

impl PluginClient {
    /// Waits until the controller has installed the CRD.
    pub(super) async fn new(client: Client, repository: &Path) -> anyhow::Result<Self> {
        let api: Api<Plugin> = Api::default_namespaced(client);
        wait_until_served(&api).await?;
        Ok(Self {
            api,
            repository: format!("file://{}", repository.display()),
        })
    }

    pub(super) fn repository(&self) -> &str {
        &self.repository
    }

    /// Adds a chart with one template to the repository.
    pub(super) fn write_chart(&self, name: &str, template: &str) -> anyhow::Result<()> {
        let repository = self.repository.trim_start_matches("file://");
        let directory = Path::new(repository).join(name);
        fs_err::create_dir_all(directory.join("templates"))?;
        let chart = format!("apiVersion: v2\nname: {name}\nversion: 1.0.0\n");
        fs_err::write(directory.join("Chart.yaml"), chart)?;
        fs_err::write(directory.join("templates/hostile.yaml"), template)?;
        Ok(())
    }

    /// A plugin of the test chart.
    pub(super) fn plugin(&self, name: &str, spec: Value) -> anyhow::Result<Plugin> {
        let mut merged = json!({"repo": self.repository, "chart": "small"});
        if let (Some(merged), Value::Object(spec)) = (merged.as_object_mut(), spec) {
            merged.extend(spec);
        }
        let plugin = json!({
            "apiVersion": "outrigger.dev/v1beta1", "kind": "Plugin",
            "metadata": {"name": name}, "spec": merged,
        });
        Ok(serde_json::from_value(plugin)?)
    }

    pub(super) async fn create(&self, plugins: Vec<Plugin>) -> anyhow::Result<()> {
        let created = plugins.into_iter().map(|plugin| async move {
            let params = PostParams::default();
            let name = plugin.name_any();
            let created = self.api.create(&params, &plugin).await;
            created
                .map(|_| ())
                .with_context(|| format!("failed to create {name}"))
        });
        let created = futures::stream::iter(created).buffer_unordered(CONCURRENT_REQUESTS);
        created.try_collect::<()>().await
    }

    /// Waits until the controller reconciles plugins. A real API server accepts the first objects of a new CRD only seconds
    /// after it serves lists of them.
    pub(super) async fn wait_until_reconciling(&self) -> anyhow::Result<()> {
        const NAME: &str = "first";
        let disabled = self.plugin(NAME, json!({"enabled": false}))?;
        self.create(vec![disabled]).await?;
        self.wait_until_reconciled(1, CRD_TIMEOUT).await?;
        self.delete(vec![NAME.to_owned()]).await?;
        self.wait_until_reconciled(0, CRD_TIMEOUT).await
    }

    pub(super) async fn delete(&self, names: Vec<String>) -> anyhow::Result<()> {
        let deleted = names.into_iter().map(|name| async move {
            let deleted = self.api.delete(&name, &DeleteParams::default()).await;
            deleted
                .map(|_| ())
                .with_context(|| format!("failed to delete {name}"))
        });
        let deleted = futures::stream::iter(deleted).buffer_unordered(CONCURRENT_REQUESTS);
        deleted.try_collect::<()>().await
    }

    /// Watches until there are `count` plugins and each is Ready or Disabled at its current generation.
    pub(super) async fn wait_until_reconciled(
        &self,
        count: usize,
        within: Duration,
    ) -> anyhow::Result<()> {
        self.wait_until_all(count, is_reconciled, within).await
    }

    /// Watches until there are `count` plugins and each satisfies a condition.
    pub(super) async fn wait_until_all(
        &self,
        count: usize,
        is_done: impl Fn(&Plugin) -> bool,
        within: Duration,
    ) -> anyhow::Result<()> {
        let is_met = |total, pending| total == count && pending == 0;
        self.wait_until(within, is_done, is_met).await
    }

    /// Watches until at least `count` plugins are Ready or Disabled at their current generation.
    pub(super) async fn wait_until_some_reconciled(
        &self,
        count: usize,
        within: Duration,
    ) -> anyhow::Result<()> {
        let is_met = |total, pending| total - pending >= count;
        self.wait_until(within, is_reconciled, is_met).await
    }

    /// Watches until the number of plugins and the number of those that are not done meet a condition.
    async fn wait_until(
        &self,
        within: Duration,
        is_done: impl Fn(&Plugin) -> bool,
        is_met: impl Fn(usize, usize) -> bool,
    ) -> anyhow::Result<()> {
        let mut pending = BTreeSet::new();
        let mut total = BTreeSet::new();
        let watch = async {
            let events = watcher::watcher(self.api.clone(), watcher::Config::default());
            let mut events = std::pin::pin!(events);
            let mut listed = false;
            loop {
                match events.next().await.context("the watch ended")? {
                    Ok(Event::Init) => {
                        pending.clear();
                        total.clear();
                    }
                    Ok(Event::InitDone) => listed = true,
                    Ok(Event::Apply(plugin) | Event::InitApply(plugin)) => {
                        let name = plugin.name_any();
                        if is_done(&plugin) {
                            pending.remove(&name);
                        } else {
                            pending.insert(name.clone());
                        }
                        total.insert(name);
                    }
                    Ok(Event::Delete(plugin)) => {
                        pending.remove(&plugin.name_any());
                        total.remove(&plugin.name_any());
                    }
                    // The watcher relists by itself.
                    Err(_) => {}
                }
                if listed && is_met(total.len(), pending.len()) {
                    return Ok::<(), anyhow::Error>(());
                }
            }
        };
        if let Ok(done) = tokio::time::timeout(within, watch).await {
            return done;
        }
        let pending = self.pending(is_done).await?;
        bail!("not done after {within:?}: {pending}");
    }

    /// The phases and messages of plugins that are not done.
    async fn pending(&self, is_done: impl Fn(&Plugin) -> bool) -> anyhow::Result<String> {
        let plugins = self.api.list(&ListParams::default()).await?;
        let total = plugins.items.len();
        let pending: Vec<String> = plugins
            .iter()
            .filter(|plugin| !is_done(plugin))
            .take(5)
            .map(|plugin| {
                let status = plugin.status.clone().unwrap_or_default();
                let ready = status.conditions.iter().find(|known| known.kind == "Ready");
                let message = ready.map_or("", |ready| ready.message.as_str());
                format!("{} is {:?}: {message}", plugin.name_any(), status.phase)
            })
            .collect();
        Ok(format!("{total} plugins; {}", pending.join("; ")))
    }
}

/// Waits until the API serves plugins: the controller installs their CRD.
pub(crate) async fn wait_until_served<K>(api: &Api<K>) -> anyhow::Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let deadline = Instant::now() + CRD_TIMEOUT;
    while let Err(error) = api.list(&ListParams::default().limit(1)).await {
        if Instant::now() > deadline {
            return Err(error).context("the API does not serve plugins");
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    Ok(())
}

fn is_reconciled(plugin: &Plugin) -> bool {
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
