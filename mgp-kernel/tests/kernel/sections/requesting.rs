//! Tools that are asked for in the middle of a task (§16.6).

use serde_json::{Value, json};

use super::raw::{ERAS, Raw};
use super::searching::indexed;
use crate::host::{Host, quiet, speaking_mgp, typed};
use crate::runner::tests;
use crate::scripted::{Script, defined};

tests![
    a_request_that_is_met_says_what_was_loaded_and_what_it_takes,
    a_request_that_is_not_met_says_why,
    each_word_of_a_request_is_obeyed,
];

fn tool(name: &str, description: &str, argument: &str, security: &Value) -> Value {
    let schema =
        json!({"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]});
    defined(name, &[], &json!({"description": description, "security": security, "inputSchema": schema}))
}

/// A kernel with tools for pictures and tables, one of which nobody has permitted.
async fn kernel() -> (Host, Script) {
    let safe = json!({"risk_level": "safe"});
    let writing = json!({"risk_level": "safe", "permissions_required": ["memory.write"]});
    let script = Script::of([
        tool("shrink_image", "Make an image smaller.", "image_path", &safe),
        tool("measure_image", "Histogram of an image. Returns a chart.", "image_path", &safe),
        tool("analyze_csv", "Compute statistics on CSV.", "csv", &safe),
        tool("rewrite_csv", "Compute statistics on CSV.", "csv", &json!({"risk_level": "moderate"})),
        tool("speak", "Narrate a story. Returns an mp3.", "text", &safe),
        tool("store_contents", "Store contents in an archive.", "text", &writing),
    ])
    .speaking(&["security"]);
    let mut server = script.server("data");
    server["security"] = json!({"trust_level": "trusted"});
    let mut config = quiet([server]);
    config["tools"] = json!({"level": "L3"});
    config["permissions"] = json!({"policy": "interactive"});
    let host = Host::ready_with(config).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    indexed(&mut ada, 6).await;
    (host, script)
}

fn loaded(answer: &Value) -> Vec<&str> {
    let tools = answer["tools_loaded"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap()).collect()
}

async fn require(client: &mut Raw, requirements: Value) -> Value {
    client.result("mgp/tools/request", json!({"requirements": requirements})).await
}

async fn listed(client: &mut Raw) -> Vec<String> {
    let listed = client.result("tools/list", json!({})).await;
    let tools = listed["tools"].as_array().unwrap().iter();
    tools.map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// covers: MGP-16.1-01, MGP-16.6-01, MGP-16.6-09..14
async fn a_request_that_is_met_says_what_was_loaded_and_what_it_takes() {
    let (host, script) = kernel().await;
    for revision in ERAS {
        // Each has a session of its own.
        let agent = format!("agent-{}", revision.as_str());
        let mut ada = Raw::agent(&host, &agent, revision).await;
        let params = json!({
            "reason": "capability_gap", "context": "a table has to be summed up",
            "requirements": {"capabilities": ["compute statistics", "shrink image"], "preferred_risk_level": "safe"},
            "task_trace_id": "550e8400-e29b-41d4-a716-446655440000",
        });
        let answer = ada.result("mgp/tools/request", params.clone()).await;
        assert_eq!(answer["status"], "fulfilled");
        assert_eq!(loaded(&answer), ["data.analyze_csv", "data.shrink_image"]);
        let first = json!({
            "name": "data.analyze_csv", "server_id": "data", "description": "Compute statistics on CSV.",
            "inputSchema": {"type": "object", "properties": {"csv": {"type": "string"}}, "required": ["csv"]},
            "security": {"risk_level": "safe"},
        });
        assert_eq!(answer["tools_loaded"][0], first);
        assert_eq!(answer["tools_unavailable"], json!([]));
        assert_eq!(answer["session_tools_count"], 2);
        assert!(answer["context_tokens_added"].as_u64().unwrap() > 0, "{answer}");
        assert_eq!(listed(&mut ada).await[3..], ["data.analyze_csv", "data.shrink_image"]);
        let before = script.calls().len();
        ada.tool("data.analyze_csv", json!({"csv": "1,2"})).await;
        assert_eq!(script.calls().len(), before + 1);
        // What is there already takes nothing more.
        let again = ada.result("mgp/tools/request", params).await;
        assert_eq!((&again["session_tools_count"], &again["context_tokens_added"]), (&json!(2), &json!(0)));
    }
}

// covers: MGP-16.6-11, MGP-16.6-15..17
async fn a_request_that_is_not_met_says_why() {
    let (host, _script) = kernel().await;
    for revision in ERAS {
        let mut ada = Raw::agent(&host, "ada", revision).await;
        let some = require(&mut ada, json!({"capabilities": ["shrink image", "brew espresso"]})).await;
        assert_eq!((&some["status"], loaded(&some)), (&json!("partial"), vec!["data.shrink_image"]));
        assert_eq!(some["tools_unavailable"], json!(["brew espresso"]));

        let none = require(&mut ada, json!({"capabilities": ["brew espresso", "teleport"]})).await;
        assert_eq!((&none["status"], loaded(&none)), (&json!("unavailable"), vec![]));
        assert_eq!(none["tools_unavailable"], json!(["brew espresso", "teleport"]));

        // Nobody is there to be asked, and a call of the tool would ask again.
        let wanted =
            json!({"requirements": {"capabilities": ["store contents"]}, "_mgp": {"approval_wait_ms": 0}});
        let pending = ada.result("mgp/tools/request", wanted).await;
        let names = vec!["data.store_contents"];
        assert_eq!((&pending["status"], loaded(&pending)), (&json!("pending_approval"), names));
        let waiting = &pending["tools_pending"][0];
        let id = waiting["approval_id"].as_str().unwrap();
        assert!(
            waiting["message"].as_str().unwrap().contains(&format!("mgp permissions approve {id}")),
            "{waiting}"
        );
        assert_eq!(waiting["name"], "data.store_contents");
        assert_eq!(waiting["permissions_missing"], json!(["memory.write"]));
    }
    let mut operator = Raw::operator(&host, ERAS[0]).await;
    let permission = json!({"server_id": "data", "permission": "memory.write"});
    operator.result("kernel/permissions/grant", permission).await;
    let mut ada = Raw::agent(&host, "ada", ERAS[0]).await;
    let granted = require(&mut ada, json!({"capabilities": ["store contents"]})).await;
    assert_eq!((&granted["status"], loaded(&granted)), (&json!("fulfilled"), vec!["data.store_contents"]));
}

// covers: MGP-16.6-02..08
async fn each_word_of_a_request_is_obeyed() {
    let (host, _script) = kernel().await;
    for revision in ERAS {
        let client = host.connect("ada", speaking_mgp().revisions([revision])).await;
        let request = async |params: Value| {
            let answer = client.request_tools(&typed(&params)).await.unwrap();
            answer.tools_loaded.iter().map(|tool| tool.name.clone()).collect::<Vec<_>>()
        };
        // A request that names no capability needs one for its work.
        let wanted =
            json!({"context": "make an image smaller", "reason": "capability_gap", "requirements": {}});
        assert_eq!(request(wanted).await, ["data.shrink_image"]);
        for (requirements, expected) in [
            (
                json!({"capabilities": ["compute statistics"], "preferred_risk_level": "safe"}),
                &["data.analyze_csv"][..],
            ),
            (
                json!({"capabilities": ["compute statistics"], "preferred_risk_level": "moderate"}),
                &["data.rewrite_csv"],
            ),
            (
                json!({"capabilities": ["histogram of an image"], "input_types": ["png"]}),
                &["data.measure_image"],
            ),
            (json!({"capabilities": ["histogram of an image"], "input_types": ["csv"]}), &[]),
            (json!({"capabilities": ["narrate a story"], "output_types": ["mp3"]}), &["data.speak"]),
            (json!({"capabilities": ["narrate a story"], "output_types": ["chart"]}), &[]),
        ] {
            let params = json!({
                "reason": "capability_gap", "requirements": requirements,
                "task_trace_id": "550e8400-e29b-41d4-a716-446655440000",
            });
            assert_eq!(request(params).await, expected, "{requirements}");
        }
        let mut ada = Raw::agent(&host, "ada", revision).await;
        for (member, value, is_read) in [
            // Later drafts have further reasons.
            ("reason", json!("capability_gap"), true),
            ("reason", json!("performance"), true),
            ("reason", json!(7), false),
            ("context", json!(["make an image smaller"]), false),
            ("requirements", json!("an image"), false),
            ("task_trace_id", json!("550e8400-e29b-41d4-a716-446655440000"), true),
            ("task_trace_id", json!("the task"), false),
        ] {
            let mut params = json!({"requirements": {"capabilities": ["shrink image"]}});
            params[member] = value.clone();
            let answer = ada.call("mgp/tools/request", params).await;
            if is_read {
                assert_eq!(answer["result"]["status"], "fulfilled", "{member} {value}");
            } else {
                assert_eq!(answer["error"]["code"], -32602, "{member} {value}: {answer}");
            }
        }
    }
}
