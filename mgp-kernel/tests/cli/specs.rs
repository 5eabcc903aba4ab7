//! `mgp spec`: specification documents of tools.

use std::path::Path;

use mgp_security::Schema;
use mgp_types::RawJson;
use serde_json::{Value, json};

use crate::home::Home;

/// The document of the examples.
const EXAMPLE: &str = include_str!("../../../mgp-discovery/examples/MCP_TOOL_SPECIFICATION.md");

/// A user with the server `clock`, whose messages are what the script of sed in `edit` makes of them.
fn with_clock() -> Home {
    let home = Home::with_state();
    home.write("edit", "");
    let edit = home.path("edit").display().to_string();
    let [program, file] = home.clock();
    let script = format!("{program} {file} | sed -u -f {edit}");
    let server = format!("[[servers]]\nid = \"clock\"\ncommand = \"sh\"\nargs = [\"-c\", {script:?}]\n");
    home.configure(&server);
    home
}

// covers: ENV-9-01
#[test]
fn the_documents_of_this_repository_pass() {
    let home = Home::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().display().to_string();
    let report = home.json(["spec", "lint", &root]);
    assert_eq!(report["findings"], json!([]), "{report}");
    assert!(report["tools"].as_array().unwrap().iter().any(|tool| tool["tool"] == "weather.get_forecast"));
}

// covers: ENV-11.1-01..03, ENV-11.1-07..10
#[test]
fn a_document_is_checked_with_a_verdict_on_each_item_of_the_checklist() {
    let home = Home::new();
    home.write("tools/weather/MCP_TOOL_SPECIFICATION.md", EXAMPLE);
    home.write("tools/target/MCP_TOOL_SPECIFICATION.md", "made by a program");
    let passed = home.run(["spec", "lint", "tools"]);
    assert_eq!((passed.code, passed.err.as_str()), (Some(0), ""), "{passed:?}");
    for line in [
        "  ok           specification follows the template",
        "  ok           JSON Schema of the parameters",
        "  ok           JSON Schema of the output",
        "  not checked  function with error handling",
        "  not checked  wrapper from ToolCall to ToolResult",
        "  ok           specific error types",
        "  ok           idempotency",
        "  ok           security considerations",
        "  ok           usage examples",
        "  ok           version",
        "1 tool, 0 errors, 0 warnings",
    ] {
        assert!(passed.out.lines().any(|shown| shown == line), "{line}: {}", passed.out);
    }
    home.write(
        "bad.md",
        &EXAMPLE.replace("### 6. Idempotency\n\n**Idempotent**: Yes", "### 6. Idempotency\n\nMaybe."),
    );
    let failed = home.run(["spec", "lint", "bad.md"]);
    assert_eq!(failed.code, Some(5), "{failed:?}");
    let finding = "error[idempotency]: the section does not say whether the tool is idempotent\n  --> bad.md:128 (weather.get_forecast)\n   \
                   = help: begin with **Idempotent**: Yes, or **Idempotent**: No";
    assert!(failed.out.contains(finding), "{}", failed.out);
    assert!(failed.out.contains("  failed       idempotency\n"), "{}", failed.out);
    home.write("empty/notes.md", "");
    let missing = home.run(["spec", "lint", "empty"]);
    assert!(
        missing.code == Some(5) && missing.err.contains("empty has no MCP_TOOL_SPECIFICATION.md"),
        "{missing:?}"
    );
}

// covers: ENV-4.1-02, ENV-4.1-09, ENV-6.1-02
#[test]
fn a_document_is_written_for_a_server_and_agrees_with_it() {
    let home = with_clock();
    let written = home.done(["spec", "generate", "clock", "--tool-version", "0.4.0"]);
    assert!(written.err.contains("`clock.now` has no output schema"), "{}", written.err);
    assert!(written.out.contains("## Tool: `clock.time_between`\n\n**Version**: 0.4.0\n"), "{}", written.out);
    assert!(
        written.out.contains("{\n  \"tool_name\": \"clock.now\",\n  \"arguments\": {}\n}"),
        "{}",
        written.out
    );
    home.write("MCP_TOOL_SPECIFICATION.md", &written.out);
    let checked = home.done(["spec", "lint", ".", "--against", "clock"]);
    assert!(checked.out.contains("4 tools, 0 errors"), "{checked:?}");

    // A tool of another name is not one of the server.
    home.write("MCP_TOOL_SPECIFICATION.md", &written.out.replace("clock.time_between", "clock.times"));
    let checked = home.run(["spec", "lint", ".", "--against", "clock"]);
    assert!(
        checked.code == Some(5) && checked.out.contains("no tool `clock.times` is defined"),
        "{checked:?}"
    );
    let one = home.json(["spec", "generate", "clock.wait"]);
    assert_eq!(one["tools"], json!(["clock.wait"]));
}

#[test]
fn a_document_is_written_for_a_definition_in_a_file() {
    let home = Home::new();
    let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    home.write("tool.json", &json!({"name": "countWords", "inputSchema": schema}).to_string());
    let unnamed = home.run(["spec", "generate", "tool.json"]);
    assert!(unnamed.code == Some(1) && unnamed.err.contains("--module"), "{unnamed:?}");
    let written = home.run(["spec", "generate", "tool.json", "--module", "text"]);
    home.write("text.md", &written.out);
    let report = home.json(["spec", "lint", "text.md", "--against", "tool.json"]);
    assert_eq!(report["tools"][0]["tool"], "text.count_words");
    assert_eq!(report["tools"][0]["checklist"]["input_schema"], "passed");
    assert!(home.run(["spec", "generate", "none.json"]).err.contains("none.json cannot be read"));
    let read =
        home.run_with(["spec", "generate", "-", "--module", "text", "--json"], &home.read("tool.json"));
    assert_eq!(serde_json::from_str::<Value>(&read.out).unwrap()["document"], written.out);
}

// covers: ENV-5.2-02, ENV-5.2-03
#[test]
fn a_version_that_does_not_announce_its_changes_fails() {
    let home = Home::new();
    home.write("old.md", EXAMPLE);
    let diff = |version: &str, from: &str, to: &str| {
        assert!(EXAMPLE.contains(from), "{from}");
        let text =
            EXAMPLE.replace(from, to).replace("**Version**: 1.2.0", &format!("**Version**: {version}"));
        home.write("new.md", &text);
        home.run(["spec", "diff", "old.md", "new.md"])
    };
    let required = ("\"required\": [\"city\"],", "\"required\": [\"city\", \"days\"],");
    let ran = diff("1.3.0", required.0, required.1);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    let expected = "weather.get_forecast  1.2.0 -> 1.3.0\n  breaking       parameter `days` is required now  (/inputSchema/properties/days)\n  \
                    the version does not announce this: write at least 2.0.0\n";
    assert_eq!(ran.out, expected);
    assert_eq!(diff("2.0.0", required.0, required.1).code, Some(0));
    home.write("new.md", EXAMPLE);
    assert_eq!(
        home.run(["spec", "diff", "old.md", "new.md"]).out,
        "weather.get_forecast  1.2.0 -> 1.2.0\n  nothing changed\n"
    );
    let json = home.json(["spec", "diff", "old.md", "new.md"]);
    assert_eq!(json[0]["is_announced"], true);
}

// covers: ENV-5.2-02
#[test]
fn the_changes_of_a_held_tool_are_shown_with_their_classes() {
    let home = with_clock();
    home.done(["tools", "clock"]);
    home.write("edit", "s/\"start\"/\"begin\"/g");
    home.done(["restart", "clock"]);
    let diff = home.done(["pin", "diff", "clock", "time_between"]);
    for line in [
        "breaking       parameter `start` was removed  (/inputSchema/properties/start)",
        "breaking       parameter `begin` was added and is required  (/inputSchema/properties/begin)",
    ] {
        assert!(diff.out.lines().any(|shown| shown == line), "{line}: {}", diff.out);
    }
    let classes = home.json(["pin", "diff", "clock", "time_between"])["interface"].clone();
    assert_eq!(
        (classes.as_array().unwrap().len(), &classes[0]["class"]),
        (2, &json!("breaking")),
        "{classes}"
    );
}

// covers: ENV-2-03, ENV-3.1-06
#[test]
fn the_schemas_of_envelopes_are_printed_and_judge_messages_as_the_specification_does() {
    let home = Home::new();
    for (form, fitting, unfitting) in [
        (
            "tool-call",
            &[
                r#"{"tool_name":"notes.search","arguments":{}}"#,
                r#"{"tool_name":"a.b.c_2","arguments":{"x":[1,null,{"y":"é"}]}}"#,
            ][..],
            &[
                r#"{"tool_name":"search","arguments":{}}"#,
                r#"{"tool_name":"Notes.search","arguments":{}}"#,
                r#"{"tool_name":"notes.search"}"#,
                r#"{"tool_name":"notes.search","arguments":[]}"#,
                r#"{"tool_name":"notes.search","arguments":{},"more":1}"#,
                r#"{"arguments":{}}"#,
                "[]",
            ][..],
        ),
        (
            "tool-result",
            &[
                r#"{"status":"success"}"#,
                r#"{"status":"success","data":{"n":1},"explanation":null,"more":true}"#,
                r#"{"status":"partial_success","data":{},"error":{"error_type":"X","error_message":"y"}}"#,
                r#"{"status":"failure","data":null,"error":{"error_type":"X","error_message":"y","error_details":null}}"#,
                r#"{"status":"no_change_needed","explanation":"It was so."}"#,
            ],
            &[
                r#"{"data":{}}"#,
                r#"{"status":"done"}"#,
                r#"{"status":null}"#,
                r#"{"status":"success","data":[]}"#,
                r#"{"status":"success","error":null}"#,
                r#"{"status":"failure","error":{"error_type":"X"}}"#,
                r#"{"status":"failure","error":{"error_type":"X","error_message":"y","error_details":1}}"#,
                r#"{"status":"success","explanation":7}"#,
            ],
        ),
        (
            "error-detail",
            &[
                r#"{"error_type":"ValidationError","error_message":"no"}"#,
                r#"{"error_type":"Own","error_message":"","error_details":"more","hint":"x"}"#,
            ],
            &[r#"{"error_type":"X"}"#, r#"{"error_message":"y"}"#, r#"{"error_type":1,"error_message":"y"}"#],
        ),
    ] {
        let printed = home.run(["spec", "schema", form]);
        assert_eq!((printed.code, printed.err.as_str()), (Some(0), ""), "{printed:?}");
        let document: Value = serde_json::from_str(&printed.out).unwrap();
        assert_eq!(document["$schema"], "http://json-schema.org/draft-07/schema#", "{form}");
        assert!(document["title"].is_string() && document["description"].is_string(), "{form}");
        assert_eq!(home.json(["spec", "schema", form]), document);
        let schema = Schema::compile(&RawJson::parse(printed.out).unwrap()).unwrap();
        for json in fitting {
            assert!(schema.check(json.as_bytes()).is_ok(), "{form}: {json}");
        }
        for json in unfitting {
            assert!(schema.check(json.as_bytes()).is_err(), "{form}: {json}");
        }
    }
}
