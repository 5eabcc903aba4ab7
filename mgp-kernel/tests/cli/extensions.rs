//! What clients get that declare optional extensions, and what all others get.

use mgp_types::mgp::Timestamp;
use serde_json::{Value, json};

use crate::home::Home;
use crate::kernel::{Kernel, Talk, until};

const PREFIX: &str = "io.github.mcp-extension-proposals/";

/// A home whose kernel has two servers.
fn home() -> Home {
    let home = Home::with_state();
    let program = env!("CARGO_BIN_EXE_mgp");
    let [sh, clock] = home.clock();
    home.configure(&format!(
        "[limits]\nagent_calls_per_minute = 500\nagent_calls_per_day = 9000\n[tools]\nlevel = \"L0\"\n\
         [[servers]]\nid = \"context\"\ncommand = {program:?}\nargs = [\"server\", \"context\"]\n\
         [[servers]]\nid = \"clock\"\ncommand = {sh:?}\nargs = [{clock:?}]\n"
    ));
    home
}

/// Opens a session as a client that declares these extensions, as soon as both servers have listed their tools.
fn open(kernel: &mut Kernel, extensions: &[&str]) -> Talk {
    let declared: serde_json::Map<_, _> =
        extensions.iter().map(|name| (format!("{PREFIX}{name}"), json!({}))).collect();
    let mut talk = Talk::open_with(kernel, &json!({ "extensions": declared }));
    until("the tools of both servers", || {
        let listed = names(&talk.ask("tools/list", &json!({}))["result"]["tools"]);
        ["store_memory", "now"].iter().all(|tool| listed.iter().any(|name| name.ends_with(tool)))
    });
    talk
}

fn names(tools: &Value) -> Vec<String> {
    tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
}

// covers: EXT-01-01..05, EXT-01-07, EXT-01-09, EXT-01-12, EXT-01-13, ENV-2-04
#[test]
fn a_manifest_tells_what_tools_lists_with_limits_and_how_long_it_is_true() {
    let home = home();
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = open(&mut kernel, &["service_manifest"]);
    let list = talk.ask("tools/list", &json!({}));
    let manifest = talk.ask("mgp/manifest/get", &json!({}))["result"].clone();
    assert_eq!(manifest["manifest_version"], "0.1.0", "{manifest}");
    assert_eq!(manifest["server"]["mcp_spec_version"], "2025-11-25", "{manifest}");
    assert_eq!(
        (&manifest["server"]["name"], &manifest["server"]["version"]),
        (&json!("mgp"), &json!(env!("CARGO_PKG_VERSION")))
    );
    assert_eq!(manifest["manifest_ttl_seconds"], 300);
    assert!(manifest["auth"]["methods"].as_array().unwrap().contains(&json!("api_key")), "{manifest}");
    let listed = names(&list["result"]["tools"]);
    let of_manifest: Vec<String> = manifest["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| tool.get("x_mcp_name").unwrap_or_else(|| &tool["name"]).as_str().unwrap().to_owned())
        .collect();
    assert_eq!(of_manifest, listed, "a manifest agrees with the list");
    for tool in manifest["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        assert!(name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')), "{name}");
        assert!(tool["input_schema"].is_object() && tool["description"].is_string(), "{tool}");
    }

    let limits = |manifest: &Value| manifest["rate_limits"]["remaining"].as_u64().unwrap();
    let said = |member: &str| manifest["rate_limits"][member].clone();
    assert_eq!((said("requests_per_minute"), said("requests_per_day")), (json!(500), json!(9000)));
    let mut later = Value::Null;
    // A slow machine has time to renew what one request took.
    until("a request takes from what is left", || {
        later = talk.ask("mgp/manifest/get", &json!({}))["result"].clone();
        limits(&later) < 500
    });
    assert!(later["rate_limits"]["resets_at"].as_str().unwrap().parse::<Timestamp>().is_ok(), "{later}");
    assert_eq!(later["revision"], manifest["revision"], "what is left is no change of the manifest");

    let known = talk.ask("mgp/manifest/get", &json!({"if_revision": manifest["revision"]}));
    assert_eq!(known["result"], json!({"not_modified": true, "revision": manifest["revision"]}));
    let one = talk.ask("mgp/manifest/get", &json!({"tools": [listed[0]]}));
    assert_eq!(one["result"]["tools"].as_array().unwrap().len(), 1);
    let unknown = talk.ask("mgp/manifest/get", &json!({"tools": ["no_such"]}));
    assert!(unknown["error"]["message"].as_str().unwrap().contains("no_such"), "{unknown}");
}

// covers: EXT-00-02, EXT-00-07, EXT-13-02, EXT-13-03
#[test]
fn servers_are_recommended_by_capability_and_nothing_is_connected_for_it() {
    let home = home();
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = open(&mut kernel, &["server_recommendations"]);
    let before = home.json(["servers"]);
    let asked = json!({"capability_needed": "current_time", "limit": 3});
    let answer = talk.ask("mgp/discovery/recommend", &asked)["result"].clone();
    assert_eq!(answer["capability_needed"], "current_time");
    let first = &answer["recommendations"][0];
    assert_eq!(
        (&first["server_name"], &first["capability"]),
        (&json!("clock"), &json!("current_time")),
        "{answer}"
    );
    assert!(["high", "medium", "low"].contains(&first["match_confidence"].as_str().unwrap()), "{answer}");
    let ids = |servers: &Value| {
        servers["servers"].as_array().unwrap().iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(ids(&before), ids(&home.json(["servers"])));
    let empty = talk.ask("mgp/discovery/recommend", &json!({"capability_needed": " "}));
    assert_eq!(empty["error"]["code"], -32602, "{empty}");
    // A client that does not declare the extension does not have its method.
    let manifest = talk.ask("mgp/manifest/get", &json!({}));
    assert_eq!(manifest["error"]["code"], -32601, "{manifest}");
}

// covers: GGEN-5-02, GGEN-5-04, GGEN-5-07, GGEN-5-11, GGEN-5-13, GGEN-5-15, EXT-11-01, EXT-11-03, EXT-11-12, ENV-3.3-04
#[test]
fn errors_have_the_forms_that_the_client_declares() {
    let home = home();
    let mut kernel = Kernel::start(&home, &[]);
    let mut talk = open(&mut kernel, &["ggen", "structured_errors"]);
    let tools = names(&talk.ask("tools/list", &json!({}))["result"]["tools"]);
    let store = tools.iter().find(|tool| tool.ends_with("store_memory")).unwrap();

    let valid = talk.ask("tools/validate", &json!({"name": store, "arguments": {"content": "x"}}));
    assert_eq!(valid["result"]["valid"], true, "{valid}");
    let invalid =
        talk.ask("tools/validate", &json!({"name": store, "arguments": {"content": 7, "tags": "x"}}));
    assert_eq!(invalid["result"]["errors"].as_array().unwrap().len(), 2, "{invalid}");
    let catalog = talk.ask("mgp/discovery/catalog", &json!({}));
    assert_eq!(names(&catalog["result"]["tools"]).len(), tools.len());

    for (method, params, number, kind, word) in [
        ("no/such", json!({}), -32601, "MethodNotFound", "UNSUPPORTED_OPERATION"),
        ("tools/validate", json!({}), -32602, "InvalidParams", "INVALID_PARAMETERS"),
        ("tools/validate", json!({"name": "none"}), -32002, "ToolNotFound", "RESOURCE_NOT_FOUND"),
        ("tools/call", json!({"name": "none"}), -32002, "ToolNotFound", "RESOURCE_NOT_FOUND"),
    ] {
        let answer = talk.ask(method, &params);
        let error = &answer["error"];
        assert_eq!(
            (&error["code"], &error["data"]["error_type"]),
            (&json!(number), &json!(kind)),
            "{answer}"
        );
        assert_eq!(error["data"]["code"], word, "{answer}");
        assert_eq!(error["data"]["trace_id"].as_str().unwrap().len(), 36, "{answer}");
        assert!(error["data"]["suggestions"].is_array() && error["data"]["reason"].is_string(), "{answer}");
    }
    drop(talk);

    let mut kernel = Kernel::start(&home, &[]);
    let mut plain = open(&mut kernel, &[]);
    let answer = plain.ask("tools/call", &json!({"name": "none"}));
    assert_eq!((&answer["error"]["code"], answer["error"].get("data")), (&json!(-32602), None), "{answer}");
}
