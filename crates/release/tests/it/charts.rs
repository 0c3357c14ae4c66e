//! Charts for tests.

use std::sync::Arc;

use outrigger_chart::Chart;
use outrigger_testing::embedded_api::charts::DEPLOYMENT;
pub(crate) use outrigger_testing::embedded_api::charts::load as chart;

/// A ConfigMap, a Secret, a Service and a Deployment; each can be switched off by its value.
pub(crate) fn web() -> Arc<Chart> {
    chart(&[
        (
            "values.yaml",
            "replicas: 1\nimage: nginx:1\nmap: one\nsecret: true\nservice: true\n",
        ),
        ("templates/objects.yaml", &format!("{OBJECTS}{DEPLOYMENT}")),
        ("templates/NOTES.txt", "Revision {{ .Release.Revision }}"),
    ])
}

const OBJECTS: &str = r"
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
