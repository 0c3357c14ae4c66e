//! What the dependencies of a chart make of the chart itself: Helm keeps that in its releases.

use outrigger_gotmpl::value::{Map, Value};

use crate::chart::Chart;
use crate::error::Error;
use crate::metadata::Dependency;
use crate::plain::Plain;
use crate::profile::Profile;
use crate::tree::{Requirement, Tree};
use crate::{dependencies, schema};

/// A chart after its dependencies were worked out for the values of a release.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    /// The chart's defaults, with those of its subcharts and what it imports from them.
    pub values: serde_json::Value,
    /// Those that are switched on, by the names that count.
    pub dependencies: Vec<Dependency>,
}

/// Works out the dependencies for the user's values. A chart that declares none stays as it is.
pub fn settle(chart: &Chart, values: &Map, profile: Profile) -> Result<Option<Settled>, Error> {
    if chart.metadata.declared().is_empty() {
        return Ok(None);
    }
    let mut tree = Tree::new(chart);
    dependencies::process(&mut tree, values, profile, &mut |_| {})?;
    let requirements = tree.requirements_of(Tree::ROOT).unwrap_or_default();
    let requirements = requirements.iter().map(|&id| tree.requirement(id));
    Ok(Some(Settled {
        values: schema::json_of(&Value::Map(tree.node(Tree::ROOT).values.clone())),
        dependencies: requirements.map(settled_dependency).collect(),
    }))
}

fn settled_dependency(requirement: &Requirement) -> Dependency {
    let imports = requirement.imports.iter().flatten();
    let imports = imports.map(|(child, parent)| {
        let child = ("child".to_owned(), Plain::Str(child.clone()));
        let parent = ("parent".to_owned(), Plain::Str(parent.clone()));
        Plain::Map(vec![child, parent])
    });
    Dependency {
        name: requirement.name.clone(),
        enabled: requirement.enabled,
        import_values: imports.collect(),
        ..requirement.dependency.clone()
    }
}
