//! Encodes metadata and locks as Go does: empty fields are omitted, except those without `omitempty`.

use outrigger_gotmpl::value::{Map, MapType, Str, Value};

use crate::metadata::{Dependency, Lock, Maintainer, Metadata};
use crate::yaml_value::YamlValue;

/// `Chart.yaml`. Charts with `apiVersion: v1` have their dependencies in another file.
pub(crate) fn of_metadata(metadata: &Metadata, with_dependencies: bool) -> Value {
    let mut fields = Fields::default();
    fields.string("name", &metadata.name);
    fields.string("home", &metadata.home);
    fields.strings("sources", &metadata.sources);
    fields.string("version", &metadata.version);
    fields.string("description", &metadata.description);
    fields.strings("keywords", &metadata.keywords);
    fields.list(
        "maintainers",
        metadata.maintainers.iter().map(of_maintainer),
    );
    fields.string("icon", &metadata.icon);
    fields.string("apiVersion", &metadata.api_version);
    fields.string("condition", &metadata.condition);
    fields.string("tags", &metadata.tags);
    fields.string("appVersion", &metadata.app_version);
    if metadata.deprecated {
        fields.push("deprecated", Value::Bool(true));
    }
    if !metadata.annotations.is_empty() {
        let entries = metadata.annotations.iter();
        let entries =
            entries.map(|(key, value)| (Str::from(key.as_str()), Value::str(value.as_str())));
        fields.push("annotations", Value::map(entries.collect()));
    }
    fields.string("kubeVersion", &metadata.kube_version);
    if with_dependencies {
        fields.list(
            "dependencies",
            metadata.declared().iter().map(of_dependency),
        );
    }
    fields.string("type", &metadata.chart_type);
    fields.finish()
}

fn of_maintainer(maintainer: &Maintainer) -> Value {
    let mut fields = Fields::default();
    fields.string("name", &maintainer.name);
    fields.string("email", &maintainer.email);
    fields.string("url", &maintainer.url);
    fields.finish()
}

pub(crate) fn of_dependency(dependency: &Dependency) -> Value {
    let mut fields = Fields::default();
    fields.push("name", Value::str(dependency.name.as_str()));
    fields.string("version", &dependency.version);
    fields.push("repository", Value::str(dependency.repository.as_str()));
    fields.string("condition", &dependency.condition);
    fields.strings("tags", &dependency.tags);
    if dependency.enabled {
        fields.push("enabled", Value::Bool(true));
    }
    fields.list(
        "import-values",
        dependency.import_values.iter().map(YamlValue::to_value),
    );
    fields.string("alias", &dependency.alias);
    fields.finish()
}

/// `Chart.lock`. No field is omitted.
pub(crate) fn of_lock(lock: &Lock) -> Value {
    let mut fields = Fields::default();
    fields.push("generated", Value::str(lock.generated.as_str()));
    fields.push("digest", Value::str(lock.digest.as_str()));
    let dependencies = lock.dependencies.iter().map(of_dependency).collect();
    fields.push("dependencies", Value::list(dependencies));
    fields.finish()
}

#[derive(Default)]
struct Fields(Vec<(Str, Value)>);

impl Fields {
    fn push(&mut self, name: &str, value: Value) {
        self.0.push((Str::from(name), value));
    }

    fn string(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.push(name, Value::str(text));
        }
    }

    fn strings(&mut self, name: &str, texts: &[String]) {
        self.list(name, texts.iter().map(|text| Value::str(text.as_str())));
    }

    fn list(&mut self, name: &str, items: impl Iterator<Item = Value>) {
        let items: Vec<Value> = items.collect();
        if !items.is_empty() {
            self.push(name, Value::list(items));
        }
    }

    fn finish(self) -> Value {
        Value::Map(Map::from_entries(MapType::Any, self.0))
    }
}
