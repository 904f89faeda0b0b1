{{/* The rules of controller/api/rights.py for the injector; a test holds them to it. */}}

{{- define "tierdeck.injectorClusterRules" -}}
- {apiGroups: [""], resources: [nodes], verbs: [list, watch]}
- {apiGroups: ["storage.k8s.io"], resources: [storageclasses], verbs: [list, watch]}
{{- end -}}

{{- define "tierdeck.injectorRules" -}}
- {apiGroups: [""], resources: [pods], verbs: [list, watch]}
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [list, watch]}
- {apiGroups: ["apps"], resources: [replicasets], verbs: [get]}
- {apiGroups: ["apps"], resources: [deployments], verbs: [get]}
- {apiGroups: ["apps"], resources: [statefulsets], verbs: [get]}
- {apiGroups: ["apps"], resources: [daemonsets], verbs: [get]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [inferenceendpointconfigs], verbs: [get]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [jumpstartmodels], verbs: [get]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [vllmruntimes], verbs: [get]}
- {apiGroups: [""], resources: [events], verbs: [create]}
{{- end -}}
