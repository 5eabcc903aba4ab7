//! The context tools, with and without a client's model.

use mgp_client_sdk::{Client, ClientBuilder};
use mgp_types::mcp::{CreateMessageParams, CreateMessageResult, Role, SamplingContents};
use mgp_types::mgp::{ExtensionSet, Offer};
use mgp_types::{RawJson, Revision};
use serde_json::{Value, json};

use super::extraction::tokens;
use super::memory::Memory;
use super::server;

async fn connected(builder: ClientBuilder) -> Client {
    let builder = builder.mgp(Offer::new(ExtensionSet::standard()));
    builder.in_process(server(Memory::open(None).unwrap()).accept().unwrap()).await.unwrap().boxed()
}

async fn client() -> Client {
    connected(Client::builder("tests", "1.0.0")).await
}

/// Returns a client whose model says this, whatever it is asked.
async fn with_model(revision: Revision, says: &'static str) -> Client {
    let builder = Client::builder("tests", "1.0.0").revisions([revision]);
    connected(builder.on_sampling(move |asked: CreateMessageParams, _| async move {
        let prompt = asked.messages[0].content.as_slice()[0].as_text().unwrap().to_owned();
        assert!(prompt.contains("<text>"), "{prompt}");
        CreateMessageResult::new(Role::Assistant, SamplingContents::from(says), "a model")
    }))
    .await
}

async fn called(client: &Client, tool: &str, arguments: Value) -> Value {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert!(!result.is_error(), "{result:?}");
    result.structured_content.unwrap().to().unwrap()
}

async fn refused(client: &Client, tool: &str, arguments: Value) -> String {
    let result = client.call_tool(tool, arguments).await.unwrap();
    assert!(result.is_error(), "{result:?}");
    result.content[0].as_text().unwrap().to_owned()
}

const TEXT: &str = "We decided on Monday to ship version 2. The cause of ticket OPS-1234 was a full disk. \
                    Everybody had a nice lunch in the garden. The disk must be watched from now on.";

// covers: P-2-06
#[tokio::test]
async fn a_clients_model_is_used_and_held_to_the_limits_in_both_eras() {
    for revision in [Revision::V2025_11_25, Revision::V2026_07_28] {
        let client = with_model(revision, "They ship version 2.").await;
        let asked = json!({"text": TEXT, "max_tokens": 40, "preserve": ["OPS-1234", "OPS-9"]});
        let made = called(&client, "summarize", asked).await;
        assert_eq!(made["method"], "model", "{revision:?}");
        assert_eq!(made["summary"], "They ship version 2.\nOPS-1234");
        assert_eq!(made["missing"], json!(["OPS-9"]));

        let says = r#"[{"category":"decision","content":"Version 2 is shipped.","confidence":0.9}]"#;
        let client = with_model(revision, says).await;
        let facts =
            called(&client, "extract_key_facts", json!({"text": TEXT, "categories": ["decision"]})).await;
        assert_eq!(facts["facts"][0]["content"], "Version 2 is shipped.", "{revision:?}");
        assert_eq!(facts["method"], "model");
    }
}

// covers: P-2-02, P-2-03
#[tokio::test]
async fn a_model_that_writes_too_much_is_shortened() {
    let says = "A word too much. And another one. And a third one with more words. And a fourth one.";
    let client = with_model(Revision::V2025_11_25, says).await;
    let asked = json!({"text": TEXT, "max_tokens": 16, "preserve": ["OPS-1234"], "style": "bullets"});
    let made = called(&client, "summarize", asked).await;
    let summary = made["summary"].as_str().unwrap();
    assert!(tokens(summary) <= 16 && summary.contains("OPS-1234"), "{summary}");
}

// covers: P-2-01, P-2-05, P-2-06
#[tokio::test]
async fn without_a_model_summaries_and_facts_are_taken_from_the_text() {
    let client = client().await;
    let asked = json!({"text": TEXT, "max_tokens": 40, "preserve": ["OPS-1234"], "style": "structured"});
    let made = called(&client, "summarize", asked.clone()).await;
    assert_eq!(made["method"], "extraction");
    let summary = made["summary"].as_str().unwrap();
    assert!(
        summary.contains("OPS-1234") && summary.contains("## ") && !summary.contains("lunch"),
        "{summary}"
    );
    assert_eq!(made["tokens"], tokens(summary));
    assert_eq!(called(&client, "summarize", asked).await, made);

    let facts = called(&client, "extract_key_facts", json!({"text": TEXT})).await;
    assert_eq!(facts["method"], "extraction");
    let categories: Vec<_> =
        facts["facts"].as_array().unwrap().iter().map(|fact| &fact["category"]).collect();
    assert_eq!(categories, ["decision", "requirement"]);
    for fact in facts["facts"].as_array().unwrap() {
        assert!(TEXT.contains(fact["content"].as_str().unwrap()));
        assert!((0.0..=1.0).contains(&fact["confidence"].as_f64().unwrap()));
    }
}

// covers: P-2-04
#[tokio::test]
async fn a_summary_has_the_style_that_is_asked_for() {
    let client = client().await;
    let text = "It rained. We decided to go home.";
    for (style, summary) in [
        ("narrative", "It rained. We decided to go home."),
        ("bullets", "- It rained.\n- We decided to go home."),
        ("structured", "## decision\n- We decided to go home.\n## other\n- It rained."),
    ] {
        let asked = json!({"text": text, "max_tokens": 100, "style": style});
        assert_eq!(called(&client, "summarize", asked).await["summary"], summary, "{style}");
    }
    let asked = json!({"text": text, "max_tokens": 100, "style": "rhymes"});
    assert!(refused(&client, "summarize", asked).await.contains("bullets"));
}

// covers: P-2-09
#[tokio::test]
async fn a_memory_is_recalled_by_words_that_it_does_not_have() {
    let client = client().await;
    for content in ["The database runs out of disk space every Monday.", "Ada prefers to be sent an e-mail."]
    {
        called(&client, "store_memory", json!({"content": content})).await;
    }
    for (query, found) in [
        ("storage is full", "The database runs out of disk space every Monday."),
        ("how do I contact somebody by mail", "Ada prefers to be sent an e-mail."),
    ] {
        let recalled = called(&client, "recall_memory", json!({"query": query, "limit": 1})).await;
        assert_eq!(recalled["memories"][0]["content"], found, "{query}");
    }
}

// covers: P-2-10
#[tokio::test]
async fn a_conversation_is_fitted_into_its_tiers() {
    let client = client().await;
    let message = |number: usize| {
        let content =
            format!("Message number{number} is about ticket OPS-{number} and the disk that was full again.");
        json!({"role": if number.is_multiple_of(2) { "user" } else { "assistant" }, "content": content})
    };
    let messages: Vec<Value> = (0..60).map(message).collect();
    let asked = json!({"messages": messages, "budget_tokens": 400, "preserve": ["OPS-3"]});
    let fitted = called(&client, "fit_context", asked.clone()).await;
    let active = fitted["active"].as_array().unwrap();
    assert_eq!(active.last(), messages.last());
    assert_eq!(*active, messages[messages.len() - active.len()..]);
    let share = |part: &str| fitted[part].as_u64().unwrap();
    assert!(share("active_tokens") <= 240 && share("summary_tokens") <= 100, "{fitted}");
    assert!(fitted["summary"].as_str().unwrap().contains("OPS-3"), "{fitted}");
    assert_eq!(fitted["archived"].as_array().unwrap().len(), messages.len() - active.len());

    // What left the context is found again, and kept once.
    let recalled = called(&client, "recall_memory", json!({"query": "ticket OPS number7"})).await;
    let content = recalled["memories"][0]["content"].as_str().unwrap();
    assert!(content.starts_with("assistant: Message number7 "), "{recalled}");
    assert_eq!(called(&client, "fit_context", asked).await, fitted);
    let stored = called(&client, "store_memory", json!({"content": "one more"})).await;
    assert_eq!(stored["memories"], messages.len() - active.len() + 1);

    // What fits is left as it is.
    let short = json!({"messages": [message(1)], "budget_tokens": 400});
    let fitted = called(&client, "fit_context", short).await;
    assert_eq!((&fitted["summary"], &fitted["archived"]), (&Value::Null, &json!([])));
}

// covers: P-2-01, P-2-05, P-2-07
#[tokio::test]
async fn the_tools_have_the_parameters_of_the_pattern_and_their_security() {
    let tools = client().await.list_tools().await.unwrap();
    let of = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
    let schema = |name: &str| of(name).input_schema.to::<Value>().unwrap();
    assert_eq!(schema("summarize")["required"], json!(["text", "max_tokens"]));
    let names = |name: &str| -> Vec<String> {
        schema(name)["properties"].as_object().unwrap().keys().cloned().collect()
    };
    assert_eq!(names("summarize"), ["text", "max_tokens", "preserve", "style"]);
    assert!(schema("summarize").to_string().contains(r#""bullets""#));
    assert_eq!(schema("extract_key_facts")["required"], json!(["text"]));
    assert_eq!(names("extract_key_facts"), ["text", "categories"]);
    let permissions = |name: &str| {
        let security: Value = of(name).extra.get("security").map(RawJson::to).unwrap().unwrap();
        security["permissions_required"].clone()
    };
    assert_eq!(permissions("store_memory"), json!(["memory.write"]));
    assert_eq!(permissions("recall_memory"), json!(["memory.read"]));
    assert_eq!(permissions("summarize"), Value::Null);
}

#[tokio::test]
async fn arguments_beyond_their_bounds_are_refused_with_the_bound() {
    let client = client().await;
    let long = "x ".repeat(600_000);
    assert!(refused(&client, "summarize", json!({"text": long, "max_tokens": 50})).await.contains("1048576"));
    assert!(
        refused(&client, "summarize", json!({"text": "a", "max_tokens": 0})).await.contains("max_tokens")
    );
    let little =
        json!({"text": TEXT, "max_tokens": 8, "preserve": ["We decided on Monday to ship version 2."]});
    assert!(refused(&client, "summarize", little).await.contains("preserved"));
    assert!(refused(&client, "store_memory", json!({"content": " "})).await.contains("empty"));
    assert!(refused(&client, "store_memory", json!({"content": "x".repeat(20_000)})).await.contains("16384"));
    assert!(
        refused(&client, "fit_context", json!({"messages": [], "budget_tokens": 1})).await.contains("budget")
    );
}
