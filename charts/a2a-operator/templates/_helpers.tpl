{{/* The prefix of every object's name: the release's name, followed by the chart's name unless the release's name contains it. Names of
     Services have no dots, and names of releases may have. */}}
{{- define "a2a-operator.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $release := .Release.Name | replace "." "-" -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride -}}
{{- else if contains $name $release -}}
{{- $release | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" $release $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{/* The namespace of the manager and of the chart's objects for it. */}}
{{- define "a2a-operator.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* The ServiceAccount of the manager. */}}
{{- define "a2a-operator.serviceAccountName" -}}
{{- if .Values.serviceAccount.name -}}
{{- .Values.serviceAccount.name -}}
{{- else if .Values.serviceAccount.create -}}
{{- include "a2a-operator.fullname" . }}-manager
{{- else -}}
{{- fail "serviceAccount.name is required with serviceAccount.create=false: name the ServiceAccount that exists" -}}
{{- end -}}
{{- end -}}

{{- define "a2a-operator.selectorLabels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "a2a-operator.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- $own := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "app.kubernetes.io/component" "helm.sh/chart" }}
{{- range $name, $value := .Values.commonLabels }}
{{- if has $name $own }}
{{- fail (printf "commonLabels.%s: the chart sets this label" $name) }}
{{- end }}
{{ $name }}: {{ $value | quote }}
{{- end }}
{{- end -}}

{{/* An image reference. The argument is a list with three elements: the values of the image, the default tag, and the registry in place of
     the host of the repository, "" for none. */}}
{{- define "a2a-operator.image" -}}
{{- $image := index . 0 -}}
{{- $repository := $image.repository -}}
{{- with index . 2 -}}
{{- $repository = printf "%s/%s" (trimSuffix "/" .) (regexReplaceAll "^([^/]*[.:][^/]*|localhost)/" $repository "") -}}
{{- end -}}
{{- if and $image.digest $image.tag -}}
{{- fail (printf "the image %s has the tag %q and the digest %q, which overrides the tag; clear one of them, for example with --set-string image.digest= or --set-string sidecar.image.digest=" $image.repository $image.tag $image.digest) -}}
{{- end -}}
{{- if $image.digest -}}
{{- printf "%s@%s" $repository $image.digest -}}
{{- else -}}
{{- printf "%s:%s" $repository (default (index . 1) $image.tag) -}}
{{- end -}}
{{- end -}}

{{/* The images of the values that are not of this version, one a line. A published chart lists its images with their digests in an annotation. */}}
{{- define "a2a-operator.oldImages" -}}
{{- $published := index (default (dict) .Chart.Annotations) "artifacthub.io/images" -}}
{{- range $value, $image := dict "image" .Values.image "sidecar.image" .Values.sidecar.image -}}
{{- if and $image.digest $published (not (contains $image.digest $published)) }}
  {{ $value }}.digest: {{ $image.digest }}
{{- else if and $image.tag (ne $image.tag $.Chart.AppVersion) }}
  {{ $value }}.tag: {{ $image.tag }}
{{- end }}
{{- end }}
{{- end -}}

{{/* The port of the registry's Service. */}}
{{- define "a2a-operator.registryPort" -}}
{{- $port := int .Values.registry.service.port -}}
{{- if and .Values.registry.outside.enabled (eq $port 8445) -}}
{{- fail "registry.service.port is 8445, which is the Service's port of the catalog outside of the cluster; set another registry.service.port, or registry.outside.enabled to false" -}}
{{- end -}}
{{- if $port -}}{{ $port }}{{- else if .Values.registry.tls.secret -}}443{{- else -}}80{{- end -}}
{{- end -}}

{{/* The DNS name of the registry's Service. */}}
{{- define "a2a-operator.registryHost" -}}
{{ include "a2a-operator.fullname" . }}-registry.{{ include "a2a-operator.namespace" . }}.svc{{ with .Values.clusterDomain }}.{{ . }}{{ end }}
{{- end -}}

{{/* The URL of the registry inside the cluster. Kubernetes expands $(POD_NAMESPACE). */}}
{{- define "a2a-operator.registryURL" -}}
{{- $port := int (include "a2a-operator.registryPort" .) -}}
{{- $scheme := ternary "https" "http" (ne .Values.registry.tls.secret "") -}}
{{ $scheme }}://{{ include "a2a-operator.fullname" . }}-registry.$(POD_NAMESPACE).svc{{ with .Values.clusterDomain }}.{{ . }}{{ end }}
{{- if ne $port (ternary 443 80 (eq $scheme "https")) }}:{{ $port }}{{ end }}
{{- end -}}

{{/* The URL of the catalog for clients outside of the cluster. */}}
{{- define "a2a-operator.registryOutsideURL" -}}
{{- with .Values.registry.outside -}}
{{- $hostname := required "registry.outside.hostnames is required with registry.outside.enabled" (first .hostnames) -}}
{{- default (printf "https://%s" $hostname) .url -}}
{{- end -}}
{{- end -}}

{{/* A map of quantities as the value of a flag, such as cpu=10m,memory=32Mi. */}}
{{- define "a2a-operator.quantities" -}}
{{- $pairs := list -}}
{{- range $name, $quantity := . -}}
{{- $pairs = append $pairs (printf "%s=%v" $name $quantity) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end -}}
