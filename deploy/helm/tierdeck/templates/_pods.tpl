{{/* A pod of ours around its containers. Takes root, component, processes (a list), account. */}}

{{- define "tierdeck.podSpec" -}}
{{- $root := .root }}
{{- with .account }}
serviceAccountName: {{ . }}
{{- end }}
automountServiceAccountToken: false
{{- /* A Service called tierdeck-console would set TIERDECK_CONSOLE_PORT, which is a setting. */}}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  fsGroupChangePolicy: OnRootMismatch
  seccompProfile: {type: RuntimeDefault}
{{- with $root.Values.image.pullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with $root.Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with $root.Values.affinity }}
affinity: {{- toYaml . | nindent 2 }}
{{- end }}
{{- if has .component (list "console" "injector") }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: kubernetes.io/hostname
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels: {{- include "tierdeck.selector" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
{{- end }}
terminationGracePeriodSeconds: 30
{{- if eq .component "deck" }}
initContainers:
  {{- include "tierdeck.migrate" $root | nindent 2 }}
{{- end }}
containers:
  {{- range .processes }}
  {{- include (printf "tierdeck.%s" .) $root | nindent 2 }}
  {{- end }}
volumes:
  {{- range ternary (prepend .processes "migrate") .processes (eq .component "deck") }}
  - name: tmp-{{ . }}
    emptyDir: {}
  {{- end }}
  {{- if include "tierdeck.isEmbedded" $root }}
  - name: store
    persistentVolumeClaim:
      claimName: {{ $root.Values.database.embedded.existingClaim | default (printf "%s-store" (include "tierdeck.fullname" $root)) }}
  {{- end }}
  {{- if and (has "collectors" .processes) $root.Values.config }}
  - name: config
    configMap: {name: {{ include "tierdeck.fullname" $root }}-config}
  {{- end }}
  {{- if and (has "collectors" .processes) $root.Values.prometheus.existingSecret }}
  - name: prometheus
    secret: {secretName: {{ $root.Values.prometheus.existingSecret }}, defaultMode: 0440}
  {{- end }}
  {{- if and (has "alerting" .processes) $root.Values.alerting.limits }}
  - name: alerts
    configMap: {name: {{ include "tierdeck.fullname" $root }}-alerts}
  {{- end }}
  {{- if and (has "alerting" .processes) $root.Values.alerting.existingSecret }}
  - name: notify
    secret: {secretName: {{ $root.Values.alerting.existingSecret }}, defaultMode: 0440}
  {{- end }}
  {{- if and $root.Values.injector.enabled (or (has "controller" .processes) (has "injector" .processes)) }}
  - name: l2
    configMap: {name: {{ include "tierdeck.fullname" $root }}-l2}
  {{- end }}
  {{- if and (has "controller" .processes) (include "tierdeck.changes" $root) }}
  - name: changes
    configMap: {name: {{ include "tierdeck.fullname" $root }}-changes}
  {{- end }}
  {{- if and (has "injector" .processes) $root.Values.injector.certManager.enabled }}
  - name: webhook
    secret: {secretName: {{ include "tierdeck.fullname" $root }}-injector, defaultMode: 0440}
  {{- end }}
  {{- if or (has "controller" .processes) (has "injector" .processes) }}
  {{- /* The service account's token, as it would be mounted by itself, for containers that speak to the API only. */}}
  - name: kube-api-access
    projected:
      defaultMode: 0440
      sources:
        - serviceAccountToken: {path: token, expirationSeconds: 3607}
        - configMap:
            name: kube-root-ca.crt
            items: [{key: ca.crt, path: ca.crt}]
        - downwardAPI:
            items: [{path: namespace, fieldRef: {apiVersion: v1, fieldPath: metadata.namespace}}]
  {{- end }}
{{- end -}}

{{- define "tierdeck.deployment" -}}
{{- $root := .root }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "tierdeck.fullname" $root }}{{ ternary "" (printf "-%s" .component) (eq .component "deck") }}
  namespace: {{ $root.Release.Namespace }}
  labels: {{- include "tierdeck.labels" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  replicas: {{ dig .component "replicas" 1 (pick $root.Values "console" "injector") }}
  {{- if eq .component "injector" }}
  strategy: {rollingUpdate: {maxUnavailable: 0, maxSurge: 1}}
  {{- else if ne .component "console" }}
  # Never two of them: each writes what it sees, and the embedded store's volume has one owner.
  strategy: {type: Recreate}
  {{- end }}
  selector:
    matchLabels: {{- include "tierdeck.selector" $root | nindent 6 }}
      app.kubernetes.io/component: {{ .component }}
  template:
    metadata:
      labels: {{- include "tierdeck.labels" $root | nindent 8 }}
        app.kubernetes.io/component: {{ .component }}
        {{- with $root.Values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      annotations:
        kubectl.kubernetes.io/default-container: {{ first .processes }}
        {{- with $root.Values.podAnnotations }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      {{- include "tierdeck.podSpec" . | trim | nindent 6 }}
{{- end -}}
