{{/* A value in TOML: tables become inline tables. */}}
{{- define "mgp.value" -}}
{{- if kindIs "map" . -}}
{ {{- range $at, $key := keys . | sortAlpha }}{{ if $at }}, {{ end }}{{ toJson $key }} = {{ template "mgp.value" index $ $key }}{{ end -}} }
{{- else if kindIs "slice" . -}}
[{{- range $at, $item := . }}{{ if $at }}, {{ end }}{{ template "mgp.value" $item }}{{ end -}}]
{{- else -}}
{{ toJson . }}
{{- end -}}
{{- end -}}

{{/* mgp.toml: what the chart sets, with `config` of the values merged over it. */}}
{{- define "mgp.toml" -}}
{{- $peers := printf "%s-kernels.%s.svc.cluster.local" .Release.Name .Release.Namespace -}}
{{- $hosts := concat .Values.hosts (without (list .Values.page.host) "") -}}
{{- $listen := dict "http" "0.0.0.0:7332" "require_keys" true "allowed_hosts" $hosts -}}
{{- $base := dict
  "kernel" (dict "drain_secs" .Values.drainSeconds)
  "listen" $listen
  "store" (dict "url" "${secret:STORE_URL}" "key" "${secret:STORE_KEY}")
  "cluster" (dict
    "listen" (printf "${POD_NAME}.%s:7334" $peers)
    "certificate" "/etc/mgp/certificates/${POD_NAME}.pem"
    "key" "/etc/mgp/certificates/${POD_NAME}.key"
    "authority" "/etc/mgp/certificates/authority.pem")
  "telemetry" (dict "metrics" true) -}}
{{- if .Values.tls -}}
{{- $_ := set $listen "tls" (dict "certificate" "/etc/mgp/tls/tls.crt" "key" "/etc/mgp/tls/tls.key") -}}
{{- end -}}
{{- if .Values.page.enabled -}}
{{- if not .Values.tls }}{{ fail "`page` needs `tls`: the page is served to other machines over HTTPS only" }}{{ end -}}
{{- $_ := set $base "ui" (dict "enabled" true "listen" "0.0.0.0:7333") -}}
{{- end -}}
{{- if not (kindIs "map" .Values.config) }}{{ fail "`config` is a map of the tables of mgp.toml, and no text" }}{{ end -}}
{{- $config := mergeOverwrite $base (deepCopy .Values.config) -}}
{{- range $key := keys $config | sortAlpha }}{{ $value := index $config $key }}{{ if not (kindIs "map" $value) }}
{{ $key }} = {{ template "mgp.value" $value }}
{{- end }}{{ end }}
{{- range $key := keys $config | sortAlpha }}{{ $table := index $config $key }}{{ if kindIs "map" $table }}
[{{ $key }}]
{{- range $name := keys $table | sortAlpha }}
{{ toJson $name }} = {{ template "mgp.value" index $table $name }}
{{- end }}
{{- end }}{{ end }}
{{- end -}}
