//! The naming controller: accepts the names of a `CustomResourceDefinition` that no other one and no built-in kind of its
//! group has.

use outrigger_apimachinery::status::field::quote;
use serde_json::{Map, Value, json};

use super::builtin;
use super::definition::{Names, condition_is_true};

/// The names in use in a group.
#[derive(Debug, Default)]
pub(super) struct Taken {
    resources: Vec<String>,
    kinds: Vec<String>,
}

impl Taken {
    /// The names of the built-in kinds of a group. No definition gets one of them, because its objects would be those of
    /// the built-in kind.
    pub(super) fn by_builtin(group: &str) -> Self {
        let mut taken = Self::default();
        for kind in builtin::kinds_of(group) {
            taken.add(&Names {
                plural: kind.plural,
                singular: kind.singular,
                short_names: kind.short_names,
                kind: kind.kind,
                list_kind: kind.list_kind,
                categories: Vec::new(),
            });
        }
        taken
    }

    /// Whether one of the names is in use.
    pub(super) fn has_any(&self, names: &Names) -> bool {
        let mut resources = [&names.plural, &names.singular]
            .into_iter()
            .chain(&names.short_names);
        resources.any(|name| self.resources.contains(name))
            || [&names.kind, &names.list_kind]
                .into_iter()
                .any(|kind| self.kinds.contains(kind))
    }

    pub(super) fn add(&mut self, names: &Names) {
        let resources = [&names.plural, &names.singular];
        self.resources.extend(resources.into_iter().cloned());
        self.resources.extend(names.short_names.iter().cloned());
        let kinds = [&names.kind, &names.list_kind];
        self.kinds.extend(kinds.into_iter().cloned());
    }
}

/// Writes the status of a definition: accepted names, the conditions `NamesAccepted` and `Established`, and the stored
/// versions.
pub(super) fn accept(definition: &mut Value, taken: &Taken, now: &str) {
    let requested = Names::parse(&definition["spec"]["names"]);
    let had = Names::parse(&definition["status"]["acceptedNames"]);
    let (accepted, conflict) = decide(&requested, had, taken);
    let stored = stored_version(definition);
    let Some(object) = definition.as_object_mut() else {
        return;
    };
    let status = object.entry("status").or_insert_with(|| json!({}));
    if !status.is_object() {
        *status = json!({});
    }
    status["acceptedNames"] = names_json(&accepted);
    let was_established = condition_is_true(status, "Established");
    let (state, reason, message) = match &conflict {
        Some((reason, message)) => ("False", *reason, message.as_str()),
        None => ("True", "NoConflicts", "no conflicts found"),
    };
    set_condition(status, "NamesAccepted", [state, reason, message], now);
    if !was_established {
        let (reason, message) = match state {
            "True" => (
                "InitialNamesAccepted",
                "the initial names have been accepted",
            ),
            _ => ("NotAccepted", "not all names are accepted"),
        };
        set_condition(status, "Established", [state, reason, message], now);
    }
    keep_stored_version(status, stored);
}

/// Returns the accepted names, and the reason and message of the last conflict, if any.
fn decide(requested: &Names, had: Names, taken: &Taken) -> (Names, Option<(&'static str, String)>) {
    let mut accepted = had;
    let mut conflict = None;
    let mut grant = |mine: &mut String, wanted: &String, used: &[String], reason| {
        if mine == wanted || !used.contains(wanted) {
            mine.clone_from(wanted);
        } else {
            conflict = Some((reason, in_use(wanted)));
        }
    };
    let resources = &taken.resources;
    grant(
        &mut accepted.plural,
        &requested.plural,
        resources,
        "PluralConflict",
    );
    grant(
        &mut accepted.singular,
        &requested.singular,
        resources,
        "SingularConflict",
    );
    let refused: Vec<_> = requested
        .short_names
        .iter()
        .filter(|name| !accepted.short_names.contains(name) && resources.contains(name))
        .map(|name| in_use(name))
        .collect();
    if refused.is_empty() {
        accepted.short_names.clone_from(&requested.short_names);
    }
    let kinds = &taken.kinds;
    let mut of_kinds = None;
    for (mine, wanted, reason) in [
        (&mut accepted.kind, &requested.kind, "KindConflict"),
        (
            &mut accepted.list_kind,
            &requested.list_kind,
            "ListKindConflict",
        ),
    ] {
        if mine == wanted || !kinds.contains(wanted) {
            mine.clone_from(wanted);
        } else {
            of_kinds = Some((reason, in_use(wanted)));
        }
    }
    let of_short_names = match refused.as_slice() {
        [] => None,
        [only] => Some(("ShortNamesConflict", only.clone())),
        several => Some(("ShortNamesConflict", format!("[{}]", several.join(", ")))),
    };
    accepted.categories.clone_from(&requested.categories);
    (accepted, of_kinds.or(of_short_names).or(conflict))
}

fn in_use(name: &str) -> String {
    format!("{} is already in use", quote(name))
}

fn names_json(names: &Names) -> Value {
    let mut map = Map::new();
    map.insert("plural".to_owned(), json!(names.plural));
    map.insert("kind".to_owned(), json!(names.kind));
    for (key, text) in [
        ("singular", &names.singular),
        ("listKind", &names.list_kind),
    ] {
        if !text.is_empty() {
            map.insert(key.to_owned(), json!(text));
        }
    }
    for (key, words) in [
        ("shortNames", &names.short_names),
        ("categories", &names.categories),
    ] {
        if !words.is_empty() {
            map.insert(key.to_owned(), json!(words));
        }
    }
    Value::Object(map)
}

/// Sets a condition. `lastTransitionTime` only changes with the status.
fn set_condition(status: &mut Value, type_: &str, [state, reason, message]: [&str; 3], now: &str) {
    let mut condition = json!({
        "type": type_,
        "status": state,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(conditions) = status["conditions"].as_array_mut() else {
        return;
    };
    match conditions.iter_mut().find(|old| old["type"] == type_) {
        Some(old) => {
            if old["status"] == state && old["lastTransitionTime"].is_string() {
                condition["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = condition;
        }
        None => conditions.push(condition),
    }
}

fn stored_version(definition: &Value) -> Option<Value> {
    let versions = definition["spec"]["versions"].as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true)?;
    Some(stored["name"].clone())
}

fn keep_stored_version(status: &mut Value, stored: Option<Value>) {
    if !status["storedVersions"].is_array() {
        status["storedVersions"] = json!([]);
    }
    if let (Some(versions), Some(stored)) = (status["storedVersions"].as_array_mut(), stored)
        && !versions.contains(&stored)
    {
        versions.push(stored);
    }
}
