# SPDX-License-Identifier: BSD-3-Clause
"""Checks the manifests beside it by their schemas: Kubernetes's, which the package kubernetes-validate has, and KServe's,
`config/crd/full/serving.kserve.io_inferenceservices.yaml` of its repository; and the container file by its instructions.

    check_manifests.py [<that file>]         # with a Python that has: pip install kubernetes-validate jsonschema pyyaml

An unknown field is an error, in manifests as in the options that they give to the program.
"""
import pathlib
import re
import sys

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the schema of KServe is two megabytes
HERE = pathlib.Path(__file__).resolve().parent
problems = []


def strict(schema):
    """The schema without unknown fields."""
    if isinstance(schema, dict):
        closes = "properties" in schema and not schema.get("x-kubernetes-preserve-unknown-fields") and "additionalProperties" not in schema
        return {key: strict(value) for key, value in schema.items()} | ({"additionalProperties": False} if closes else {})
    return [strict(each) for each in schema] if isinstance(schema, list) else schema


def check_kubernetes(manifest):
    try:
        import kubernetes_validate
    except ImportError:
        return print("not checked: Kubernetes's schema")
    try:
        kubernetes_validate.validate(manifest, kubernetes_validate.latest_version(), strict=True)
    except kubernetes_validate.ValidationError as why:
        problems.append(("kubernetes.yaml", why.message))


def check_kserve(manifest, crd):
    import jsonschema
    version = next(each for each in yaml.load(pathlib.Path(crd).read_text(), LOADER)["spec"]["versions"] if each["name"] == manifest["apiVersion"].split("/")[1])
    schema = strict(version["schema"]["openAPIV3Schema"])
    schema["properties"]["metadata"] = {"type": "object"}
    problems.extend(("kserve.yaml", list(why.absolute_path), why.message) for why in jsonschema.Draft7Validator(schema).iter_errors(manifest))


def options_of(manifest):
    """The options that the program is begun with."""
    if isinstance(manifest, dict):
        own = [word for word in manifest.get("args", []) if str(word).startswith("--")]
        return own + [word for value in manifest.values() for word in options_of(value)]
    return [word for each in manifest for word in options_of(each)] if isinstance(manifest, list) else []


kubernetes, kserve = (yaml.load((HERE / name).read_text(), LOADER) for name in ("kubernetes.yaml", "kserve.yaml"))
check_kubernetes(kubernetes)
if len(sys.argv) > 1:
    check_kserve(kserve, sys.argv[1])
else:
    print("not checked: KServe's schema")
rows = [line for line in (HERE.parents[1] / "docs" / "cli.md").read_text().splitlines() if line.startswith("| `--")]
known = {word for row in rows for word in re.findall(r"--[a-z_]+", row.split(" | ")[0])}
problems.extend((option, "is no option of docs/cli.md") for option in options_of(kubernetes) + options_of(kserve) if option not in known)
lines = (HERE / "Dockerfile").read_text().replace("\\\n", "").splitlines()
words = [line.split()[0] for line in lines if line and not line.startswith("#")]
if words[0] != "FROM" or words[-1] != "ENTRYPOINT" or set(words) - {"FROM", "RUN", "COPY", "ENTRYPOINT"}:
    problems.append(("Dockerfile", words))
for problem in problems:
    print(problem)
print(f"{len(problems)} problems")
sys.exit(1 if problems else 0)
