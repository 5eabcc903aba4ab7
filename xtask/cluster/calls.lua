-- Calls of one tool for `wrk`: wrk -s calls.lua URL -- KEY
function init(arguments)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.headers["Accept"] = "application/json, text/event-stream"
  wrk.headers["Authorization"] = "Bearer " .. arguments[1]
  wrk.headers["MCP-Protocol-Version"] = "2026-07-28"
  wrk.headers["Mcp-Method"] = "tools/call"
  wrk.headers["Mcp-Name"] = "echo.read"
  wrk.body = '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo.read","arguments":{},"_meta":{'
    .. '"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},'
    .. '"io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"}}}}'
  call = wrk.format()
  refused = 0
end

function setup(thread)
  threads = threads or {}
  table.insert(threads, thread)
end

function request()
  return call
end

function response(status, headers, body)
  if status ~= 200 or not body:find("hello", 1, true) then
    refused = refused + 1
  end
end

function done()
  local all = 0
  for _, thread in ipairs(threads) do
    all = all + thread:get("refused")
  end
  io.write("refused " .. all .. "\n")
end
