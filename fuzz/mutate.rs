//! Mutations that keep JSON valid, so that inputs get past the parser.

use serde_json::{Map, Value, json};

/// Numbers that depend on a seed only, so that a run can be repeated.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u32) -> Self {
        Self(u64::from(seed) << 1 | 1)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }

    fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len())]
    }
}

/// Changes one or a few places of a value.
pub fn mutate(root: &mut Value, random: &mut Random) {
    for _ in 0..=random.below(3) {
        let donors = [root.clone()];
        let count = count(root);
        let mut at = random.below(count);
        change(root, &mut at, &donors[0], random);
    }
}

fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(fields) => fields.values().map(count).sum(),
        _ => 0,
    }
}

fn nth(value: &Value, at: &mut usize) -> Option<Value> {
    if *at == 0 {
        return Some(value.clone());
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter().find_map(|item| nth(item, at)),
        Value::Object(fields) => fields.values().find_map(|field| nth(field, at)),
        _ => None,
    }
}

/// Changes the value with this number in a walk of the tree.
fn change(value: &mut Value, at: &mut usize, donor: &Value, random: &mut Random) -> bool {
    if *at == 0 {
        change_here(value, donor, random);
        return true;
    }
    *at -= 1;
    match value {
        Value::Array(items) => items.iter_mut().any(|item| change(item, at, donor, random)),
        Value::Object(fields) => fields.values_mut().any(|field| change(field, at, donor, random)),
        _ => false,
    }
}

fn change_here(value: &mut Value, donor: &Value, random: &mut Random) {
    let other = |random: &mut Random| {
        let mut at = random.below(count(donor));
        nth(donor, &mut at).unwrap_or_default()
    };
    match value {
        Value::Object(fields) if random.below(4) > 0 => change_fields(fields, &other(random), random),
        Value::Array(items) if random.below(4) > 0 => match random.below(4) {
            0 => items.push(other(random)),
            1 if !items.is_empty() => drop(items.remove(random.below(items.len()))),
            2 => items.extend(items.clone()),
            _ => items.reverse(),
        },
        Value::Number(number) if random.below(2) > 0 => {
            let number = number.as_i64().unwrap_or_default();
            *value = match random.below(4) {
                0 => number.wrapping_add(1).into(),
                1 => number.wrapping_neg().into(),
                2 => (number as f64 + 0.5).into(),
                _ => number.to_string().into(),
            };
        }
        Value::String(text) if random.below(3) > 0 => match random.below(4) {
            0 => text.push(*random.pick(&['a', '-', '.', '/', '\0', 'é', '%', '{', '9', ' '])),
            1 => drop(text.pop()),
            2 => *text = text.repeat(2),
            _ => text.insert(0, *random.pick(&['A', '-', '.', '/', '0', '$'])),
        },
        _ => *value = if random.below(3) == 0 { other(random) } else { interesting(random) },
    }
}

fn change_fields(fields: &mut Map<String, Value>, other: &Value, random: &mut Random) {
    let keys: Vec<String> = fields.keys().cloned().collect();
    let key = if keys.is_empty() { String::new() } else { random.pick(&keys).clone() };
    match random.below(4) {
        0 => drop(fields.remove(&key)),
        1 => drop(fields.insert(key, other.clone())),
        2 => drop(fields.insert((*random.pick(NAMES)).to_owned(), interesting(random))),
        _ => drop(fields.insert((*random.pick(NAMES)).to_owned(), other.clone())),
    }
}

fn interesting(random: &mut Random) -> Value {
    let values = [
        json!(null), json!(true), json!(false), json!(0), json!(-1), json!(1), json!(i64::MAX), json!(i64::MIN),
        json!(u64::MAX), json!(i32::MAX), json!(1e308), json!(0.1), json!(""), json!("a"), json!("-1"), json!("1Gi"),
        json!("9223372036854775807"), json!("100%"), json!("2020-01-02T03:04:05Z"), json!("../x"), json!("a.b/c"),
        json!("default"), json!("Widget"), json!("v1"), json!({}), json!([]), json!([{}]), json!({"a": "b"}),
        json!("self.all(x, x > 0)"), json!("a".repeat(300)), json!("kube-system"), json!("Foreground"),
    ];
    random.pick(&values).clone()
}

const NAMES: &[&str] = &[
    "metadata", "name", "generateName", "namespace", "labels", "annotations", "finalizers", "ownerReferences", "uid",
    "resourceVersion", "deletionGracePeriodSeconds", "managedFields", "creationTimestamp", "spec", "status", "data", "type",
    "replicas", "selector", "matchLabels", "matchExpressions", "template", "containers", "image", "ports", "resources",
    "limits", "requests", "strategy", "rollingUpdate", "maxSurge", "maxUnavailable", "conditions", "properties", "items",
    "additionalProperties", "default", "pattern", "format", "maxItems", "maxLength", "minimum", "enum", "anyOf", "not",
    "nullable", "x-kubernetes-validations", "rule", "messageExpression", "x-kubernetes-list-type",
    "x-kubernetes-list-map-keys", "x-kubernetes-preserve-unknown-fields", "x-kubernetes-int-or-string",
    "x-kubernetes-embedded-resource", "op", "path", "value", "from", "$patch", "$setElementOrder/containers", "$retainKeys",
    "subresources", "scale", "versions", "storage", "served", "names", "kind", "plural", "scope", "a", "0",
];
