//! Tests of the refusal of look-alike names.

use bytes::Bytes;
use proptest::prelude::*;

use super::super::{Frame, Malformed, Message, decode};
use super::*;
use crate::{Method, code};

fn single(text: &str) -> Result<Message, Malformed> {
    match decode(&Bytes::copy_from_slice(text.as_bytes())) {
        Frame::Single(message) => message,
        Frame::Batch(_) => panic!("{text} is a batch"),
    }
}

fn call(method: &str, params: &str) -> Result<Message, Malformed> {
    single(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{params}}}"#))
}

fn result(method: &str, result: &str) -> Result<(), Error> {
    check_result(&Method::new(method), &RawJson::parse(result.to_owned()).unwrap())
}

#[test]
fn a_member_that_reads_like_another_is_refused_and_what_no_protocol_knows_keeps_its_name() {
    for row in include_str!("cases.txt").lines().filter(|row| !row.starts_with('#')) {
        let (is_refused, (method, json)) = (row.starts_with('!'), row[2..].split_once(' ').unwrap());
        if let Some(json) = json.strip_prefix("< ") {
            let origin = result(method, json).map_err(|error| error.origin());
            assert_eq!(origin, if is_refused { Err(crate::Origin::Misbehaved) } else { Ok(()) }, "{row}");
        } else if is_refused {
            let refused = call(method, json).expect_err(row);
            let expected = (Some(1.into()), code::INVALID_PARAMS, true);
            assert_eq!((refused.id, refused.error.code(), refused.answerable), expected, "{row}");
            assert!(refused.error.message().contains("is spelled"), "{row}");
        } else {
            assert!(call(method, json).is_ok(), "{row}");
        }
    }
}

#[test]
fn the_refusal_names_the_member_and_its_spelling() {
    let refused = call("tools/call", r#"{"name":"echo","N\u0061me":"x"}"#).unwrap_err();
    let expected = r#"the member "Name" is spelled "name"; lenient readers take one for the other"#;
    assert_eq!(refused.error.message(), expected);
    let refused = call("tools/call", r#"{"name\n\u001b":"x"}"#).unwrap_err();
    assert!(refused.error.message().contains(r#""name\n\u{1b}""#), "{}", refused.error.message());
}

#[test]
fn a_method_that_reads_like_another_is_refused() {
    for method in [
        "Tools/Call", "tools/call ", " tools/call", "tools/call\\n", "tools/call\\u0000x",
        "tools/ca\\u200bll", "ｔools/call", "tool\u{17f}/call", "tools／call", "Notifications/Initialized",
        "MGP/access/grant", "initialize\\t",
    ] {
        let refused = call(method, "{}").expect_err(method);
        assert_eq!((refused.id, refused.error.code()), (Some(1.into()), code::INVALID_REQUEST), "{method}");
    }
    for method in ["vendor/Tools", "tools/calls", "mgp/access/query", "notifications/mgp.event"] {
        assert!(call(method, "{}").is_ok(), "{method}");
    }
}

#[test]
fn a_member_of_the_message_that_reads_like_another_is_refused() {
    for (text, id, answerable) in [
        (r#"{"jsonrpc":"2.0","id":1,"ID":2,"method":"ping"}"#, Some(1), true),
        (r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#, Some(1), true),
        (
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{},"Params":{"name":"x"}}"#,
            Some(1),
            true,
        ),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#, Some(1), false),
        (r#"{"jsonrpc":"2.0","id":1,"result":{},"ERROR":{}}"#, Some(1), false),
    ] {
        let refused = single(text).expect_err(text);
        let found = (refused.id, refused.answerable, refused.error.code());
        assert_eq!(found, (id.map(Into::into), answerable, code::INVALID_REQUEST), "{text}");
    }
    assert!(single(r#"{"jsonrpc":"2.0","id":1,"method":"ping","vendor":1}"#).is_ok());
}

#[test]
fn a_notification_that_reads_like_another_is_refused_and_not_answered() {
    let text =
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1,"requestID":2}}"#;
    let refused = single(text).unwrap_err();
    assert!(!refused.answerable);
}

#[test]
fn an_error_that_reads_like_another_is_the_peers_fault() {
    let text = r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"Code":2,"message":"x"}}"#;
    let Ok(Message::Reply { outcome: Err(error), .. }) = single(text) else { panic!("no answer") };
    assert_eq!(error.origin(), crate::Origin::Misbehaved);
}

proptest! {
    #[test]
    fn every_value_is_stepped_over_whole(text in r#"[\[\]{}",:\\a0 1e]{0,40}"#) {
        if serde_json::from_str::<serde_json::Value>(&text).is_ok() {
            let mut scanner = Scanner::of_names(text.trim().as_bytes());
            prop_assert!(scanner.value().is_ok());
            prop_assert_eq!(scanner.offset(), text.trim().len());
        }
    }

    #[test]
    fn another_spelling_of_a_known_member_is_refused(upper in 1_u32..31) {
        let name: String = "arguments".chars().enumerate().map(|(at, letter)| {
            if upper & (1 << at.min(4)) == 0 { letter } else { letter.to_ascii_uppercase() }
        }).collect();
        let params = format!(r#"{{"name":"echo","{name}":{{}}}}"#);
        prop_assert!(call("tools/call", &params).is_err());
    }
}
