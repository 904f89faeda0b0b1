{{/* The containers of our processes: what each is told, how it is asked whether it is well. */}}

{{- define "tierdeck.securityContext" -}}
allowPrivilegeEscalation: false
capabilities: {drop: [ALL]}
readOnlyRootFilesystem: true
runAsNonRoot: true
{{- end -}}

{{/* Where the store is, and whose it is. */}}
{{- define "tierdeck.env" -}}
- {name: TIERDECK_CLUSTER, value: {{ .Values.cluster | quote }}}
{{- if include "tierdeck.isEmbedded" . }}
- {name: TIERDECK_HOME, value: /var/lib/tierdeck}
{{- else }}
{{- $pg := .Values.database.postgresql }}
{{- if $pg.url }}
- {name: TIERDECK_DATABASE_URL, value: {{ $pg.url | quote }}}
{{- if $pg.existingSecret }}
- name: PGPASSWORD
  valueFrom: {secretKeyRef: {name: {{ $pg.existingSecret }}, key: {{ $pg.passwordKey }}}}
{{- end }}
{{- else }}
- name: TIERDECK_DATABASE_URL
  valueFrom: {secretKeyRef: {name: {{ $pg.existingSecret }}, key: {{ $pg.urlKey }}}}
{{- end }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tierdeck.prometheusEnv" -}}
{{- with .Values.prometheus }}
{{- if .url }}
- {name: TIERDECK_PROMETHEUS_URL, value: {{ .url | quote }}}
{{- range $name, $value := dict "TENANT" .tenant "MATCH" .match "AWS_REGION" .awsRegion "USERNAME" .username }}
{{- if $value }}
- {name: TIERDECK_PROMETHEUS_{{ $name }}, value: {{ $value | quote }}}
{{- end }}
{{- end }}
{{- range $name, $key := dict "PASSWORD" .passwordKey "TOKEN" .tokenKey "CA" .caKey "CERT" .certKey "KEY" .keyKey }}
{{- if $key }}
- {name: TIERDECK_PROMETHEUS_{{ $name }}_FILE, value: {{ printf "/etc/tierdeck/prometheus/%s" $key | quote }}}
{{- end }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "tierdeck.mounts" -}}
- {name: tmp-{{ .process }}, mountPath: /tmp}
{{- if include "tierdeck.isEmbedded" .root }}
- {name: store, mountPath: /var/lib/tierdeck}
{{- end }}
{{- end -}}

{{/* /metrics is served as soon as a process runs; /healthz fails when one of its loops hangs. */}}
{{- define "tierdeck.metricsProbes" -}}
startupProbe:
  httpGet: {path: /metrics, port: {{ . }}}
  periodSeconds: 2
  failureThreshold: 60
  timeoutSeconds: 5
readinessProbe:
  httpGet: {path: /metrics, port: {{ . }}}
  periodSeconds: 10
  timeoutSeconds: 5
livenessProbe:
  httpGet: {path: /healthz, port: {{ . }}}
  periodSeconds: 20
  failureThreshold: 3
  timeoutSeconds: 10
{{- end -}}

{{- define "tierdeck.collectors" -}}
- name: collectors
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, collectors]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
    - {name: TIERDECK_METRICS_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_METRICS_PORT, value: "9464"}
    {{- if .Values.config }}
    - {name: TIERDECK_CONFIG_FILE, value: /etc/tierdeck/config/tierdeck.yaml}
    {{- end }}
    {{- with include "tierdeck.prometheusEnv" . | trim }}
    {{- . | nindent 4 }}
    {{- end }}
  ports:
    - {name: collectors, containerPort: 9464, protocol: TCP}
  {{- include "tierdeck.metricsProbes" "collectors" | nindent 2 }}
  resources: {{- toYaml .Values.collectors.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "collectors") | nindent 4 }}
    {{- if .Values.config }}
    - {name: config, mountPath: /etc/tierdeck/config, readOnly: true}
    {{- end }}
    {{- if .Values.prometheus.existingSecret }}
    - {name: prometheus, mountPath: /etc/tierdeck/prometheus, readOnly: true}
    {{- end }}
{{- end -}}

{{- define "tierdeck.controller" -}}
- name: controller
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, controller]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
    - {name: TIERDECK_METRICS_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_METRICS_PORT, value: "9465"}
    {{- if .Values.injector.enabled }}
    - {name: TIERDECK_L2_FILE, value: /etc/tierdeck/l2/l2.yaml}
    {{- end }}
    {{- if include "tierdeck.changes" . }}
    - {name: TIERDECK_CHANGES_FILE, value: /etc/tierdeck/changes/changes.yaml}
    - {name: TIERDECK_CHANGES_SECOND_PERSON, value: {{ .Values.controller.changes.secondPerson | quote }}}
    - {name: TIERDECK_CHANGES_IMPERSONATE, value: {{ .Values.controller.changes.impersonate | quote }}}
    {{- end }}
    {{- with .Values.namespaces }}
    - {name: TIERDECK_KUBE_NAMESPACES, value: {{ join "," . | quote }}}
    {{- end }}
  ports:
    - {name: controller, containerPort: 9465, protocol: TCP}
  {{- include "tierdeck.metricsProbes" "controller" | nindent 2 }}
  resources: {{- toYaml .Values.controller.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "controller") | nindent 4 }}
    - {name: kube-api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
    {{- if .Values.injector.enabled }}
    - {name: l2, mountPath: /etc/tierdeck/l2, readOnly: true}
    {{- end }}
    {{- if include "tierdeck.changes" . }}
    - {name: changes, mountPath: /etc/tierdeck/changes, readOnly: true}
    {{- end }}
{{- end -}}

{{/* Ready once it knows the claims and nodes and has a certificate; until then the API server makes pods as they are. */}}
{{- define "tierdeck.injector" -}}
{{- $name := include "tierdeck.fullname" . }}
- name: injector
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, controller, injector]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
    - {name: TIERDECK_METRICS_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_METRICS_PORT, value: "9467"}
    - {name: TIERDECK_L2_FILE, value: /etc/tierdeck/l2/l2.yaml}
    - {name: TIERDECK_INJECTOR_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_INJECTOR_PORT, value: "9443"}
    {{- if .Values.injector.certManager.enabled }}
    - {name: TIERDECK_INJECTOR_CERT_FILE, value: /etc/tierdeck/webhook/tls.crt}
    - {name: TIERDECK_INJECTOR_KEY_FILE, value: /etc/tierdeck/webhook/tls.key}
    {{- else }}
    - {name: TIERDECK_INJECTOR_NAMES, value: "{{ $name }}-injector.{{ .Release.Namespace }}.svc"}
    - {name: TIERDECK_INJECTOR_SECRET, value: "{{ .Release.Namespace }}/{{ $name }}-injector"}
    - {name: TIERDECK_INJECTOR_WEBHOOK, value: {{ include "tierdeck.webhook" . }}}
    {{- end }}
    {{- with .Values.namespaces }}
    - {name: TIERDECK_KUBE_NAMESPACES, value: {{ join "," . | quote }}}
    {{- end }}
  ports:
    - {name: webhook, containerPort: 9443, protocol: TCP}
    - {name: injector, containerPort: 9467, protocol: TCP}
  startupProbe:
    httpGet: {path: /metrics, port: injector}
    periodSeconds: 2
    failureThreshold: 60
    timeoutSeconds: 5
  readinessProbe:
    httpGet: {path: /readyz, port: webhook, scheme: HTTPS}
    periodSeconds: 5
    timeoutSeconds: 5
  livenessProbe:
    httpGet: {path: /healthz, port: injector}
    periodSeconds: 20
    failureThreshold: 3
    timeoutSeconds: 10
  resources: {{- toYaml .Values.injector.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "injector") | nindent 4 }}
    - {name: kube-api-access, mountPath: /var/run/secrets/kubernetes.io/serviceaccount, readOnly: true}
    - {name: l2, mountPath: /etc/tierdeck/l2, readOnly: true}
    {{- if .Values.injector.certManager.enabled }}
    - {name: webhook, mountPath: /etc/tierdeck/webhook, readOnly: true}
    {{- end }}
{{- end -}}

{{- define "tierdeck.alerting" -}}
- name: alerting
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, alerting]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
    - {name: TIERDECK_METRICS_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_METRICS_PORT, value: "9466"}
    {{- if .Values.alerting.limits }}
    - {name: TIERDECK_ALERTS_FILE, value: /etc/tierdeck/alerts/alerts.yaml}
    {{- end }}
    {{- with .Values.alerting.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    - {name: alerting, containerPort: 9466, protocol: TCP}
  {{- include "tierdeck.metricsProbes" "alerting" | nindent 2 }}
  resources: {{- toYaml .Values.alerting.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "alerting") | nindent 4 }}
    {{- if .Values.alerting.limits }}
    - {name: alerts, mountPath: /etc/tierdeck/alerts, readOnly: true}
    {{- end }}
    {{- if .Values.alerting.existingSecret }}
    - {name: notify, mountPath: /etc/tierdeck/notify, readOnly: true}
    {{- end }}
{{- end -}}

{{/* Ready only while the store answers; alive as long as it serves, so that a store that is away restarts nothing. */}}
{{- define "tierdeck.console" -}}
- name: console
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, console.web]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
    - {name: TIERDECK_CONSOLE_ADDRESS, value: 0.0.0.0}
    - {name: TIERDECK_CONSOLE_PORT, value: "8501"}
    {{- if include "tierdeck.changes" . }}
    - {name: TIERDECK_CHANGES_SECOND_PERSON, value: {{ .Values.controller.changes.secondPerson | quote }}}
    {{- end }}
  ports:
    - {name: http, containerPort: 8501, protocol: TCP}
  startupProbe:
    httpGet: {path: /_stcore/health, port: http}
    periodSeconds: 2
    failureThreshold: 90
    timeoutSeconds: 5
  readinessProbe:
    httpGet: {path: /healthz, port: http}
    periodSeconds: 10
    timeoutSeconds: 10
  livenessProbe:
    httpGet: {path: /_stcore/health, port: http}
    periodSeconds: 20
    failureThreshold: 3
    timeoutSeconds: 10
  resources: {{- toYaml .Values.console.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "console") | nindent 4 }}
{{- end -}}

{{- define "tierdeck.migrate" -}}
- name: migrate
  image: {{ include "tierdeck.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  command: [python, -m, db, upgrade]
  env:
    {{- include "tierdeck.env" . | nindent 4 }}
  resources: {{- toYaml .Values.collectors.resources | nindent 4 }}
  securityContext: {{- include "tierdeck.securityContext" . | nindent 4 }}
  volumeMounts:
    {{- include "tierdeck.mounts" (dict "root" . "process" "migrate") | nindent 4 }}
{{- end -}}
