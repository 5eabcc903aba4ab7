//! Tools over plain HTTP and in envelopes, at a kernel in front of a real server.

use mgp_types::ext::ExtensionId;
use serde_json::{Value, json};

use crate::home::Home;
use crate::http;
use crate::kernel::{Kernel, found, until};

/// A home whose kernel has the server `context` and open doors, and more lines in its table `listen`.
pub(crate) fn with_context(further: &str) -> Home {
    let home = Home::with_state();
    let program = env!("CARGO_BIN_EXE_mgp");
    home.configure(&format!(
        "[listen]\nrest = true\n{further}\n[[servers]]\nid = \"context\"\ncommand = {program:?}\n\
         args = [\"server\", \"context\"]\n\
         [[permissions.grants]]\nserver = \"context\"\npermission = \"memory.read\"\n\
         [[permissions.grants]]\nserver = \"context\"\npermission = \"memory.write\"\n"
    ));
    home
}

/// A kernel with the server `context` and open doors.
pub(crate) fn open(further: &str) -> (Home, Kernel, u16) {
    let home = with_context(further);
    let (kernel, port) = Kernel::on_http(&home);
    if !further.contains("require_keys") {
        // A list waits for a server that starts, but not for long.
        until("the tools are listed", || {
            get(port, "/catalog").2.to_string().contains("context.recall_memory")
        });
    }
    (home, kernel, port)
}

/// Sends a request, and returns the status, the headers and the body.
pub(crate) fn send(port: u16, method: &str, path: &str, headers: &str, body: &str) -> (u16, String, Value) {
    let answer = http::send(port, method, path, headers, body);
    let json = answer.json();
    (answer.status, answer.head, json)
}

fn get(port: u16, path: &str) -> (u16, String, Value) {
    send(port, "GET", path, "", "")
}

fn post(port: u16, path: &str, body: &Value) -> (u16, Value) {
    let (status, _, answer) =
        send(port, "POST", path, "Content-Type: application/json\r\n", &body.to_string());
    (status, answer)
}

/// Looks again until something is so.
// covers: GGEN-4-06, GGEN-9-02, GGEN-9-03, GGEN-5-18
#[test]
fn a_tool_is_called_with_its_arguments_as_the_body() {
    let (_home, _kernel, port) = open("");
    let (status, stored) =
        post(port, "/tools/context__store_memory", &json!({"content": "Ada prefers tea."}));
    assert_eq!(status, 200, "{stored}");
    let (status, found) =
        post(port, "/tools/context.recall_memory", &json!({"query": "What does Ada drink?"}));
    assert_eq!(status, 200, "{found}");
    assert!(found.to_string().contains("Ada prefers tea."), "{found}");

    let (status, refused) = post(port, "/tools/context__store_memory", &json!({"content": 7}));
    let error = &refused["error"];
    assert_eq!(
        (status, &error["error_type"], &error["field"]),
        (400, &json!("FieldValidation"), &json!("content"))
    );
    assert_eq!(error["reason"], "Type mismatch: expected string, got number", "{error}");
    assert!(error["suggestions"].is_array() && error["trace_id"].as_str().unwrap().len() == 36, "{error}");

    let (status, unknown) = post(port, "/tools/no_such", &json!({}));
    assert_eq!((status, &unknown["error"]["code"]), (404, &json!("RESOURCE_NOT_FOUND")), "{unknown}");
    let (status, list) = post(port, "/tools/context__store_memory", &json!([1]));
    assert_eq!(status, 400, "{list}");
    assert_eq!(send(port, "GET", "/tools/context__store_memory", "", "").0, 405);
    assert_eq!(
        send(port, "POST", "/tools/context__store_memory", "Content-Type: text/plain\r\n", "{}").0,
        415
    );
}

// covers: GGEN-4-01, GGEN-4-02, GGEN-4-05, EXT-01-01, EXT-01-11, EXT-01-15
#[test]
fn documents_describe_the_tools_that_the_caller_may_call() {
    let (home, kernel, port) = open("");
    // Tools have their categories a moment after they are listed.
    let catalog = found("a tool has tags", || {
        let (status, _, catalog) = get(port, "/catalog");
        assert_eq!((status, &catalog["version"]), (200, &json!("1.0.0")));
        let is_tagged = |tool: &Value| !tool["tags"].as_array().unwrap().is_empty();
        catalog["tools"].as_array().unwrap().iter().any(is_tagged).then_some(catalog)
    });
    let names: Vec<_> =
        catalog["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert!(names.contains(&json!("context.recall_memory")), "{catalog}");

    let (status, _, document) = get(port, "/openapi.json");
    assert_eq!((status, &document["openapi"]), (200, &json!("3.0.0")));
    for name in &names {
        let path = format!("/tools/{}", name.as_str().unwrap());
        assert!(document["paths"][&path]["post"]["requestBody"].is_object(), "{path}");
    }

    let (status, head, manifest) = get(port, "/capabilities");
    assert_eq!((status, &manifest["manifest_version"]), (200, &json!("0.1.0")), "{manifest}");
    let listed: Vec<_> =
        manifest["tools"].as_array().unwrap().iter().map(|tool| tool["name"].clone()).collect();
    assert_eq!(listed.len(), names.len(), "the manifest agrees with the list");
    let tag = head.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    let (status, _, _) = send(port, "GET", "/capabilities", &format!("If-None-Match: {tag}\r\n"), "");
    assert_eq!(status, 304);

    // A tool that is switched off while the kernel runs is in none of them any more, without a new connection.
    let before = home.read("mgp.toml");
    let config = before.replace(
        "args = [\"server\", \"context\"]",
        "args = [\"server\", \"context\"]\n[servers.tools.summarize]\nenabled = false",
    );
    home.write("mgp.toml", &config);
    kernel.signal("HUP");
    until("the tool leaves the catalog", || {
        !get(port, "/catalog").2.to_string().contains("context.summarize")
    });
    let without = get(port, "/capabilities").2;
    assert_ne!(without["revision"], manifest["revision"]);
    let has_it = |manifest: &Value| {
        manifest["tools"].as_array().unwrap().iter().any(|tool| tool["x_mcp_name"] == "context.summarize")
    };
    assert!(has_it(&manifest) && !has_it(&without), "{without}");
    // One that is added is there on the next demand.
    home.write("mgp.toml", &before);
    kernel.signal("HUP");
    until("the tool is in the manifest again", || has_it(&get(port, "/capabilities").2));
}

// covers: ENV-2-05, ENV-7.1-01, ENV-7.2-01, ENV-7.2-03, ENV-8.1-01, ENV-8.1-02, ENV-10-06, ENV-3.3-07, ENV-11.2-01, ENV-11.2-02
#[test]
fn tools_are_called_in_envelopes_one_or_many() {
    let (_home, _kernel, port) = open("");
    let call = |name: &str, arguments: Value| json!({"tool_name": name, "arguments": arguments});
    let (status, stored) = post(
        port,
        "/env/tools/call",
        &call("context.store_memory", json!({"content": "Grace likes ships."})),
    );
    assert_eq!((status, &stored["status"]), (200, &json!("success")), "{stored}");
    assert!(stored["data"]["id"].is_string(), "{stored}");

    let calls = json!([
        call("context.nothing", json!({})),
        call("context.store_memory", json!({"content": 7})),
        call("Context", json!({})),
        {"tool_name": "context.recall_memory"},
        call("context.recall_memory", json!({"query": "Who likes ships?"})),
    ]);
    let (status, results) = post(port, "/env/tools/call", &calls);
    assert_eq!(status, 200);
    let kind = |place: usize| results[place]["error"]["error_type"].clone();
    assert_eq!(
        [kind(0), kind(1), kind(2), kind(3)],
        ["ResourceNotFound", "ValidationError", "ValidationError", "ValidationError"],
        "{results}"
    );
    assert_eq!(results[1]["error"]["error_details"]["parameter"], "content", "{results}");
    assert_eq!(results[3]["error"]["error_details"]["parameter"], "arguments", "{results}");
    assert_eq!(results[4]["status"], "success", "one failure does not stop the others: {results}");
    assert!(results[4]["data"].to_string().contains("Grace likes ships."), "{results}");
    assert!(!results[4]["data"].to_string().contains("\"7\""), "what was refused was not done: {results}");
    for failed in results.as_array().unwrap().iter().take(4) {
        assert!(failed["error"]["error_message"].as_str().is_some_and(|message| !message.is_empty()));
    }
    assert_eq!(send(port, "POST", "/env/tools/call", "Content-Type: application/json\r\n", "{oh").0, 400);
}

/// Calls a method of the protocol, for a client that declares the extensions by which methods exist.
fn rpc(port: u16, method: &str, params: Value) -> Value {
    rpc_with(port, "", method, params)
}

pub(crate) fn rpc_with(port: u16, authorization: &str, method: &str, params: Value) -> Value {
    let declared = [
        ExtensionId::ScopedAuth,
        ExtensionId::ToolRegistry,
        ExtensionId::ServiceManifest,
        ExtensionId::ServerRecommendations,
        ExtensionId::SubscribeNotify,
    ];
    let declared: serde_json::Map<_, _> =
        declared.map(|it| (it.id().to_owned(), json!({}))).into_iter().collect();
    http::ask(port, authorization, &json!({"extensions": declared}), method, params).json()
}

// covers: EXT-01-17, EXT-04-03, EXT-04-05, EXT-04-08, EXT-04-09, EXT-04-13, EXT-04-14
#[test]
fn a_call_needs_the_scopes_of_its_tool() {
    let (home, kernel, port) = open("[[agents]]\nid = \"local-http\"\nscopes = [\"memory:read\"]");
    let rules = "[servers.tools.store_memory]\nrequired_scopes = [\"memory:write\"]\n\
                 [servers.tools.recall_memory]\nrequired_scopes = [\"memory:read\"]\n[[permissions.grants]]";
    home.write("mgp.toml", &home.read("mgp.toml").replacen("[[permissions.grants]]", rules, 1));
    kernel.signal("HUP");
    let check = json!({"tool": "context__store_memory", "scopes_held": ["memory:write"]});
    until("the tool needs a scope", || post(port, "/permissions", &check).1["allowed"] == false);
    let (status, checked) = post(port, "/permissions", &check);
    assert_eq!((status, &checked["missing_scopes"]), (200, &json!(["memory:write"])), "{checked}");
    assert_eq!(post(port, "/permissions", &json!({"tool": "context__nothing"})).0, 404);

    let json = "Content-Type: application/json\r\n";
    let store = |headers: &str| {
        send(port, "POST", "/tools/context__store_memory", headers, &json!({"content": "x"}).to_string())
    };
    let recall = |headers: &str| {
        send(port, "POST", "/tools/context__recall_memory", headers, &json!({"query": "x"}).to_string())
    };
    let (status, head, refused) = store(json);
    let error = &refused["error"];
    assert_eq!((status, &error["code"]), (403, &json!("SCOPE_INSUFFICIENT")), "{refused}");
    assert_eq!(error["category"], "auth_required");
    assert_eq!(error["details"]["missing_scopes"], json!(["memory:write"]), "{error}");
    assert!(error["suggestion"].is_string(), "{error}");
    let challenge = "www-authenticate: bearer error=\"insufficient_scope\", scope=\"memory:write\"";
    assert!(head.lines().any(|line| line == challenge), "{head}");
    assert_eq!(recall(json).0, 200, "the agent has this scope");

    let auth = &get(port, "/capabilities").2["auth"];
    assert_eq!(auth["current_scopes"], json!(["memory:read"]), "{auth}");
    assert_eq!(auth["session_ttl_seconds"], 1800, "{auth}");

    // A session without the scope narrows what its calls may do, and another token is none.
    let wanted = json!({"requested_scopes": ["memory:write", "temp:10min"]});
    let given = rpc(port, "mgp/permission/negotiate", wanted)["result"].clone();
    assert_eq!(given["granted_scopes"], json!([]), "{given}");
    assert_eq!(given["denied_scopes"][0]["scope"], "memory:write", "{given}");
    let token = given["session"]["token"].as_str().unwrap();
    assert_eq!(recall(&format!("{json}X-MCP-Session-Token: {token}\r\n")).0, 403);
    assert_eq!(recall(&format!("{json}X-MCP-Session-Token: {token}0\r\n")).0, 401);
    assert_eq!(recall(json).0, 200);
}

// covers: GGEN-8.4-01
#[test]
fn doors_are_shut_unless_they_are_opened_and_nobody_passes_them_without_a_key() {
    let (home, _kernel, port) = open("require_keys = true\n");
    for path in ["/catalog", "/openapi.json", "/capabilities"] {
        assert_eq!(get(port, path).0, 401, "{path}");
    }
    assert_eq!(post(port, "/tools/context__store_memory", &json!({"content": "x"})).0, 401);
    assert_eq!(post(port, "/env/tools/call", &json!({})).0, 401);
    let page = send(port, "GET", "/catalog", "Origin: http://evil.example\r\n", "").0;
    assert!([401, 403].contains(&page));
    drop(home);

    let home = Home::with_state();
    let (_kernel, port) = Kernel::on_http(&home);
    for path in ["/catalog", "/openapi.json", "/capabilities"] {
        assert_eq!(get(port, path).0, 404, "{path}");
    }
    assert_eq!(post(port, "/tools/x", &json!({})).0, 404);
}

/// The page that shows how the doors are used.
const PAGE: &str = include_str!("../../../docs/rest.md");

/// A request that the page makes with curl, and the answer that it shows; `...` stands for anything.
struct Shown {
    path: String,
    body: String,
    answer: String,
}

fn shown() -> Vec<Shown> {
    let blocks = PAGE.split("```console\n").skip(1).map(|block| block.split_once("\n```").unwrap().0);
    let read = |block: &str| {
        let block = block.replace("\\\n", "");
        let (command, answer) = block.split_once('\n')?;
        let (path, options) = command.strip_prefix("$ curl -s http://127.0.0.1:7332")?.split_once(' ')?;
        let body = options.split_once("-d '")?.1.strip_suffix('\'')?;
        Some(Shown { path: path.to_owned(), body: body.to_owned(), answer: answer.replace('\n', "") })
    };
    blocks.map(|block| read(block).unwrap_or_else(|| panic!("this is no request:\n{block}"))).collect()
}

#[test]
fn the_requests_of_the_page_get_the_answers_that_it_shows() {
    let (_home, _kernel, port) = open("");
    until("the tools are listed", || {
        get(port, "/catalog").2["tools"].as_array().is_some_and(|it| it.len() > 1)
    });
    let requests = shown();
    assert_eq!(requests.len(), 3);
    for Shown { path, body, answer } in requests {
        let got = http::send(port, "POST", &path, "Content-Type: application/json\r\n", &body).body;
        let mut rest = got.as_str();
        for (at, piece) in answer.split("...").map(str::trim).enumerate() {
            let found = rest.find(piece).filter(|place| at > 0 || *place == 0);
            let place = found.unwrap_or_else(|| panic!("{path}: no `{piece}` in {got}"));
            rest = &rest[place + piece.len()..];
        }
        assert_eq!(rest, "", "{path}: the page does not show this");
    }
}
