//! The test chart: a small component. Its values set the number of its ConfigMap objects.

use std::path::Path;

const CHART: &str =
    "apiVersion: v2\nname: small\nversion: 1.0.0\nappVersion: \"1\"\ndescription: A small chart\n";

const VALUES: &str = "# The number of ConfigMaps.\nmaps: 2\n# Their contents.\nword: first\n";

const MAPS: &str = r"{{- range $number := until (int .Values.maps) }}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ $.Release.Name }}-{{ $number }}
data:
  word: {{ $.Values.word | quote }}
{{- end }}
";

/// One object of each kind that a small component has.
const SINGLE_OBJECTS: &str = r"apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ .Release.Name }}
---
apiVersion: v1
kind: Secret
metadata:
  name: {{ .Release.Name }}
stringData:
  token: {{ .Values.word | b64enc | quote }}
---
apiVersion: v1
kind: Service
metadata:
  name: {{ .Release.Name }}
spec:
  selector:
    app: {{ .Release.Name }}
  ports:
    - port: 80
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .Release.Name }}
rules:
  - apiGroups: [ '' ]
    resources: [ configmaps ]
    verbs: [ get, list, watch ]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .Release.Name }}
roleRef:
  apiGroup: rbac.authorization.k8s.io
  kind: Role
  name: {{ .Release.Name }}
subjects:
  - kind: ServiceAccount
    name: {{ .Release.Name }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .Release.Name }}
spec:
  podSelector:
    matchLabels:
      app: {{ .Release.Name }}
---
apiVersion: v1
kind: LimitRange
metadata:
  name: {{ .Release.Name }}
spec:
  limits:
    - type: Container
      max:
        memory: 1Gi
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .Release.Name }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app: {{ .Release.Name }}
";

/// ConfigMap objects with the default values.
pub(super) const CONFIG_MAPS: usize = 2;

/// Writes the chart `small` to `repository/small`.
pub(super) fn write(repository: &Path, version: &str) -> anyhow::Result<()> {
    let chart = repository.join("small");
    fs_err::create_dir_all(chart.join("templates"))?;
    fs_err::write(chart.join("Chart.yaml"), CHART.replace("1.0.0", version))?;
    fs_err::write(chart.join("values.yaml"), VALUES)?;
    fs_err::write(chart.join("templates/maps.yaml"), MAPS)?;
    Ok(fs_err::write(
        chart.join("templates/single.yaml"),
        SINGLE_OBJECTS,
    )?)
}
