"""Python SDK 2.x as the server, both eras: py2_server.py stdio | http PORT (/mcp) | sse PORT (/sse)"""

import sys
from typing import Annotated

import anyio
from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel

MODE, PORT = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = MCPServer("py2", log_level="ERROR")


class Person(BaseModel):
    username: str
    email: str


class Named(BaseModel):
    name: str


@server.tool(description="Answers with a text.")
async def test_simple_text() -> str:
    return "This is a simple text response for testing."


@server.tool(description="Reports its progress.")
async def test_tool_with_progress(context: Context) -> str:
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100)
    return "done"


@server.tool(description="Takes its time.")
async def slow_compute(seconds: float, label: str) -> str:
    await anyio.sleep(seconds)
    return label


def ask_person(message: str) -> Elicit[Person]:
    return Elicit(message, Person)


def ask_name() -> Elicit[Named]:
    return Elicit("What is your name?", Named)


@server.tool(description="Asks the user.")
async def test_elicitation(message: str, person: Annotated[Person, Resolve(ask_person)]) -> str:
    return f"User response: {person.model_dump_json()}"


@server.tool(description="Asks for a name.")
async def test_input_required_result_elicitation(user: Annotated[Named, Resolve(ask_name)]) -> str:
    return f"Hello, {user.name}!"


@server.resource("test://static-text", description="A text.", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.prompt(description="A prompt.")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


if MODE == "stdio":
    server.run("stdio")
else:
    server.run({"http": "streamable-http", "sse": "sse"}[MODE], host="127.0.0.1", port=PORT)
