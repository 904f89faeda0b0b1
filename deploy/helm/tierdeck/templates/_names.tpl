{{/* Names and labels. */}}

{{- define "tierdeck.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains .Chart.Name .Release.Name -}}
{{- .Release.Name | trunc 50 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 50 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* By which our pods are found; never changed, since a Deployment's selector can't be. */}}
{{- define "tierdeck.selector" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "tierdeck.labels" -}}
{{ include "tierdeck.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/part-of: {{ .Chart.Name }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- define "tierdeck.image" -}}
{{- $tag := .Values.image.tag | default .Chart.AppVersion -}}
{{- if .Values.image.digest -}}
{{- printf "%s@%s" .Values.image.repository .Values.image.digest -}}
{{- else -}}
{{- printf "%s:%s" .Values.image.repository $tag -}}
{{- end -}}
{{- end -}}

{{- define "tierdeck.changes" -}}
{{- if and .Values.controller.enabled .Values.controller.changes.enabled }}true{{ end -}}
{{- end -}}

{{- define "tierdeck.isEmbedded" -}}
{{- if eq .Values.database.type "embedded" }}true{{ end -}}
{{- end -}}

{{/* Roles of several installs in one cluster must not share a name. */}}
{{- define "tierdeck.clusterRole" -}}
{{- printf "%s-%s-observe" .Release.Namespace (include "tierdeck.fullname" .) -}}
{{- end -}}

{{- define "tierdeck.changeRole" -}}
{{- printf "%s-%s-change" .Release.Namespace (include "tierdeck.fullname" .) -}}
{{- end -}}

{{- define "tierdeck.injectorRole" -}}
{{- printf "%s-%s-injector" .Release.Namespace (include "tierdeck.fullname" .) -}}
{{- end -}}

{{/* Of the whole cluster, as its webhook's configuration is. */}}
{{- define "tierdeck.webhook" -}}
{{- printf "%s-%s-l2" .Release.Namespace (include "tierdeck.fullname" .) -}}
{{- end -}}

{{- define "tierdeck.account" -}}
{{- printf "%s-%s" (include "tierdeck.fullname" .root) .process -}}
{{- end -}}
