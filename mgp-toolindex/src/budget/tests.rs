//! Tests of token counts.

use mgp_types::RawJson;
use serde_json::json;

use super::*;

/// Returns definitions as servers write them.
fn ordinary() -> Vec<String> {
    let definitions = [
        json!({
            "name": "create_calendar_event",
            "description": "Create an event in the calendar of the signed-in user and invite other people to it. \
                Returns the id of the event.",
            "inputSchema": { "type": "object", "required": ["title", "start"], "properties": {
                "title": { "type": "string", "description": "What the event is called" },
                "start": { "type": "string", "format": "date-time", "description": "When it begins" },
                "attendees": { "type": "array", "items": { "type": "string", "format": "email" } },
                "durationMinutes": { "type": "integer", "minimum": 5, "default": 30 }
            } }
        }),
        json!({
            "name": "query_database",
            "description": "Run a read-only SQL query against the analytics warehouse.\n\nUse this when the user asks \
                for numbers, reports or trends. Tables: orders, customers, line_items, refunds.",
            "inputSchema": { "type": "object", "required": ["sql"], "additionalProperties": false, "properties": {
                "sql": { "type": "string", "description": "One SELECT statement; a LIMIT of 1000 rows is added" },
                "timeout_seconds": { "type": "number", "default": 20 },
                "format": { "type": "string", "enum": ["json", "csv", "markdown"], "default": "json" }
            } }
        }),
        json!({
            "name": "kubernetes.pods.list",
            "description": "List pods in a namespace, optionally filtered by label selector.",
            "inputSchema": { "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {
                "namespace": { "type": "string", "description": "The namespace, all of them if left out" },
                "labelSelector": { "type": "string", "description": "Such as app=web,tier!=cache" },
                "limit": { "type": "integer", "minimum": 1, "maximum": 500 },
                "allContainers": { "type": "boolean" }
            } }
        }),
        json!({
            "name": "send_message",
            "description": "Post a message to a channel or reply in a thread",
            "inputSchema": { "type": "object", "required": ["channel_id", "text"], "properties": {
                "channel_id": { "type": "string" }, "text": { "type": "string" },
                "thread_ts": { "type": "string", "description": "Timestamp of the parent message, 1234567890.123456" }
            } }
        }),
        json!({
            "name": "read_sensor",
            "description": "工場のセンサーから現在の温度と湿度を読み取ります。単位は摂氏とパーセントです。",
            "inputSchema": { "type": "object", "required": ["sensor"], "properties": {
                "sensor": { "type": "string", "description": "センサーの識別番号" }
            } }
        }),
        json!({
            "name": "book_train",
            "description": "查询两座城市之间的列车时刻表，并为旅客预订座位。付款前会再次确认。",
            "inputSchema": { "type": "object", "required": ["from", "to"], "properties": {
                "from": { "type": "string", "description": "出发城市" },
                "to": { "type": "string", "description": "到达城市" }
            } }
        }),
    ];
    definitions.iter().map(ToString::to_string).collect()
}

#[test]
fn an_estimate_grows_with_the_text() {
    let estimate = TokenEstimator::new();
    assert_eq!(estimate.count(""), 0);
    for text in ordinary() {
        let count = estimate.count(&text);
        assert!(estimate.count(&format!("{text} and more")) > count);
    }
}

#[test]
fn hostile_text_is_estimated_in_a_time_that_grows_with_it() {
    let estimate = TokenEstimator::new();
    for text in ["a", "A", " ", "\n", "7", "{", "\u{1F600}", "漢", "aA1 "] {
        let count = estimate.count(&text.repeat(200_000));
        assert!(count > 2_000, "{text:?}: {count}");
    }
}

// covers: MGP-16.8-01
#[test]
fn the_whole_definition_is_counted() {
    let schema = json!({ "type": "object", "properties": { "path": { "type": "string" } } });
    let raw = RawJson::from_value(&schema).unwrap();
    let tokens = default_counter();
    let definition = ListedDefinition::new("read_file", "Reads a \"file\"", &raw, &*tokens);
    let written: serde_json::Value = definition.json().to().unwrap();
    assert_eq!(
        written,
        json!({ "name": "read_file", "description": "Reads a \"file\"", "inputSchema": schema })
    );
    assert_eq!(definition.tokens(), tokens.count(std::str::from_utf8(definition.json().as_bytes()).unwrap()));
    assert!(!definition.is_shortened());
    let nameless = ListedDefinition::new("read_file", "", &raw, &*tokens);
    assert!(nameless.tokens() < definition.tokens());
}

#[cfg(feature = "tiktoken")]
mod exact {
    use super::*;

    #[test]
    fn the_estimate_is_near_what_the_tokenizer_counts() {
        for text in ordinary() {
            let (exact, near) = (Tiktoken.count(&text), TokenEstimator::new().count(&text));
            let off = f64::from(near) / f64::from(exact);
            assert!((0.85..=1.15).contains(&off), "{near} instead of {exact}: {text}");
        }
    }

    #[test]
    fn a_known_text_has_its_known_tokens() {
        assert_eq!(Tiktoken.count("hello world"), 2);
        assert_eq!(Tiktoken.count(""), 0);
    }

    #[test]
    fn hostile_text_is_counted_without_a_panic() {
        let tokens = Tiktoken;
        for text in ["a", "A", " ", "\n", "7", "{", "\u{1F600}", "漢", "\u{301}", "aA1 ", "<|endoftext|>"] {
            let count = tokens.count(&text.repeat(300_000 / text.len()));
            assert!(count > 1000, "{text:?}: {count}");
        }
    }
}
