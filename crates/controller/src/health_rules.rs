//! The health rules in the spec of a plugin.

use outrigger_api::plugin::Plugin;
use outrigger_release::health::InvalidRule;
use outrigger_release::{Rule, Rules};

/// Compiles the health rules of a plugin.
pub(crate) fn compile(plugin: &Plugin) -> Result<Rules, InvalidRule> {
    if plugin.spec.health.is_empty() {
        return Ok(Rules::default());
    }
    Rules::new(plugin.spec.health.iter().map(|rule| Rule {
        api_version: rule.api_version.clone(),
        kind: rule.kind.clone(),
        healthy: rule.healthy.clone(),
    }))
}
