//! `ResourceList`: quantities by the name of the resource, and arithmetic with them.

use std::collections::BTreeMap;

use outrigger_apimachinery::quantity::Quantity;
use serde_json::{Map, Value};

pub(crate) type ResourceList = BTreeMap<String, Quantity>;

/// Values that are not quantities are left out.
pub(crate) fn parse(value: &Value) -> ResourceList {
    let amounts = value.as_object().into_iter().flatten();
    amounts
        .filter_map(|(name, amount)| {
            let amount = Quantity::parse(amount.as_str()?).ok()?;
            Some((name.clone(), amount))
        })
        .collect()
}

pub(crate) fn to_json(list: &ResourceList) -> Value {
    let amounts = list
        .iter()
        .map(|(name, amount)| (name.clone(), amount.canonical().into()));
    Value::Object(amounts.collect::<Map<_, _>>())
}

/// Adds the amounts of `other`.
pub(crate) fn add(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        let sum = list.get(name).map_or(*amount, |sum| sum.plus(*amount));
        list.insert(name.clone(), sum);
    }
}

/// Raises the amounts to those of `other`.
pub(crate) fn raise(list: &mut ResourceList, other: &ResourceList) {
    for (name, amount) in other {
        if list.get(name).is_none_or(|present| present < amount) {
            list.insert(name.clone(), *amount);
        }
    }
}

/// `SubtractWithNonNegativeResult`.
pub(crate) fn subtract(list: &ResourceList, other: &ResourceList) -> ResourceList {
    let rest = list.iter().map(|(name, amount)| {
        let rest = match other.get(name) {
            Some(less) if less > amount => Quantity::ZERO,
            Some(less) => amount.minus(*less),
            None => *amount,
        };
        (name.clone(), rest)
    });
    rest.collect()
}

/// As in error messages: `cpu=1,memory=1Gi`.
pub(crate) fn pretty(list: &ResourceList) -> String {
    let amounts = list
        .iter()
        .map(|(name, amount)| format!("{name}={}", amount.canonical()));
    amounts.collect::<Vec<_>>().join(",")
}
