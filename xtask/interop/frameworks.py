"""Other people's clients, as their users begin with them: frameworks.py CLIENT stdio|http cold|warm COMMAND…|URL

Each of them lists tools as soon as it is connected, when no server is there yet. If it is not the first to do so (warm),
the tool of a server that starts slowly is in that first list; else it waits for it. Then it calls it."""

import sys
from contextlib import asynccontextmanager

import anyio

from checks import expect, run

CLIENT, TRANSPORT, MEMORY, *TARGET = sys.argv[1:]
TOOL = "everything__test_simple_text"
ANSWER = "This is a simple text response for testing."


@asynccontextmanager
async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    target = StdioTransport(TARGET[0], TARGET[1:]) if TRANSPORT == "stdio" else TARGET[0]
    async with Client(target) as client:

        async def names():
            return [tool.name for tool in await client.list_tools()]

        async def call(name):
            return (await client.call_tool(name, {})).content[0].text

        yield names, call


@asynccontextmanager
async def langchain():
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langchain_mcp_adapters.tools import load_mcp_tools

    if TRANSPORT == "stdio":
        server = {"transport": "stdio", "command": TARGET[0], "args": TARGET[1:]}
    else:
        server = {"transport": "streamable_http", "url": TARGET[0]}
    async with MultiServerMCPClient({"mgp": server}).session("mgp") as session:

        async def names():
            return [tool.name for tool in await load_mcp_tools(session)]

        async def call(name):
            tool = next(tool for tool in await load_mcp_tools(session) if tool.name == name)
            answer = await tool.ainvoke({})
            return answer if isinstance(answer, str) else answer[0]["text"]

        yield names, call


@asynccontextmanager
async def mcp_use():
    from mcp_use import MCPClient

    server = {"command": TARGET[0], "args": TARGET[1:]} if TRANSPORT == "stdio" else {"url": TARGET[0]}
    client = MCPClient.from_dict({"mcpServers": {"mgp": server}})
    session = await client.create_session("mgp")
    try:

        async def names():
            return [tool.name for tool in await session.list_tools()]

        async def call(name):
            return (await session.call_tool(name, {})).content[0].text

        yield names, call
    finally:
        await client.close_all_sessions()


@asynccontextmanager
async def pydantic_ai():
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai.mcp import MCPToolset

    target = StdioTransport(TARGET[0], TARGET[1:]) if TRANSPORT == "stdio" else TARGET[0]
    # It asks once and keeps what it got, even if that was what is there before the servers are.
    async with MCPToolset(target, cache_tools=MEMORY == "warm") as toolset:

        async def names():
            return [tool.name for tool in await toolset.list_tools()]

        async def call(name):
            answer = await toolset.direct_call_tool(name, {})
            return answer if isinstance(answer, str) else str(answer)

        yield names, call


@asynccontextmanager
async def openai_agents():
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp

    if TRANSPORT == "stdio":
        server = MCPServerStdio({"command": TARGET[0], "args": TARGET[1:]}, client_session_timeout_seconds=60)
    else:
        server = MCPServerStreamableHttp({"url": TARGET[0]}, client_session_timeout_seconds=60)
    async with server:

        async def names():
            return [tool.name for tool in await server.list_tools()]

        async def call(name):
            return (await server.call_tool(name, {})).content[0].text

        yield names, call


CLIENTS = {
    "fastmcp": fastmcp,
    "langchain": langchain,
    "mcp-use": mcp_use,
    "pydantic-ai": pydantic_ai,
    "openai-agents": openai_agents,
}


def checks(names, call):
    async def first_list():
        listed = await names()
        # A client that is slow to connect is not cold any more.
        expect(TOOL in listed or (MEMORY == "cold" and "mgp_tools_discover" in listed), True)
        return f"{len(listed)} tools"

    async def tools():
        while TOOL not in (listed := await names()):
            await anyio.sleep(0.2)
        return f"{len(listed)} tools"

    async def answer():
        return expect(await call(TOOL), ANSWER)

    return {"first list": first_list, "tools/list": tools, "tools/call": answer}


async def main():
    async with CLIENTS[CLIENT]() as (names, call):
        return await run(checks(names, call))


sys.exit(0 if anyio.run(main) else 1)
