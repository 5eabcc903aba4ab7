"""Python clients that reject a list with one bad definition: strict_lists.py py1|py2|fastmcp COMMAND…"""

import json
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import anyio

from checks import expect, run

CLIENT, *TARGET = sys.argv[1:]
LISTS = json.loads((Path(__file__).parent / "strict_lists.json").read_text())


@asynccontextmanager
async def py1():
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    async with stdio_client(StdioServerParameters(command=TARGET[0], args=TARGET[1:])) as streams:
        async with ClientSession(*streams) as session:
            await session.initialize()
            yield session


@asynccontextmanager
async def py2():
    from mcp import Client, StdioServerParameters

    async with Client(StdioServerParameters(command=TARGET[0], args=TARGET[1:])) as client:
        yield client


@asynccontextmanager
async def fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    async with Client(StdioTransport(TARGET[0], TARGET[1:])) as client:
        yield client


def wanted(member, name, prefix=""):
    return sorted(prefix + item.get(name, item.get("uri", "")) for item in LISTS[member]["listed"])


def checks(client):
    async def listed(method, member, name, key, prefix=""):
        items = await getattr(client, method)()
        items = getattr(items, member, None) or getattr(items, camel(member), items)
        # The kernel has tools of its own.
        names = sorted(str(getattr(item, key)) for item in items)
        return expect([name for name in names if name.startswith(prefix)], wanted(member, name, prefix))

    async def call():
        result = await client.call_tool("strict__untyped", {})
        return expect(result.content[0].text, "good")

    return {
        "tools/list": lambda: listed("list_tools", "tools", "name", "name", "strict__"),
        "tools/call": call,
        "prompts/list": lambda: listed("list_prompts", "prompts", "name", "name", "strict__"),
        "resources/list": lambda: listed("list_resources", "resources", "name", "name"),
        "resources/templates/list": lambda: listed(
            "list_resource_templates", "resourceTemplates", "name", "name"
        ),
    }


def camel(member):
    return "resource_templates" if member == "resourceTemplates" else member


async def main():
    async with {"py1": py1, "py2": py2, "fastmcp": fastmcp}[CLIENT]() as client:
        passed = await run(checks(client))
    return passed


sys.exit(0 if anyio.run(main) else 1)
