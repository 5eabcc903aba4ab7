"""The chart, the compose file and the examples of docs/replicas.md."""

import re
import tomllib

from parts import ENV, FOLDER, MGP, SCRIPTS, check, program, run

REPOSITORY = SCRIPTS.parents[1]


def examples_are_valid(cluster, short):
    """haproxy takes the examples of docs/replicas.md and of the compose file"""
    documented = (REPOSITORY / "docs/replicas.md").read_text()
    composed = (REPOSITORY / "contrib/compose/replicas.yaml").read_text()
    backend = re.search(r"```\n(backend kernels.*?)```", documented, re.S).group(1)
    frontend = "frontend clients\n    bind 127.0.0.1:1\n    timeout client 1h\n    mode http\n    default_backend kernels\n"
    service = re.search(r"  haproxy:\n    content: \|\n(.*?)\nsecrets:", composed, re.S).group(1)
    for text in (frontend + backend.replace("    balance", "    mode http\n    balance"), re.sub("kernel-([123]):", r"127.0.0.\1:", service)):
        (FOLDER / "example.cfg").write_text(re.sub("(?m)^      ", "", text))
        ran = run(program("haproxy"), "-c", "-f", "example.cfg")
        check(ran.returncode == 0, ran.stderr)
    return ""


# Values that set something in each table of the chart, and all that can be switched on.
CHART_VALUES = {
    "tls": "mgp-tls",
    "page": {"enabled": True, "host": "page.example"},
    "ingress": {"enabled": True, "className": "nginx", "tls": [{"hosts": ["mgp.example"], "secretName": "public"}]},
    "serviceMonitor": {"enabled": True},
    "config": {
        "kernel": {"linger": 60},
        "listen": {
            "rest": True,
            "public_url": "https://mgp.example/mcp",
            "oauth": {"issuers": [{"issuer": "https://id.example", "agents": "any"}], "scopes": ["mgp:use"]},
        },
        "store": {"stale_reads": True},
        "telemetry": {"otlp": "http://collector.example:4318"},
        "servers": [{"id": "tracker", "url": "https://tracker.example/mcp", "limits": {"timeout_ms": 3000}}],
    },
}


def the_chart_is_valid(cluster, short):
    """Helm takes the chart, Kubernetes 1.30 what it makes of it, and mgp its configuration, also with values for each table"""
    if short:
        return "left out"
    import helm_python
    import kubernetes_validate
    import yaml

    folder = str(REPOSITORY / "contrib/helm/mgp")
    kinds = set()
    for values in ({}, CHART_VALUES):
        report = helm_python.lint(folder, values=values, kube_version="v1.30.0")
        check(all(message["severity"] < 2 for message in report["messages"]), report)
        for text in helm_python.Chart.load(folder).render(values, name="mgp").values():
            for document in filter(None, yaml.safe_load_all(text)):
                kinds.add(document["kind"])
                # Kubernetes itself does not know the monitors of the Prometheus operator.
                if document["kind"] != "ServiceMonitor":
                    kubernetes_validate.validate(document, "1.30", strict=True)
                if document["kind"] == "ConfigMap":
                    takes(document["data"]["mgp.toml"], values.get("config", {}))
    yaml.safe_load((REPOSITORY / "contrib/compose/replicas.yaml").read_text())
    return ", ".join(sorted(kinds))


def takes(text, wanted):
    """Checks that mgp takes the configuration of the chart, and that it has what the values want"""
    file = FOLDER / "chart.toml"
    file.write_text(text)
    found = tomllib.loads(text)
    for table, keys in wanted.items():
        has = found[table] == keys if isinstance(keys, list) else keys.items() <= found[table].items()
        check(has, f"[{table}] of the chart: {found[table]}")
    ran = run(MGP, "--config", file, "--state", FOLDER / "chart", "config", "check", env=ENV | {"POD_NAME": "mgp-0"})
    check(ran.returncode == 0, ran.stderr)
