"""The chart, the compose file and the examples of docs/replicas.md."""

import re

from parts import FOLDER, SCRIPTS, check, program, run

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


def the_chart_is_valid(cluster, short):
    """Helm takes the chart, and Kubernetes 1.30 what it makes of it"""
    if short:
        return "left out"
    import helm_python
    import kubernetes_validate
    import yaml

    folder = str(REPOSITORY / "contrib/helm/mgp")
    report = helm_python.lint(folder, kube_version="v1.30.0")
    check(all(message["severity"] < 2 for message in report["messages"]), report)
    kinds = []
    for text in helm_python.Chart.load(folder).render(name="mgp").values():
        for document in filter(None, yaml.safe_load_all(text)):
            kubernetes_validate.validate(document, "1.30", strict=True)
            kinds.append(document["kind"])
    yaml.safe_load((REPOSITORY / "contrib/compose/replicas.yaml").read_text())
    return ", ".join(kinds)
