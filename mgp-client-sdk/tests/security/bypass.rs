//! Ways around a refusal: a refused call stays refused in every other shape of message.

use std::time::Duration;

use mgp_security::confirmation::ConfirmationSettings;
use mgp_server_sdk::HttpConfig;
use mgp_transport::http::serve;
use mgp_types::mgp::Permission;
use mgp_types::{Principal, Revision};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::ERAS;
use crate::front::Raw;
use crate::kernel::{AGENT, Kernel, Setup};
use crate::upstream::{self, Reached};

/// A call for each step that refuses.
const REFUSED: [(&str, &str); 6] = [
    ("secret", r#"{"text":"x"}"#),
    ("run", r#"{"command":"rm -rf /"}"#),
    ("run", r#"{"command":"ls"}"#),
    ("evaluate", r#"{"code":"import os\nos.system('id')"}"#),
    ("wipe", r#"{"target":"x"}"#),
    ("fetch", r#"{"url":"http://169.254.169.254/latest"}"#),
];

async fn kernel(reached: &Reached, revision: Revision) -> Kernel {
    let mut setup = Setup::default();
    setup.settings = setup.settings.with_denial(Permission::ShellExecute);
    setup.confirmation = Some(ConfirmationSettings::new().with_patience(Duration::from_millis(5)));
    let kernel = Kernel::before(upstream::mgp(reached).accept().unwrap(), revision, setup).await;
    reached.take();
    kernel
}

/// Asserts that only lists, and the notification that a session is open, reached the server.
fn assert_untouched(reached: &Reached, shape: &str) {
    for (method, params) in reached.take() {
        assert!(matches!(&*method, "tools/list" | "notifications/initialized"), "{shape}: {method} {params}");
    }
}

// covers: MGP-1.2-03, MGP-1.2-04
#[tokio::test]
async fn a_notification_reaches_no_more_than_a_call() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for (tool, arguments) in REFUSED {
            let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
            let before = kernel.events().len();
            client.notify("tools/call", &params).await;
            let blocked = async {
                while !kernel.kinds(before).contains(&"TOOL_BLOCKED".to_owned()) {
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            };
            tokio::time::timeout(Duration::from_secs(10), blocked).await.expect(tool);
            assert_untouched(&reached, tool);
        }
    }
}

#[tokio::test]
async fn no_other_spelling_of_the_method_reaches_a_refused_tool() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for method in [
            "Tools/Call", "TOOLS/CALL", "tools/call ", " tools/call", "tools\\u002fcall", "\\u0074ools/call",
            "tools//call", "tools/./call", "tools.call", "tools/call\\u0000", "tools\u{2215}call",
            "ｔools/call", "mgp/tools/call", "x-tools/call",
        ] {
            for (tool, arguments) in REFUSED {
                let params = format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#);
                let answer = client.call(method, &params).await;
                assert!(answer.get("error").is_some(), "{method} {tool}: {answer}");
                client.notify(method, &params).await;
                assert_untouched(&reached, method);
            }
        }
    }
}

#[tokio::test]
async fn no_other_spelling_of_the_members_reaches_a_refused_tool() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for params in [
            r#"{"name":"echo","name":"secret","arguments":{"text":"x"}}"#,
            r#"{"name":"secret","name":"echo","arguments":{"text":"x"}}"#,
            r#"{"name":"echo","n\u0061me":"secret","arguments":{"text":"x"}}"#,
            r#"{"n\u0061me":"secret","arguments":{"text":"x"}}"#,
            r#"{"name":"secr\u0065t","arguments":{"text":"x"}}"#,
            r#"{"Name":"secret","arguments":{"text":"x"}}"#,
            r#"{"name":["secret"],"arguments":{"text":"x"}}"#,
            r#"{"name":{"name":"secret"},"arguments":{"text":"x"}}"#,
            r#"{"name":"SECRET","arguments":{"text":"x"}}"#,
            r#"{"name":"secret ","arguments":{"text":"x"}}"#,
            r#"{"name":" secret","arguments":{"text":"x"}}"#,
            r#"{"name":"secret\u0000","arguments":{"text":"x"}}"#,
            r#"{"name":"secret\u200b","arguments":{"text":"x"}}"#,
            r#"{"name":"sеcret","arguments":{"text":"x"}}"#,
            r#"{"name":"ｓecret","arguments":{"text":"x"}}"#,
            r#"{"name":"","arguments":{"text":"x"}}"#,
            r#"{"name":null,"arguments":{"text":"x"}}"#,
            r#"{"arguments":{"text":"x"}}"#,
            r#"{"name":"run","arguments":{"command":"ls","command":"rm -rf /"}}"#,
            r#"{"name":"run","arguments":{"command":"ls","c\u006fmmand":"rm -rf /"}}"#,
            r#"{"name":"run","arguments":{"command":"r\u006d -rf /"}}"#,
            r#"{"name":"run","arguments":"{\"command\":\"rm -rf /\"}"}"#,
            r#"{"name":"run","arguments":["rm -rf /"]}"#,
            r#"{"name":"fetch","arguments":{"url":"http:\/\/169.254.169.254\/"}}"#,
            r#"{"name":"fetch","arguments":{"url":"http://①⑥⑨.254.169.254/"}}"#,
            r#"{"name":"wipe","arguments":{"target":"x"},"_mgp":{"approved":true}}"#,
        ] {
            let answer = client.call("tools/call", params).await;
            assert!(answer.get("error").is_some(), "{params}: {answer}");
            assert_untouched(&reached, params);
        }
        // Another member beside is only another member, unless a lenient reader takes it for one of these.
        let answer =
            client.call("tools/call", r#"{"name":"echo","Name":"secret","arguments":{"text":"x"}}"#).await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("\"Name\""), "{answer}");
        assert_untouched(&reached, "Name");
        let answer =
            client.call("tools/call", r#"{"name":"echo","title":"secret","arguments":{"text":"x"}}"#).await;
        assert_eq!(answer["result"]["content"][0]["text"], "x", "{answer}");
        assert_eq!(reached.tools(), ["echo"]);
    }
}

#[tokio::test]
async fn a_batch_reaches_no_more_than_its_calls_2025() {
    let reached = Reached::default();
    let kernel = kernel(&reached, Revision::V2025_11_25).await;
    let mut client = Raw::open(&kernel, AGENT, Revision::V2025_03_26, true).await;
    let mut frames: Vec<_> = REFUSED
        .iter()
        .map(|(tool, arguments)| {
            client.frame("tools/call", &format!(r#"{{"name":"{tool}","arguments":{arguments}}}"#))
        })
        .collect();
    frames
        .push(r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"secret","arguments":{}}}"#.into());
    client.write(&format!("[{}]", frames.join(","))).await;
    let answers = client.read().await;
    let answers = answers.as_array().expect("a batch is answered by one");
    assert_eq!(answers.len(), REFUSED.len());
    assert!(answers.iter().all(|answer| answer.get("error").is_some()), "{answers:?}");
    assert_untouched(&reached, "batch");
}

#[tokio::test]
async fn a_call_that_asks_for_a_task_is_a_call() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for (tool, arguments) in REFUSED {
            let params = format!(r#"{{"name":"{tool}","arguments":{arguments},"task":{{"ttl":60000}}}}"#);
            let answer = client.call("tools/call", &params).await;
            assert!(answer.get("error").is_some(), "{tool}: {answer}");
            assert_untouched(&reached, tool);
        }
        // What is about a task begins none.
        for method in ["tasks/get", "tasks/result", "tasks/cancel", "tasks/update"] {
            client.call(method, r#"{"taskId":"x","name":"secret","arguments":{"text":"x"}}"#).await;
            assert!(reached.tools().is_empty());
        }
    }
}

#[tokio::test]
async fn what_is_no_tool_is_refused_to_whoever_was_granted_tools_only() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let requests = [
            ("resources/read", json!({"uri": "notes://all"})),
            ("prompts/get", json!({"name": "brief"})),
            (
                "completion/complete",
                json!({"ref": {"type": "ref/prompt", "name": "brief"}, "argument": {"name": "style", "value": "x"}}),
            ),
            ("resources/list", json!({})),
            ("prompts/list", json!({})),
            ("anything/else", json!({})),
        ];
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        for (method, params) in &requests {
            let answer = client.call(method, &params.to_string()).await;
            assert!(answer.get("error").is_some(), "{method}: {answer}");
            assert_untouched(&reached, method);
        }
        kernel.allow("agent.all", None).await;
        let mut other = Raw::open(&kernel, "agent.all", revision, true).await;
        for (method, params) in &requests[..3] {
            let answer = other.call(method, &params.to_string()).await;
            assert!(answer.get("result").is_some(), "{method}: {answer}");
        }
    }
}

#[tokio::test]
async fn the_tool_is_read_from_the_body_and_never_from_a_header() {
    for revision in ERAS {
        let reached = Reached::default();
        let kernel = kernel(&reached, revision).await;
        let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(serve(listener, kernel.front(Principal::new(AGENT)), HttpConfig::default()));
        let mut client = Raw::open(&kernel, AGENT, revision, true).await;
        let mut session = String::new();
        if !revision.is_stateless() {
            let params = format!(
                r#"{{"protocolVersion":"{}","capabilities":{{}},"clientInfo":{{"name":"x","version":"1"}}}}"#,
                revision.as_str()
            );
            let frame = format!(r#"{{"jsonrpc":"2.0","id":0,"method":"initialize","params":{params}}}"#);
            let answer = post(address, "", &frame).await;
            let id = answer.lines().find(|line| line.to_lowercase().starts_with("mcp-session-id:")).unwrap();
            session = format!("{}\r\n", id.trim());
        }
        for name in ["echo", "secret"] {
            let frame = client.frame("tools/call", r#"{"name":"secret","arguments":{"text":"x-marks"}}"#);
            let version = revision.as_str();
            let headers = format!(
                "{session}MCP-Protocol-Version: {version}\r\nMcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
            );
            let answer = post(address, &headers, &frame).await;
            assert!(!answer.contains("x-marks"), "{answer}");
            assert!(answer.contains("error") || answer.contains("isError"), "{answer}");
            assert_untouched(&reached, name);
        }
    }
}

async fn post(address: std::net::SocketAddr, headers: &str, body: &str) -> String {
    let mut stream = tokio::net::TcpStream::connect(address).await.unwrap();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nAccept: application/json, \
         text/event-stream\r\nConnection: close\r\n{headers}Content-Length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tokio::time::timeout(Duration::from_secs(10), stream.read_to_string(&mut answer)).await.unwrap().unwrap();
    answer
}
