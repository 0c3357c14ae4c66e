//! Changes a plugin as it stands in the cluster, whoever else changes it meanwhile.

use kube::Api;
use kube::api::PostParams;
use outrigger_api::plugin::Plugin;

use super::connect::explain;

/// So often somebody else may come first.
const TRIES: usize = 5;

/// Who we are in the eyes of the API server.
pub(super) const MANAGER: &str = "outrigger";

pub(super) fn parameters(dry_run: bool) -> PostParams {
    PostParams {
        dry_run,
        field_manager: Some(MANAGER.to_owned()),
    }
}

/// Reads it, changes it and writes it back.
pub(super) async fn edit(
    api: &Api<Plugin>,
    name: &str,
    dry_run: bool,
    change: impl Fn(&mut Plugin) -> anyhow::Result<()>,
) -> anyhow::Result<Plugin> {
    let mut tried = 0;
    loop {
        tried += 1;
        let before = api
            .get(name)
            .await
            .map_err(|error| explain(error, Some(name)))?;
        let mut plugin = before.clone();
        change(&mut plugin)?;
        if plugin == before {
            return Ok(before);
        }
        match api.replace(name, &parameters(dry_run), &plugin).await {
            Ok(plugin) => return Ok(plugin),
            Err(kube::Error::Api(status)) if status.code == 409 && tried < TRIES => {}
            Err(error) => return Err(explain(error, Some(name))),
        }
    }
}
