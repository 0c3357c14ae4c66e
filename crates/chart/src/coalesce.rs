//! Puts values together down the tree: the user's over the parent's section over the chart's own defaults.
//!
//! Null in a higher layer deletes the key below. Helm 3 keeps nulls of a chart's defaults, Helm 4 drops them. When
//! `keep_nulls` is set (Helm calls it merging) nothing is deleted yet, because a lower chart has still to see it.

use outrigger_gotmpl::value::{Map, MapType, Str, Value};

use crate::load::Sink;
use crate::profile::Profile;
use crate::tree::{NodeId, Tree};
use outrigger_gotmpl::go;

const GLOBAL: &[u8] = b"global";

/// A subchart's section is not a map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("type mismatch on {name}: {shown}")]
pub struct Error {
    name: String,
    shown: String,
}

/// The values of a chart and everything below it; `values` itself is not changed.
pub(crate) fn coalesce(
    tree: &Tree<'_>,
    node: NodeId,
    values: &Map,
    profile: Profile,
    warn: Sink<'_>,
) -> Result<Map, Error> {
    Coalescer::new(tree, profile, warn).run(node, values, false)
}

/// The same, but nulls are kept for later.
pub(crate) fn merge(
    tree: &Tree<'_>,
    node: NodeId,
    values: &Map,
    profile: Profile,
    warn: Sink<'_>,
) -> Result<Map, Error> {
    Coalescer::new(tree, profile, warn).run(node, values, true)
}

/// Adds to `target` what `source` has and `target` has not. Both may be changed.
pub(crate) fn tables(
    target: &Map,
    source: &Map,
    keep_nulls: bool,
    profile: Profile,
    warn: Sink<'_>,
) {
    let mut tables = Tables { profile, warn };
    tables.coalesce(target, source, "", keep_nulls);
}

struct Coalescer<'t, 'c, 'w> {
    tree: &'t Tree<'c>,
    tables: Tables<'w>,
}

impl<'t, 'c, 'w> Coalescer<'t, 'c, 'w> {
    fn new(tree: &'t Tree<'c>, profile: Profile, warn: Sink<'w>) -> Self {
        let tables = Tables { profile, warn };
        Self { tree, tables }
    }

    fn run(&mut self, node: NodeId, values: &Map, keep_nulls: bool) -> Result<Map, Error> {
        let copy = copy_map(values);
        self.chart(node, &copy, "", keep_nulls)?;
        Ok(copy)
    }

    fn chart(
        &mut self,
        node: NodeId,
        values: &Map,
        prefix: &str,
        keep_nulls: bool,
    ) -> Result<(), Error> {
        let path = join(prefix, &self.tree.node(node).name);
        self.defaults(node, values, &path, keep_nulls);
        let tree = self.tree;
        for &child in &tree.node(node).children {
            let name = &tree.node(child).name;
            let section = match values.get(name.as_bytes()) {
                Some(Value::Map(section)) => section,
                None => {
                    let section = Map::default();
                    values.set(Str::from(name.as_str()), Value::Map(section.clone()));
                    section
                }
                Some(other) => {
                    return Err(Error {
                        name: name.clone(),
                        shown: not_a_bool(&other),
                    });
                }
            };
            self.globals(&section, values, &path);
            self.chart(child, &section, &path, keep_nulls)?;
        }
        Ok(())
    }

    /// Fills in the chart's own `values.yaml`.
    fn defaults(&mut self, node: NodeId, values: &Map, path: &str, keep_nulls: bool) {
        let strips = self.tables.profile.rules().strips_null_defaults;
        for (key, default) in self.tree.node(node).values.entries() {
            match values.get(key.as_bytes()) {
                Some(Value::Nil) if !keep_nulls => {
                    values.remove(key.as_bytes());
                }
                Some(Value::Map(target)) => {
                    let Value::Map(source) = &default else {
                        if !default.is_nil() {
                            let key = key.to_text();
                            (self.tables.warn)(format!(
                                "warning: skipped value for {path}.{key}: Not a table."
                            ));
                        }
                        continue;
                    };
                    // A subchart's section keeps its nulls until the subchart's own defaults are filled in.
                    let keep = keep_nulls || self.tree.has_child_named(node, key.as_bytes());
                    let source = copy_map(source);
                    if !keep && strips {
                        remove_nulls(&source);
                    }
                    self.tables
                        .coalesce(&target, &source, &join(path, &key.to_text()), keep);
                }
                Some(_) => {}
                None => {
                    if strips && !keep_nulls && default.is_nil() {
                        continue;
                    }
                    let default = default.deep_copy();
                    if let Value::Map(map) = &default
                        && strips
                        && !keep_nulls
                    {
                        remove_nulls(map);
                    }
                    values.set(key, default);
                }
            }
        }
    }

    /// Copies `global` of the parent into a subchart's section; the parent wins key by key.
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
                    self.tables.coalesce(&table, &existing, &path, true);
                    target_globals.set(key, Value::Map(table));
                }
                (Value::Map(_), Some(_)) => {
                    let key = go::quote(&key.to_text());
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
                    "warning: skipping globals because {side} global is not a table."
                ));
                None
            }
        }
    }
}

struct Tables<'w> {
    profile: Profile,
    warn: Sink<'w>,
}

impl Tables<'_> {
    fn coalesce(&mut self, target: &Map, source: &Map, prefix: &str, keep_nulls: bool) {
        let deleted = self.settle_nulls(target, source, keep_nulls);
        for (key, below) in source.entries() {
            match (target.get(key.as_bytes()), below) {
                (None, _) if deleted.contains(&key) => {}
                (None, below) => target.set(key, below),
                (Some(Value::Map(inner)), Value::Map(below)) => {
                    let path = join(prefix, &key.to_text());
                    self.coalesce(&inner, &below, &path, keep_nulls);
                }
                (Some(_), below @ Value::Map(_)) => {
                    let path = join(prefix, &key.to_text());
                    let shown = go::display(&below);
                    (self.warn)(format!(
                        "warning: cannot overwrite table with non table for {path} ({shown})"
                    ));
                }
                (Some(Value::Map(_)), below) if !below.is_nil() => {
                    let path = join(prefix, &key.to_text());
                    let shown = go::display(&below);
                    (self.warn)(format!(
                        "warning: destination for {path} is a table. Ignoring non-table value ({shown})"
                    ));
                }
                _ => {}
            }
        }
    }

    /// Deletes the nulls of the target whose work is done: in Helm 3 wherever the source has the key, in Helm 4
    /// wherever the source has a value, which the null blots out for good. Gives the deleted keys.
    fn settle_nulls(&self, target: &Map, source: &Map, keep_nulls: bool) -> Vec<Str> {
        let nulls: Vec<Str> = target.with_entries(|entries| {
            let nulls = entries.iter().filter(|(_, value)| value.is_nil());
            nulls.map(|(key, _)| key.clone()).collect()
        });
        let blots_out = self.profile.rules().strips_null_defaults;
        let mut deleted = Vec::new();
        for key in nulls {
            let below = source.get(key.as_bytes());
            let is_done = below
                .as_ref()
                .is_some_and(|below| !blots_out || !below.is_nil());
            if blots_out {
                source.set(key.clone(), Value::Nil);
            }
            if is_done && !keep_nulls {
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

/// `%t`, which says what it got if that is not a boolean.
fn not_a_bool(value: &Value) -> String {
    let text = outrigger_gotmpl::fmt::sprintf(b"%t", std::slice::from_ref(value));
    String::from_utf8_lossy(&text).into_owned()
}
