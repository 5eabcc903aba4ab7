//! Arguments that a server would convert, and servers with forms of their own.

use serde_json::{Value, json};

use crate::host::{Host, quiet, refused, say};
use crate::runner::tests;
use crate::scripted::Script;

tests![
    arguments_that_servers_convert_come_to_them_as_they_are,
    an_operator_can_have_types_enforced,
    no_loose_type_hides_anything_from_the_validators,
    a_server_in_the_dialect_of_the_published_examples_is_an_ordinary_one_to_clients,
];

const TOOLS: &str = r#"[{"name":"read","description":"Reads a file.","inputSchema":{"type":"object","required":["path"],
    "properties":{"path":{"type":"string","description":"The file to read."},"lines":{"type":"integer"},
    "all":{"type":"boolean"},"paths":{"type":"array","items":{"type":"string"}},
    "options":{"type":"object","properties":{"path":{"type":"string"},"limit":{"type":"number"}}}}}}]"#;

fn loose() -> [Value; 8] {
    [
        json!({"path": "notes.txt", "lines": "5"}),
        json!({"path": "notes.txt", "all": "true"}),
        json!({"path": "notes.txt", "all": 1, "lines": 5.0}),
        json!({"path": "notes.txt", "lines": null, "all": null, "options": null}),
        json!({"path": "notes.txt", "paths": "other.txt"}),
        json!({"path": "notes.txt", "paths": r#"["a.txt","b.txt"]"#}),
        json!({"path": "notes.txt", "options": r#"{"path":"a.txt","limit":"3"}"#}),
        json!({"path": 7}),
    ]
}

async fn start(argument_types: Option<&str>) -> (Host, Script) {
    let script = Script::new(&TOOLS.replace('\n', " "));
    let mut config = quiet([script.server("files")]);
    if let Some(types) = argument_types {
        config["validators"] = json!({"argument_types": types});
    }
    let host = Host::ready_with(config).await;
    (host, script)
}

async fn arguments_that_servers_convert_come_to_them_as_they_are() {
    let (host, _script) = start(None).await;
    for client in [host.client("one").await, host.plain("other").await] {
        for arguments in loose() {
            assert_eq!(say(&client, "files.read", arguments.clone()).await, arguments.to_string());
        }
        for wrong in [json!({}), json!({"path": "a", "lines": "many"}), json!({"path": ["a"]})] {
            refused(client.call_tool("files.read", wrong).await);
        }
    }
}

async fn an_operator_can_have_types_enforced() {
    let (host, _script) = start(Some("exact")).await;
    let client = host.client("one").await;
    say(&client, "files.read", json!({"path": "notes.txt", "lines": 5})).await;
    for arguments in loose().into_iter().filter(|arguments| arguments["lines"] != json!(5.0)) {
        let said = refused(client.call_tool("files.read", arguments).await);
        assert!(said.contains("invalid arguments"), "{said}");
    }
}

async fn no_loose_type_hides_anything_from_the_validators() {
    let (host, _script) = start(None).await;
    let client = host.client("one").await;
    for secret in ["/etc/shadow", "~/.ssh/id_rsa", "../../../../../../../../etc/shadow"] {
        let text = |value: Value| Value::String(value.to_string());
        for arguments in [
            json!({"path": secret}),
            json!({"path": [secret]}),
            json!({"path": "a", "paths": secret}),
            json!({"path": "a", "paths": text(json!([secret]))}),
            json!({"path": "a", "paths": text(json!(["b", secret]))}),
            json!({"path": "a", "options": text(json!({"path": secret}))}),
            json!({"path": "a", "options": text(json!({"path": secret, "limit": "3"}))}),
            json!({"path": "a", "lines": "5", "options": {"path": secret}}),
        ] {
            let said = refused(client.call_tool("files.read", arguments.clone()).await);
            assert!(!said.contains("{\"path\""), "{arguments} came to the server");
        }
    }
}

async fn a_server_in_the_dialect_of_the_published_examples_is_an_ordinary_one_to_clients() {
    let tool =
        r#"[{"name":"find","description":"Finds.","input_schema":{"type":"object","required":["query"]}}]"#;
    let response = r#"{"result":{"count":1},"provenance":{"source":"db"}}"#;
    let script = Script::new(tool).answers("tools/call", response);
    let mut server = script.server("tracker");
    server["dialect"] = json!("ext-reference");
    let host = Host::ready_with(quiet([server])).await;
    let ada = host.client("ada").await;
    let refusal = refused(ada.call_tool("tracker.find", json!({})).await);
    assert!(refusal.contains("query"), "the schema holds: {refusal}");
    assert_eq!(script.calls(), [""; 0]);
    let found = ada.call_tool("tracker.find", json!({"query": "login"})).await.unwrap();
    assert_eq!(found.structured_content.unwrap().to::<Value>().unwrap(), json!({"count": 1}));
    assert_eq!(script.calls().len(), 1);
}
