//! Puts values together down the tree: the user's over the parent's section over the chart's own defaults.
//!
//! Null in a higher layer deletes the key below. Helm 3 keeps nulls of a chart's defaults, Helm 4 drops them.

use outrigger_gotmpl::value::{Map, MapType, Str, Value};

use crate::load::Sink;
use crate::profile::Profile;
use crate::tree::{NodeId, Tree};
use outrigger_gostd::strconv;
use outrigger_gotmpl::fmt::display_text;

const GLOBAL: &[u8] = b"global";

/// A subchart's section is not a map.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("type mismatch on {name}: {shown}")]
pub struct Error {
    name: String,
    shown: String,
}

/// What becomes of a null that a higher layer sets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nulls {
    /// It deletes the key and goes.
    Settle,
    /// It stays, because a lower chart has still to see it. Helm calls this merging.
    Keep,
}

/// The values of a chart and everything below it; `values` itself is not changed.
pub(crate) fn coalesce(
    tree: &Tree<'_>,
    node: NodeId,
    values: &Map,
    nulls: Nulls,
    profile: Profile,
    warn: Sink<'_>,
) -> Result<Map, Error> {
    let tables = Tables { profile, warn };
    let copy = copy_map(values);
    Coalescer { tree, tables }.chart(node, &copy, "", nulls)?;
    Ok(copy)
}

/// Adds to `target` what `source` has and `target` has not. Both may be changed.
pub(crate) fn tables(target: &Map, source: &Map, nulls: Nulls, profile: Profile, warn: Sink<'_>) {
    let mut tables = Tables { profile, warn };
    tables.coalesce(target, source, "", nulls);
}

struct Coalescer<'t, 'c, 'w> {
    tree: &'t Tree<'c>,
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
                    return Err(Error {
                        name: name.to_owned(),
                        shown: not_a_bool(&other),
                    });
                }
            };
            self.globals(&section, values, &path);
            self.chart(child, &section, &path, nulls)?;
        }
        Ok(())
    }

    /// Fills in the chart's own `values.yaml`.
    fn defaults(&mut self, node: NodeId, values: &Map, path: &str, nulls: Nulls) {
        let strips = self.tables.profile.rules().strips_null_defaults;
        for (key, default) in self.tree.node(node).values.entries() {
            match values.get(key.as_bytes()) {
                Some(Value::Nil) if nulls == Nulls::Settle => {
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
                    let nulls = if self.tree.has_child_named(node, key.as_bytes()) {
                        Nulls::Keep
                    } else {
                        nulls
                    };
                    let source = copy_map(source);
                    if nulls == Nulls::Settle && strips {
                        remove_nulls(&source);
                    }
                    self.tables
                        .coalesce(&target, &source, &join(path, &key.to_text()), nulls);
                }
                Some(_) => {}
                None => {
                    if strips && nulls == Nulls::Settle && default.is_nil() {
                        continue;
                    }
                    let default = default.deep_copy();
                    if let Value::Map(map) = &default
                        && strips
                        && nulls == Nulls::Settle
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
    fn coalesce(&mut self, target: &Map, source: &Map, prefix: &str, nulls: Nulls) {
        let deleted = self.settle_nulls(target, source, nulls);
        for (key, below) in source.entries() {
            match (target.get(key.as_bytes()), below) {
                (None, _) if deleted.contains(&key) => {}
                (None, below) => target.set(key, below),
                (Some(Value::Map(inner)), Value::Map(below)) => {
                    let path = join(prefix, &key.to_text());
                    self.coalesce(&inner, &below, &path, nulls);
                }
                (Some(_), below @ Value::Map(_)) => {
                    let path = join(prefix, &key.to_text());
                    let shown = display_text(&below);
                    (self.warn)(format!(
                        "warning: cannot overwrite table with non table for {path} ({shown})"
                    ));
                }
                (Some(Value::Map(_)), below) if !below.is_nil() => {
                    let path = join(prefix, &key.to_text());
                    let shown = display_text(&below);
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
    fn settle_nulls(&self, target: &Map, source: &Map, nulls: Nulls) -> Vec<Str> {
        let keys: Vec<Str> = target.with_entries(|entries| {
            let nulls = entries.iter().filter(|(_, value)| value.is_nil());
            nulls.map(|(key, _)| key.clone()).collect()
        });
        let blots_out = self.profile.rules().strips_null_defaults;
        let mut deleted = Vec::new();
        for key in keys {
            let below = source.get(key.as_bytes());
            let is_done = below
                .as_ref()
                .is_some_and(|below| !blots_out || !below.is_nil());
            if blots_out {
                source.set(key.clone(), Value::Nil);
            }
            if is_done && nulls == Nulls::Settle {
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
