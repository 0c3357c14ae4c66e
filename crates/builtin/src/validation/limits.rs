//! Limits and quotas of a namespace; names and amounts of resources.

use outrigger_apimachinery::quantity::Quantity;
use outrigger_apimachinery::status::field::{Error, Path};
use outrigger_apimachinery::syntax;
use serde_json::Value;

use super::field_checks::{each, list, map, text};

const SPEC: Path<'static> = Path::root("spec");

/// What can be counted or measured under its own name.
const STANDARD: [&str; 23] = [
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
    "resourceclaims",
    "pods.count",
    "hugepages",
];

/// What comes in whole numbers.
const WHOLE: [&str; 9] = [
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

/// What a quota can be about.
const SCOPES: [&str; 6] = [
    "BestEffort",
    "CrossNamespacePodAffinity",
    "NotBestEffort",
    "NotTerminating",
    "PriorityClass",
    "Terminating",
];

/// The name of a resource, standard or with a domain.
pub(super) fn resource_name(errors: &mut Vec<Error>, path: &Path<'_>, name: &str) {
    let before = errors.len();
    each(errors, path, name, syntax::label_key(name));
    if errors.len() > before || name.contains('/') {
        return;
    }
    let is_huge = ["hugepages-", "requests.hugepages-"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    if !STANDARD.contains(&name) && !is_huge {
        let detail = "must be a standard resource type or fully qualified";
        errors.push(Error::invalid(path, name, detail));
    }
}

/// The amount of a resource.
pub(super) fn amount(errors: &mut Vec<Error>, path: &Path<'_>, name: &str, amount: &Value) {
    let Some(quantity) = amount.as_str().and_then(|text| Quantity::parse(text).ok()) else {
        return;
    };
    if quantity.is_negative() {
        let detail = "must be greater than or equal to 0";
        errors.push(Error::invalid(path, amount, detail));
    }
    let is_whole = WHOLE.contains(&name) || name.contains('/');
    if is_whole && !quantity.is_whole() {
        errors.push(Error::invalid(path, amount, "must be an integer"));
    }
}

pub(super) fn resource_quota(object: &Value, errors: &mut Vec<Error>) {
    let spec = &object["spec"];
    let place = SPEC.child("hard");
    for (name, value) in map(spec, "hard") {
        let place = place.key(name);
        let before = errors.len();
        resource_name(errors, &place, name);
        if errors.len() > before && !name.contains('/') {
            let detail = "must be a standard resource for quota";
            errors.push(Error::invalid(&place, name.as_str(), detail));
        }
        amount(errors, &place, name, value);
    }
    let place = SPEC.child("scopes");
    for scope in list(spec, "scopes") {
        if !scope.as_str().is_some_and(|scope| SCOPES.contains(&scope)) {
            let detail = "unsupported scope";
            errors.push(Error::invalid(&place, &spec["scopes"], detail));
        }
    }
}

pub(super) fn limit_range(object: &Value, errors: &mut Vec<Error>) {
    let path = SPEC.child("limits");
    let mut types = Vec::new();
    for (index, limit) in list(&object["spec"], "limits").iter().enumerate() {
        let place = path.index(index);
        let type_ = text(limit, "type");
        let is_standard = matches!(type_, "Pod" | "Container" | "PersistentVolumeClaim");
        if !type_.contains('/') && !is_standard {
            let detail = "must be a standard limit type or fully qualified";
            errors.push(Error::invalid(&place.child("type"), type_, detail));
        }
        if types.contains(&type_) {
            errors.push(Error::duplicate(&place.child("type"), type_));
        }
        types.push(type_);
        if type_ == "Pod" {
            for key in ["default", "defaultRequest"] {
                if map(limit, key).next().is_some() {
                    let detail = "may not be specified when `type` is 'Pod'";
                    errors.push(Error::forbidden(&place.child(key), detail));
                }
            }
        }
        bounds(errors, &place, limit);
    }
}

/// The four bounds of each resource fit together.
fn bounds(errors: &mut Vec<Error>, path: &Path<'_>, limit: &Value) {
    let mut names: Vec<&String> = ["max", "min", "default", "defaultRequest"]
        .iter()
        .flat_map(|key| map(limit, key).map(|(name, _)| name))
        .collect();
    names.sort();
    names.dedup();
    // What must not exceed what: the lesser, the greater, the field that is named, the value that is shown, words.
    let rules = [
        ("min", "max", "min", "min", ("min value", "max value")),
        (
            "min",
            "defaultRequest",
            "defaultRequest",
            "defaultRequest",
            ("min value", "default request value"),
        ),
        (
            "defaultRequest",
            "max",
            "defaultRequest",
            "defaultRequest",
            ("default request value", "max value"),
        ),
        (
            "defaultRequest",
            "default",
            "defaultRequest",
            "defaultRequest",
            ("default request value", "default limit value"),
        ),
        (
            "min",
            "default",
            "default",
            "min",
            ("min value", "default value"),
        ),
        (
            "default",
            "max",
            "default",
            "max",
            ("default value", "max value"),
        ),
    ];
    for name in names {
        let of = |key: &str| {
            let amount = limit[key][name].as_str()?;
            Quantity::parse(amount).ok()
        };
        for (less, more, named, shown, (less_words, more_words)) in rules {
            if let (Some(lesser), Some(greater)) = (of(less), of(more))
                && lesser > greater
            {
                let place = path.child(named);
                let detail = format!(
                    "{less_words} {} is greater than {more_words} {}",
                    lesser.canonical(),
                    greater.canonical()
                );
                let shown = &limit[shown][name];
                errors.push(Error::invalid(&place.key(name), shown, detail));
            }
        }
    }
}
