"""The Python SDK as the OAuth client: oauth_py.py 1|2 URL"""

import sys
from contextlib import AsyncExitStack
from urllib.parse import parse_qs, urlsplit

import anyio
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider
from mcp.shared.auth import OAuthClientMetadata

from checks import expect, run
from oauth_browser import follow

SDK, URL = sys.argv[1:]
REDIRECT = "http://127.0.0.1:9/callback"
answer = {}


class Memory:
    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


async def show(page):
    arrived = await anyio.to_thread.run_sync(follow, page, REDIRECT)
    answer.update({name: values[0] for name, values in parse_qs(urlsplit(arrived).query).items()})


async def answered():
    if SDK == "1":
        return answer["code"], answer.get("state")
    from mcp.shared.auth import AuthorizationCodeResult

    return AuthorizationCodeResult(**{name: answer[name] for name in ("code", "state", "iss") if name in answer})


async def main():
    metadata = OAuthClientMetadata(client_name=f"py{SDK}", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
    auth = OAuthClientProvider(URL, metadata, Memory(), show, answered)
    async with AsyncExitStack() as stack:
        if SDK == "1":
            from mcp.client.streamable_http import streamablehttp_client

            read, write, _ = await stack.enter_async_context(streamablehttp_client(URL, auth=auth))
        else:
            import httpx2 as httpx
            from mcp.client.streamable_http import streamable_http_client

            http = await stack.enter_async_context(httpx.AsyncClient(auth=auth, trust_env=False))
            read, write, *_ = await stack.enter_async_context(streamable_http_client(URL, http_client=http))
        session = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()

        # A gateway puts the server's name in front.
        names = []

        async def tools():
            names.extend(tool.name for tool in (await session.list_tools()).tools)
            return f"{len(names)} tools"

        async def call():
            result = await session.call_tool(next(name for name in names if name.endswith("test_simple_text")))
            return expect(result.content[0].text, "This is a simple text response for testing.")

        return await run({"tools/list": tools, "tools/call": call})


sys.exit(0 if anyio.run(main) else 1)
