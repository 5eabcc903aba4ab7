//! Every body of MCP with unknown members and values, and with broken ones.

use mgp_types::mcp::{
    Answer, CallToolResult, CancelledParams, ClientCapabilities, Completion, ContentBlock,
    CreateMessageResult, ElicitFormParams, ElicitParams, ElicitResult, EmptyResult, FormSchema,
    GetPromptParams, Implementation, InputRequest, InputRequiredResult, ListRootsRequest, LogLevel, Map,
    Marker, Meta, Number, NumberKind, NumberSchema, PrimitiveSchema, ProgressToken, Resource,
    ResourceContents, ResultType, Role, SamplingContents, ServerCapabilities, SingleSelectSchema,
    StringSchema, TitledChoice, Tool,
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

#[test]
fn unknown_members_are_extra() {
    let json = r#"{"name":"a","inputSchema":{},"z":1.50,"a\nb":[ 1e3,null ],"_mgp":{"x":{}}}"#;
    let names: Vec<_> = read::<Tool>(json).unwrap().extra.iter().map(|(name, _)| name.to_owned()).collect();
    assert_eq!(names, ["z", "a\nb", "_mgp"]);
}

#[test]
fn words_are_known_or_not() {
    assert_eq!(read::<Role>(r#""us\u0065r""#).unwrap(), Role::User);
    assert_eq!(read::<Role>(r#""auditor""#).unwrap(), Role::Unknown("auditor".into()));
    assert_eq!(read::<LogLevel>(r#""chatter""#).unwrap(), LogLevel::Unknown("chatter".into()));
}

#[test]
fn unknown_content_is_kept_apart() {
    let json = r#"{"content":[{"type":"hologram", "data":[1.0]},{"type":"tool_result","toolUseId":"x"}]}"#;
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
    assert_eq!(written(&read::<CreateMessageResult>(&json).unwrap()), json);
}

#[test]
fn null_is_a_value_where_one_may_stand() {
    let content = |json| read::<CallToolResult>(json).unwrap().structured_content;
    assert!(content(r#"{"content":[],"structuredContent":null}"#).unwrap().is_null());
    assert_eq!(content(r#"{"content":[]}"#), None);
}

#[test]
fn numbers_and_tokens_are_compared_by_what_they_are() {
    assert_eq!(Number::from(1), Number::from(1.0));
    assert_eq!(read::<ProgressToken>("7").unwrap(), ProgressToken::from(7));
    assert_eq!(read::<ProgressToken>(r#""7""#).unwrap(), ProgressToken::from("7"));
    assert_eq!(read::<CancelledParams>(r#"{"requestId":"7"}"#).unwrap().request_id, Some(Id::from("7")));
    assert_eq!(SamplingContents::from("t").as_slice().len(), 1);
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
    assert_eq!(meta.read::<ProgressToken>("progressToken").unwrap(), Some(ProgressToken::from(7)));
    assert!(meta.read::<ProgressToken>("io.modelcontextprotocol/protocolVersion").is_ok());
    assert!(meta.read::<i64>("io.modelcontextprotocol/protocolVersion").is_err());
    assert_eq!(meta.read::<Implementation>("io.modelcontextprotocol/clientInfo").unwrap(), None);
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
