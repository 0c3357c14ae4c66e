//! Coalesces the values of a chart tree: the user's values override the section of the parent chart, which overrides the
//! default values of the subchart.
//!
//! Null deletes a key of the overridden values. Helm 3 keeps nulls of default values, Helm 4 drops them.

use outrigger_gotmpl::value::{Map, MapType, Str, Value, memory};

use crate::chart_tree::{ChartTree, NodeId};
use crate::load::WarnFn;
use crate::profile::Profile;
use outrigger_gostd::strconv;
use outrigger_gotmpl::fmt::display_text;

const GLOBAL: &[u8] = b"global";

/// The maximum memory of the values of all charts: each subchart has a copy of the globals.
const MAX_MEMORY: usize = 512 << 20;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The section of a subchart is not a map.
    #[error("type mismatch on {name}: {value}")]
    NotATable { name: String, value: String },
    #[error("the values of all subcharts exceed the maximum memory of {MAX_MEMORY} bytes")]
    Memory,
}

/// What happens to nulls of the overriding values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// A null deletes the key, and is removed itself. Helm calls this coalescing.
    Remove,
    /// A null is kept for the subcharts. Helm calls this merging.
    Keep,
}

/// Coalesces the values of a chart and its subcharts. Does not change `values`.
pub(crate) fn coalesce(
    tree: &ChartTree<'_>,
    node: NodeId,
    values: &Map,
    nulls: Nulls,
    profile: Profile,
    warn: WarnFn<'_>,
) -> Result<Map, Error> {
    let tables = Tables { profile, warn };
    let copy = copy_map(values);
    Coalescer { tree, tables }.chart(node, &copy, "", nulls)?;
    Ok(copy)
}

/// Adds the entries of `source` that `target` does not have. May change both.
pub(crate) fn tables(target: &Map, source: &Map, nulls: Nulls, profile: Profile, warn: WarnFn<'_>) {
    let mut tables = Tables { profile, warn };
    tables.coalesce(target, source, "", nulls);
}

struct Coalescer<'t, 'c, 'w> {
    tree: &'t ChartTree<'c>,
    tables: Tables<'w>,
}

impl Coalescer<'_, '_, '_> {
    fn chart(
        &mut self,
        node: NodeId,
        values: &Map,
        prefix: &str,
        nulls: Nulls,
    ) -> Result<(), Error> {
        let path = join(prefix, self.tree.name(node));
        self.defaults(node, values, &path, nulls);
        let tree = self.tree;
        for &child in &tree.node(node).children {
            let name = tree.name(child);
            let section = match values.get(name.as_bytes()) {
                Some(Value::Map(section)) => section,
                None => {
                    let section = Map::default();
                    values.set(Str::from(name), Value::Map(section.clone()));
                    section
                }
                Some(other) => {
                    return Err(Error::NotATable {
                        name: name.to_owned(),
                        value: not_a_bool(&other),
                    });
                }
            };
            self.globals(&section, values, &path);
            if memory::live() > MAX_MEMORY {
                return Err(Error::Memory);
            }
            self.chart(child, &section, &path, nulls)?;
        }
        Ok(())
    }

    /// Adds the default values of the chart.
    fn defaults(&mut self, node: NodeId, values: &Map, path: &str, nulls: Nulls) {
        let strips = self.tables.profile.rules().strips_null_defaults;
        for (key, default) in self.tree.node(node).values.entries() {
            match values.get(key.as_bytes()) {
                Some(Value::Nil) if nulls == Nulls::Remove => {
                    values.remove(key.as_bytes());
                }
                Some(Value::Map(target)) => {
                    let Value::Map(source) = &default else {
                        if !default.is_nil() {
                            let key = key.to_text();
                            (self.tables.warn)(format!(
                                "skipped value for {path}.{key}: Not a table."
                            ));
                        }
                        continue;
                    };
                    // The section of a subchart keeps its nulls until the default values of the subchart are added.
                    let nulls = if self.tree.has_child_named(node, key.as_bytes()) {
                        Nulls::Keep
                    } else {
                        nulls
                    };
                    let source = copy_map(source);
                    if nulls == Nulls::Remove && strips {
                        remove_nulls(&source);
                    }
                    self.tables
                        .coalesce(&target, &source, &join(path, &key.to_text()), nulls);
                }
                Some(_) => {}
                None => {
                    if strips && nulls == Nulls::Remove && default.is_nil() {
                        continue;
                    }
                    let default = default.deep_copy();
                    if let Value::Map(map) = &default
                        && strips
                        && nulls == Nulls::Remove
                    {
                        remove_nulls(map);
                    }
                    values.set(key, default);
                }
            }
        }
    }

    /// Merges `global` of the parent into the section of a subchart. Keys of the parent take precedence.
    fn globals(&mut self, target: &Map, source: &Map, prefix: &str) {
        let Some(target_globals) = self.global_table(target, "destination") else {
            return;
        };
        let Some(source_globals) = self.global_table(source, "source") else {
            return;
        };
        for (key, value) in source_globals.entries() {
            let existing = target_globals.get(key.as_bytes());
            match (value, existing) {
                (Value::Map(table), None) => {
                    let table = Map::from_entries(MapType::Any, table.entries());
                    target_globals.set(key, Value::Map(table));
                }
                (Value::Map(table), Some(Value::Map(existing))) => {
                    let table = Map::from_entries(MapType::Any, table.entries());
                    let path = join(prefix, &key.to_text());
                    self.tables.coalesce(&table, &existing, &path, Nulls::Keep);
                    target_globals.set(key, Value::Map(table));
                }
                (Value::Map(_), Some(_)) => {
                    let key = strconv::quote(&key.to_text());
                    (self.tables.warn)(format!(
                        "Conflict: cannot merge map onto non-map for {key}. Skipping."
                    ));
                }
                (_, Some(Value::Map(_))) => {
                    let key = key.to_text();
                    (self.tables.warn)(format!("key {key} is table. Skipping"));
                }
                (value, _) => target_globals.set(key, value),
            }
        }
        target.set(Str::from(GLOBAL), Value::Map(target_globals));
    }

    fn global_table(&mut self, values: &Map, side: &str) -> Option<Map> {
        match values.get(GLOBAL) {
            None => Some(Map::default()),
            Some(Value::Map(globals)) => Some(globals),
            Some(_) => {
                (self.tables.warn)(format!(
                    "skipping globals because {side} global is not a table."
                ));
                None
            }
        }
    }
}

struct Tables<'w> {
    profile: Profile,
    warn: WarnFn<'w>,
}

impl Tables<'_> {
    fn coalesce(&mut self, target: &Map, source: &Map, prefix: &str, nulls: Nulls) {
        let deleted = self.apply_nulls(target, source, nulls);
        for (key, value) in source.entries() {
            match (target.get(key.as_bytes()), value) {
                (None, _) if deleted.contains(&key) => {}
                (None, value) => target.set(key, value),
                (Some(Value::Map(target)), Value::Map(source)) => {
                    let path = join(prefix, &key.to_text());
                    self.coalesce(&target, &source, &path, nulls);
                }
                (Some(_), value @ Value::Map(_)) => {
                    let path = join(prefix, &key.to_text());
                    let value = display_text(&value);
                    (self.warn)(format!(
                        "cannot overwrite table with non table for {path} ({value})"
                    ));
                }
                (Some(Value::Map(_)), value) if !value.is_nil() => {
                    let path = join(prefix, &key.to_text());
                    let value = display_text(&value);
                    (self.warn)(format!(
                        "destination for {path} is a table. Ignoring non-table value ({value})"
                    ));
                }
                _ => {}
            }
        }
    }

    /// Removes nulls of the target that override something: in Helm 3 if the source has the key, in Helm 4 if the source
    /// has a value for it, which then becomes null too. Returns the deleted keys.
    fn apply_nulls(&self, target: &Map, source: &Map, nulls: Nulls) -> Vec<Str> {
        let keys: Vec<Str> = target.with_entries(|entries| {
            let nulls = entries.iter().filter(|(_, value)| value.is_nil());
            nulls.map(|(key, _)| key.clone()).collect()
        });
        let nullifies = self.profile.rules().strips_null_defaults;
        let mut deleted = Vec::new();
        for key in keys {
            let overridden = source.get(key.as_bytes());
            let overrides = overridden.is_some_and(|value| !nullifies || !value.is_nil());
            if nullifies {
                source.set(key.clone(), Value::Nil);
            }
            if overrides && nulls == Nulls::Remove {
                target.remove(key.as_bytes());
                deleted.push(key);
            }
        }
        deleted
    }
}

fn remove_nulls(map: &Map) {
    for (key, value) in map.entries() {
        match value {
            Value::Nil => {
                map.remove(key.as_bytes());
            }
            Value::Map(inner) => remove_nulls(&inner),
            _ => {}
        }
    }
}

pub(crate) fn copy_map(map: &Map) -> Map {
    match Value::Map(map.clone()).deep_copy() {
        Value::Map(copy) => copy,
        _ => Map::default(),
    }
}

fn join(prefix: &str, name: &str) -> String {
    if prefix.is_empty() {
        name.to_owned()
    } else {
        format!("{prefix}.{name}")
    }
}

/// Go's `%t` of a value that is not a boolean.
fn not_a_bool(value: &Value) -> String {
    let text = outrigger_gotmpl::fmt::sprintf(b"%t", std::slice::from_ref(value));
    String::from_utf8_lossy(&text).into_owned()
}
