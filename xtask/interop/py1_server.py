"""Python SDK 1.x as the server: py1_server.py stdio | http PORT (/mcp) | sse PORT (/sse)"""

import sys

import anyio
from mcp.server.fastmcp import Context, FastMCP
from pydantic import BaseModel

MODE, PORT = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = FastMCP("py1", port=PORT, log_level="ERROR")


class Person(BaseModel):
    username: str
    email: str


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


@server.tool(description="Asks the user.")
async def test_elicitation(message: str, context: Context) -> str:
    answer = await context.elicit(message, Person)
    return f"User response: {answer.model_dump_json()}"


@server.resource("test://static-text", description="A text.", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.prompt(description="A prompt.")
def test_simple_prompt() -> str:
    return "This is a simple prompt for testing."


server.run({"stdio": "stdio", "http": "streamable-http", "sse": "sse"}[MODE])
