//! Tests of the refusal of look-alike names.

use bytes::Bytes;
use proptest::prelude::*;

use super::super::{Frame, Malformed, Message, decode};
use super::*;
use crate::json::Limits;
use crate::{Method, code};

fn single(text: &str) -> Result<Message, Malformed> {
    match decode(&Bytes::copy_from_slice(text.as_bytes()), Limits::default()) {
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
fn a_member_of_params_that_reads_like_another_is_refused() {
    for (method, params) in [
        ("tools/call", r#"{"name":"echo","Name":"delete_everything"}"#),
        ("tools/call", r#"{"name":"echo","Arguments":{}}"#),
        ("tools/call", r#"{"name":"echo","argument\u017f":{}}"#),
        ("tools/call", r#"{"name":"echo","argumentſ":{}}"#),
        ("tools/call", r#"{"name":"echo","ｎame":"x"}"#),
        ("tools/call", r#"{"name":"echo","name ":"x"}"#),
        ("tools/call", r#"{"name":"echo","name\u0000":"x"}"#),
        ("tools/call", r#"{"name":"echo","_Meta":{}}"#),
        ("tools/call", r#"{"name":"echo","_MGP":{}}"#),
        ("tools/call", r#"{"name":"echo","Trace_ID":"x"}"#),
        ("tools/call", r#"{"name":"echo","_meta":{"progressToken":1,"ProgressTo\u212aen":2}}"#),
        ("tools/call", r#"{"name":"echo","_meta":{"IO.modelcontextprotocol/clientInfo":{}}}"#),
        ("tools/call", r#"{"name":"echo","_mgp":{"Stream":true}}"#),
        ("tools/call", r#"{"name":"echo","Task":{}}"#),
        ("prompts/get", r#"{"name":"p","NAME":"q"}"#),
        ("resources/read", r#"{"uri":"file:///a","URI":"file:///b"}"#),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"a","Name":"b"},"argument":{"name":"a","value":""}}"#,
        ),
        (
            "completion/complete",
            r#"{"ref":{"type":"ref/prompt","name":"a"},"argument":{"name":"a","Value":""}}"#,
        ),
        ("initialize", r#"{"capabilities":{"Sampling":{}}}"#),
        ("initialize", r#"{"clientInfo":{"name":"a","Name":"b"}}"#),
        ("sampling/createMessage", r#"{"messages":[{"role":"user","Role":"x","content":{"type":"text"}}]}"#),
        ("sampling/createMessage", r#"{"messages":[{"role":"user","content":{"type":"text","Text":"x"}}]}"#),
        ("elicitation/create", r#"{"requestedSchema":{"properties":{"Any":{"type":"string","Enum":[]}}}}"#),
        ("mgp/tools/discover", r#"{"Query":"x"}"#),
        ("tasks/get", r#"{"taskid":"1"}"#),
    ] {
        let refused = call(method, params).expect_err(params);
        let expected = (Some(1.into()), code::INVALID_PARAMS, true);
        assert_eq!((refused.id, refused.error.code(), refused.answerable), expected, "{params}");
        let message = refused.error.message();
        assert!(message.contains("is spelled"), "{message}");
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
fn arguments_and_what_no_protocol_knows_keep_their_names() {
    for (method, params) in [
        (
            "tools/call",
            r#"{"name":"echo","arguments":{"Name":1,"name":2,"Arguments":{},"_Meta":1,"nested":{"ID":1}}}"#,
        ),
        (
            "tools/call",
            r#"{"name":"echo","x":{"Name":1},"_meta":{"vendor.example/Name":{"NAME":1},"Title":1}}"#,
        ),
        ("prompts/get", r#"{"name":"p","arguments":{"Name":"a","name":"b"}}"#),
        ("sampling/createMessage", r#"{"messages":[],"metadata":{"Messages":1}}"#),
        ("initialize", r#"{"capabilities":{"experimental":{"Tools":{"Name":1}}},"clientInfo":{"name":"a"}}"#),
        ("vendor/run", r#"{"Name":1,"Arguments":2,"Method":3}"#),
        ("notifications/message", r#"{"level":"info","data":{"Level":1}}"#),
        (
            "elicitation/create",
            r#"{"requestedSchema":{"type":"object","properties":{"Type":{"type":"string"}}}}"#,
        ),
        ("ping", "{}"),
    ] {
        assert!(call(method, params).is_ok(), "{method} {params}");
    }
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
fn a_result_that_reads_like_another_is_the_peers_fault() {
    for (method, text) in [
        ("tools/call", r#"{"content":[],"Content":[{"type":"text","text":"x"}]}"#),
        ("tools/call", r#"{"content":[{"type":"text","text":"a\"]","Text":"b"}]}"#),
        ("tools/call", r#"{"content":[{"type":"resource","resource":{"uri":"a","URI":"b"}}]}"#),
        ("tools/call", r#"{"content":[],"StructuredContent":{}}"#),
        ("tools/call", r#"{"content":[],"_meta":{"ProgressToken":1}}"#),
        ("tools/call", r#"{"resultType":"input_required","InputRequests":{}}"#),
        ("tools/list", r#"{"tools":[{"name":"a","inputSchema":{},"InputSchema":{}}]}"#),
        ("tools/list", r#"{"tools":[{"name":"a","annotations":{"ReadOnlyHint":true}}]}"#),
        ("tasks/result", r#"{"content":[],"IsError":true}"#),
        ("initialize", r#"{"capabilities":{"Tools":{}}}"#),
        ("mgp/health/ping", r#"{"Status":"x"}"#),
    ] {
        let error = result(method, text).expect_err(text);
        assert_eq!(error.origin(), crate::Origin::Misbehaved, "{text}");
    }
}

#[test]
fn a_result_keeps_the_names_that_are_its_own() {
    for (method, text) in [
        (
            "tools/call",
            r#"{"content":[{"type":"text","text":"{\"Name\":1}"}],"structuredContent":{"Content":1,"_Meta":2}}"#,
        ),
        (
            "tools/list",
            r#"{"tools":[{"name":"a","inputSchema":{"properties":{"Name":{},"name":{}},"Type":1}}]}"#,
        ),
        ("prompts/get", r#"{"messages":[{"role":"user","content":{"type":"vendor","x":[{"Type":2}]}}]}"#),
        ("vendor/run", r#"{"Content":1,"content":[]}"#),
        ("tools/call", "7"),
        ("tools/call", " [ ] "),
    ] {
        assert!(result(method, text).is_ok(), "{text}");
    }
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
