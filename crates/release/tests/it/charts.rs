//! Charts for tests.

use std::sync::Arc;

use outrigger_chart::{Chart, File, Profile, from_files};

pub(crate) const CHART: &str = "apiVersion: v2\nname: web\nversion: 1.0.0\nappVersion: '7'\n";

/// A chart of these files, besides `Chart.yaml`.
pub(crate) fn chart(files: &[(&str, &str)]) -> Arc<Chart> {
    let mut all = vec![File::new("Chart.yaml", CHART)];
    all.extend(files.iter().map(|(name, text)| File::new(*name, *text)));
    Arc::new(from_files(all, Profile::Helm4, &mut |_| {}).unwrap())
}

/// A ConfigMap, a Secret, a Service and a Deployment; each can be switched off by its value.
pub(crate) fn web() -> Arc<Chart> {
    chart(&[
        (
            "values.yaml",
            "replicas: 1\nimage: nginx:1\nmap: one\nsecret: true\nservice: true\n",
        ),
        ("templates/objects.yaml", WEB),
        ("templates/NOTES.txt", "Revision {{ .Release.Revision }}"),
    ])
}

const WEB: &str = r"
apiVersion: v1
kind: ConfigMap
metadata: {name: {{ .Release.Name }}-map}
data:
  text: {{ .Values.map | quote }}
{{- if .Values.extra }}
  extra: {{ .Values.extra | quote }}
{{- end }}
---
{{- if .Values.secret }}
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}-secret}
stringData: {password: hunter2}
---
{{- end }}
{{- if .Values.service }}
apiVersion: v1
kind: Service
metadata: {name: {{ .Release.Name }}}
spec:
  selector: {app: {{ .Release.Name }}}
  ports: [{port: 80}]
---
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .Release.Name }}
  {{- with .Values.simulate }}
  annotations: {outrigger.dev/simulate: {{ . }}}
  {{- end }}
spec:
  replicas: {{ .Values.replicas }}
  selector: {matchLabels: {app: {{ .Release.Name }}}}
  template:
    metadata:
      labels: {app: {{ .Release.Name }}}
      {{- with .Values.simulate }}
      annotations: {outrigger.dev/simulate: {{ . }}}
      {{- end }}
    spec:
      containers:
      - name: web
        image: {{ .Values.image }}
        ports: [{containerPort: 80}]
";

/// All objects of [`web`].
pub(crate) const WEB_OBJECTS: [&str; 4] = [
    "configmaps/web-map",
    "deployments/web",
    "secrets/web-secret",
    "services/web",
];

/// A Job that is a hook.
pub(crate) fn hook(name: &str, event: &str, annotations: &str) -> String {
    format!(
        "---\napiVersion: batch/v1\nkind: Job\nmetadata:\n  name: {name}\n  annotations:\n    helm.sh/hook: {event}\n{annotations}spec:\n  backoffLimit: 0\n  template:\n    spec:\n      restartPolicy: Never\n      containers: [{{name: c, image: busybox}}]\n"
    )
}
