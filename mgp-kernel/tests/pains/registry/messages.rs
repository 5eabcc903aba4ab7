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
];

// covers: GGEN-2-01, GGEN-8.1-01
async fn every_message_is_one_of_json_rpc_on_both_sides_of_the_kernel() {
    let script = Script::named(&["works"]);
    let host = Host::with(quiet([script.server("files")])).await;
    host.up("files").await;
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
    let host = Host::with(quiet([script.server("files")])).await;
    host.up("files").await;
    let mut ada = Raw::declaring(&host, "ada", Revision::V2025_11_25, &["ggen"]).await;
    let empty = ada.say(r#"{"jsonrpc":"2.0","id":"empty","method":"tools/list","params":{}}"#).await;
    let absent = ada.say(r#"{"jsonrpc":"2.0","id":"absent","method":"tools/list"}"#).await;
    assert_eq!(empty["result"], absent["result"]);
    let tools = empty["result"]["tools"].as_array().unwrap();
    assert_eq!(tools.len(), 2, "{empty}");
    for tool in tools {
        assert!(tool["name"].is_string() && tool["description"] == "Does something.", "{tool}");
        assert_eq!(tool["inputSchema"], json!({"type": "object", "properties": {"a": {"type": "string"}}}));
    }
}

// covers: GGEN-1-03
async fn conversations_that_take_turns_do_not_mix() {
    let script = Script::named(&["works"]);
    let host = Host::with(quiet([script.server("files")])).await;
    host.up("files").await;
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
