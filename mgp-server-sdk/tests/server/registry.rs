//! Tools made of signatures: their definitions, the checks of their arguments, and `tools/validate`.

#[path = "../../examples/registry.rs"]
#[allow(dead_code, reason = "the test serves the example itself")]
mod example;

use std::sync::atomic::Ordering;

use crate::peer::{Era, Peer};
use crate::signatures::{arguments_of, one_tool, text};
use mgp_security::Schema;
use mgp_server_sdk::types::code;
use mgp_server_sdk::{
    Constraint, FieldType, InputField, Object, RawJson, Server, Signature, Tool, ToolError,
};
use serde_json::{Value, json};

const ANALYZER: &str = "FinancialAnalyzer";

// covers: GGEN-3-03, GGEN-3-04, GGEN-3-08, GGEN-3-11, GGEN-3-12
#[tokio::test]
async fn the_definition_of_the_example_is_that_of_the_specification() {
    for era in Era::BOTH {
        let mut peer = Peer::open(example::server(), era).await;
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        let tool = &tools["tools"][0];
        assert_eq!(tool["name"], ANALYZER);
        assert_eq!(tool["description"], "Analyzes stock data and returns investment recommendations");
        // The members stand in order of declaration, each time.
        let expected = concat!(
            r#"{"type":"object","properties":{"#,
            r#""ticker_symbol":{"type":"string","description":"Stock ticker symbol (e.g., AAPL)","#,
            r#""pattern":"^[A-Z]{1,5}$","minLength":1,"maxLength":5},"#,
            r#""period_days":{"type":"integer","description":"Historical analysis period in days","#,
            r#""minimum":1,"maximum":365},"#,
            r#""analysis_type":{"type":"string","description":"Type of analysis","#,
            r#""enum":["technical","fundamental","sentiment"],"default":"technical"}},"#,
            r#""required":["ticker_symbol","period_days"]}"#,
        );
        assert_eq!(tool["inputSchema"].to_string(), expected);
        assert!(tool.get("input_schema").is_none());
    }
    let empty = Signature::new("empty", "Nothing.");
    assert_eq!(empty.to_json_schema().to_string(), r#"{"type":"object","properties":{},"required":[]}"#);
    assert_eq!(empty.to_mcp_tool().name, "empty");
    assert!(Schema::compile(&empty.to_json_schema()).is_ok());
}

// covers: GGEN-3-02, GGEN-3-05..07, GGEN-3-10, GGEN-3-15
#[tokio::test]
async fn types_and_constraints_become_the_keywords_of_the_specification() {
    let types = [
        ("String", "string"),
        ("i32", "integer"),
        ("i64", "integer"),
        ("u32", "integer"),
        ("u64", "integer"),
        ("u128", "integer"),
        ("usize", "integer"),
        ("f32", "number"),
        ("f64", "number"),
        ("bool", "boolean"),
        ("Vec<i8>", "array"),
        ("Option<u16>", "integer"),
    ];
    let signature = types.iter().fold(Signature::new("one", "One."), |signature, (rust, _)| {
        signature.input(InputField::new(*rust, FieldType::of_rust(rust).unwrap(), "A value."))
    });
    assert!(FieldType::of_rust("PathBuf").is_err());
    let signature = signature
        .input(InputField::new("PathBuf", FieldType::of_rust_or_string("PathBuf"), "A path."))
        .input(text(
            "text",
            [
                Constraint::MinLength(1),
                Constraint::MaxLength(5),
                Constraint::Pattern("^a".into()),
                Constraint::OneOf(vec!["a".into(), "ab".into()]),
                Constraint::Default("a".into()),
            ],
        ))
        .input(
            InputField::new("number", FieldType::Float, "A number.")
                .constraint(Constraint::MinValue(1.into()))
                .constraint(Constraint::MaxValue(2.5.into())),
        );
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Stateless).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    let schema = &tools["tools"][0]["inputSchema"];
    for (rust, kind) in types {
        assert_eq!(schema["properties"][rust]["type"], kind, "{rust}");
        let is_required = schema["required"].as_array().unwrap().contains(&json!(rust));
        assert_eq!(is_required, rust != "Option<u16>", "{rust}");
    }
    assert_eq!(schema["properties"]["Vec<i8>"]["items"], json!({"type": "integer"}));
    assert_eq!(schema["properties"]["PathBuf"]["type"], "string");
    assert_eq!(
        schema["properties"]["text"],
        json!({
            "type": "string", "description": "A text.", "minLength": 1, "maxLength": 5, "pattern": "^a",
            "enum": ["a", "ab"], "default": "a",
        })
    );
    let number = json!({"type": "number", "description": "A number.", "minimum": 1, "maximum": 2.5});
    assert_eq!(schema["properties"]["number"], number);
}

// covers: GGEN-4-03
#[tokio::test]
async fn the_exported_examples_are_valid_calls() {
    let signature = example::financial_analyzer();
    let export: Value = signature.export().unwrap().to().unwrap();
    let metadata =
        json!({"category": "finance", "version": "1.0.0", "deprecated": false, "author": "ggen-ai"});
    assert_eq!(export["metadata"], metadata);
    let mut peer = Peer::open(example::server(), Era::Session).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    assert_eq!(export["schema"], tools["tools"][0]["inputSchema"]);
    let examples = export["examples"].as_array().unwrap();
    assert_eq!(examples[1], json!({"ticker_symbol": "MSFT", "period_days": 30}));
    for example in examples {
        let result = peer.call("tools/validate", arguments_of(ANALYZER, example)).await.unwrap();
        assert_eq!(result["valid"], true, "{result}");
    }
}

// covers: GGEN-2-04, GGEN-3-01, GGEN-5-18
#[tokio::test]
async fn a_bad_symbol_has_the_reason_and_the_suggestions_of_the_specification() {
    for era in Era::BOTH {
        let mut peer = Peer::open(example::server(), era).await;
        let definition = peer.listed(ANALYZER).await;
        assert!(definition["description"].is_string(), "{definition}");
        let schema = &definition["inputSchema"];
        assert_eq!(
            (&schema["type"], &schema["required"]),
            (&json!("object"), &json!(["ticker_symbol", "period_days"]))
        );
        assert!(schema["properties"]["ticker_symbol"]["pattern"].is_string(), "{definition}");
        for method in ["tools/validate", "mgp/tools/validate"] {
            let bad = arguments_of(
                ANALYZER,
                &json!({"ticker_symbol": "invalid123", "analysis_type": "tea leaves"}),
            );
            let result = peer.call(method, bad).await.unwrap();
            assert_eq!(result["valid"], false);
            assert_eq!(result["schema_dialect"], "https://json-schema.org/draft/2020-12/schema");
            let errors = result["errors"].as_array().unwrap();
            let keywords: Vec<_> = errors.iter().map(|error| error["keyword"].as_str().unwrap()).collect();
            assert_eq!(keywords, ["required", "enum", "pattern", "maxLength"], "{errors:?}");
            assert_eq!(
                errors[2],
                json!({
                    "error_type": "FieldValidation", "field": "ticker_symbol", "path": "/ticker_symbol",
                    "keyword": "pattern",
                    "reason": "Pattern mismatch: expected ^[A-Z]{1,5}$, got 'invalid123'",
                    "provided_value": "invalid123",
                    "suggestions": ["Use uppercase letters only", "Length must be 1-5 characters"],
                })
            );
        }
        let good = json!({"ticker_symbol": "AAPL", "period_days": 90});
        let result = peer.call("tools/validate", arguments_of(ANALYZER, &good)).await.unwrap();
        assert_eq!((&result["valid"], &result["errors"]), (&json!(true), &json!([])));
    }
}

// covers: GGEN-2-04, GGEN-9-03
#[tokio::test]
async fn arguments_are_judged_before_the_tool_runs_and_without_running_it() {
    let signature = || Signature::new("one", "One.").input(text("a", [Constraint::MinLength(2)]));
    for era in Era::BOTH {
        let (server, calls) = one_tool(&signature());
        let mut peer = Peer::open(server, era).await;
        for arguments in [json!({"a": "ab"}), json!({"a": ""}), json!({})] {
            peer.call("tools/validate", arguments_of("one", &arguments)).await.unwrap();
        }
        let refused = peer.tool("one", json!({"a": "ü"})).await.unwrap();
        assert_eq!(refused["isError"], true);
        assert_eq!(
            refused["content"][0]["text"],
            "Validation failed\n- at `/a` Length mismatch: expected at least 2 characters, got 1 \
             (Length must be at least 2 characters)"
        );
        let error = &refused["_meta"]["error"];
        assert_eq!(
            (&error["code"], &error["message"]),
            (&json!("INVALID_INPUT"), &json!("Validation failed"))
        );
        assert_eq!((&error["field"], &error["errors"][0]["keyword"]), (&json!("a"), &json!("minLength")));
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        assert_eq!(peer.text("one", json!({"a": "üü"})).await, r#"{"a":"üü"}"#);
        assert_eq!(calls.load(Ordering::SeqCst), 1);
        let no_object = peer.call("tools/call", json!({"name": "one", "arguments": [1]})).await.unwrap_err();
        assert_eq!(no_object.code(), code::INVALID_PARAMS);
        for (params, code) in [
            (json!({"name": "two", "arguments": {}}), code::INVALID_PARAMS),
            (json!({"arguments": {}}), code::INVALID_PARAMS),
            (json!({"name": "one", "arguments": "a"}), code::INVALID_PARAMS),
        ] {
            assert_eq!(
                peer.call("tools/validate", params.clone()).await.unwrap_err().code(),
                code,
                "{params}"
            );
        }
    }
}

#[tokio::test]
async fn a_tool_without_a_signature_is_judged_by_its_schema() {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Small {
        #[schemars(range(max = 9))]
        number: u8,
    }
    let server = || {
        Server::new("test", "1")
            .tool(Tool::new("small", "Small."), async |Small { number }: Small| number)
            .tool(Tool::new("any", "Anything."), async |_: Object| "any")
    };
    let mut peer = Peer::open(server().offer_validation(), Era::Session).await;
    let bad = arguments_of("small", &json!({"number": 10}));
    let result = peer.call("tools/validate", bad.clone()).await.unwrap();
    assert_eq!(result["errors"][0]["reason"], "Range mismatch: expected at most 9, got 10");
    let any = peer.call("tools/validate", arguments_of("any", &json!({"x": [1]}))).await.unwrap();
    assert_eq!(any["valid"], true);
    let mut peer = Peer::open(server(), Era::Session).await;
    assert_eq!(peer.call("tools/validate", bad).await.unwrap_err().code(), code::METHOD_NOT_FOUND);
}

// covers: GGEN-3-10
#[tokio::test]
async fn a_default_stands_in_for_an_absent_argument() {
    let choice = Constraint::OneOf(vec!["technical".into(), "sentiment".into()]);
    let signature = Signature::new("one", "One.")
        .input(text("kind", [choice, Constraint::Default("technical".into())]))
        .input(InputField::new("note", FieldType::String, "A note.").optional());
    assert_eq!(signature.to_json_schema().to::<Value>().unwrap()["required"], json!([]));
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Stateless).await;
    assert_eq!(peer.text("one", json!({})).await, r#"{"kind":"technical"}"#);
    assert_eq!(peer.text("one", json!({"note": "x"})).await, r#"{"note":"x","kind":"technical"}"#);
    assert_eq!(peer.text("one", json!({"kind": "sentiment"})).await, r#"{"kind":"sentiment"}"#);
    let absent = peer.call("tools/call", json!({"name": "one"})).await.unwrap();
    assert_eq!(absent["content"][0]["text"], r#"{"kind":"technical"}"#);
    let null = peer.call("tools/validate", arguments_of("one", &json!({"kind": null}))).await.unwrap();
    assert_eq!(null["valid"], false, "null is there");
}

// covers: GGEN-3-13
#[tokio::test]
async fn lengths_are_counted_in_characters() {
    let (server, _) = one_tool(&Signature::new("one", "One.").input(text("a", [Constraint::MaxLength(5)])));
    let mut peer = Peer::open(server, Era::Session).await;
    for (text, valid) in [("🦀🦀🦀🦀🦀", true), ("🦀🦀🦀🦀🦀🦀", false)] {
        let result = peer.call("tools/validate", arguments_of("one", &json!({"a": text}))).await.unwrap();
        assert_eq!(result["valid"], valid);
    }
}

// covers: GGEN-3-14
#[tokio::test]
async fn the_structured_result_fits_the_schema_of_the_members() {
    for era in Era::BOTH {
        let mut peer = Peer::open(example::server(), era).await;
        let tools = peer.call("tools/list", json!({})).await.unwrap();
        let output = &tools["tools"][0]["outputSchema"];
        assert_eq!(output["required"], json!(["recommendation", "summary"]));
        let schema = Schema::compile(&RawJson::from_value(output).unwrap()).unwrap();
        let result = peer.tool(ANALYZER, json!({"ticker_symbol": "AAPL", "period_days": 90})).await.unwrap();
        let structured = &result["structuredContent"];
        assert_eq!(structured["summary"], "technical analysis of AAPL over 90 days");
        assert_eq!(schema.check(structured.to_string().as_bytes()), Ok(()));
        assert!(schema.check(b"{}").is_err());
    }
}

#[tokio::test]
async fn the_value_of_a_secret_is_never_told() {
    let signature =
        Signature::new("one", "One.").input(text("key", [Constraint::Pattern("^sk-".into())]).secret());
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Session).await;
    let result = peer.call("tools/validate", arguments_of("one", &json!({"key": "hush"}))).await.unwrap();
    assert_eq!(result["errors"][0]["reason"], "Pattern mismatch: expected ^sk-");
    let refused = peer.tool("one", json!({"key": "hush"})).await.unwrap();
    assert!(refused["isError"] == true && !refused.to_string().contains("hush"), "{refused}");
}

#[test]
fn a_signature_that_means_nothing_is_a_fault_of_the_tool() {
    let one = || Signature::new("one", "One.");
    for (signature, fault) in [
        (one().input(text("a", [])).input(text("a", [])), "there are two arguments `a`"),
        (one().input(InputField::new("a", FieldType::String, "")), "needs a name and a description"),
        (one().input(text("a", [Constraint::Pattern("(".into())])), "the schema cannot be used"),
        (one().input(text("a", [Constraint::Pattern("(?=a)".into())])), "the schema cannot be used"),
        (
            one().input(text("a", [Constraint::MinValue(1.into())])),
            "argument `a`: a bound cannot hold for the type `string`",
        ),
        (
            one().input(text("a", [Constraint::MinLength(2), Constraint::Default("b".into())])),
            "the default of `a` does not fit: Length mismatch",
        ),
    ] {
        let (server, _) = one_tool(&signature);
        let error = server.accept().unwrap_err().to_string();
        assert!(error.contains(fault), "{error}");
    }
}

#[tokio::test]
async fn a_hostile_pattern_takes_linear_time() {
    let signature = Signature::new("one", "One.").input(text("a", [Constraint::Pattern("^(a+)+$".into())]));
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Session).await;
    let arguments = json!({"a": format!("{}!", "a".repeat(50_000))});
    let result = peer.call("tools/validate", arguments_of("one", &arguments)).await.unwrap();
    assert_eq!(result["errors"][0]["keyword"], "pattern");
}

// covers: ENV-4.2-01
#[tokio::test]
async fn a_server_can_refuse_tools_that_describe_too_little() {
    let server = || Server::new("test", "1").require_schemas();
    let undescribed = server().tool(Tool::new("raw", "Raw."), async |_: Object| "x").accept().unwrap_err();
    assert!(
        undescribed.to_string().contains("tool `raw`: it has no schema of its arguments"),
        "{undescribed}"
    );
    let no_object = RawJson::parse(r#"{"type":"string"}"#).unwrap();
    let text =
        Server::new("test", "1").tool(Tool::with_schema("text", "Text.", no_object), async |_: Object| "x");
    assert!(
        text.accept().unwrap_err().to_string().contains("tool `text`: the schema of the arguments must have")
    );
    let no_output = server().tool(Tool::new("plain", "Plain."), async || "x").accept().unwrap_err();
    assert!(no_output.to_string().contains("tool `plain`: it has no schema of its result"), "{no_output}");
    let handle = server().handle();
    assert!(handle.add_tool(Tool::new("late", "Late."), async || "x").is_err());

    let mut peer = Peer::open(example::server(), Era::Session).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    assert!(tools["tools"].as_array().unwrap().iter().all(|tool| tool["outputSchema"].is_object()));
    // A server that demands nothing lists a schema of the arguments all the same.
    let plain =
        Server::new("test", "1").tool(Tool::new("raw", "Raw."), async |_: Object| Ok::<_, ToolError>("x"));
    let mut peer = Peer::open(plain, Era::Session).await;
    let tools = peer.call("tools/list", json!({})).await.unwrap();
    assert_eq!(tools["tools"][0]["inputSchema"]["type"], "object");
}

#[tokio::test]
async fn the_conversation_of_the_example() {
    for era in Era::BOTH {
        let mut peer = Peer::open(example::server(), era).await;
        let ask = |symbol: &str| json!({"ticker_symbol": symbol, "period_days": 90});
        let gone = peer.call("tools/validate", arguments_of(ANALYZER, &ask("ENRN"))).await.unwrap();
        assert_eq!(gone["errors"][0]["keyword"], "listed_symbol");
        let symbols = peer.call("resources/read", json!({"uri": "market://symbols"})).await.unwrap();
        assert_eq!(symbols["contents"][0]["text"], "AAPL MSFT");
        let valid = peer.call("tools/validate", arguments_of(ANALYZER, &ask("MSFT"))).await.unwrap();
        assert_eq!(valid["valid"], true);
        let result = peer.tool(ANALYZER, ask("MSFT")).await.unwrap();
        assert_eq!(result["structuredContent"]["recommendation"], "hold");
    }
}
