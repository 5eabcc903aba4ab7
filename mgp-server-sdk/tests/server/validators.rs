//! Constraints that are composed, and validators that the server registers.

use std::sync::atomic::Ordering;

use crate::peer::{Era, Peer};
use crate::signatures::{arguments_of, one_tool, text};
use mgp_server_sdk::{Constraint, Server, Signature, Tool, ToolValidator, Violation};
use serde_json::{Value, json};
use tokio::time::Instant;

struct Refusing(&'static str);

impl ToolValidator for Refusing {
    fn name(&self) -> &str {
        self.0
    }

    fn validate(&self, arguments: &Value) -> Vec<Violation> {
        let refused = arguments["a"].as_str().filter(|text| text.contains("refused"));
        refused
            .map(|_| Violation::new("/a", "It says so itself").suggest("Say something else"))
            .into_iter()
            .collect()
    }
}

fn custom(name: &str) -> Signature {
    Signature::new("one", "One.")
        .input(text("a", [Constraint::MaxLength(20), Constraint::Custom(name.into())]))
}

// covers: GGEN-3-09, GGEN-8.2-02
#[tokio::test]
async fn a_validator_refuses_what_the_schema_lets_pass() {
    let without = Signature::new("one", "One.").input(text("a", [Constraint::MaxLength(20)]));
    assert_eq!(custom("mine").to_json_schema(), without.to_json_schema());
    for era in Era::BOTH {
        let (server, calls) = one_tool(&custom("mine"));
        let mut peer = Peer::open(server.validator(Refusing("mine")), era).await;
        let result =
            peer.call("tools/validate", arguments_of("one", &json!({"a": "refused"}))).await.unwrap();
        assert_eq!(
            result["errors"],
            json!([{
                "error_type": "FieldValidation", "field": "a", "path": "/a", "keyword": "mine",
                "reason": "It says so itself", "suggestions": ["Say something else"],
            }])
        );
        assert_eq!(peer.tool("one", json!({"a": "refused"})).await.unwrap()["isError"], true);
        assert_eq!(calls.load(Ordering::SeqCst), 0);
        assert_eq!(peer.text("one", json!({"a": "fine"})).await, r#"{"a":"fine"}"#);
        let long = json!({"a": "refused".repeat(9)});
        let result = peer.call("tools/validate", arguments_of("one", &long)).await.unwrap();
        assert_eq!(result["errors"].as_array().unwrap().len(), 1, "the schema refused it first: {result}");
    }
}

// covers: GGEN-8.2-02
#[tokio::test]
async fn a_validator_that_nobody_registered_is_a_fault_of_the_tool() {
    let (server, _) = one_tool(&custom("missing"));
    let fault = server.validator(Refusing("mine")).accept().unwrap_err().to_string();
    assert!(fault.contains("tool `one`: there is no validator `missing`"), "{fault}");
    let twice = Server::new("test", "1").validator(Refusing("mine")).validator(Refusing("mine"));
    assert!(twice.accept().unwrap_err().to_string().contains("validator `mine`: it is registered twice"));

    let server = Server::new("test", "1").dynamic();
    let handle = server.handle();
    let _running = server.accept().unwrap();
    let added = handle.add_tool(Tool::from_signature(&custom("missing")), async || ());
    assert!(added.unwrap_err().to_string().contains("there is no validator `missing`"));
}

// covers: GGEN-8.2-03
#[tokio::test]
async fn every_violation_of_composed_constraints_is_reported() {
    let pattern = |pattern: &str| Constraint::Pattern(pattern.into());
    let signature = Signature::new("one", "One.")
        .input(text(
            "all",
            [Constraint::All(vec![
                pattern("^[a-z]+$"),
                Constraint::All(vec![Constraint::MinLength(5), pattern("^x")]),
            ])],
        ))
        .input(text(
            "any",
            [Constraint::Any(vec![Constraint::OneOf(vec!["no".into()]), Constraint::MinLength(5)])],
        ))
        .input(text("not", [Constraint::Not(Box::new(Constraint::Any(vec![pattern("^a"), pattern("^b")])))]))
        .input(text(
            "if",
            [Constraint::If {
                condition: Box::new(pattern("^ISO")),
                then: Box::new(Constraint::All(vec![Constraint::MinLength(8), pattern("[0-9]$")])),
                otherwise: Some(Box::new(Constraint::MaxLength(3))),
            }],
        ));
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Session).await;
    for (arguments, expected) in [
        (
            json!({"all": "A", "any": "yes", "not": "b", "if": "ISO"}),
            &[
                "all pattern", "all pattern", "all minLength", "any anyOf", "not not", "if pattern",
                "if minLength",
            ][..],
        ),
        (json!({"all": "xyzzy", "any": "no", "not": "c", "if": "ISO-8601"}), &[]),
        (json!({"all": "xyzzy", "any": "longer", "not": "c", "if": "long"}), &["if maxLength"]),
    ] {
        let result = peer.call("tools/validate", arguments_of("one", &arguments)).await.unwrap();
        let errors = result["errors"].as_array().unwrap().iter();
        let mut found: Vec<_> = errors
            .map(|error| {
                format!("{} {}", error["field"].as_str().unwrap(), error["keyword"].as_str().unwrap())
            })
            .collect();
        let mut expected: Vec<_> = expected.iter().map(ToString::to_string).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{result}");
    }
}

// covers: GGEN-8.2-04
#[tokio::test]
async fn a_schema_is_compiled_once_and_not_for_each_call() {
    let field =
        |number: usize| text(&format!("x{number}"), [Constraint::Pattern(format!("^[a-z]{{1,{number}}}$"))]);
    let signature =
        (1..=60).fold(Signature::new("one", "One."), |signature, number| signature.input(field(number)));
    let arguments: serde_json::Map<_, _> =
        (1..=60).map(|number| (format!("x{number}"), json!("a"))).collect();
    let params = arguments_of("one", &Value::Object(arguments));
    let mut compiled = Vec::new();
    for _ in 0..5 {
        let began = Instant::now();
        drop(one_tool(&signature));
        compiled.push(began.elapsed());
    }
    let (server, _) = one_tool(&signature);
    let mut peer = Peer::open(server, Era::Session).await;
    let mut validated = Vec::new();
    for _ in 0..50 {
        let began = Instant::now();
        assert_eq!(peer.call("tools/validate", params.clone()).await.unwrap()["valid"], true);
        validated.push(began.elapsed());
    }
    // The shortest times are those that nothing else on the machine has disturbed.
    let (compiled, validated) = (compiled.iter().min().unwrap(), validated.iter().min().unwrap());
    assert!(*validated * 2 < *compiled, "{validated:?} of {compiled:?}");
}
