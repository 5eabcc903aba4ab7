//! What the lint finds in documents.

use std::path::PathBuf;

use super::*;
use crate::config::Severity;
use crate::tool_spec::finding::{ChecklistVerdict, SpecRule};

/// Asserts that the example in which `from` was replaced has a finding with these words, and others only of its rule.
fn assert_found(from: &str, to: &str, found: &str) {
    let findings = findings_where(from, to);
    assert!(findings.iter().any(|finding| finding.contains(found)), "{found:?} is not in {findings:#?}");
}

/// Asserts it for each line of `cases`: `FROM => TO => FOUND`, where `\n` is the end of a line.
fn assert_all_found(cases: &str) {
    for case in cases.trim().lines() {
        let parts: Vec<_> = case.trim().split(" => ").map(|part| part.replace("\\n", "\n")).collect();
        let [from, to, found] = parts.as_slice() else { panic!("{case}") };
        assert_found(from, to, found);
    }
}

fn against(definitions: &[ToolInterface], text: &str) -> LintReport {
    super::super::lint(&[document(text)], &[], definitions, &compile)
}

#[test]
fn the_example_passes() {
    let report = lint(EXAMPLE);
    assert_eq!(report.findings, []);
    assert_eq!(report.tools.len(), 1);
}

// covers: ENV-11.1-01, ENV-11.1-02, ENV-11.1-03, ENV-11.1-07..10
#[test]
fn each_item_of_the_checklist_has_a_verdict() {
    let verdicts = |text: &str| lint(text).tools.remove(0).checklist;
    for (item, verdict) in verdicts(EXAMPLE) {
        let is_code = ["function", "wrapper"].contains(&item);
        let expected = if is_code { ChecklistVerdict::NotChecked } else { ChecklistVerdict::Passed };
        assert_eq!(verdict, expected, "{item:?}");
    }
    for (from, to, failed) in [
        ("## Tool: `weather.get_forecast`", "## Tool: weather.get_forecast", "template"),
        ("| `days` | integer |", "| `day` | integer |", "input_schema"),
        ("| `city` | string | The city,", "| `town` | string | The city,", "output_schema"),
        ("| `ValidationError` |", "| `BadInput` |", "error_types"),
        ("**Idempotent**: Yes", "It depends.", "idempotency"),
        ("\"tool_name\"", "\"tool\"", "examples"),
        ("**Version**: 1.2.0", "**Version**: one", "version"),
    ] {
        let checklist = verdicts(&EXAMPLE.replacen(from, to, 1));
        assert_eq!(checklist.len(), 10);
        let failures: Vec<_> =
            checklist.iter().filter(|(_, verdict)| *verdict == ChecklistVerdict::Failed).collect();
        assert_eq!(failures, [&(failed, ChecklistVerdict::Failed)], "{to}");
    }
    let (without_security, _) = EXAMPLE.split_once("- Risk").unwrap();
    assert!(verdicts(without_security).contains(&("security", ChecklistVerdict::Failed)));
}

// covers: ENV-4.1-09
#[test]
fn the_sections_are_all_there_in_their_order() {
    let (before, rest) = EXAMPLE.split_once("### 6. Idempotency").unwrap();
    let (idempotency, after) = rest.split_once("### 7.").unwrap();
    let reordered = format!("{before}### 7.{after}\n### 6. Idempotency{idempotency}");
    let report = lint(&reordered);
    assert_eq!(report.findings.len(), 1, "{:#?}", report.findings);
    assert_eq!(
        report.findings[0].what,
        "the section \"Idempotency\" stands behind \"Security Considerations\""
    );
    assert_all_found(
        r#"
        ### 6. Idempotency => #### 6. Idempotency => the section "Idempotency" is missing
        ### 6. Idempotency => ### 5. Idempotency => "Idempotency" has the number 6
        ### 6. Idempotency => ### 6. Repetition => section 6 is not "Repetition"
        ### 6. Idempotency => ### Security\n\n### Idempotency => is there twice
        "#,
    );
    for also in ["### idempotency", "### 6) Idempotency:", "### Idempotency (repeated calls)"] {
        assert_eq!(findings_where("### 6. Idempotency", also), [""; 0], "{also}");
    }
    // Further sections may follow.
    assert_eq!(lint(&format!("{EXAMPLE}\n### 9. History\n\n### Changelog\n")).findings, []);
}

// covers: ENV-4.1-01
#[test]
fn a_tool_has_a_purpose_and_a_version() {
    assert_all_found(
        r"
        ### 1. Tool Purpose and Description\n => ### 1. Purpose\n\n### 2. Name\n => purpose: the section is empty
        **Version**: 1.2.0 =>  => the tool declares no version
        ",
    );
    for version in ["1.2", "v1.2.0", "1.2.0.1", "latest"] {
        let found = findings_where("**Version**: 1.2.0", &format!("**Version**: {version}"));
        assert_eq!(found, [format!("version: `{version}` is not a version of three numbers, such as 1.2.3")]);
    }
}

// covers: ENV-4.1-02
#[test]
fn an_invocation_name_has_its_form_and_is_unique() {
    for name in ["forecast", "Weather.forecast", "weather.", "weather.get-forecast", "weather..get"] {
        let found = lint(&EXAMPLE.replace("weather.get_forecast", name)).findings;
        assert!(
            found.iter().any(|finding| finding.what == format!("`{name}` is not an invocation name")),
            "{found:?}"
        );
    }
    assert_found("\n`weather.get_forecast`", "\n`weather.forecast`", "is not that of the heading");
    let other = SpecDocument::read("other.md".as_ref(), EXAMPLE);
    let findings = super::super::lint(&[document(EXAMPLE), other], &[], &[], &compile).findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].what, "`weather.get_forecast` was declared before, in weather.md:5");
    assert_eq!((&findings[0].file, findings[0].line), (&PathBuf::from("other.md"), 5));
}

// covers: ENV-4.1-03
#[test]
fn the_table_of_parameters_says_what_the_schema_says() {
    assert_all_found(
        r#"
        | `days` | integer | No | => | `day` | integer | No | => input-table: the table has `day`, which is not
        | `days` | integer | No | => | `day` | integer | No | => input-table: the table lacks `days`
        | `city` | string | Yes | => | `city` | string | No | => says that `city` is optional
        | `days` | integer | No | => | `days` | integer | Yes | => says that `days` is required
        | `days` | integer | No | => | `days` | integer | perhaps | => does not say whether `days`
        | `days` | integer | No | => | `days` | string | No | => `days` is string, and the schema says integer
        | `days` | integer | No | => | `city` | string | Yes | => the table has `city` twice
        "days": {\n      "type": "integer" => "days": {\n      "type": "whole" => `whole` is not a type
        "#,
    );
}

// covers: ENV-4.1-04
#[test]
fn the_table_of_output_says_what_the_schema_says_and_examples_fit_it() {
    assert_all_found(
        r#"
        | `days` | array of object | => | `day` | array of object | => output-table: the table lacks `days`
        An example:\n\n```json\n{\n  "city": "Lyon", => An example:\n\n```json\n{ => output-schema: the example does not fit
        An example:\n\n```json\n{ => An example:\n\n```json\n => output-schema: the JSON is invalid
        "#,
    );
    let result = "An example:\n\n```json\n{\"status\": \"success\", \"data\": {\"city\": 1, \"days\": []}}\n```\n\n```json\n{";
    assert_found("An example:\n\n```json\n{", result, "city has another type");
}

// covers: ENV-4.1-05
#[test]
fn error_types_are_known_or_declared() {
    assert_all_found(
        r#"
        | `ValidationError` | => | `ValidatonError` | => `ValidatonError` is not a known error type: did you mean `ValidationError`?
        **Custom error types**: `ForecastDelayed` =>  => `ForecastDelayed` is neither a known
        "error_type": "ResourceNotFound" => "error_type": "NoCity" => `NoCity` is neither a known
        | Error Type | => | Kind | => no error type is listed
        "#,
    );
    let items = "- `TimeoutError`: no answer\n- `Elsewhere`: no\n\n| Kind |";
    assert_found("| Error Type |", items, "`Elsewhere` is neither a known");
}

// covers: ENV-4.1-06
#[test]
fn idempotency_is_stated_and_agrees_with_the_definition() {
    assert_all_found(
        r"
        **Idempotent**: Yes => It depends. => does not say whether the tool is idempotent
        A call changes nothing. A second call returns the same forecast, or a newer one. =>  => repeated call
        ",
    );
    for said in ["Yes.", "The tool is idempotent.", "**Idempotent**: true"] {
        assert_eq!(findings_where("**Idempotent**: Yes", said), [""; 0], "{said}");
    }
    let definition = r#"{"name":"get_forecast","inputSchema":{},"annotations":{"idempotentHint":HINT}}"#;
    for (said, hint, is_agreed) in [
        ("**Idempotent**: Yes", "true", true),
        ("The tool is not idempotent.", "false", true),
        ("**Idempotent**: Yes", "false", false),
        ("The tool is not idempotent.", "true", false),
    ] {
        let definitions = ToolInterface::of_definitions(&definition.replace("HINT", hint)).unwrap();
        let text = EXAMPLE.replacen("**Idempotent**: Yes", said, 1);
        let report = against(&definitions, &text);
        let is_found = report.findings.iter().any(|finding| finding.rule == SpecRule::Idempotency);
        assert_eq!(is_found, !is_agreed, "{said}, {hint}");
    }
}

// covers: ENV-4.1-07
#[test]
fn examples_are_complete_and_fit_the_envelopes_and_the_schemas() {
    let call = "\"tool_name\": \"weather.get_forecast\",";
    assert_found(
        call,
        "\"tool_name\": \"weather.forecast\",",
        "the call is not one of `weather.get_forecast`",
    );
    assert_found(call, "\"tool_name\": \"weather.get_forecast\", \"id\": 1,", "has a member `id`");
    assert_all_found(
        r#"
        "city": "Lyon",\n    "days": 1 => "days": 1 => the example does not fit the schema: "city" is missing
        "explanation": "It stays cold in Lyon." => "explanation": "It stays\ncold." => the JSON is invalid
        "explanation": "It stays cold in Lyon." => "explanation": 1 => `explanation` must be
        "status": "success" => "status": "ok" => `status` must be
        "status": "success" => "status": "failure" => `error` is missing
        "status": "success" => "status": "failure" => no example of the result of a call that succeeds
        "status": "failure" => "status": "partial_success" => no example of the result of a call that fails
        "error_message" => "message" => error_message
        "tool_name" => "tool" => there is no example of a call
        "days": [\n      { "date" => "days": {"a": [\n      { "date" => JSON is invalid
        "#,
    );
}

// covers: ENV-4.1-08
#[test]
fn security_is_considered_and_names_the_permissions() {
    let (before, _) = EXAMPLE.split_once("- Risk").unwrap();
    let found = lint(before).findings;
    assert_eq!(
        (found.len(), found[0].rule, &*found[0].what),
        (1, SpecRule::Security, "the section is empty")
    );
    let definition = r#"{"name":"get_forecast","inputSchema":{},"security":{"permissions_required":["network.outbound","camera"]}}"#;
    let definitions = ToolInterface::of_definitions(definition).unwrap();
    let report = against(&definitions, EXAMPLE);
    let found: Vec<_> = report.findings.iter().filter(|finding| finding.rule == SpecRule::Security).collect();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].what, "the section does not name the permission `camera` of the definition");
}

#[test]
fn a_document_agrees_with_the_definition() {
    let list = r#"{"tools":[{"name":"get_forecast","inputSchema":{"type":"object","properties":{"city":{"type":"string"},
        "days":{"type":"number"}},"required":["city"]}}]}"#;
    let definitions = ToolInterface::of_definitions(list).unwrap();
    let report = against(&definitions, EXAMPLE);
    let found: Vec<_> = report.findings.iter().map(|finding| finding.what.as_str()).collect();
    assert!(found.contains(
        &"the document differs from the definition: parameter `days` changed its type from number to integer"
    ));
    assert!(
        found.contains(
            &"the document differs from the definition: parameter `units` was added and is optional"
        )
    );
    let report = against(&definitions, &EXAMPLE.replace("get_forecast", "get_forecats"));
    assert_eq!(report.findings[0].what, "no tool `weather.get_forecats` is defined");
}

// covers: ENV-4.2-03, ENV-4.2-04
#[test]
fn each_missing_element_of_a_schema_has_its_pointer() {
    let schema = r#"{"type":"object","properties":{"a":{"description":"A."},"b":{"type":"array","description":"B.","examples":[[]]},
        "c":{"type":"object","description":"C."},"d/e":{"type":"string","examples":["x"]},
        "f":{"type":"integer","description":"F."}},"required":["z"]}"#;
    let (before, rest) = EXAMPLE.split_once("```json\n").unwrap();
    let (_, after) = rest.split_once("\n```").unwrap();
    let report = lint(&format!("{before}```json\n{schema}\n```{after}"));
    let found: Vec<_> = report
        .findings
        .iter()
        .filter(|finding| finding.rule == SpecRule::InputSchema)
        .map(|finding| (finding.severity, finding.pointer.as_deref().unwrap(), finding.what.as_str()))
        .collect();
    for expected in [
        (Severity::Error, "", "`description` is missing"),
        (Severity::Error, "", "`required` names `z`, which is not a property"),
        (Severity::Error, "/properties/a", "`type` is missing"),
        (Severity::Warning, "/properties/a", "`examples` is missing"),
        (Severity::Error, "/properties/b", "`items` is missing"),
        (Severity::Error, "/properties/c", "`properties` is missing, and so is `additionalProperties`"),
        (Severity::Error, "/properties/d~1e", "`description` is missing"),
        (Severity::Warning, "/properties/f", "`examples` is missing"),
    ] {
        assert!(found.contains(&expected), "{expected:?} is not in {found:#?}");
    }
    let warnings = found.iter().filter(|(severity, ..)| *severity == Severity::Warning).count();
    assert_eq!((found.len(), warnings), (9, 3), "{found:#?}");
    assert_found("  \"required\": [\"city\"],\n", "", "`required` is missing");
}

// covers: ENV-4.2-05
#[test]
fn all_types_of_json_schema_are_accepted() {
    use crate::tool_spec::schema_rules::{self, TYPES};
    let faults = |schema: &serde_json::Value| {
        let mut found: Vec<String> = Vec::new();
        schema_rules::faults(schema, &mut |_, _: &str, what: &str| found.push(what.to_owned()));
        found
    };
    for name in TYPES {
        let schema = serde_json::json!({
            "type": name, "description": "A value.", "properties": {}, "required": [], "items": {"type": "null"}
        });
        assert_eq!(faults(&schema), [""; 0], "{name}");
    }
    let union = serde_json::json!({ "type": ["string", "null"], "description": "A value." });
    assert_eq!(faults(&union), [""; 0]);
    assert_eq!(faults(&serde_json::json!({ "type": "text", "description": "A value." })).len(), 1);
}

// covers: ENV-4.2-01
#[test]
fn a_schema_of_the_parameters_is_there() {
    let (before, rest) = EXAMPLE.split_once("```json\n").unwrap();
    let (_, after) = rest.split_once("\n```").unwrap();
    let found = lint(&format!("{before}{after}")).findings;
    assert_eq!(
        (found[0].rule, found[0].what.as_str()),
        (SpecRule::InputSchema, "the section has no JSON Schema between ```json and ```")
    );
}

// covers: ENV-5.3-03
#[test]
fn a_new_major_version_has_a_migration_guide() {
    let since = ToolInterface::of_document(&document(EXAMPLE));
    let lint = |text: &str| super::super::lint(&[document(text)], &since, &[], &compile).findings;
    assert_eq!(lint(EXAMPLE), []);
    let major = EXAMPLE.replace("**Version**: 1.2.0", "**Version**: 2.0.0");
    let found = lint(&major);
    assert_eq!((found.len(), found[0].rule, found[0].line), (1, SpecRule::Migration, 7));
    assert_eq!(lint(&format!("{major}\n### Migration Guide\n")).len(), 1, "an empty guide is none");
    assert_eq!(lint(&format!("{major}\n### Migration from 1.x\n\nSend `city` in English.\n")), []);
}

#[test]
fn a_version_announces_what_changed_since_the_older_document() {
    let since = ToolInterface::of_document(&document(EXAMPLE));
    let narrower = EXAMPLE.replace("\"maximum\": 10", "\"maximum\": 5");
    let found = super::super::lint(&[document(&narrower)], &since, &[], &compile).findings;
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].what,
        "1.2.0 does not announce a breaking change, as 2.0.0 does: `maximum` of parameter `days` changed"
    );
    assert_eq!(found[0].rule, SpecRule::VersionBump);
}

#[test]
fn findings_look_like_those_of_compilers() {
    let found =
        lint(&EXAMPLE.replacen("\"minimum\": 1", "\"minimum\": 1,\n      \"minimum\": 2", 1)).findings;
    let expected = "error[input-schema]: the JSON is invalid: duplicate object member\n  --> weather.md:41 (weather.get_forecast)\n   \
                    = help: write JSON";
    assert!(found[0].to_string().starts_with(expected), "{}", found[0]);
    assert_eq!(
        lint("# Tools\n").findings[0].to_string().lines().next(),
        Some("error[declaration]: the document has no tool")
    );
}
