"""What a program in Python sees of the kernel's doors: `rest.py PART ADDRESS [ROOT]`."""

import json
import sys
import time
import urllib.request
from pathlib import Path


def send(address, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address + path, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def fetch(address):
    """Writes the documents, and results in envelopes, into this folder."""
    end = time.monotonic() + 60
    while len(send(address, "/catalog")["tools"]) < 9:
        assert time.monotonic() < end, "the servers did not list their tools"
        time.sleep(0.2)
    call = lambda name, arguments: {"tool_name": name, "arguments": arguments}
    calls = [
        call("context.store_memory", {"content": "Ada prefers tea."}),
        call("context.recall_memory", {"query": "What does Ada drink?"}),
        call("files.list_files", {}),
        call("files.read_file", {"path": "nowhere.txt"}),
        call("context.store_memory", {"content": 7}),
        call("none.there", {}),
        {"tool_name": "Wrong"},
    ]
    results = send(address, "/env/tools/call", calls)
    assert [result["status"] for result in results] == ["success"] * 3 + ["failure"] * 4, results
    for path, name in [("/openapi.json", "openapi"), ("/catalog", "catalog"), ("/capabilities", "manifest")]:
        Path(name + ".json").write_text(json.dumps(send(address, path)))
    Path("calls.json").write_text(json.dumps(calls[:6]))
    Path("results.json").write_text(json.dumps(results))


def client(address):
    """Calls tools through the client that was generated from the document."""
    sys.path.insert(0, ".")
    from client import Client
    from client.api.context import context_recall_memory, context_store_memory
    from client.models.context_recall_memory_body import ContextRecallMemoryBody
    from client.models.context_store_memory_body import ContextStoreMemoryBody

    with Client(base_url=address) as client:
        stored = context_store_memory.sync(client=client, body=ContextStoreMemoryBody(content="Grace likes ships."))
        assert stored.id, stored
        found = context_recall_memory.sync(client=client, body=ContextRecallMemoryBody(query="Who likes ships?"))
        assert any("Grace" in memory.content for memory in found.memories), found
        wrong = context_recall_memory.sync_detailed(client=client, body=ContextRecallMemoryBody(query=7))
        assert wrong.status_code == 400 and wrong.parsed.error.error_type == "FieldValidation", wrong


def schemas(root):
    """Validates what was fetched by the schemas of the envelopes, and by models as a Python program writes them."""
    import jsonschema
    from typing import Any, Optional
    from pydantic import BaseModel, ConfigDict

    class ErrorDetail(BaseModel):
        model_config = ConfigDict(extra="allow")
        error_type: str
        error_message: str
        error_details: Optional[dict[str, Any] | str] = None

    class Result(BaseModel):
        model_config = ConfigDict(extra="allow")
        status: str
        data: Optional[dict[str, Any]] = None
        error: Optional[ErrorDetail] = None
        explanation: Optional[str] = None

    folder = Path(root) / "mgp-types/src/ext/envelope"
    schema = lambda name: json.loads((folder / (name + ".schema.json")).read_text())
    for name in ["tool_call", "tool_result", "error_detail"]:
        jsonschema.Draft7Validator.check_schema(schema(name))
        assert schema(name)["title"] and schema(name)["description"]
    results = json.loads(Path("results.json").read_text())
    for result in results:
        jsonschema.validate(result, schema("tool_result"), jsonschema.Draft7Validator)
        Result.model_validate(result)
        if result["status"] == "failure":
            assert "data" not in result
            jsonschema.validate(result["error"], schema("error_detail"), jsonschema.Draft7Validator)
    for call in json.loads(Path("calls.json").read_text()):
        jsonschema.validate(call, schema("tool_call"), jsonschema.Draft7Validator)
    # The tools' own schemas are of 2020-12.
    for tool in json.loads(Path("catalog.json").read_text())["tools"]:
        jsonschema.Draft202012Validator.check_schema(tool["inputSchema"])


part, address = sys.argv[1], sys.argv[2]
if part == "fetch":
    fetch(address)
elif part == "client":
    client(address)
else:
    schemas(sys.argv[3])
