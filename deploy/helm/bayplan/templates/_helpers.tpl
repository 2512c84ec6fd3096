{{- define "bayplan.selectorLabels" -}}
app.kubernetes.io/name: bayplan
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "bayplan.labels" -}}
{{ include "bayplan.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}
