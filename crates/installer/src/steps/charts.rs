//! Imports the charts of the package into the registry.

use outrigger_registry::ChartImport;

use super::{Effects, message};
use crate::reports::Report;

pub(super) fn import(effects: &Effects) -> Result<Report, String> {
    let Some(package) = &effects.contents.package else {
        return Ok(Report::default());
    };
    let store = effects.store.as_ref().ok_or("the registry is not served")?;
    let mut imported = Vec::new();
    for chart in &package.charts {
        let import = ChartImport {
            name: &chart.name,
            version: &chart.version,
            archive: &chart.bytes,
            metadata: &chart.metadata,
        };
        store
            .import_chart(import)
            .map_err(|error| format!("chart {}: {}", chart.path, message(&error)))?;
        imported.push(format!("{}-{}", chart.name, chart.version));
    }
    store.flush();
    Ok(Report {
        charts: Some(imported),
        ..Report::default()
    })
}
