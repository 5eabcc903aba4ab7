//! The messages of a kernel: JSON-RPC 2.0 on both sides, and lists of tools with and without parameters.

use mgp_types::Revision;
use serde_json::{Value, json};

use crate::host::{Host, quiet};
use crate::runner::tests;
use crate::scripted::Script;
use crate::sections::raw::{ERAS, Raw};

tests![
    every_message_is_one_of_json_rpc_on_both_sides_of_the_kernel,
    tools_are_listed_with_empty_parameters_and_with_none,
    conversations_that_take_turns_do_not_mix,
    what_is_beyond_mcp_stands_under_names_of_extensions_and_tells_of_no_model,
    a_manifest_lists_exactly_the_extensions_that_are_on,
];

// covers: GGEN-2-01, GGEN-8.1-01, GGEN-5-03, GGEN-5-19
async fn every_message_is_one_of_json_rpc_on_both_sides_of_the_kernel() {
    let script = Script::named(&["works"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    let mut ada = Raw::plain(&host, "ada", Revision::V2025_11_25).await;
    for id in [json!("seven"), json!(-7), json!(0), json!("")] {
        let call = json!({"name": "files__works", "arguments": {"a": id.to_string()}});
        for (method, params) in [("ping", json!({})), ("tools/call", call), ("tools/nothing", json!({}))] {
            let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
            let answer = ada.say(&request.to_string()).await;
            assert_eq!((&answer["jsonrpc"], &answer["id"]), (&json!("2.0"), &id), "{answer}");
            let (result, error) = (answer.get("result"), answer.get("error"));
            assert_eq!(
                (result.is_some(), error.is_some()),
                (method != "tools/nothing", method == "tools/nothing")
            );
            if let Some(error) = error {
                assert!(error["code"].is_i64() && error["message"].is_string(), "{answer}");
            }
        }
    }
    for (line, code) in [
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":7}"#, -32600),
        (r#""ping""#, -32600),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping""#, -32700),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"none"}"#, -32602),
    ] {
        let answer = ada.say(line).await;
        assert_eq!(
            (&answer["jsonrpc"], &answer["error"]["code"]),
            (&json!("2.0"), &json!(code)),
            "{line}: {answer}"
        );
    }
    // A notification has no answer: the next one is that of the request behind it.
    let both = concat!(
        r#"{"jsonrpc":"2.0","method":"notifications/unheard"}"#,
        "\n",
        r#"{"jsonrpc":"2.0","id":"behind","method":"ping"}"#
    );
    assert_eq!(ada.say(both).await["id"], "behind");

    let frames: Vec<Value> = script.asked();
    assert!(frames.iter().any(|frame| frame["method"] == "tools/call"));
    for frame in frames {
        assert_eq!(frame["jsonrpc"], "2.0", "{frame}");
        assert!(frame["id"].is_u64() || frame["id"].is_i64() || frame["id"].is_string(), "{frame}");
    }
    assert!(script.notified("notifications/initialized").iter().all(|frame| frame["jsonrpc"] == "2.0"));
}

// covers: GGEN-2-02
async fn tools_are_listed_with_empty_parameters_and_with_none() {
    let script = Script::named(&["read", "write"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, &["ggen"]).await;
    let empty = ada.say(r#"{"jsonrpc":"2.0","id":"empty","method":"tools/list","params":{}}"#).await;
    let absent = ada.say(r#"{"jsonrpc":"2.0","id":"absent","method":"tools/list"}"#).await;
    assert_eq!(empty["result"], absent["result"]);
    let tools = empty["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2, "{empty}");
    for tool in tools {
        assert!(tool["name"].is_string() && tool["description"] == "Returns something.", "{tool}");
        assert_eq!(tool["inputSchema"], json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    }
}

// covers: GGEN-1-03
async fn conversations_that_take_turns_do_not_mix() {
    let script = Script::named(&["works"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    for revision in ERAS {
        let mut ada = Raw::plain(&host, "ada", revision).await;
        let mut bob = Raw::plain(&host, "bob", revision).await;
        let call = |whose: &str, turn: u32| json!({"name": "files__works", "arguments": {"a": format!("{whose} {turn}")}});
        let mut turns = Vec::new();
        for turn in 0..20 {
            let of_ada = ada.send("tools/call", call("ada", turn)).await;
            turns.push((turn, of_ada, bob.send("tools/call", call("bob", turn)).await));
        }
        // Nobody waits for the answers in the order of the questions.
        for (turn, of_ada, of_bob) in turns.into_iter().rev() {
            for (client, id, whose) in [(&mut ada, of_ada, "ada"), (&mut bob, of_bob, "bob")] {
                let answer = client.answer(id).await;
                let said = answer["result"]["content"][0]["text"].as_str().unwrap();
                assert_eq!(said, json!({"a": format!("{whose} {turn}")}).to_string(), "{answer}");
            }
        }
        assert!(ada.heard.is_empty() && bob.heard.is_empty(), "{:?} {:?}", ada.heard, bob.heard);
    }
    assert_eq!(script.calls().len(), 80);
}

/// The capabilities of servers in MCP.
const CAPABILITIES: [&str; 8] =
    ["tools", "prompts", "resources", "completions", "logging", "tasks", "experimental", "extensions"];

// covers: EXT-00-01
async fn what_is_beyond_mcp_stands_under_names_of_extensions_and_tells_of_no_model() {
    let script = Script::named(&["works"]);
    let host = Host::ready_with(quiet([script.server("files")])).await;
    let is_of_vendor = |name: &str| {
        name.split_once('/').is_some_and(|(vendor, rest)| vendor.contains('.') && !rest.is_empty())
    };
    for revision in ERAS {
        for extensions in [&[][..], &["ggen", "structured_errors", "service_manifest", "provenance"]] {
            let mut ada = Raw::declaring(&host, "ada", revision, extensions).await;
            let described = if revision.is_stateless() {
                ada.result("server/discover", json!({})).await
            } else {
                ada.opened["result"].clone()
            };
            let capabilities = described["capabilities"].as_object().unwrap();
            assert!(capabilities.keys().all(|name| CAPABILITIES.contains(&&**name)), "{described}");
            if let Some(offered) = capabilities.get("extensions") {
                assert!(offered.as_object().unwrap().keys().all(|name| is_of_vendor(name)), "{described}");
            }
            let list = ada.result("tools/list", json!({})).await;
            let called =
                ada.call("tools/call", json!({"name": list["tools"][0]["name"], "arguments": {}})).await;
            let meta = called["result"]["_meta"].as_object().cloned().unwrap_or_default();
            assert!(meta.keys().all(|name| is_of_vendor(name)), "{called}");
            for message in [described, list, called] {
                let message = message.to_string().to_lowercase();
                for model in ["openai", "anthropic", "claude", "gpt", "gemini", "llama", "mistral"] {
                    assert!(!message.contains(model), "{model}: {message}");
                }
            }
        }
    }
}

/// The extensions that a manifest may list.
const LISTED: [&str; 14] = [
    "streaming", "progress_notifications", "idempotency", "transactions", "session_state", "intent_hints",
    "provenance", "human_in_the_loop", "data_references", "subscribe_notify", "server_recommendations",
    "structured_errors", "multimodal_signatures", "conformance",
];

// covers: EXT-00-06
async fn a_manifest_lists_exactly_the_extensions_that_are_on() {
    const UNLISTED: [&str; 5] = ["service_manifest", "cost_transparency", "scoped_auth", "env", "ggen"];
    let host = Host::with(quiet([])).await;
    let all = [&LISTED[..], &UNLISTED].concat();
    let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, &all).await;
    let manifest = ada.result("mgp/manifest/get", json!({})).await;
    let mut listed: Vec<_> = manifest["supported_extensions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|name| name.as_str().unwrap())
        .collect();
    listed.sort_unstable();
    // What is on is what the kernel offered in return for all that the client declared.
    let offered = ada.opened["result"]["capabilities"]["extensions"].as_object().unwrap();
    let names = offered.keys().filter_map(|id| id.strip_prefix("io.github.mcp-extension-proposals/"));
    let (mut on, unlisted): (Vec<_>, Vec<_>) = names.partition(|name| LISTED.contains(name));
    on.sort_unstable();
    assert_eq!(listed, on, "{manifest}");
    assert!(!on.is_empty() && unlisted.len() == UNLISTED.len(), "{offered:?}");
    assert!(unlisted.iter().all(|name| UNLISTED.contains(name)), "{offered:?}");
    // Nothing is on for a client that declares nothing.
    let plain = Raw::plain(&host, "bob", Revision::V2025_11_25).await;
    let offered = &plain.opened["result"]["capabilities"]["extensions"];
    assert!(!offered.to_string().contains("mcp-extension-proposals"), "{offered}");
}
