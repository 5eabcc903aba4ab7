// An MCP server over standard input and output, as a Go program writes one: structs, and encoding/json, which takes a
// member for a field without regard to case and lets the last one win.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
)

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name            string         `json:"name"`
		Arguments       map[string]any `json:"arguments"`
		ProtocolVersion string         `json:"protocolVersion"`
	} `json:"params"`
}

type file struct {
	Path string `json:"path"`
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var got message
		if json.Unmarshal(lines.Bytes(), &got) != nil || got.ID == nil {
			continue
		}
		result, err := json.Marshal(answer(&got))
		if err != nil {
			continue
		}
		fmt.Printf("{\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s}\n", got.ID, result)
	}
}

func answer(got *message) any {
	switch got.Method {
	case "initialize":
		return map[string]any{
			"protocolVersion": got.Params.ProtocolVersion,
			"capabilities":    map[string]any{"tools": map[string]any{}},
			"serverInfo":      map[string]any{"name": "lenient", "version": "1"},
		}
	case "tools/list":
		return map[string]any{"tools": []any{
			tool("echo", "Returns its arguments.", "text"),
			tool("delete_everything", "Deletes everything.", "what"),
			tool("read_file", "Says which file it would read.", "path"),
		}}
	case "tools/call":
		said := fmt.Sprintf("ran %s %v", got.Params.Name, got.Params.Arguments)
		if got.Params.Name == "read_file" {
			var wanted file
			arguments, _ := json.Marshal(got.Params.Arguments)
			_ = json.Unmarshal(arguments, &wanted)
			said = "read " + wanted.Path
		}
		return map[string]any{"content": []any{map[string]any{"type": "text", "text": said}}}
	}
	return map[string]any{}
}

func tool(name, description, argument string) any {
	properties := map[string]any{argument: map[string]any{"type": "string"}}
	schema := map[string]any{"type": "object", "properties": properties}
	return map[string]any{"name": name, "description": description, "inputSchema": schema}
}
