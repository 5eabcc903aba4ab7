//! The rules of envelopes, each with messages that keep it and messages that break it.

use super::*;
use crate::{Object, RawJson};

const CALL: &str = r#"{"tool_name":"notes.search","arguments":{"text":"日本 \"quoted\"","limit":9007199254740993,"tags":["b","a"]}}"#;

fn call(json: &str) -> Result<ToolCall, EnvelopeFault> {
    ToolCall::from_json(json.to_owned(), EnvelopeReading::Strict)
}

fn result(json: &str) -> Result<ToolResult, EnvelopeFault> {
    ToolResult::from_json(json.to_owned())
}

// covers: ENV-2-01, ENV-3.1-05, ENV-3.1-07, ENV-6.1-01, ENV-6.1-02
#[test]
fn a_call_is_read_and_written_byte_for_byte() {
    let read = call(CALL).unwrap();
    assert_eq!(read.tool_name.as_str(), "notes.search");
    assert_eq!(read.arguments.text("text").unwrap(), "日本 \"quoted\"");
    assert_eq!(read.arguments.get("limit").unwrap().to::<u64>().unwrap(), 9_007_199_254_740_993);
    assert_eq!(read.arguments.get("tags").unwrap().to::<Vec<String>>().unwrap(), ["b", "a"]);
    assert_eq!(read.to_raw().as_bytes(), CALL.as_bytes());
    assert!(!read.to_raw().as_bytes().contains(&b'\n'));
}

/// Checks the rows of `forms.txt` of this kind: what is read, and the same again, what is written of it, or the member that
/// is refused (`-` for the whole).
fn check(kind: &str, again: impl Fn(&str) -> Result<RawJson, EnvelopeFault>) {
    let rows = include_str!("forms.txt").lines().filter_map(|row| row.strip_prefix(kind)?.strip_prefix(' '));
    for row in rows {
        let (json, expected) = row.split_once(" => ").unwrap_or((row, row));
        let found = match again(json) {
            Ok(written) => written.to_string(),
            Err(fault) => format!("refused {}", fault.member().unwrap_or("-")),
        };
        assert_eq!(found, expected, "{json}");
    }
}

// covers: ENV-3.1-01, ENV-3.1-03
#[test]
fn calls_have_a_name_and_an_object_of_arguments() {
    check("call", |json| Ok(call(json)?.to_raw()));
}

// covers: ENV-2-02, ENV-3.2-01, ENV-3.2-03, ENV-3.2-05, ENV-3.2-08, ENV-3.2-11, ENV-3.2-13
#[test]
fn results_have_an_outcome_data_and_an_explanation() {
    check("result", |json| Ok(result(json)?.to_raw()));
    let full =
        result(r#"{"status":"success","data":{"any":[1]},"explanation":"why","cost":{"units":5}}"#).unwrap();
    assert_eq!(full.data().unwrap().get("any").unwrap().as_bytes(), b"[1]");
    assert_eq!((full.explanation(), full.unknown().contains("cost")), (Some("why"), true));
}

// covers: ENV-3.2-04, ENV-3.2-06, ENV-3.2-07, ENV-3.2-09, ENV-3.3-01..03, ENV-8.3-01
#[test]
fn failures_have_an_error_and_no_data() {
    check("failure", |json| Ok(result(json)?.to_raw()));
    assert_eq!(ToolResult::failure(ErrorDetail::new(ErrorType::TimeoutError, "late")).data(), None);
}

// covers: ENV-3.1-02
#[test]
fn a_name_has_small_parts_with_dots_between_them() {
    for name in ["a.b", "a.b.c", "1.2", "_._", "ai_code.generate_2"] {
        assert_eq!(DottedName::read(name).unwrap().as_str(), name);
    }
    for name in ["tool", "A.b", "a.", ".a", "a..b", "a-b.c", "a.b ", " a.b", "a.b\n", "", ".", "ä.b"] {
        assert_eq!(DottedName::read(name), None, "{name:?}");
    }
    assert_eq!(DottedName::read(&format!("a.{}", "b".repeat(300))), None);
}

// covers: ENV-3.1-04
#[test]
fn the_envelope_of_a_call_is_closed_unless_reading_is_lenient() {
    let json = r#"{"tool_name":"a.b","arguments":{},"timeout":5}"#;
    assert!(call(json).unwrap_err().to_string().contains("`timeout`"));
    assert!(ToolCall::from_json(json, EnvelopeReading::Lenient).is_ok());
}

// covers: ENV-3.1-05, ENV-3.2-12, ENV-6.1-04
#[test]
fn what_is_not_json_in_utf_8_is_a_validation_error() {
    let mut broken = br#"{"tool_name":"a.b","arguments":{"x":"?"}}"#.to_vec();
    broken[36] = 0xff;
    for json in [
        broken,
        br#"{"tool_name":"a.b","arguments":{"n":01}}"#.to_vec(),
        br#"{"tool_name":"a.b","arguments":{"n":0x1}}"#.to_vec(),
        b"{\"tool_name\":\"a.b\",\"arguments\":{\"x\":\"a\nb\"}}".to_vec(),
        b"[]".to_vec(),
        b"".to_vec(),
    ] {
        let fault = ToolCall::from_json(json, EnvelopeReading::Strict).unwrap_err();
        assert_eq!(fault.to_error_detail().error_type, ErrorType::ValidationError);
        assert_eq!(fault.member(), None);
    }
}

// covers: ENV-3.2-02, ENV-9-02
#[test]
fn the_outcome_is_written_even_where_it_is_the_usual_one() {
    assert_eq!(ToolResult::default().status(), ResultStatus::Success);
    assert_eq!(ToolResult::default().to_raw().as_bytes(), br#"{"status":"success"}"#);
}

// covers: ENV-3.2-10, ENV-8.2-02
#[test]
fn null_is_read_as_missing_and_written_only_where_all_members_are_wanted() {
    let read = result(r#"{"status":"success","data":{"a":1},"error":null}"#).unwrap();
    assert_eq!(read.to_raw().as_bytes(), br#"{"status":"success","data":{"a":1}}"#);
    assert_eq!(
        read.to_raw_with_nulls().as_bytes(),
        br#"{"status":"success","data":{"a":1},"error":null,"explanation":null}"#
    );
}

// covers: ENV-3.3-05
#[test]
fn a_tool_may_have_kinds_of_errors_of_its_own() {
    assert_eq!(ErrorType::from("QuotaOfTheMoon"), ErrorType::Unknown("QuotaOfTheMoon".into()));
    for kind in ErrorType::KNOWN {
        assert_eq!(&ErrorType::from(kind.as_str()), kind);
        assert!(!matches!(kind, ErrorType::Unknown(_)));
    }
}

// covers: ENV-3.3-07
#[test]
fn a_fault_tells_the_parameter_its_value_and_the_constraint() {
    let detail = call(r#"{"tool_name":"Tool","arguments":{}}"#).unwrap_err().to_error_detail();
    let details = Object::from_raw(detail.error_details.as_ref().unwrap()).unwrap();
    assert_eq!(details.text("parameter").unwrap(), "tool_name");
    assert_eq!(details.get("provided_value").unwrap().as_bytes(), br#""Tool""#);
    assert!(details.text("constraint").unwrap().contains("^[a-z0-9_]+"));
    let long = format!(r#"{{"tool_name":"{}","arguments":{{}}}}"#, "X".repeat(5_000));
    let detail = call(&long).unwrap_err().to_error_detail();
    assert!(RawJson::from_value(&detail).unwrap().as_bytes().len() < 500);
}

// covers: ENV-6.1-02, ENV-6.3-01
#[test]
fn a_result_is_written_compact_pretty_and_as_a_map() {
    let read = result(r#"{"status":"success","data":{"list":[1,{}],"empty":[]}}"#).unwrap();
    assert_eq!(
        read.to_json_pretty(),
        "{\n  \"status\": \"success\",\n  \"data\": {\n    \"list\": [\n      1,\n      {}\n    ],\n    \"empty\": []\n  }\n}"
    );
    assert_eq!(result(&read.to_json_pretty()).unwrap().to_raw(), read.to_raw());
    let map = Object::from_raw(&read.to_raw()).unwrap();
    assert_eq!(ToolResult::from_object(&map).unwrap().status(), ResultStatus::Success);
}

// covers: ENV-6.1-03
#[test]
fn moments_are_read_with_an_offset_and_written_in_utc() {
    use crate::mgp::Timestamp;
    for moment in ["2024-01-15T10:30:00Z", "2024-01-15T12:30:00+02:00"] {
        assert_eq!(moment.parse::<Timestamp>().unwrap().to_string(), "2024-01-15T10:30:00.000Z");
    }
}

#[test]
fn names_of_tools_become_names_of_envelopes_and_find_their_way_back() {
    let tools =
        [("git", "git_status", 1), ("my-files", "Read.File", 2), ("my_files", "read.file", 3), ("x", "", 4)];
    let names = ProjectedNames::dotted(tools);
    let expected = ["git.git_status", "my_files.read_file", "my_files.read_file_2", "x._"];
    assert_eq!(names.names().iter().map(|name| &**name).collect::<Vec<_>>(), expected);
    for (name, key) in expected.iter().zip(1..) {
        assert!(DottedName::read(name).is_some(), "{name}");
        assert_eq!(names.tool(name), Some(&key));
    }
    assert_eq!(names.tool("git.other"), None);
}

// covers: EXT-01-04
#[test]
fn names_in_a_manifest_begin_with_a_letter_and_have_no_capitals_and_no_dots() {
    let tools = [("FinancialAnalyzer", 1), ("git.log", 2), ("2fa-check", 3), ("financialanalyzer", 4)];
    let names = ProjectedNames::snake(tools);
    let expected = ["financialanalyzer", "git__log", "t_2fa_check", "financialanalyzer_2"];
    assert_eq!(names.names().iter().map(|name| &**name).collect::<Vec<_>>(), expected);
    assert_eq!(names.tool("t_2fa_check"), Some(&3));
}
