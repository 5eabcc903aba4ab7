"""Agents with scripted models, each in the loop of its framework: agent_loops.py AGENT stdio|http COMMAND…|URL

The kernel has 265 tools and lists few of them. Each agent finds the one that it needs, calls it as its framework lets it,
and tells what it answered."""

import json
import sys

import anyio

from checks import expect, run

AGENT, TRANSPORT, *TARGET = sys.argv[1:]
QUERY = {"query": "evaluate an arithmetic expression", "max_results": 3}
ARGUMENTS = {"expression": "6*7"}
ANSWER = "The result is 42."


def decide(listed, outputs):
    """What a model does next that sees these tools and has read these outputs; a text is its last word."""
    if not outputs:
        return "mgp_tools_discover", QUERY
    if len(outputs) > 1:
        return outputs[-1]
    name = json.loads(outputs[0])["tools"][0]["name"]
    return (name, ARGUMENTS) if name in listed else ("mgp_tools_call", {"name": name, "arguments": ARGUMENTS})


def text(output):
    """The text of a tool's output, in whichever form a framework keeps it."""
    if isinstance(output, str):
        try:
            inner = json.loads(output)
        except ValueError:
            return output
        return text(inner) if isinstance(inner, (list, dict)) and "tools" not in inner else output
    if isinstance(output, list):
        return text(output[0])
    return text(output["text"]) if "text" in output else json.dumps(output)


def called(seen, listed, outputs):
    """As `decide`, and notes the tools that are called."""
    step = decide(listed, outputs)
    if isinstance(step, tuple):
        seen.append(step[0])
    return step


async def openai_agents(seen):
    from agents import Agent, Runner, set_tracing_disabled
    from agents.items import ModelResponse
    from agents.mcp import MCPServerStdio, MCPServerStreamableHttp
    from agents.models.interface import Model
    from agents.usage import Usage
    from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

    class Scripted(Model):
        async def get_response(self, *args, **kwargs):
            given = {**dict(zip(("system_instructions", "input", "model_settings", "tools"), args)), **kwargs}
            items = given["input"] if isinstance(given["input"], list) else []
            outputs = [text(item["output"]) for item in items if item.get("type") == "function_call_output"]
            step = called(seen, [tool.name for tool in given["tools"]], outputs)
            if isinstance(step, tuple):
                call_id = f"call-{len(outputs)}"
                made = ResponseFunctionToolCall(
                    type="function_call", call_id=call_id, name=step[0], arguments=json.dumps(step[1])
                )
            else:
                said = ResponseOutputText(type="output_text", text=step, annotations=[])
                made = ResponseOutputMessage(
                    id="m", type="message", role="assistant", status="completed", content=[said]
                )
            return ModelResponse(output=[made], usage=Usage(), response_id=None)

        def stream_response(self, *args, **kwargs):
            raise NotImplementedError

    set_tracing_disabled(True)
    if TRANSPORT == "stdio":
        server = MCPServerStdio({"command": TARGET[0], "args": TARGET[1:]}, client_session_timeout_seconds=60)
    else:
        server = MCPServerStreamableHttp({"url": TARGET[0]}, client_session_timeout_seconds=60)
    async with server:
        agent = Agent(name="agent", model=Scripted(), mcp_servers=[server])
        return (await Runner.run(agent, "What is 6*7?")).final_output


async def langgraph(seen):
    from langchain_core.messages import AIMessage, HumanMessage
    from langchain_mcp_adapters.client import MultiServerMCPClient
    from langgraph.graph import START, MessagesState, StateGraph
    from langgraph.prebuilt import ToolNode, tools_condition

    if TRANSPORT == "stdio":
        server = {"transport": "stdio", "command": TARGET[0], "args": TARGET[1:]}
    else:
        server = {"transport": "streamable_http", "url": TARGET[0]}
    # Each call has a session of its own, and the tools are asked for once.
    tools = await MultiServerMCPClient({"mgp": server}).get_tools()

    def model(state):
        outputs = [text(message.content) for message in state["messages"] if message.type == "tool"]
        step = called(seen, [tool.name for tool in tools], outputs)
        if not isinstance(step, tuple):
            return {"messages": [AIMessage(content=step)]}
        call = {"name": step[0], "args": step[1], "id": f"call-{len(outputs)}"}
        return {"messages": [AIMessage(content="", tool_calls=[call])]}

    graph = StateGraph(MessagesState)
    graph.add_node("model", model)
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", tools_condition)
    graph.add_edge("tools", "model")
    answer = await graph.compile().ainvoke({"messages": [HumanMessage("What is 6*7?")]})
    return answer["messages"][-1].content


async def pydantic_ai(seen):
    from fastmcp.client.transports import StdioTransport
    from pydantic_ai import Agent
    from pydantic_ai.mcp import MCPToolset
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel

    def model(messages, info):
        parts = [part for message in messages for part in message.parts]
        outputs = [text(part.content) for part in parts if part.part_kind == "tool-return"]
        step = called(seen, [tool.name for tool in info.function_tools], outputs)
        return ModelResponse(parts=[ToolCallPart(*step) if isinstance(step, tuple) else TextPart(step)])

    target = StdioTransport(TARGET[0], TARGET[1:]) if TRANSPORT == "stdio" else TARGET[0]
    agent = Agent(FunctionModel(model), toolsets=[MCPToolset(target)])
    return (await agent.run("What is 6*7?")).output


async def fastmcp(seen):
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    target = StdioTransport(TARGET[0], TARGET[1:]) if TRANSPORT == "stdio" else TARGET[0]
    async with Client(target) as client:
        listed, outputs = [tool.name for tool in await client.list_tools()], []
        while isinstance(step := called(seen, listed, outputs), tuple):
            outputs.append((await client.call_tool(*step)).content[0].text)
        return step


async def deferred_lists(seen):
    """The way of hosts that show a model the names of tools only, and call what their present list has and nothing else."""
    from mcp import ClientSession, StdioServerParameters, types
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    changed = anyio.Event()

    async def told(message):
        if isinstance(getattr(message, "root", None), types.ToolListChangedNotification):
            changed.set()

    if TRANSPORT == "stdio":
        connected = stdio_client(StdioServerParameters(command=TARGET[0], args=TARGET[1:]))
    else:
        connected = streamablehttp_client(TARGET[0])
    async with connected as (read, write, *_), ClientSession(read, write, message_handler=told) as session:
        await session.initialize()

        async def names():
            return [tool.name for tool in (await session.list_tools()).tools]

        listed, outputs = await names(), []
        while isinstance(step := called(seen, listed, outputs), tuple):
            outputs.append((await session.call_tool(*step)).content[0].text)
            if len(outputs) == 1:
                await changed.wait()
                listed = await names()
        return step


AGENTS = {
    "openai-agents": openai_agents,
    "langgraph": langgraph,
    "pydantic-ai": pydantic_ai,
    "fastmcp": fastmcp,
    "deferred-lists": deferred_lists,
}


async def main():
    seen = []

    async def answer():
        return expect(await AGENTS[AGENT](seen), ANSWER)

    async def way():
        # Those that ask for the list again call the tool itself.
        by_name = AGENT in ("openai-agents", "deferred-lists")
        return expect(seen, ["mgp_tools_discover", "many__calculate" if by_name else "mgp_tools_call"])

    return await run({"tools/call": answer, "tools/list": way})


sys.exit(0 if anyio.run(main) else 1)
