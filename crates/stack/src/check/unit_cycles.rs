//! Bootstrap cycles: units that wait for each other never start.

use std::collections::{BTreeMap, BTreeSet};

use outrigger_model::{Model, Owner, Placement};

use crate::finding::Finding;

/// Edges from a unit to those that start before it.
type Edges = BTreeMap<String, BTreeSet<String>>;

/// Cycles of `After=` and `Before=`, on each kind of machine.
pub(super) fn findings(model: &Model) -> Vec<Finding> {
    let pools = model
        .units
        .entries()
        .filter_map(|entry| match &entry.scope {
            outrigger_model::Scope::NodePool(pool) => Some(Placement::Worker(pool.clone())),
            _ => None,
        });
    let placements: BTreeSet<Placement> = pools
        .chain([Placement::Etcd, Placement::Controller])
        .collect();
    placements
        .iter()
        .filter_map(|placement| cycle_on(model, placement))
        .collect()
}

fn cycle_on(model: &Model, placement: &Placement) -> Option<Finding> {
    let mut edges = Edges::new();
    let mut owners: BTreeMap<String, Owner> = BTreeMap::new();
    for entry in model.units.for_placement(placement) {
        add(
            &mut edges,
            &entry.value.name,
            entry.value.content.as_deref().unwrap_or_default(),
        );
        owners.insert(entry.value.name.clone(), entry.owners.first()?.clone());
    }
    for entry in model.drop_ins.for_placement(placement) {
        add(&mut edges, &entry.value.unit, &entry.value.content);
    }
    let cycle = find_cycle(&edges)?;
    let owner = cycle
        .iter()
        .find_map(|unit| owners.get(unit))
        .map_or("", Owner::as_str);
    let named = cycle.iter().map(|unit| {
        owners
            .get(unit)
            .map_or_else(|| unit.clone(), |owner| format!("{unit} ({owner})"))
    });
    let named: Vec<String> = named.collect();
    Some(Finding::fatal(
        owner,
        format!(
            "units start after each other on {}: {}",
            placement.scope(),
            named.join(" -> ")
        ),
    ))
}

fn add(edges: &mut Edges, unit: &str, content: &str) {
    for line in content.lines() {
        let (key, others) = line.split_once('=').unwrap_or_default();
        for other in others.split_whitespace() {
            let (unit, before) = match key.trim() {
                "After" => (unit, other),
                "Before" => (other, unit),
                _ => continue,
            };
            edges
                .entry(unit.to_owned())
                .or_default()
                .insert(before.to_owned());
        }
    }
}

/// The units of a cycle, the first one repeated at the end.
fn find_cycle(edges: &Edges) -> Option<Vec<String>> {
    // Units that nothing waits for, or that wait for nothing, are not part of a cycle.
    let mut open = edges.clone();
    loop {
        let units: BTreeSet<String> = open.keys().cloned().collect();
        let before = open.len();
        open.retain(|_, others| {
            others.retain(|other| units.contains(other));
            !others.is_empty()
        });
        if open.len() == before {
            break;
        }
    }
    let mut path = vec![open.keys().next()?.clone()];
    loop {
        let next = open.get(path.last()?)?.first()?.clone();
        let repeated = path.iter().position(|unit| *unit == next);
        path.push(next);
        if let Some(position) = repeated {
            return Some(path.split_off(position));
        }
    }
}
