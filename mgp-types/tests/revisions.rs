//! The members of a body that each revision keeps: the tables of the specification, row by row.

use mgp_types::Revision::{self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use mgp_types::mcp::{self, ForRevision, task};
use mgp_types::{Object, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Revisions in which a member exists.
#[derive(Clone, Copy)]
enum In {
    All,
    Since(Revision),
    Until(Revision),
    Only(Revision),
}

impl In {
    fn holds(self, revision: Revision) -> bool {
        match self {
            Self::All => true,
            Self::Since(first) => revision >= first,
            Self::Until(last) => revision <= last,
            Self::Only(only) => revision == only,
        }
    }
}

const ALL: In = In::All;
const SINCE_03: In = In::Since(V2025_03_26);
const SINCE_06: In = In::Since(V2025_06_18);
const SINCE_11: In = In::Since(V2025_11_25);
const SINCE_26: In = In::Since(V2026_07_28);
const UNTIL_11: In = In::Until(V2025_11_25);
const ONLY_11: In = In::Only(V2025_11_25);

/// Fits `json`, which holds every member of `T`, to every revision and compares the members that are left.
fn check<T: ForRevision + Serialize + DeserializeOwned>(json: &str, table: &[(&str, In)]) {
    let all: Vec<String> = names(json);
    let listed: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
    assert_eq!(all, listed, "the table names every member of the example");
    for revision in Revision::ALL {
        let body: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        let fitted = written(&body.for_revision(revision));
        let expected: Vec<&str> =
            table.iter().filter(|(_, exists)| exists.holds(revision)).map(|(name, _)| *name).collect();
        assert_eq!(names(&fitted), expected, "{revision}: {}", std::any::type_name::<T>());
    }
}

fn names(json: &str) -> Vec<String> {
    let object = Object::parse(json.to_owned()).expect(json);
    object.iter().map(|(name, _)| name.to_string()).collect()
}

fn written<T: Serialize>(body: &T) -> String {
    serde_json::to_string(body).expect("bodies are JSON")
}

fn fit<T: ForRevision + Serialize + DeserializeOwned>(json: &str, revision: Revision) -> String {
    let body: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
    written(&body.for_revision(revision))
}

#[test]
fn implementation() {
    check::<mcp::Implementation>(
        r#"{"name":"a","title":"A","version":"1","description":"d","websiteUrl":"u","icons":[],"x":1}"#,
        &[
            ("name", ALL),
            ("title", SINCE_06),
            ("version", ALL),
            ("description", SINCE_11),
            ("websiteUrl", SINCE_11),
            ("icons", SINCE_11),
            ("x", ALL),
        ],
    );
}

#[test]
fn tool() {
    check::<mcp::Tool>(
        r#"{"name":"a","title":"A","description":"d","icons":[],"inputSchema":{},"execution":{},"outputSchema":{"type":"object"},"annotations":{},"_meta":{},"_mgp":{}}"#,
        &[
            ("name", ALL),
            ("title", SINCE_06),
            ("description", ALL),
            ("icons", SINCE_11),
            ("inputSchema", ALL),
            ("execution", ONLY_11),
            ("outputSchema", SINCE_06),
            ("annotations", SINCE_03),
            ("_meta", SINCE_06),
            ("_mgp", ALL),
        ],
    );
}

#[test]
fn output_schema_that_is_no_object_schema() {
    for schema in [r#"{"type":"array"}"#, "{}", "true", r#"{"type":["object"]}"#] {
        let json = format!(r#"{{"name":"a","inputSchema":{{}},"outputSchema":{schema}}}"#);
        assert_eq!(fit::<mcp::Tool>(&json, V2026_07_28), json);
        assert_eq!(fit::<mcp::Tool>(&json, V2025_11_25), r#"{"name":"a","inputSchema":{}}"#);
    }
}

#[test]
fn call_tool_params() {
    check::<mcp::CallToolParams>(
        r#"{"_meta":{},"name":"a","arguments":{},"task":{},"inputResponses":{},"requestState":"s"}"#,
        &[
            ("_meta", ALL),
            ("name", ALL),
            ("arguments", ALL),
            ("task", ONLY_11),
            ("inputResponses", SINCE_26),
            ("requestState", SINCE_26),
        ],
    );
}

#[test]
fn call_tool_result() {
    check::<mcp::CallToolResult>(
        r#"{"resultType":"complete","content":[],"structuredContent":{},"isError":false,"_meta":{}}"#,
        &[
            ("resultType", SINCE_26),
            ("content", ALL),
            ("structuredContent", SINCE_06),
            ("isError", ALL),
            ("_meta", ALL),
        ],
    );
}

#[test]
fn structured_content_that_is_no_object() {
    for value in ["null", "[1]", "7"] {
        let json = format!(r#"{{"resultType":"complete","content":[],"structuredContent":{value}}}"#);
        assert_eq!(fit::<mcp::CallToolResult>(&json, V2026_07_28), json);
        assert_eq!(fit::<mcp::CallToolResult>(&json, V2025_11_25), r#"{"content":[]}"#);
    }
}

#[test]
fn lists() {
    let tail: &[(&str, In)] =
        &[("nextCursor", ALL), ("ttlMs", SINCE_26), ("cacheScope", SINCE_26), ("_meta", ALL)];
    let table = |member| [&[("resultType", SINCE_26), (member, ALL)], tail].concat();
    let json = |member| {
        format!(
            r#"{{"resultType":"complete","{member}":[],"nextCursor":"c","ttlMs":1,"cacheScope":"public","_meta":{{}}}}"#
        )
    };
    check::<mcp::ListToolsResult>(&json("tools"), &table("tools"));
    check::<mcp::ListPromptsResult>(&json("prompts"), &table("prompts"));
    check::<mcp::ListResourcesResult>(&json("resources"), &table("resources"));
    check::<mcp::ListResourceTemplatesResult>(&json("resourceTemplates"), &table("resourceTemplates"));
}

#[test]
fn other_results() {
    let kind = ("resultType", SINCE_26);
    check::<mcp::EmptyResult>(r#"{"resultType":"complete","_meta":{}}"#, &[kind, ("_meta", ALL)]);
    check::<mcp::GetPromptResult>(r#"{"resultType":"complete","messages":[]}"#, &[kind, ("messages", ALL)]);
    let json = r#"{"resultType":"complete","completion":{"values":[]}}"#;
    check::<mcp::CompleteResult>(json, &[kind, ("completion", ALL)]);
    let json = r#"{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}"#;
    let table = [kind, ("contents", ALL), ("ttlMs", SINCE_26), ("cacheScope", SINCE_26)];
    check::<mcp::ReadResourceResult>(json, &table);
}

#[test]
fn stateless_results_get_what_they_require() {
    assert_eq!(fit::<mcp::EmptyResult>("{}", V2026_07_28), r#"{"resultType":"complete"}"#);
    assert_eq!(
        fit::<mcp::ListToolsResult>(r#"{"tools":[]}"#, V2026_07_28),
        r#"{"resultType":"complete","tools":[],"ttlMs":0,"cacheScope":"private"}"#
    );
    let other = r#"{"resultType":"x/y","tools":[],"ttlMs":5,"cacheScope":"crew"}"#;
    assert_eq!(fit::<mcp::ListToolsResult>(other, V2026_07_28), other);
}

#[test]
fn resource() {
    check::<mcp::Resource>(
        r#"{"uri":"u","name":"n","title":"t","description":"d","mimeType":"m","size":1,"icons":[],"annotations":{},"_meta":{}}"#,
        &[
            ("uri", ALL),
            ("name", ALL),
            ("title", SINCE_06),
            ("description", ALL),
            ("mimeType", ALL),
            ("size", ALL),
            ("icons", SINCE_11),
            ("annotations", ALL),
            ("_meta", SINCE_06),
        ],
    );
    check::<mcp::ResourceTemplate>(
        r#"{"uriTemplate":"u","name":"n","title":"t","icons":[],"_meta":{}}"#,
        &[("uriTemplate", ALL), ("name", ALL), ("title", SINCE_06), ("icons", SINCE_11), ("_meta", SINCE_06)],
    );
    check::<mcp::ResourceContents>(
        r#"{"uri":"u","text":"","_meta":{}}"#,
        &[("uri", ALL), ("text", ALL), ("_meta", SINCE_06)],
    );
    check::<mcp::ReadResourceParams>(
        r#"{"_meta":{},"uri":"u","inputResponses":{},"requestState":""}"#,
        &[("_meta", ALL), ("uri", ALL), ("inputResponses", SINCE_26), ("requestState", SINCE_26)],
    );
}

#[test]
fn prompt() {
    check::<mcp::Prompt>(
        r#"{"name":"n","title":"t","description":"d","icons":[],"arguments":[],"_meta":{}}"#,
        &[
            ("name", ALL),
            ("title", SINCE_06),
            ("description", ALL),
            ("icons", SINCE_11),
            ("arguments", ALL),
            ("_meta", SINCE_06),
        ],
    );
    check::<mcp::PromptArgument>(
        r#"{"name":"n","title":"t","required":true}"#,
        &[("name", ALL), ("title", SINCE_06), ("required", ALL)],
    );
    check::<mcp::GetPromptParams>(
        r#"{"name":"n","arguments":{},"inputResponses":{},"requestState":""}"#,
        &[("name", ALL), ("arguments", ALL), ("inputResponses", SINCE_26), ("requestState", SINCE_26)],
    );
}

#[test]
fn content() {
    check::<mcp::Annotations>(
        r#"{"audience":[],"priority":1,"lastModified":""}"#,
        &[("audience", ALL), ("priority", ALL), ("lastModified", SINCE_06)],
    );
    check::<mcp::TextContent>(
        r#"{"type":"text","text":"","annotations":{},"_meta":{}}"#,
        &[("type", ALL), ("text", ALL), ("annotations", ALL), ("_meta", SINCE_06)],
    );
    for kind in ["image", "audio"] {
        let json = format!(r#"{{"type":"{kind}","data":"","mimeType":"m","_meta":{{}}}}"#);
        for revision in Revision::ALL.into_iter().filter(|revision| *revision >= V2025_03_26) {
            let kept = fit::<mcp::ContentBlock>(&json, revision).contains("_meta");
            assert_eq!(kept, revision >= V2025_06_18, "{revision} {kind}");
        }
    }
    check::<mcp::EmbeddedResource>(
        r#"{"type":"resource","resource":{"uri":"u"},"_meta":{}}"#,
        &[("type", ALL), ("resource", ALL), ("_meta", SINCE_06)],
    );
}

#[test]
fn content_that_a_revision_lacks_becomes_text() {
    let audio = r#"{"type":"audio","data":"AAEC","mimeType":"audio/wav"}"#;
    assert_eq!(
        fit::<mcp::ContentBlock>(audio, V2024_11_05),
        r#"{"type":"text","text":"[audio left out, MCP 2024-11-05 has none: audio/wav]"}"#
    );
    assert_eq!(fit::<mcp::ContentBlock>(audio, V2025_03_26), audio);

    let link = r#"{"type":"resource_link","uri":"a:b","name":"n"}"#;
    assert_eq!(
        fit::<mcp::ContentBlock>(link, V2025_03_26),
        r#"{"type":"text","text":"[resource link left out, MCP 2025-03-26 has none: n <a:b>]"}"#
    );
    assert_eq!(fit::<mcp::ContentBlock>(link, V2025_06_18), link);

    let unknown = r#"{"type":"hologram"}"#;
    assert_eq!(fit::<mcp::ContentBlock>(unknown, V2024_11_05), unknown);
}

#[test]
fn content_is_fitted_wherever_it_stands() {
    let link = r#"{"type":"resource_link","uri":"a:b","name":"n"}"#;
    let prompt = format!(r#"{{"messages":[{{"role":"user","content":{link}}}]}}"#);
    assert!(!fit::<mcp::GetPromptResult>(&prompt, V2025_03_26).contains("resource_link"));
    let result = format!(r#"{{"content":[{link}]}}"#);
    assert!(!fit::<mcp::CallToolResult>(&result, V2025_03_26).contains("resource_link"));
}

#[test]
fn sampling() {
    check::<mcp::CreateMessageParams>(
        r#"{"_meta":{},"messages":[],"maxTokens":1,"task":{},"tools":[],"toolChoice":{}}"#,
        &[
            ("_meta", UNTIL_11),
            ("messages", ALL),
            ("maxTokens", ALL),
            ("task", ONLY_11),
            ("tools", SINCE_11),
            ("toolChoice", SINCE_11),
        ],
    );
    check::<mcp::SamplingMessage>(
        r#"{"role":"user","content":{"type":"text","text":""},"_meta":{}}"#,
        &[("role", ALL), ("content", ALL), ("_meta", SINCE_11)],
    );
    check::<mcp::ModelPreferences>(
        r#"{"hints":[],"costPriority":1}"#,
        &[("hints", ALL), ("costPriority", ALL)],
    );
}

#[test]
fn sampling_content_becomes_one_text_before_2025_11_25() {
    let many = r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_use","id":"1","name":"f","input":{}},{"type":"tool_result","toolUseId":"1","content":[]}]}"#;
    assert_eq!(fit::<mcp::SamplingMessage>(many, V2025_11_25), many);
    let text = r"a\n[tool call left out, MCP 2025-06-18 has none: f]\n[tool result left out, MCP 2025-06-18 has none]";
    assert_eq!(
        fit::<mcp::SamplingMessage>(many, V2025_06_18),
        format!(r#"{{"role":"user","content":{{"type":"text","text":"{text}"}}}}"#)
    );
    let image = r#"{"role":"user","content":[{"type":"image","data":"","mimeType":"m"}]}"#;
    assert_eq!(
        fit::<mcp::SamplingMessage>(image, V2024_11_05),
        r#"{"role":"user","content":{"type":"image","data":"","mimeType":"m"}}"#
    );
}

#[test]
fn elicitation() {
    check::<mcp::ElicitParams>(
        r#"{"_meta":{},"task":{},"mode":"form","message":"","requestedSchema":{"type":"object","properties":{}}}"#,
        &[
            ("_meta", UNTIL_11),
            ("task", ONLY_11),
            ("mode", SINCE_11),
            ("message", ALL),
            ("requestedSchema", ALL),
        ],
    );
    check::<mcp::ElicitParams>(
        r#"{"mode":"url","_meta":{},"task":{},"message":"","elicitationId":"e","url":"u"}"#,
        &[
            ("mode", ALL),
            ("_meta", UNTIL_11),
            ("task", ONLY_11),
            ("message", ALL),
            ("elicitationId", ONLY_11),
            ("url", ALL),
        ],
    );
    check::<mcp::ElicitResult>(
        r#"{"action":"accept","content":{},"_meta":{}}"#,
        &[("action", ALL), ("content", ALL), ("_meta", UNTIL_11)],
    );
    check::<mcp::ListRootsResult>(r#"{"roots":[],"_meta":{}}"#, &[("roots", ALL), ("_meta", UNTIL_11)]);
    check::<mcp::Root>(
        r#"{"uri":"u","name":"n","_meta":{}}"#,
        &[("uri", ALL), ("name", ALL), ("_meta", SINCE_06)],
    );
}

#[test]
fn forms() {
    check::<mcp::FormSchema>(
        r#"{"type":"object","$schema":"s","properties":{},"required":[]}"#,
        &[("type", ALL), ("$schema", SINCE_11), ("properties", ALL), ("required", ALL)],
    );
    for (json, since) in [
        (r#"{"type":"string","default":"a"}"#, SINCE_11),
        (r#"{"type":"number","default":1}"#, SINCE_11),
        (r#"{"type":"boolean","default":true}"#, ALL),
        (r#"{"type":"string","enum":[],"default":"a"}"#, SINCE_11),
    ] {
        for revision in Revision::ALL {
            let kept = fit::<mcp::PrimitiveSchema>(json, revision).contains("default");
            assert_eq!(kept, since.holds(revision), "{revision} {json}");
        }
    }
}

#[test]
fn titled_choices_take_the_older_form_before_2025_11_25() {
    let titled = r#"{"type":"string","oneOf":[{"const":"a","title":"A"},{"const":"b","title":"B"}]}"#;
    assert_eq!(fit::<mcp::PrimitiveSchema>(titled, V2025_11_25), titled);
    assert_eq!(
        fit::<mcp::PrimitiveSchema>(titled, V2025_06_18),
        r#"{"type":"string","enum":["a","b"],"enumNames":["A","B"]}"#
    );
}

#[test]
fn multiple_choices_are_not_asked_for_before_2025_11_25() {
    let form = r#"{"type":"object","properties":{"a":{"type":"array","items":{"type":"string","enum":[]}},"b":{"type":"string"}},"required":["a","b"]}"#;
    assert_eq!(fit::<mcp::FormSchema>(form, V2025_11_25), form);
    assert_eq!(
        fit::<mcp::FormSchema>(form, V2025_06_18),
        r#"{"type":"object","properties":{"b":{"type":"string"}},"required":["b"]}"#
    );
}

#[test]
fn capabilities() {
    check::<mcp::ClientCapabilities>(
        r#"{"experimental":{},"roots":{},"sampling":{},"elicitation":{},"tasks":{},"extensions":{},"mgp":{}}"#,
        &[
            ("experimental", ALL),
            ("roots", ALL),
            ("sampling", ALL),
            ("elicitation", SINCE_06),
            ("tasks", ONLY_11),
            ("extensions", ALL),
            ("mgp", ALL),
        ],
    );
    check::<mcp::ServerCapabilities>(
        r#"{"experimental":{},"logging":{},"completions":{},"prompts":{},"resources":{},"tools":{},"tasks":{},"extensions":{},"mgp":{}}"#,
        &[
            ("experimental", ALL),
            ("logging", ALL),
            ("completions", SINCE_03),
            ("prompts", ALL),
            ("resources", ALL),
            ("tools", ALL),
            ("tasks", ONLY_11),
            ("extensions", ALL),
            ("mgp", ALL),
        ],
    );
    check::<mcp::RootsCapability>(r#"{"listChanged":true}"#, &[("listChanged", UNTIL_11)]);
    let json = r#"{"context":{},"tools":{}}"#;
    check::<mcp::SamplingCapability>(json, &[("context", SINCE_11), ("tools", SINCE_11)]);
    check::<mcp::ElicitationCapability>(r#"{"form":{},"url":{}}"#, &[("form", SINCE_11), ("url", SINCE_11)]);
}

#[test]
fn completion() {
    let json = r#"{"_meta":{},"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"n","value":""},"context":{}}"#;
    let table = [("_meta", ALL), ("ref", ALL), ("argument", ALL), ("context", SINCE_06)];
    check::<mcp::CompleteParams>(json, &table);
    let json = r#"{"type":"ref/prompt","name":"n","title":"t"}"#;
    check::<mcp::Reference>(json, &[("type", ALL), ("name", ALL), ("title", SINCE_06)]);
}

#[test]
fn progress() {
    let json = r#"{"progressToken":1,"progress":1,"total":2,"message":"m"}"#;
    let table = [("progressToken", ALL), ("progress", ALL), ("total", ALL), ("message", SINCE_03)];
    check::<mcp::ProgressParams>(json, &table);
}

#[test]
fn meta() {
    check::<mcp::Meta>(
        r#"{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"","io.modelcontextprotocol/serverInfo":{},"io.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/related-task":{},"progressToken":1,"traceparent":"","x/y":1}"#,
        &[
            (mcp::meta::key::PROTOCOL_VERSION, SINCE_26),
            (mcp::meta::key::CLIENT_INFO, SINCE_26),
            (mcp::meta::key::CLIENT_CAPABILITIES, SINCE_26),
            (mcp::meta::key::LOG_LEVEL, SINCE_26),
            (mcp::meta::key::SERVER_INFO, SINCE_26),
            (mcp::meta::key::SUBSCRIPTION_ID, SINCE_26),
            (mcp::meta::key::RELATED_TASK, ONLY_11),
            (mcp::meta::key::PROGRESS_TOKEN, ALL),
            (mcp::meta::key::TRACEPARENT, ALL),
            ("x/y", ALL),
        ],
    );
}

#[test]
fn fitting_twice_changes_nothing_more() {
    let json = r#"{"content":[{"type":"resource_link","uri":"a:b","name":"n"}],"structuredContent":[]}"#;
    for revision in Revision::ALL {
        let once = fit::<mcp::CallToolResult>(json, revision);
        assert_eq!(fit::<mcp::CallToolResult>(&once, revision), once);
    }
}

#[test]
fn task_is_the_same_in_its_only_revision() {
    let json = r#"{"taskId":"t","status":"becalmed","createdAt":"","lastUpdatedAt":"","ttl":5}"#;
    assert_eq!(fit::<task::Task>(json, V2025_11_25), json);
    let raw = RawJson::parse(json).expect("it is JSON");
    assert!(!raw.to::<task::Task>().expect("it is a task").status.is_terminal());
}
