//! Every body of MCP with unknown members and values, and with broken ones.

use mgp_types::mcp::{
    Annotations, Answer, CacheScope, CallToolParams, CallToolResult, CancelledParams, ClientCapabilities,
    Completion, ContentBlock, CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult, EmptyResult,
    FormSchema, GetPromptParams, Implementation, InputRequest, InputRequiredResult, ListRootsRequest,
    LogLevel, LoggingMessageParams, Map, Marker, Meta, Number, NumberKind, NumberSchema, PrimitiveSchema,
    ProgressParams, ProgressToken, Resource, ResourceContents, ResultType, Role, SamplingContents,
    ServerCapabilities, SingleSelectSchema, StopReason, StringSchema, TextContent, TitledChoice, Tool, task,
};
use mgp_types::{Id, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn read<T: DeserializeOwned>(json: &str) -> Result<T, String> {
    serde_json::from_str(json).map_err(|error| error.to_string())
}

fn written<T: Serialize>(body: &T) -> String {
    serde_json::to_string(body).expect("bodies are JSON")
}

fn round_trip<T: Serialize + DeserializeOwned>(json: &str) -> String {
    written(&read::<T>(json).expect(json))
}

#[test]
fn unknown_members_survive_byte_by_byte_and_in_order() {
    let json =
        r#"{"name":"a","inputSchema":{"type" : "object"},"z":1.50,"a\nb":[ 1e3,null ],"_mgp":{"x":{}}}"#;
    assert_eq!(round_trip::<Tool>(json), json);
    let names: Vec<_> = read::<Tool>(json).unwrap().extra.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["z", "a\nb", "_mgp"]);
}

#[test]
fn unknown_members_come_after_the_known_ones() {
    assert_eq!(
        round_trip::<TextContent>(r#"{"x":1,"text":"t","type":"text"}"#),
        r#"{"type":"text","text":"t","x":1}"#
    );
}

#[test]
fn unknown_enum_values_survive() {
    let json = r#"{"audience":["user","auditor"],"priority":1}"#;
    assert_eq!(round_trip::<Annotations>(json), json);
    assert_eq!(read::<Annotations>(json).unwrap().audience.unwrap()[1], Role::Unknown("auditor".into()));
    assert_eq!(read::<LogLevel>(r#""chatter""#).unwrap(), LogLevel::Unknown("chatter".into()));
    assert_eq!(written(&StopReason::from("mutiny")), r#""mutiny""#);
    assert_eq!(written(&CacheScope::from("public")), r#""public""#);
}

#[test]
fn known_enum_values_are_not_unknown_when_they_hold_escapes() {
    assert_eq!(read::<Role>(r#""us\u0065r""#).unwrap(), Role::User);
}

#[test]
fn unknown_content_survives_byte_by_byte() {
    let json = r#"{"content":[{"type":"hologram", "data":[1.0]},{"type":"tool_result","toolUseId":"x"}]}"#;
    assert_eq!(round_trip::<CallToolResult>(json), json);
    assert!(matches!(
        &read::<CallToolResult>(json).unwrap().content[..],
        [ContentBlock::Unknown(_), ContentBlock::Unknown(_)]
    ));
}

#[test]
fn kind_is_found_wherever_it_stands() {
    let block: ContentBlock = read(r#"{"text":"{\"type\":\"image\"}","type":"text"}"#).unwrap();
    assert_eq!(block.as_text(), Some(r#"{"type":"image"}"#));
}

#[test]
fn content_without_kind_is_refused() {
    assert!(read::<ContentBlock>(r#"{"text":"t"}"#).unwrap_err().contains("missing field `type`"));
    assert!(read::<TextContent>(r#"{"text":"t"}"#).unwrap_err().contains("missing field `type`"));
    assert!(
        read::<TextContent>(r#"{"type":"image","text":"t"}"#).unwrap_err().contains("`type` is not `text`")
    );
}

#[test]
fn duplicate_members_are_refused() {
    for json in [
        r#"{"name":"a","name":"a","inputSchema":{}}"#,
        r#"{"name":"a","title":null,"title":"b","inputSchema":{}}"#,
        r#"{"name":"a","inputSchema":{},"x":1,"x":1}"#,
    ] {
        assert!(read::<Tool>(json).unwrap_err().contains("duplicate field"), "{json}");
    }
    assert!(
        read::<ContentBlock>(r#"{"type":"text","text":"","type":"text"}"#)
            .unwrap_err()
            .contains("duplicate field")
    );
    assert!(read::<Meta>(r#"{"a":1,"a":2}"#).unwrap_err().contains("duplicate field `a`"));
}

#[test]
fn duplicates_among_many_members_are_refused_in_linear_time() {
    let members: Vec<String> = (0..100_000).map(|i| format!(r#""m{i}":{i}"#)).collect();
    let json = format!("{{{}}}", members.join(","));
    assert_eq!(read::<EmptyResult>(&json).unwrap().extra.len(), members.len());
    let json = format!("{{{},\"m7\":0}}", members.join(","));
    assert!(read::<EmptyResult>(&json).unwrap_err().contains("duplicate field `m7`"));
}

#[test]
fn depth_of_what_is_unknown_does_not_matter() {
    // The content of a tool result cannot hold another one, so the inner ones are not looked into.
    let (open, close) = (r#"{"type":"tool_result","toolUseId":"t","content":["#, "]}");
    let deep = format!("{}{}", open.repeat(50_000), close.repeat(50_000));
    let json = format!(r#"{{"role":"user","content":{deep},"model":"m","x":{deep}}}"#);
    assert_eq!(round_trip::<CreateMessageResult>(&json), json);
}

#[test]
fn missing_required_member_is_named() {
    assert!(read::<Tool>(r#"{"name":"a"}"#).unwrap_err().contains("missing field `inputSchema`"));
    assert!(read::<CallToolParams>("{}").unwrap_err().contains("missing field `name`"));
    assert!(
        read::<task::Task>(r#"{"taskId":"","status":"","createdAt":"","lastUpdatedAt":""}"#)
            .unwrap_err()
            .contains("missing field `ttl`")
    );
}

#[test]
fn null_for_a_required_member_is_refused() {
    assert!(read::<Tool>(r#"{"name":null,"inputSchema":{}}"#).is_err());
}

#[test]
fn null_for_an_optional_member_is_absence() {
    let tool: Tool =
        read(r#"{"name":"a","title":null,"annotations":null,"inputSchema":{},"_meta":null}"#).unwrap();
    assert_eq!(tool, Tool::new("a", RawJson::empty_object()));
}

#[test]
fn null_survives_where_it_is_a_value() {
    let json = r#"{"content":[],"structuredContent":null}"#;
    assert_eq!(round_trip::<CallToolResult>(json), json);
    assert!(read::<CallToolResult>(json).unwrap().structured_content.unwrap().is_null());
    assert_eq!(read::<CallToolResult>(r#"{"content":[]}"#).unwrap().structured_content, None);

    let json = r#"{"level":"info","data":null}"#;
    assert_eq!(round_trip::<LoggingMessageParams>(json), json);

    let json = r#"{"taskId":"t","status":"working","createdAt":"","lastUpdatedAt":"","ttl":null}"#;
    assert_eq!(round_trip::<task::Task>(json), json);
}

#[test]
fn body_is_an_object() {
    for json in ["[]", "null", "1", r#""text""#, "[[]]"] {
        assert!(read::<Tool>(json).is_err(), "{json}");
        assert!(read::<ContentBlock>(json).is_err(), "{json}");
        assert!(read::<Meta>(json).is_err(), "{json}");
        assert!(read::<ElicitParams>(json).is_err(), "{json}");
    }
}

#[test]
fn numbers_keep_their_form() {
    for json in ["1", "1.0", "0.5", "-3", "18446744073709551615"] {
        assert_eq!(round_trip::<Number>(json), json);
    }
    assert_eq!(Number::from(1), Number::from(1.0));
    let json = r#"{"progressToken":1,"progress":50,"total":100.5}"#;
    assert_eq!(round_trip::<ProgressParams>(json), json);
}

#[test]
fn tokens_are_strings_or_integers() {
    assert_eq!(read::<ProgressToken>("7").unwrap(), ProgressToken::from(7));
    assert_eq!(read::<ProgressToken>(r#""7""#).unwrap(), ProgressToken::from("7"));
    for json in ["null", "1.5", "true", "[]", "9223372036854775808"] {
        assert!(read::<ProgressToken>(json).is_err(), "{json}");
    }
    assert_eq!(read::<CancelledParams>(r#"{"requestId":"7"}"#).unwrap().request_id, Some(Id::from("7")));
}

#[test]
fn sampling_content_stays_one_block_or_an_array() {
    for json in [
        r#"{"role":"user","content":{"type":"text","text":"t"},"model":"m"}"#,
        r#"{"role":"user","content":[{"type":"text","text":"t"}],"model":"m"}"#,
        r#"{"role":"user","content":[],"model":"m"}"#,
    ] {
        assert_eq!(round_trip::<CreateMessageResult>(json), json);
    }
    let one: SamplingContents = "t".into();
    assert_eq!(one.as_slice().len(), 1);
}

#[test]
fn answers_are_told_apart_by_result_type() {
    type AnyAnswer = Answer<CallToolResult>;
    assert!(matches!(read(r#"{"content":[]}"#).unwrap(), AnyAnswer::Complete(_)));
    assert!(matches!(read(r#"{"content":[],"resultType":"complete"}"#).unwrap(), AnyAnswer::Complete(_)));
    let json = r#"{"inputRequests":{},"resultType":"input_required"}"#;
    assert!(matches!(read(json).unwrap(), AnyAnswer::InputRequired(_)));
    assert!(matches!(read(r#"{"resultType":"x/y","content":[]}"#).unwrap(), AnyAnswer::Unknown(_)));
    assert!(read::<AnyAnswer>(r#"{"resultType":"task"}"#).unwrap_err().contains("missing field `taskId`"));
    assert!(matches!(read(r#"{"content":[],"resultType":null}"#).unwrap(), AnyAnswer::Complete(_)));
    assert!(read::<AnyAnswer>(r#"{"resultType":7,"content":[]}"#).is_err());
}

#[test]
fn elicitation_without_mode_is_a_form() {
    let json = r#"{"message":"m","requestedSchema":{"type":"object","properties":{}}}"#;
    assert!(matches!(read(json).unwrap(), ElicitParams::Form(_)));
    assert!(matches!(read(r#"{"mode":"url","message":"m","url":"u"}"#).unwrap(), ElicitParams::Url(_)));
    assert!(matches!(read(r#"{"mode":"voice"}"#).unwrap(), ElicitParams::Unknown(_)));
}

#[test]
fn fields_of_a_form_are_told_apart() {
    let kind = |json| match read(json).unwrap() {
        PrimitiveSchema::String(_) => "string",
        PrimitiveSchema::Number(_) => "number",
        PrimitiveSchema::Boolean(_) => "boolean",
        PrimitiveSchema::SingleSelect(_) => "single",
        PrimitiveSchema::MultiSelect(_) => "multi",
        _ => "unknown",
    };
    assert_eq!(kind(r#"{"type":"string"}"#), "string");
    assert_eq!(kind(r#"{"type":"integer"}"#), "number");
    assert_eq!(kind(r#"{"type":"boolean"}"#), "boolean");
    assert_eq!(kind(r#"{"enum":[],"type":"string"}"#), "single");
    assert_eq!(kind(r#"{"type":"string","oneOf":[]}"#), "single");
    assert_eq!(kind(r#"{"type":"array","items":{"anyOf":[]}}"#), "multi");
    assert_eq!(kind(r#"{"type":"object"}"#), "unknown");
    assert_eq!(kind("{}"), "unknown");
}

#[test]
fn constructors_write_what_the_schemas_ask_for() {
    assert_eq!(written(&CallToolResult::text("7")), r#"{"content":[{"type":"text","text":"7"}]}"#);
    assert_eq!(
        written(&CallToolResult::error("no")),
        r#"{"content":[{"type":"text","text":"no"}],"isError":true}"#
    );
    assert_eq!(
        written(&CallToolResult::structured(&[1, 2]).unwrap()),
        r#"{"content":[{"type":"text","text":"[1,2]"}],"structuredContent":[1,2]}"#
    );
    assert_eq!(written(&ResourceContents::text("a:b", "t")), r#"{"uri":"a:b","text":"t"}"#);
    assert_eq!(written(&ElicitResult::decline()), r#"{"action":"decline"}"#);
    assert_eq!(written(&Resource::new("a:b", "b").with_size(3)), r#"{"uri":"a:b","name":"b","size":3}"#);
    assert_eq!(written(&Completion::new(["a".into()]).with_total(1)), r#"{"values":["a"],"total":1}"#);
    assert_eq!(written(&ServerCapabilities::new().with_logging(Marker::new())), r#"{"logging":{}}"#);
    let form = FormSchema::empty()
        .with_required_field("age", NumberSchema::new(NumberKind::Integer).with_minimum(18))
        .with_field("ship", SingleSelectSchema::titled([TitledChoice::new("h", "Hermine")]))
        .with_field("nick", StringSchema::new());
    let json = r#"{"type":"object","properties":{"age":{"type":"integer","minimum":18},"ship":{"type":"string","oneOf":[{"const":"h","title":"Hermine"}]},"nick":{"type":"string"}},"required":["age"]}"#;
    assert_eq!(written(&form), json);
    let ask = InputRequest::from(ElicitParams::from(ElicitFormParams::new("m", form)));
    let requests: Map<InputRequest> =
        [("who", ask), ("dirs", ListRootsRequest::new().into())].into_iter().collect();
    let result = InputRequiredResult::asking(requests);
    assert_eq!(result.result_type, ResultType::InputRequired);
    assert!(written(&result).ends_with(r#""dirs":{"method":"roots/list"}}}"#));
    let arguments = [("ship", "Hermine".to_owned())].into_iter().collect::<Map<String>>();
    let params = GetPromptParams::new("briefing").with_arguments(arguments);
    assert_eq!(written(&params), r#"{"name":"briefing","arguments":{"ship":"Hermine"}}"#);
}

#[test]
fn meta_is_read_and_written_by_key() {
    let json = r#"{"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7}"#;
    let mut meta: Meta = read(json).unwrap();
    assert_eq!(meta.members().read::<ProgressToken>("progressToken").unwrap(), Some(ProgressToken::from(7)));
    assert!(meta.members().read::<ProgressToken>("io.modelcontextprotocol/protocolVersion").is_ok());
    assert!(meta.members().read::<i64>("io.modelcontextprotocol/protocolVersion").is_err());
    assert_eq!(meta.members().read::<Implementation>("io.modelcontextprotocol/clientInfo").unwrap(), None);
    assert_eq!(written(&meta), json);
    assert_eq!(meta.insert("x", RawJson::null()), None);
    assert!(meta.remove("x").is_some());
}

#[test]
fn empty_bodies_do_not_allocate_for_extra_members() {
    assert!(read::<EmptyResult>("{}").unwrap().extra.is_empty());
    assert_eq!(size_of::<Map<RawJson>>(), size_of::<Vec<()>>());
}

#[test]
fn static_property_bodies_are_send_and_sync() {
    fn check<T: Send + Sync + 'static>() {}
    check::<CallToolResult>();
    check::<Answer<CallToolResult>>();
    check::<ClientCapabilities>();
}
