//! The chart that the trials install: small, and told by its values how many objects it has.

use std::path::Path;

const CHART: &str =
    "apiVersion: v2\nname: small\nversion: 1.0.0\nappVersion: \"1\"\ndescription: A small chart\n";

const VALUES: &str = "# How many config maps.\nmaps: 2\n# What they say.\nword: first\n";

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

/// What a small component has beside its maps.
const REST: &str = r"apiVersion: v1
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

/// Ten objects, unless the values say otherwise.
pub(crate) const OBJECTS: usize = 10;

/// Writes the chart; `small` is its name, and that of the folder in `repository`.
pub(crate) fn write(repository: &Path, version: &str) -> anyhow::Result<()> {
    let folder = repository.join("small");
    fs_err::create_dir_all(folder.join("templates"))?;
    fs_err::write(folder.join("Chart.yaml"), CHART.replace("1.0.0", version))?;
    fs_err::write(folder.join("values.yaml"), VALUES)?;
    fs_err::write(folder.join("templates/maps.yaml"), MAPS)?;
    Ok(fs_err::write(folder.join("templates/rest.yaml"), REST)?)
}
