{{- define "assay.labels" -}}
{app.kubernetes.io/part-of: assay, app.kubernetes.io/name: {{ . }}}
{{- end }}

{{- define "assay.confined" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{- /* The secrets of a process, those of single roles after those of all. */ -}}
{{- define "assay.secrets" -}}
- secretRef: {name: assay-stores}
- secretRef: {name: assay-{{ .name }}, optional: true}
{{- if eq .models "keys" }}
- secretRef: {name: assay-models, optional: true}
{{- end }}
{{- end }}

{{- define "assay.namespace" -}}
{{- if eq .name "execution" }}{{ .root.Values.executionNamespace }}{{ else }}{{ .root.Release.Namespace }}{{ end }}
{{- end }}

{{- /* An image by its name, from the registry of the values. */ -}}
{{- define "assay.image" -}}
{{- with .root.Values.registry }}{{ trimSuffix "/" . }}/{{ end }}{{ index .root.Values.images .name }}
{{- end }}
