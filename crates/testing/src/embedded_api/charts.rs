//! Small charts for tests, in memory or in a directory.

use std::path::Path;
use std::sync::Arc;

use outrigger_chart::{Chart, File, Profile, from_files};

/// A ConfigMap named after the release; its key `text` is `.Values.text`.
pub const CONFIG_MAP: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  text: {{ .Values.text | quote }}
";

/// A Deployment named after the release. `.Values.simulate` sets how the server simulates its pods.
pub const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  {{- with .Values.simulate }}
  annotations: {outrigger.dev/simulate: {{ . }}}
  {{- end }}
spec:
  replicas: {{ .Values.replicas | default 1 }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      {{- with .Values.simulate }}
      annotations: {outrigger.dev/simulate: {{ . }}}
      {{- end }}
    spec:
      containers:
        - name: main
          image: {{ .Values.image | default \"example.com/web:1\" }}
";

/// A `Chart.yaml` with app version 7.
pub fn chart_yaml(name: &str, version: &str) -> String {
    format!("apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: \"7\"\n")
}

/// Loads a chart `web` 1.0.0 that has these files besides its `Chart.yaml`.
///
/// # Panics
/// If the files are not a chart.
pub fn load(files: &[(&str, &str)]) -> Arc<Chart> {
    let mut all = vec![File::new("Chart.yaml", chart_yaml("web", "1.0.0"))];
    all.extend(files.iter().map(|(name, text)| File::new(*name, *text)));
    Arc::new(from_files(all, Profile::Helm4, &mut |_| {}).expect("the files are a chart"))
}

/// Writes a chart to `directory/name`, with `text: hello` as its default values.
///
/// # Panics
/// If the directory is not writable.
pub fn write(directory: &Path, name: &str, version: &str, templates: &[(&str, &str)]) {
    let chart = directory.join(name);
    let write = |path: &str, text: &str| {
        fs_err::write(chart.join(path), text).expect("the chart directory is writable");
    };
    fs_err::create_dir_all(chart.join("templates")).expect("the directory is writable");
    write("Chart.yaml", &chart_yaml(name, version));
    write("values.yaml", "text: hello\n");
    for (file, text) in templates {
        write(&format!("templates/{file}"), text);
    }
}
