"""Python SDK 1.x as the client: py1_client.py stdio|http|sse ERA COMMAND…|URL"""

import sys
from contextlib import AsyncExitStack

import anyio
from mcp import ClientSession, StdioServerParameters, types
from mcp.client.sse import sse_client
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

from checks import expect, run

TRANSPORT, _, *TARGET = sys.argv[1:]


def connection():
    if TRANSPORT == "stdio":
        return stdio_client(StdioServerParameters(command=TARGET[0], args=TARGET[1:]))
    return (streamablehttp_client if TRANSPORT == "http" else sse_client)(TARGET[0])


async def answer(context, params):
    return types.ElicitResult(action="accept", content={"username": "ada", "email": "ada@example.com"})


def checks(session):
    async def tools():
        return f"{len((await session.list_tools()).tools)} tools"

    async def call():
        result = await session.call_tool("test_simple_text")
        return expect(result.content[0].text, "This is a simple text response for testing.")

    async def progress():
        seen = []

        async def note(progress, total, message):
            seen.append(int(progress))

        await session.call_tool("test_tool_with_progress", progress_callback=note)
        return expect(seen, [0, 50, 100])

    async def cancel():
        # This SDK gives up a call silently; the notification is ours to send.
        request = session._request_id
        with anyio.move_on_after(0.3) as scope:
            await session.call_tool("slow_compute", {"seconds": 30, "label": "slow"})
        expect(scope.cancelled_caught, True)
        params = types.CancelledNotificationParams(requestId=request, reason="no longer needed")
        await session.send_notification(types.ClientNotification(types.CancelledNotification(params=params)))
        return await call()

    async def elicitation():
        text = (await session.call_tool("test_elicitation", {"message": "Who are you?"})).content[0].text
        expect("ada" in text, True)
        return text

    async def resources():
        return f"{len((await session.list_resources()).resources)} resources"

    async def read():
        text = (await session.read_resource("test://static-text")).contents[0].text
        return expect(text, "This is the content of the static text resource.")

    async def prompt():
        text = (await session.get_prompt("test_simple_prompt")).messages[0].content.text
        return expect(text, "This is a simple prompt for testing.")

    return {
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
    async with AsyncExitStack() as stack:
        streams = await stack.enter_async_context(connection())
        session = await stack.enter_async_context(
            ClientSession(streams[0], streams[1], elicitation_callback=answer)
        )

        async def connect():
            return (await session.initialize()).protocolVersion

        return await run({"connect": connect}) and await run(checks(session))


sys.exit(0 if anyio.run(main) else 1)
