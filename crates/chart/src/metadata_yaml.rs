//! Metadata and locks back as values, field by field as Go's encoder writes them: empty fields are left out, except
//! those that Helm always writes.

use outrigger_gotmpl::value::{Map, MapType, Str, Value};

use crate::metadata::{Dependency, Lock, Maintainer, Metadata};
use crate::plain::Plain;

/// `Chart.yaml`; version 1 charts keep their dependencies elsewhere.
pub(crate) fn of_metadata(metadata: &Metadata, with_dependencies: bool) -> Value {
    let mut fields = Fields::default();
    fields.text("name", &metadata.name);
    fields.text("home", &metadata.home);
    fields.texts("sources", &metadata.sources);
    fields.text("version", &metadata.version);
    fields.text("description", &metadata.description);
    fields.texts("keywords", &metadata.keywords);
    fields.list(
        "maintainers",
        metadata.maintainers.iter().map(of_maintainer),
    );
    fields.text("icon", &metadata.icon);
    fields.text("apiVersion", &metadata.api_version);
    fields.text("condition", &metadata.condition);
    fields.text("tags", &metadata.tags);
    fields.text("appVersion", &metadata.app_version);
    if metadata.deprecated {
        fields.push("deprecated", Value::Bool(true));
    }
    if !metadata.annotations.is_empty() {
        let entries = metadata.annotations.iter();
        let entries =
            entries.map(|(key, value)| (Str::from(key.as_str()), Value::str(value.as_str())));
        fields.push("annotations", Value::map(entries.collect()));
    }
    fields.text("kubeVersion", &metadata.kube_version);
    if with_dependencies {
        fields.list(
            "dependencies",
            metadata.declared().iter().map(of_dependency),
        );
    }
    fields.text("type", &metadata.chart_type);
    fields.finish()
}

fn of_maintainer(maintainer: &Maintainer) -> Value {
    let mut fields = Fields::default();
    fields.text("name", &maintainer.name);
    fields.text("email", &maintainer.email);
    fields.text("url", &maintainer.url);
    fields.finish()
}

pub(crate) fn of_dependency(dependency: &Dependency) -> Value {
    let mut fields = Fields::default();
    fields.push("name", Value::str(dependency.name.as_str()));
    fields.text("version", &dependency.version);
    fields.push("repository", Value::str(dependency.repository.as_str()));
    fields.text("condition", &dependency.condition);
    fields.texts("tags", &dependency.tags);
    if dependency.enabled {
        fields.push("enabled", Value::Bool(true));
    }
    fields.list(
        "import-values",
        dependency.import_values.iter().map(Plain::to_value),
    );
    fields.text("alias", &dependency.alias);
    fields.finish()
}

/// `Chart.lock`; every field is always there.
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

    fn text(&mut self, name: &str, text: &str) {
        if !text.is_empty() {
            self.push(name, Value::str(text));
        }
    }

    fn texts(&mut self, name: &str, texts: &[String]) {
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
