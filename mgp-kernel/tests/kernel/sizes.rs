//! No answer is larger than somebody has room for.

use std::time::Duration;

use mgp_client_sdk::{Client, StreamPart};
use mgp_server_sdk::{Server, Tool};
use mgp_types::Revision;
use mgp_types::mgp::{ExtensionSet, Offer};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::host::{Host, Served, ask, listed, quiet, refused, say, text, until_found};
use crate::runner::tests;
use crate::scripted::{Script, defined};
use crate::web::Web;

tests![
    an_oversize_result_says_how_large_it_is_and_what_to_do,
    a_result_that_is_not_even_taken_in_says_what_to_do_at_once,
    a_search_answers_within_its_budget,
    messages_of_many_megabytes_pass_both_ways,
    a_result_that_finds_no_memory_ends_its_call_only,
    a_result_of_more_bytes_than_its_tool_declares_is_left_out,
    a_large_result_comes_in_chunks_to_a_client_that_takes_them,
];

// covers: EXT-10-06
async fn a_result_of_more_bytes_than_its_tool_declares_is_left_out() {
    let script = Script::of([defined("big", &[], &json!({"max_output_size_bytes": 10}))]);
    let host = Host::ready([script.server("files")]).await;
    for client in [host.client("one").await, host.plain("other").await] {
        assert_eq!(say(&client, "files.big", json!({"bytes": 10})).await.len(), 10);
        let result = client.call_tool("files.big", json!({"bytes": 5_000})).await.unwrap();
        assert_eq!(result.is_error, Some(true), "{result:?}");
        let said = text(&result);
        assert!(said.contains("5000 bytes") && said.contains("declares 10"), "{said}");
    }
}

// covers: GGEN-8.1-04
async fn a_large_result_comes_in_chunks_to_a_client_that_takes_them() {
    let whole = "äb".repeat(60_000);
    let large = whole.clone();
    let server = Server::new("large", "1.0.0")
        .tool(Tool::new("large", "Returns a large text."), move || std::future::ready(large.clone()))
        .tool(Tool::new("small", "Returns a small text."), async || "small")
        .streaming();
    let files = Served::start("files", server).await;
    let host = Host::ready_with(quiet([files.config.clone()])).await;
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let builder = Client::builder("tests", "1.0.0").mgp(Offer::new(ExtensionSet::standard()));
        let client = host.connect("ada", builder.revisions([revision])).await;
        for (tool, expected, is_cut) in [("files.large", &*whole, true), ("files.small", "small", false)] {
            let mut call = client.call_tool(tool, json!({})).stream().unwrap();
            let mut chunks = Vec::new();
            while let Some(part) = call.next().await {
                let StreamPart::Chunk(chunk) = part else { panic!("{revision:?}: {part:?}") };
                chunks.push(chunk.content.as_text().unwrap().to_owned());
            }
            assert_eq!(text(&call.finish().await.unwrap()), expected);
            assert_eq!(chunks.len() > 1, is_cut, "{revision:?}");
            assert!(!is_cut || chunks.concat() == whole);
            assert!(chunks.iter().all(|chunk| chunk.len() <= 16 << 10));
            // Whoever does not ask for chunks gets the result alone.
            assert_eq!(say(&client, tool, json!({})).await, expected);
        }
    }
}

async fn an_oversize_result_says_how_large_it_is_and_what_to_do() {
    let (script, web) = (Script::named(&["big"]), Web::start().await);
    let mut config = quiet([script.server("files"), web.server("web")]);
    config["limits"] = json!({"max_message_bytes": 1 << 16});
    let host = Host::ready_with(config).await;
    for client in [host.client("one").await, host.plain("other").await] {
        assert_eq!(say(&client, "files.big", json!({"bytes": 9_000})).await.len(), 9_000);
        let result = client.call_tool("files.big", json!({"bytes": 70_000})).await.unwrap();
        assert_eq!(result.is_error, Some(true));
        let said = crate::host::text(&result);
        assert!(
            said.contains("70") && said.contains("65536") && said.contains("max_message_bytes"),
            "{said}"
        );
        assert!(said.len() < 1_000, "{said}");
        assert_eq!(say(&client, "web.look", json!({})).await, "nobody");
    }
}

async fn a_result_that_is_not_even_taken_in_says_what_to_do_at_once() {
    // Some libraries write the id in front of the result, others behind it.
    for script in [Script::named(&["big", "pid"]), Script::named(&["big", "pid"]).id_last()] {
        let mut server = script.server("files");
        server["sharing"] = json!("shared");
        let mut config = quiet([server]);
        config["limits"] = json!({"max_message_bytes": 1 << 20});
        let host = Host::with(config).await;
        let pid = host.up("files").await.pid.unwrap().to_string();
        for client in [host.client("one").await, host.plain("other").await] {
            let began = Instant::now();
            let (result, other) = tokio::join!(
                client.call_tool("files.big", json!({"bytes": 9 << 20})).into_future(),
                say(&client, "files.pid", json!({})),
            );
            let result = result.unwrap();
            assert_eq!(result.is_error, Some(true));
            let said = crate::host::text(&result);
            assert!(
                said.contains("more than") && said.contains("1048576") && said.contains("max_message_bytes"),
                "{said}"
            );
            assert!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
            assert_eq!(other, pid);
        }
        assert_eq!((host.view("files").restarts, script.calls().len()), (0, 4));
    }
}

async fn a_search_answers_within_its_budget() {
    let definition = |number: usize| {
        let fields: serde_json::Map<_, _> = (0..10)
            .map(|field| {
                let about = "what is to be said about this field at great length ".repeat(4);
                (format!("field_{field}"), json!({"type": "string", "description": about}))
            })
            .collect();
        json!({
            "name": format!("report_{number}"), "description": format!("Writes report number {number}."),
            "inputSchema": {"type": "object", "properties": fields},
        })
    };
    let tools: Vec<Value> = (0..40).map(definition).collect();
    let script = Script::new(&json!(tools).to_string());
    let mut config = quiet([script.server("files")]);
    config["tools"] = json!({"level": "L3", "budget": {"max_tokens": 4_000}});
    let host = Host::ready_with(config).await;
    let client = host.plain("one").await;
    listed(&client, "mgp_tools_discover").await;
    let whole = json!(tools).to_string().len();
    let params = json!({"name": "mgp_tools_discover", "arguments": {"query": "writes a report", "max_results": 1_000}});
    // They are searched a moment after they are listed.
    let answer = until_found("all tools are searched", async || {
        let answer = ask(&client, "tools/call", params.clone()).await;
        (answer["structuredContent"]["total_available"] == json!(tools.len())).then_some(answer)
    })
    .await;
    let found = &answer["structuredContent"];
    assert!(!found["tools"].as_array().unwrap().is_empty(), "{found}");
    let length = answer.to_string().len();
    println!("a search answers with {length} bytes of {whole}");
    // Four bytes a token, told twice: as text and as data.
    assert!(length < 4_000 * 4 * 3, "{length} of {whole}");
    assert!(found["omitted"].as_u64().is_some_and(|omitted| omitted > 0), "{}", found["omitted"]);
}

async fn messages_of_many_megabytes_pass_both_ways() {
    let script = Script::named(&["works", "big"]);
    let host = Host::ready([script.server("files")]).await;
    let client = host.client("one").await;
    let arguments = json!({"a": "x".repeat(8 << 20)});
    let wanted = arguments.to_string();
    let said = say(&client, "files.works", arguments).await;
    assert!(said == wanted, "{} bytes", said.len());
    assert_eq!(say(&client, "files.big", json!({"bytes": 16 << 20})).await.len(), 16 << 20);
}

async fn a_result_that_finds_no_memory_ends_its_call_only() {
    let script = Script::named(&["big", "pid"]);
    let mut config = quiet([script.server("files")]);
    config["limits"] = json!({"message_memory_bytes": 2 << 20});
    let host = Host::with(config).await;
    let pid = host.up("files").await.pid.unwrap().to_string();
    let client = host.client("one").await;
    for _ in 0..3 {
        assert_eq!(say(&client, "files.big", json!({"bytes": 1 << 20})).await.len(), 1 << 20);
        let (result, other) = tokio::join!(
            client.call_tool("files.big", json!({"bytes": 5 << 20})).into_future(),
            say(&client, "files.pid", json!({})),
        );
        let said = refused(result);
        assert!(said.contains("message_memory_bytes"), "{said}");
        assert_eq!(other, pid);
    }
    assert_eq!(host.view("files").restarts, 0);
}
