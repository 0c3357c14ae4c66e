//! Processes dependencies: version ranges, aliases, tags, conditions and `import-values`, in Helm's order.

use outrigger_gotmpl::value::{Map, Str, Value};

use crate::chart::Chart;
use crate::chart_tree::{ChartTree, NodeId, RequirementId};
use crate::coalesce::{self, Error as CoalesceError, Nulls};
use crate::load::WarnFn;
use crate::metadata::Dependency;
use crate::profile::Profile;
use crate::version;
use crate::yaml_value::YamlValue;
use outrigger_gostd::strconv;
use outrigger_gotmpl::fmt::display_text;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{prefix}{source}")]
    Coalesce {
        prefix: &'static str,
        source: CoalesceError,
    },
    #[error("child and parent in import-values of dependency {0:?} must be strings")]
    ImportPath(String),
}

/// Declared dependencies that are missing in `charts/`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("found in Chart.yaml, but missing in charts/ directory: {}", .0.join(", "))]
pub struct Missing(pub Vec<String>);

/// Checks that all declared dependencies are in `charts/`.
pub fn check_dependencies(chart: &Chart) -> Result<(), Missing> {
    let is_missing = |dependency: &&Dependency| {
        let mut names = chart.subcharts.iter().map(Chart::name);
        !names.any(|name| name == dependency.name)
    };
    let missing: Vec<String> = chart
        .metadata
        .declared()
        .iter()
        .filter(is_missing)
        .map(|dependency| dependency.name.clone())
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(Missing(missing))
    }
}

/// Processes the dependencies of the tree for the user's values.
pub(crate) fn process(
    tree: &mut ChartTree<'_>,
    values: &Map,
    profile: Profile,
    warn: WarnFn<'_>,
) -> Result<(), Error> {
    let mut processor = Processor {
        tree,
        profile,
        warn,
    };
    processor.enable(ChartTree::ROOT, values, "")?;
    processor.import_below(ChartTree::ROOT)
}

struct Processor<'t, 'c, 'w> {
    tree: &'t mut ChartTree<'c>,
    profile: Profile,
    warn: WarnFn<'w>,
}

impl Processor<'_, '_, '_> {
    /// Removes subcharts that are disabled by tags or conditions, and applies aliases.
    fn enable(&mut self, node: NodeId, values: &Map, path: &str) -> Result<(), Error> {
        let Some(requirements) = self.tree.requirements_of(node).map(<[_]>::to_vec) else {
            return Ok(());
        };
        self.resolve_aliases(node, &requirements);
        for &requirement in &requirements {
            self.tree.requirement_mut(requirement).enabled = true;
        }
        let values = self.coalesce(node, values, Nulls::Remove)?;
        self.apply_tags(&requirements, &values);
        self.apply_conditions(&requirements, &values, path);
        let disabled: Vec<String> = requirements
            .iter()
            .map(|&id| self.tree.requirement(id))
            .filter(|requirement| !requirement.enabled)
            .map(|requirement| requirement.name.clone())
            .collect();
        let mut children = self.tree.node(node).children.clone();
        children.retain(|&child| !disabled.iter().any(|name| name == self.tree.name(child)));
        let mut enabled = requirements;
        enabled.retain(|&id| !disabled.contains(&self.tree.requirement(id).name));
        for &child in &children {
            let path = format!("{path}{}.", self.tree.name(child));
            self.enable(child, &values, &path)?;
        }
        self.tree
            .set_requirements(node, (!enabled.is_empty()).then_some(enabled));
        self.tree.set_children(node, children);
        Ok(())
    }

    /// Replaces each declared subchart by a copy for its dependency entry, under its alias. Undeclared subcharts are kept.
    fn resolve_aliases(&mut self, node: NodeId, requirements: &[RequirementId]) {
        let existing = self.tree.node(node).children.clone();
        let mut children: Vec<NodeId> = existing
            .iter()
            .copied()
            .filter(|&child| {
                !requirements
                    .iter()
                    .any(|&requirement| self.satisfies(child, requirement))
            })
            .collect();
        for &id in requirements {
            let child = existing.iter().copied().find(|&c| self.satisfies(c, id));
            if let Some(child) = child {
                children.push(self.copy_for(child, id));
            }
            let requirement = self.tree.requirement_mut(id);
            if !requirement.dependency.alias.is_empty() {
                requirement.name = requirement.dependency.alias.clone();
            }
        }
        self.tree.set_children(node, children);
    }

    fn satisfies(&self, child: NodeId, requirement: RequirementId) -> bool {
        let requirement = self.tree.requirement(requirement);
        self.tree.name(child) == requirement.name
            && version::satisfies(
                &requirement.dependency.version,
                &self.tree.node(child).chart.metadata.version,
                self.profile,
            )
    }

    /// Copies the subchart for one dependency entry. Helm 3 makes a shallow copy.
    fn copy_for(&mut self, child: NodeId, requirement: RequirementId) -> NodeId {
        let copy = self.tree.duplicate(child);
        self.tree.copy_metadata(copy);
        if self.profile.rules().aliases_are_deep {
            let requirements = self.tree.requirements_of(copy).map(<[_]>::to_vec);
            let requirements = requirements.map(|ids| {
                let duplicate = |id| self.tree.duplicate_requirement(id);
                ids.into_iter().map(duplicate).collect()
            });
            self.tree.set_requirements(copy, requirements);
            let children = self.tree.node(copy).children.clone();
            let children = children
                .into_iter()
                .map(|child| self.tree.duplicate(child))
                .collect();
            self.tree.set_children(copy, children);
        }
        let alias = &self.tree.requirement(requirement).dependency.alias;
        if !alias.is_empty() {
            let alias = alias.clone();
            self.tree.rename(copy, alias);
        }
        copy
    }

    fn apply_tags(&mut self, requirements: &[RequirementId], values: &Map) {
        let Some(tags) = table(values, "tags") else {
            return;
        };
        for &id in requirements {
            let requirement = self.tree.requirement_mut(id);
            let (mut any_on, mut any_off) = (false, false);
            for tag in &requirement.dependency.tags {
                match tags.get(tag.as_bytes()) {
                    Some(Value::Bool(true)) => any_on = true,
                    Some(Value::Bool(false)) => any_off = true,
                    Some(_) => (self.warn)(format!(
                        "Warning: Tag '{tag}' for chart {} returned non-bool value",
                        requirement.name
                    )),
                    None => {}
                }
            }
            requirement.enabled = any_on || !any_off;
        }
    }

    /// The first condition path with a boolean value decides.
    fn apply_conditions(&mut self, requirements: &[RequirementId], values: &Map, path: &str) {
        for &id in requirements {
            let requirement = self.tree.requirement_mut(id);
            for condition in requirement.dependency.condition.trim().split(',') {
                if condition.is_empty() {
                    continue;
                }
                match path_value(values, &format!("{path}{condition}")) {
                    Some(Value::Bool(enabled)) => {
                        requirement.enabled = enabled;
                        break;
                    }
                    Some(_) => (self.warn)(format!(
                        "Warning: Condition path '{condition}' for chart {} returned non-bool value",
                        requirement.name
                    )),
                    None => {}
                }
            }
        }
    }

    fn import_below(&mut self, node: NodeId) -> Result<(), Error> {
        for child in self.tree.node(node).children.clone() {
            self.import_below(child)?;
        }
        self.import_into(node)
    }

    /// Adds the exported values of the subcharts to the default values of the chart.
    fn import_into(&mut self, node: NodeId) -> Result<(), Error> {
        let Some(requirements) = self.tree.requirements_of(node).map(<[_]>::to_vec) else {
            return Ok(());
        };
        let values = self.coalesce(node, &Map::default(), Nulls::Keep)?;
        let imported = Map::default();
        for id in requirements {
            let mut imports = Vec::new();
            // An entry that aliases share is imported once: Helm replaces it by a form that it ignores.
            let entries = match &self.tree.requirement(id).imports {
                Some(_) => Vec::new(),
                None => self.tree.requirement(id).dependency.import_values.clone(),
            };
            for entry in entries {
                let Some((child, parent)) = self.import_paths(&entry, id)? else {
                    continue;
                };
                self.import(&values, &imported, id, &child, &parent);
                imports.push((child, parent));
            }
            self.tree.requirement_mut(id).imports = Some(imports);
        }
        let values = coalesce::copy_map(&values);
        coalesce::tables(
            &values,
            &imported,
            Nulls::Keep,
            self.profile,
            &mut *self.warn,
        );
        self.tree.node_mut(node).values = values;
        Ok(())
    }

    fn import(&mut self, values: &Map, target: &Map, id: RequirementId, child: &str, parent: &str) {
        let name = &self.tree.requirement(id).name;
        let Some(source) = table(values, &format!("{name}.{child}")) else {
            let key = child.rsplit('.').next().unwrap_or(child);
            let key = strconv::quote(key);
            (self.warn)(format!(
                "Warning: ImportValues missing table from chart {name}: {key} is not a table"
            ));
            return;
        };
        // As in Helm, the imported map is shared with the subchart, so that a later import may change it there, unless
        // it is empty.
        let mut source = if source.is_empty() {
            Map::default()
        } else {
            source
        };
        if parent != "." {
            for key in parent.rsplit('.') {
                let outer = Map::default();
                outer.set(Str::from(key), Value::Map(source));
                source = outer;
            }
        }
        coalesce::tables(target, &source, Nulls::Keep, self.profile, &mut *self.warn);
    }

    /// The paths of child and parent, or `None` for an entry that Helm ignores.
    fn import_paths(
        &self,
        entry: &YamlValue,
        id: RequirementId,
    ) -> Result<Option<(String, String)>, Error> {
        match entry {
            YamlValue::Str(name) => Ok(Some((format!("exports.{name}"), ".".to_owned()))),
            YamlValue::Map(_) => {
                let part = |key| match entry.get(key) {
                    Some(YamlValue::Str(path)) => Ok(path.clone()),
                    other if self.profile.rules().import_paths_are_formatted => {
                        let value = other.map(YamlValue::to_value).unwrap_or_default();
                        Ok(display_text(&value))
                    }
                    _ => Err(Error::ImportPath(self.tree.requirement(id).name.clone())),
                };
                Ok(Some((part("child")?, part("parent")?)))
            }
            _ => Ok(None),
        }
    }

    fn coalesce(&mut self, node: NodeId, values: &Map, nulls: Nulls) -> Result<Map, Error> {
        coalesce::coalesce(
            self.tree,
            node,
            values,
            nulls,
            self.profile,
            &mut *self.warn,
        )
        .map_err(|source| Error::Coalesce {
            prefix: self.profile.rules().dependency_error_prefix,
            source,
        })
    }
}

/// The map at a dotted path.
pub(crate) fn table(values: &Map, path: &str) -> Option<Map> {
    let mut table = values.clone();
    for key in path.split('.') {
        match table.get(key.as_bytes()) {
            Some(Value::Map(inner)) => table = inner,
            _ => return None,
        }
    }
    Some(table)
}

/// The value at a dotted path, unless it is a map.
fn path_value(values: &Map, path: &str) -> Option<Value> {
    let (table, key) = match path.rsplit_once('.') {
        Some((parents, key)) => (table(values, parents)?, key),
        None => (values.clone(), path),
    };
    match table.get(key.as_bytes()) {
        Some(Value::Map(_)) | None => None,
        other => other,
    }
}
