//! The members of a body that each revision keeps: the tables of the specification, row by row.

use mgp_types::Revision::{self, V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28};
use mgp_types::mcp::{self, ForRevision, task};
use mgp_types::{Object, RawJson};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// Returns whether a member exists in `revision`; `range` is `06..` since 2025-06-18, `..11` until 2025-11-25, `11` only in
/// that, and `..` always.
fn exists(range: &str, revision: Revision) -> bool {
    let named = |short: &str| match short {
        "03" => V2025_03_26,
        "06" => V2025_06_18,
        "11" => V2025_11_25,
        "26" => V2026_07_28,
        other => panic!("{other} is no revision"),
    };
    match range.split_once("..") {
        None => revision == named(range),
        Some((first, last)) => {
            (first.is_empty() || revision >= named(first)) && (last.is_empty() || revision <= named(last))
        }
    }
}

/// Fits `json`, which holds every member of `T`, to every revision and compares the members that are left. The row names
/// each member in order, and behind `@` the revisions that have it; see [`exists`].
fn check<T: ForRevision + Serialize + DeserializeOwned>(json: &str, row: &str) {
    let members: Vec<(&str, &str)> =
        row.split_ascii_whitespace().map(|member| member.split_once('@').unwrap_or((member, ".."))).collect();
    let listed: Vec<&str> = members.iter().map(|(name, _)| *name).collect();
    assert_eq!(names(json), listed, "the row names every member of the example");
    for revision in Revision::ALL {
        let body: T = serde_json::from_str(json).unwrap_or_else(|error| panic!("{error}: {json}"));
        let fitted = written(&body.for_revision(revision));
        let expected: Vec<&str> =
            members.iter().filter(|(_, range)| exists(range, revision)).map(|(name, _)| *name).collect();
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
        "name title@06.. version description@11.. websiteUrl@11.. icons@11.. x",
    );
}

#[test]
fn tool() {
    check::<mcp::Tool>(
        r#"{"name":"a","title":"A","description":"d","icons":[],"inputSchema":{},"execution":{},"outputSchema":{"type":"object"},"annotations":{},"_meta":{},"_mgp":{}}"#,
        "name title@06.. description icons@11.. inputSchema execution@11 outputSchema@06..
         annotations@03.. _meta@06.. _mgp",
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
        "_meta name arguments task@11 inputResponses@26.. requestState@26..",
    );
}

#[test]
fn call_tool_result() {
    check::<mcp::CallToolResult>(
        r#"{"resultType":"complete","content":[],"structuredContent":{},"isError":false,"_meta":{}}"#,
        "resultType@26.. content structuredContent@06.. isError _meta",
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
    let row = |member| format!("resultType@26.. {member} nextCursor ttlMs@26.. cacheScope@26.. _meta");
    let json = |member| {
        format!(
            r#"{{"resultType":"complete","{member}":[],"nextCursor":"c","ttlMs":1,"cacheScope":"public","_meta":{{}}}}"#
        )
    };
    check::<mcp::ListToolsResult>(&json("tools"), &row("tools"));
    check::<mcp::ListPromptsResult>(&json("prompts"), &row("prompts"));
    check::<mcp::ListResourcesResult>(&json("resources"), &row("resources"));
    check::<mcp::ListResourceTemplatesResult>(&json("resourceTemplates"), &row("resourceTemplates"));
}

#[test]
fn other_results() {
    check::<mcp::EmptyResult>(r#"{"resultType":"complete","_meta":{}}"#, "resultType@26.. _meta");
    let json = r#"{"resultType":"complete","messages":[]}"#;
    check::<mcp::GetPromptResult>(json, "resultType@26.. messages");
    let json = r#"{"resultType":"complete","completion":{"values":[]}}"#;
    check::<mcp::CompleteResult>(json, "resultType@26.. completion");
    let json = r#"{"resultType":"complete","contents":[],"ttlMs":0,"cacheScope":"private"}"#;
    check::<mcp::ReadResourceResult>(json, "resultType@26.. contents ttlMs@26.. cacheScope@26..");
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
        "uri name title@06.. description mimeType size icons@11.. annotations _meta@06..",
    );
    check::<mcp::ResourceTemplate>(
        r#"{"uriTemplate":"u","name":"n","title":"t","icons":[],"_meta":{}}"#,
        "uriTemplate name title@06.. icons@11.. _meta@06..",
    );
    check::<mcp::ResourceContents>(r#"{"uri":"u","text":"","_meta":{}}"#, "uri text _meta@06..");
    check::<mcp::ReadResourceParams>(
        r#"{"_meta":{},"uri":"u","inputResponses":{},"requestState":""}"#,
        "_meta uri inputResponses@26.. requestState@26..",
    );
}

#[test]
fn prompt() {
    check::<mcp::Prompt>(
        r#"{"name":"n","title":"t","description":"d","icons":[],"arguments":[],"_meta":{}}"#,
        "name title@06.. description icons@11.. arguments _meta@06..",
    );
    check::<mcp::PromptArgument>(r#"{"name":"n","title":"t","required":true}"#, "name title@06.. required");
    check::<mcp::GetPromptParams>(
        r#"{"name":"n","arguments":{},"inputResponses":{},"requestState":""}"#,
        "name arguments inputResponses@26.. requestState@26..",
    );
}

#[test]
fn content() {
    check::<mcp::Annotations>(
        r#"{"audience":[],"priority":1,"lastModified":""}"#,
        "audience priority lastModified@06..",
    );
    check::<mcp::TextContent>(
        r#"{"type":"text","text":"","annotations":{},"_meta":{}}"#,
        "type text annotations _meta@06..",
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
        "type resource _meta@06..",
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
        "_meta@..11 messages maxTokens task@11 tools@11.. toolChoice@11..",
    );
    check::<mcp::SamplingMessage>(
        r#"{"role":"user","content":{"type":"text","text":""},"_meta":{}}"#,
        "role content _meta@11..",
    );
    check::<mcp::ModelPreferences>(r#"{"hints":[],"costPriority":1}"#, "hints costPriority");
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
        "_meta@..11 task@11 mode@11.. message requestedSchema",
    );
    check::<mcp::ElicitParams>(
        r#"{"mode":"url","_meta":{},"task":{},"message":"","elicitationId":"e","url":"u"}"#,
        "mode _meta@..11 task@11 message elicitationId@11 url",
    );
    check::<mcp::ElicitResult>(r#"{"action":"accept","content":{},"_meta":{}}"#, "action content _meta@..11");
    check::<mcp::ListRootsResult>(r#"{"roots":[],"_meta":{}}"#, "roots _meta@..11");
    check::<mcp::Root>(r#"{"uri":"u","name":"n","_meta":{}}"#, "uri name _meta@06..");
}

#[test]
fn forms() {
    check::<mcp::FormSchema>(
        r#"{"type":"object","$schema":"s","properties":{},"required":[]}"#,
        "type $schema@11.. properties required",
    );
    for (json, range) in [
        (r#"{"type":"string","default":"a"}"#, "11.."),
        (r#"{"type":"number","default":1}"#, "11.."),
        (r#"{"type":"boolean","default":true}"#, ".."),
        (r#"{"type":"string","enum":[],"default":"a"}"#, "11.."),
    ] {
        for revision in Revision::ALL {
            let kept = fit::<mcp::PrimitiveSchema>(json, revision).contains("default");
            assert_eq!(kept, exists(range, revision), "{revision} {json}");
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
        "experimental roots sampling elicitation@06.. tasks@11 extensions mgp",
    );
    check::<mcp::ServerCapabilities>(
        r#"{"experimental":{},"logging":{},"completions":{},"prompts":{},"resources":{},"tools":{},"tasks":{},"extensions":{},"mgp":{}}"#,
        "experimental logging completions@03.. prompts resources tools tasks@11 extensions mgp",
    );
    check::<mcp::RootsCapability>(r#"{"listChanged":true}"#, "listChanged@..11");
    let json = r#"{"context":{},"tools":{}}"#;
    check::<mcp::SamplingCapability>(json, "context@11.. tools@11..");
    check::<mcp::ElicitationCapability>(r#"{"form":{},"url":{}}"#, "form@11.. url@11..");
}

#[test]
fn completion() {
    let json = r#"{"_meta":{},"ref":{"type":"ref/resource","uri":"u"},"argument":{"name":"n","value":""},"context":{}}"#;
    check::<mcp::CompleteParams>(json, "_meta ref argument context@06..");
    let json = r#"{"type":"ref/prompt","name":"n","title":"t"}"#;
    check::<mcp::Reference>(json, "type name title@06..");
}

#[test]
fn progress() {
    let json = r#"{"progressToken":1,"progress":1,"total":2,"message":"m"}"#;
    check::<mcp::ProgressParams>(json, "progressToken progress total message@03..");
}

#[test]
fn meta() {
    check::<mcp::Meta>(
        r#"{"io.modelcontextprotocol/protocolVersion":"","io.modelcontextprotocol/clientInfo":{},"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"","io.modelcontextprotocol/serverInfo":{},"io.modelcontextprotocol/subscriptionId":1,"io.modelcontextprotocol/related-task":{},"progressToken":1,"traceparent":"","x/y":1}"#,
        "io.modelcontextprotocol/protocolVersion@26.. io.modelcontextprotocol/clientInfo@26..
         io.modelcontextprotocol/clientCapabilities@26.. io.modelcontextprotocol/logLevel@26..
         io.modelcontextprotocol/serverInfo@26.. io.modelcontextprotocol/subscriptionId@26..
         io.modelcontextprotocol/related-task@11 progressToken traceparent x/y",
    );
    let names = [mcp::meta::key::PROGRESS_TOKEN, mcp::meta::key::TRACEPARENT];
    assert_eq!(names, ["progressToken", "traceparent"]);
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
