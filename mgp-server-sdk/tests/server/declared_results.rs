//! Results that are held to the schemas that their tools declare.

use std::io::Write;
use std::sync::Arc;

use crate::peer::{Era, Peer};
use mgp_security::Schema;
use mgp_server_sdk::mcp::CallToolResult;
use mgp_server_sdk::schemars::{self, JsonSchema};
use mgp_server_sdk::types::code;
use mgp_server_sdk::types::ext::{
    ERROR_DETAIL_SCHEMA, EnvelopeReading, TOOL_CALL_SCHEMA, TOOL_RESULT_SCHEMA, ToolCall,
};
use mgp_server_sdk::{
    Constraint, FieldType, InputField, Json, Object, OutputField, RawJson, Server, Signature, Tool,
};
use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

/// The lines of a log.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Takes the log of this thread, until the guard is dropped.
    fn take(&self) -> tracing::subscriber::DefaultGuard {
        // Where only threads have subscribers, a place in the code can be taken for one that interests nobody.
        let _ = tracing::subscriber::set_global_default(tracing_subscriber::registry());
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(self.clone()).finish();
        tracing::subscriber::set_default(subscriber)
    }

    /// Returns the warnings with this word.
    fn warnings(&self, word: &str) -> Vec<String> {
        let text = String::from_utf8(self.0.lock().clone()).unwrap();
        text.lines().filter(|line| line.contains("WARN") && line.contains(word)).map(Into::into).collect()
    }
}

/// A server with a tool that declares a number and returns what it is told to.
fn server() -> Server {
    let schema = RawJson::parse(r#"{"type":"object"}"#).unwrap();
    let output =
        r#"{"type":"object","properties":{"price":{"type":"number","minimum":0}},"required":["price"]}"#;
    let quote =
        Tool::with_schema("quote", "Returns a price.", schema).output_schema(RawJson::parse(output).unwrap());
    Server::new("test", "1").tool(quote, async |arguments: Object| match arguments.get("answer") {
        Some(answer) => CallToolResult::text("a price").with_structured_content(answer),
        None if arguments.contains("fail") => CallToolResult::error("the market is closed"),
        None => CallToolResult::text("a price"),
    })
}

// covers: ENV-8.2-01
#[tokio::test]
async fn a_result_outside_of_its_schema_is_an_error_where_the_server_is_strict_and_else_a_warning() {
    for era in Era::BOTH {
        for (arguments, fault) in [
            (json!({"answer": {"price": 12.5}}), None),
            (json!({"fail": true}), None),
            (json!({"answer": {"price": "secret"}}), Some("/price breaks `type`")),
            (json!({"answer": {"price": -1}}), Some("/price breaks `minimum`")),
            (json!({"answer": {}}), Some("`required`")),
            (json!({}), Some("it has no structured content")),
        ] {
            let log = Log::default();
            let _guard = log.take();
            let mut lenient = Peer::open(server(), era).await;
            let result = lenient.tool("quote", arguments.clone()).await.unwrap();
            let answer = arguments.get("answer").cloned().unwrap_or_default();
            assert_eq!(result["structuredContent"], answer, "the result is passed as it is");
            let warnings = log.warnings("does not fit the schema");
            assert_eq!(warnings.len(), usize::from(fault.is_some()), "{arguments}: {warnings:?}");
            assert!(warnings.iter().all(|line| line.contains("quote") && line.contains(fault.unwrap())));
            assert!(!warnings.concat().contains("secret"), "no value of a result is logged");

            let mut strict = Peer::open(server().require_schemas(), era).await;
            let outcome = strict.tool("quote", arguments.clone()).await;
            match fault {
                None => assert_eq!(outcome.unwrap()["isError"], result["isError"]),
                Some(fault) => {
                    let error = outcome.unwrap_err();
                    assert_eq!(error.code(), code::INTERNAL_ERROR);
                    assert!(error.message().contains(fault), "{error}");
                }
            }
        }
    }
}

// covers: ENV-8.2-01
#[tokio::test]
async fn data_of_an_envelope_are_held_to_the_schema_of_their_tool() {
    let call = |answer: &str| {
        let json = format!(r#"{{"tool_name":"test.quote","arguments":{{"answer":{answer}}}}}"#);
        ToolCall::from_json(json, EnvelopeReading::Strict).unwrap()
    };
    let mut tools = server().require_schemas().into_envelopes("test").await.unwrap();
    let good = tools.call(&call(r#"{"price":3}"#)).await;
    assert_eq!(good.to_raw().as_bytes(), br#"{"status":"success","data":{"price":3}}"#);
    let bad = tools.call(&call(r#"{"price":"three"}"#)).await;
    assert!(bad.error().unwrap().error_message.contains("does not fit the schema"), "{bad:?}");
    assert_eq!(bad.data(), None);
}

// covers: ENV-4.2-02
#[tokio::test]
async fn a_tool_in_envelopes_without_a_schema_of_its_result_is_refused_or_warned_about() {
    let undescribed = || server().tool(Tool::new("wave", "Waves."), async || "hello");
    let log = Log::default();
    let _guard = log.take();
    let refused = undescribed().require_schemas().into_envelopes("test").await.unwrap_err();
    assert!(refused.to_string().contains("tool `wave`: it has no schema of its result"), "{refused}");
    assert!(undescribed().envelopes().require_schemas().accept().is_err());
    assert!(log.warnings("no schema of its result").is_empty());

    undescribed().into_envelopes("test").await.unwrap();
    undescribed().envelopes().accept().unwrap();
    let warnings = log.warnings("no schema of its result");
    assert_eq!(warnings.len(), 2, "{warnings:?}");
    assert!(warnings.iter().all(|line| line.contains("wave") && !line.contains("quote")), "{warnings:?}");
    // A server without envelopes is not asked for schemas.
    undescribed().accept().unwrap();
    assert_eq!(log.warnings("no schema of its result").len(), 2);
}

// covers: EXT-00-04
#[tokio::test]
async fn every_schema_that_a_server_lists_is_one_of_2020_12() {
    #[derive(Serialize, JsonSchema)]
    struct Price {
        price: Option<f64>,
        history: Vec<(String, f64)>,
    }
    #[derive(serde::Deserialize, JsonSchema)]
    #[expect(dead_code, reason = "only its schema matters")]
    struct Order {
        #[schemars(length(min = 1), regex(pattern = "^[A-Z]+$"))]
        ticker: String,
        #[schemars(range(min = 1))]
        pieces: u32,
        limit: Option<f64>,
    }
    let signature = Signature::new("signed", "Made of fields.")
        .input(
            InputField::new("ticker", FieldType::String, "A ticker.")
                .constraint(Constraint::Pattern("^[A-Z]+$".into())),
        )
        .output(OutputField::new("price", FieldType::Float, "A price."));
    let server = server()
        .tool(Tool::new("typed", "Made of types."), async |_: Order| {
            Json(Price { price: None, history: vec![] })
        })
        .tool(Tool::from_signature(&signature), async |_: Object| {
            CallToolResult::text("1").with_structured_content(RawJson::parse(r#"{"price":1}"#).unwrap())
        });
    let dialect = "https://json-schema.org/draft/2020-12/schema";
    let mut peer = Peer::open(server, Era::Stateless).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    let mut compiled = 0;
    for tool in tools["tools"].as_array().unwrap() {
        for member in ["inputSchema", "outputSchema"] {
            let mut schema = tool[member].clone();
            assert!(schema["$schema"] == dialect || schema["$schema"] == Value::Null, "{tool}");
            // A schema that names its dialect is compiled in no other one.
            schema["$schema"] = json!(dialect);
            let schema = RawJson::from_value(&schema).unwrap();
            Schema::compile(&schema).unwrap_or_else(|fault| panic!("{}: {fault}", tool["name"]));
            compiled += 1;
        }
    }
    assert_eq!(compiled, 6);
    for schema in [TOOL_CALL_SCHEMA, TOOL_RESULT_SCHEMA, ERROR_DETAIL_SCHEMA] {
        let mut schema: Value = serde_json::from_str(schema).unwrap();
        schema["$schema"] = json!(dialect);
        Schema::compile(&RawJson::from_value(&schema).unwrap()).unwrap();
    }
    let broken = RawJson::parse(format!(r#"{{"$schema":"{dialect}","type":"text"}}"#)).unwrap();
    assert!(Schema::compile(&broken).is_err(), "what is no schema does not compile");
}
