//! A chart after its dependencies are processed, as Helm stores it in release records.

use outrigger_gotmpl::value::{Map, Value};

use crate::chart::Chart;
use crate::chart_tree::{ChartTree, Requirement};
use crate::error::Error;
use crate::metadata::Dependency;
use crate::profile::Profile;
use crate::yaml_value::YamlValue;
use crate::{dependencies, schema};

#[derive(Debug, Clone, PartialEq)]
pub struct ProcessedChart {
    /// The default values, including those of subcharts and imported values.
    pub values: serde_json::Value,
    /// The enabled dependencies, by their effective names.
    pub dependencies: Vec<Dependency>,
}

/// Processes the dependencies of a chart for the user's values. `None` if the chart declares none.
pub fn process_dependencies(
    chart: &Chart,
    values: &Map,
    profile: Profile,
) -> Result<Option<ProcessedChart>, Error> {
    if chart.metadata.declared().is_empty() {
        return Ok(None);
    }
    let mut tree = ChartTree::new(chart);
    dependencies::process(&mut tree, values, profile, &mut |_| {})?;
    let requirements = tree.requirements_of(ChartTree::ROOT).unwrap_or_default();
    let requirements = requirements.iter().map(|&id| tree.requirement(id));
    Ok(Some(ProcessedChart {
        values: schema::json_of(&Value::Map(tree.node(ChartTree::ROOT).values.clone())),
        dependencies: requirements.map(processed_dependency).collect(),
    }))
}

fn processed_dependency(requirement: &Requirement) -> Dependency {
    let imports = requirement.imports.iter().flatten();
    let imports = imports.map(|(child, parent)| {
        let child = ("child".to_owned(), YamlValue::Str(child.clone()));
        let parent = ("parent".to_owned(), YamlValue::Str(parent.clone()));
        YamlValue::Map(vec![child, parent])
    });
    Dependency {
        name: requirement.name.clone(),
        enabled: requirement.enabled,
        import_values: imports.collect(),
        ..requirement.dependency.clone()
    }
}
