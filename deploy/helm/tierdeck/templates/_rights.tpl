{{/* The rules of controller/api/rights.py; a test holds them to it. Nothing but reading. */}}

{{- define "tierdeck.clusterRules" -}}
- {apiGroups: [""], resources: [nodes], verbs: [get, list, watch]}
- {apiGroups: ["storage.k8s.io"], resources: [storageclasses], verbs: [get, list, watch]}
{{- end -}}

{{- define "tierdeck.namespacedRules" -}}
- {apiGroups: [""], resources: [pods], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [persistentvolumeclaims], verbs: [get, list, watch]}
- {apiGroups: ["apps"], resources: [deployments], verbs: [get, list, watch]}
- {apiGroups: ["apps"], resources: [replicasets], verbs: [get, list, watch]}
- {apiGroups: ["apps"], resources: [statefulsets], verbs: [get, list, watch]}
- {apiGroups: ["apps"], resources: [daemonsets], verbs: [get, list, watch]}
- {apiGroups: ["apps"], resources: [controllerrevisions], verbs: [get, list, watch]}
- {apiGroups: ["autoscaling"], resources: [horizontalpodautoscalers], verbs: [get, list, watch]}
- {apiGroups: ["keda.sh"], resources: [scaledobjects], verbs: [get, list, watch]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [inferenceendpointconfigs], verbs: [get, list, watch]}
- {apiGroups: ["inference.sagemaker.aws.amazon.com"], resources: [jumpstartmodels], verbs: [get, list, watch]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [vllmruntimes], verbs: [get, list, watch]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [vllmrouters], verbs: [get, list, watch]}
- {apiGroups: ["production-stack.vllm.ai"], resources: [cacheservers], verbs: [get, list, watch]}
- {apiGroups: [""], resources: [configmaps], verbs: [get]}
{{- end -}}
