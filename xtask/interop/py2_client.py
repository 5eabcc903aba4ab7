"""Python SDK 2.x as the client: py2_client.py stdio|http|sse auto|legacy|modern COMMAND…|URL"""

import sys

import anyio
from mcp import Client, StdioServerParameters, types
from mcp.client.sse import sse_client

from checks import expect, run

TRANSPORT, ERA, *TARGET = sys.argv[1:]


def server():
    if TRANSPORT == "stdio":
        return StdioServerParameters(command=TARGET[0], args=TARGET[1:])
    return TARGET[0] if TRANSPORT == "http" else sse_client(TARGET[0])


async def answer(context, params):
    answers = {"name": "ada", "username": "ada", "email": "ada@example.com"}
    asked = params.requested_schema["properties"]
    return types.ElicitResult(action="accept", content={key: answers[key] for key in asked})


def checks(client):
    modern = client.protocol_version >= "2026"

    async def era():
        if ERA != "auto":
            expect(modern, ERA == "modern")
        return client.protocol_version

    async def tools():
        return f"{len((await client.list_tools()).tools)} tools"

    async def call():
        result = await client.call_tool("test_simple_text")
        return expect(result.content[0].text, "This is a simple text response for testing.")

    async def progress():
        seen = []

        async def note(progress, total, message):
            seen.append(int(progress))

        await client.call_tool("test_tool_with_progress", progress_callback=note)
        return expect(seen, [0, 50, 100])

    async def cancel():
        with anyio.move_on_after(0.3) as scope:
            await client.call_tool("slow_compute", {"seconds": 30, "label": "slow"})
        expect(scope.cancelled_caught, True)
        return await call()

    async def elicitation():
        if modern:
            result = await client.call_tool("test_input_required_result_elicitation")
            return expect(result.content[0].text, "Hello, ada!")
        text = (await client.call_tool("test_elicitation", {"message": "Who are you?"})).content[0].text
        expect("ada" in text, True)
        return text

    async def resources():
        return f"{len((await client.list_resources()).resources)} resources"

    async def read():
        text = (await client.read_resource("test://static-text")).contents[0].text
        return expect(text, "This is the content of the static text resource.")

    async def prompt():
        text = (await client.get_prompt("test_simple_prompt")).messages[0].content.text
        return expect(text, "This is a simple prompt for testing.")

    return {
        "connect": era,
        "tools/list": tools,
        "tools/call": call,
        "progress": progress,
        "cancel": cancel,
        "elicitation": elicitation,
        "resources/list": resources,
        "resources/read": read,
        "prompts/get": prompt,
    }


async def main():
    mode = "2026-07-28" if ERA == "modern" else ERA
    async with Client(server(), mode=mode, elicitation_callback=answer) as client:
        return await run(checks(client))


sys.exit(0 if anyio.run(main) else 1)
