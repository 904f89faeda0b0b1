{{/* The rules of controller/api/rights.py; a test holds them to it. Only for changes: nothing is made or deleted. */}}

{{- define "tierdeck.changeClusterRules" -}}
- {apiGroups: [""], resources: [namespaces], verbs: [get, list]}
- {apiGroups: ["apiextensions.k8s.io"], resources: [customresourcedefinitions], verbs: [get, list]}
- {apiGroups: ["admissionregistration.k8s.io"], resources: [mutatingwebhookconfigurations], verbs: [get, list]}
- {apiGroups: ["kueue.x-k8s.io"], resources: [clusterqueues], verbs: [get, list]}
- {apiGroups: ["authorization.k8s.io"], resources: [selfsubjectaccessreviews], verbs: [create]}
{{- if .Values.controller.changes.impersonate }}
- {apiGroups: [""], resources: [users], verbs: [impersonate]}
{{- end }}
{{- end -}}

{{- define "tierdeck.changeWriteRules" -}}
- {apiGroups: ["apps"], resources: [deployments], verbs: [patch, update]}
- {apiGroups: ["apps"], resources: [statefulsets], verbs: [patch, update]}
- {apiGroups: ["apps"], resources: [daemonsets], verbs: [patch, update]}
- {apiGroups: [""], resources: [configmaps], verbs: [patch, update]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [inferenceendpointconfigs], verbs: [patch, update]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [jumpstartmodels], verbs: [patch, update]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [vllmruntimes], verbs: [patch, update]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [vllmrouters], verbs: [patch, update]}
- {apiGroups: ["lmcache.lmcache.ai"], resources: [lmcacheengines], verbs: [patch, update]}
{{- end -}}

{{- define "tierdeck.changeReadRules" -}}
- {apiGroups: [""], resources: [resourcequotas], verbs: [get, list]}
- {apiGroups: [""], resources: [limitranges], verbs: [get, list]}
- {apiGroups: ["policy"], resources: [poddisruptionbudgets], verbs: [get, list]}
- {apiGroups: ["discovery.k8s.io"], resources: [endpointslices], verbs: [get, list]}
- {apiGroups: ["kueue.x-k8s.io"], resources: [localqueues], verbs: [get, list]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [inferencegatewayconfigs], verbs: [get, list]}
- {apiGroups: ["lmcache.lmcache.ai"], resources: [lmcacheengines], verbs: [get, list]}
{{- end -}}
