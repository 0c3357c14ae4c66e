//! Small charts that tests write into a folder.

use std::path::Path;

/// A chart with a ConfigMap, whose text is a value.
pub(crate) const CONFIG: &str = "\
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
data:
  text: {{ .Values.text | quote }}
";

/// A Deployment of one pod.
pub(crate) const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  {{- with .Values.simulate }}
  annotations: {outrigger.dev/simulate: {{ . }}}
  {{- end }}
spec:
  replicas: 1
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

pub(crate) const VALUES: &str = "text: hello\n";

/// Writes a chart as a folder.
pub(crate) fn write(folder: &Path, name: &str, version: &str, templates: &[(&str, &str)]) {
    let chart = folder.join(name);
    fs_err::create_dir_all(chart.join("templates")).unwrap();
    let metadata = format!("apiVersion: v2\nname: {name}\nversion: {version}\nappVersion: \"7\"\n");
    fs_err::write(chart.join("Chart.yaml"), metadata).unwrap();
    fs_err::write(chart.join("values.yaml"), VALUES).unwrap();
    for (file, text) in templates {
        fs_err::write(chart.join("templates").join(file), text).unwrap();
    }
}
