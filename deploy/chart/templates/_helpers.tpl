{{- define "outrigger.selector" -}}
app.kubernetes.io/name: outrigger
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "outrigger.labels" -}}
{{ include "outrigger.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
{{- define "outrigger.accounts" -}}
{{- $accounts := .Values.serviceAccounts }}
{{- with .Values.defaultServiceAccount }}{{ $accounts = append $accounts . }}{{ end }}
{{- $accounts | uniq | toJson }}
{{- end }}
