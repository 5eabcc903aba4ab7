//! A refused call in other shapes of message: it stays refused.

use mgp_types::Revision;
use serde_json::{Value, json};

use crate::host::{Host, quiet};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::sections::raw::{ERAS, Raw};

tests![
    a_refused_call_is_refused_in_every_other_shape,
    a_batch_reaches_no_more_than_its_calls_2025,
    what_is_no_tool_is_refused_to_an_agent_that_was_granted_a_tool,
];

/// A call for each step that refuses: access, the validators, the permission.
fn refused() -> [Value; 3] {
    let run = |command: &str| json!({"name": "box.execute_command", "arguments": {"command": command}});
    [json!({"name": "box.secret", "arguments": {}}), run("rm -rf /"), run("ls")]
}

async fn kernel() -> (Host, Script) {
    let tools = [("echo", "a"), ("secret", "a"), ("execute_command", "command")];
    let script = Script::of(tools.map(|(name, argument)| defined(name, &[argument], &json!({}))));
    let mut config = quiet([script.server("box")]);
    config["access"] =
        json!({"rules": [{"agent": "ada", "server": "box", "tool": "secret", "permission": "deny"}]});
    config["permissions"] = json!({"policy": "deny_all"});
    let host = Host::ready_with(config).await;
    (host, script)
}

// covers: MGP-1.2-03, MGP-1.2-04
async fn a_refused_call_is_refused_in_every_other_shape() {
    let (host, script) = kernel().await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        for call in refused() {
            let error = ada.error("tools/call", call.clone()).await;
            let mut task = call.clone();
            task["task"] = json!({"ttl": 60_000});
            assert_eq!(ada.error("tools/call", task).await["code"], error["code"], "as a task: {call}");
            for method in
                ["tools\u{2215}call", "mgp/tools/call/", "x-tools/call", "tasks/get", "tasks/update"]
            {
                ada.error(method, call.clone()).await;
            }
            ada.notify("tools/call", call).await;
        }
        let before = script.calls().len();
        ada.tool("box.echo", json!({"a": "x"})).await;
        assert_eq!(script.calls()[before..], [r#"echo {"a":"x"}"#]);
    }
    assert_eq!(script.calls().len(), ERAS.len(), "{:?}", script.calls());
}

async fn a_batch_reaches_no_more_than_its_calls_2025() {
    let (host, script) = kernel().await;
    let mut ada = Raw::agent(&host, "ada", Revision::V2025_03_26).await;
    let frame = |(id, params)| json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
    let mut batch: Vec<_> = (100..).zip(refused()).map(frame).collect();
    batch.push(json!({"jsonrpc": "2.0", "method": "tools/call", "params": refused()[0]}));
    let answers = ada.say(&json!(batch).to_string()).await;
    let answers = answers.as_array().expect("a batch is answered by one");
    assert_eq!(answers.len(), 3);
    assert!(answers.iter().all(|answer| answer["error"].is_object()), "{answers:?}");
    ada.tool("box.echo", json!({})).await;
    assert_eq!(script.calls(), ["echo {}"]);
}

async fn what_is_no_tool_is_refused_to_an_agent_that_was_granted_a_tool() {
    let script = Script::named(&["echo"])
        .capabilities(r#"{"tools":{},"resources":{},"prompts":{},"completions":{}}"#)
        .answers("prompts/list", r#"{"prompts":[{"name":"brief","arguments":[{"name":"style"}]}]}"#)
        .answers("prompts/get", r#"{"messages":[]}"#)
        .answers("completion/complete", r#"{"completion":{"values":["short"]}}"#)
        .answers("resources/read", r#"{"contents":[{"uri":"memo://all","text":"the notes"}]}"#);
    let mut config = quiet([script.server("box")]);
    config["access"] = json!({"default": "opt-in", "rules": [
        {"agent": "ada", "server": "box", "tool": "echo", "permission": "allow"},
        {"agent": "boss", "server": "box", "permission": "allow"},
    ]});
    let host = Host::ready_with(config).await;
    let of_prompt = json!({"type": "ref/prompt", "name": "box.brief"});
    let requests = [
        ("resources/read", json!({"uri": "mgp://box/memo://all"})),
        ("prompts/get", json!({"name": "box.brief"})),
        ("completion/complete", json!({"ref": of_prompt, "argument": {"name": "style", "value": "s"}})),
    ];
    let arrived = |method: &str| script.asked().iter().filter(|asked| asked["method"] == *method).count();
    for revision in ERAS {
        let (mut ada, mut boss) =
            (Raw::agent(&host, "ada", revision).await, Raw::agent(&host, "boss", revision).await);
        ada.tool("box.echo", json!({})).await;
        for (method, params) in &requests {
            let before = arrived(method);
            ada.error(method, params.clone()).await;
            assert_eq!(arrived(method), before, "{method}");
            boss.result(method, params.clone()).await;
            assert_eq!(arrived(method), before + 1, "{method}");
        }
    }
}
