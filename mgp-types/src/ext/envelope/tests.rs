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

// covers: ENV-2-01, ENV-3.1-05, ENV-3.1-07, ENV-6.1-01, ENV-6.1-02, ENV-6.2-01
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

// covers: ENV-3.1-01, ENV-3.1-03
#[test]
fn a_call_without_a_name_or_an_object_of_arguments_is_refused_by_member() {
    for (json, member) in [
        (r#"{"arguments":{}}"#, "tool_name"),
        (r#"{"tool_name":7,"arguments":{}}"#, "tool_name"),
        (r#"{"tool_name":null,"arguments":{}}"#, "tool_name"),
        (r#"{"tool_name":"a.b"}"#, "arguments"),
        (r#"{"tool_name":"a.b","arguments":null}"#, "arguments"),
        (r#"{"tool_name":"a.b","arguments":[]}"#, "arguments"),
        (r#"{"tool_name":"a.b","arguments":"{}"}"#, "arguments"),
    ] {
        assert_eq!(call(json).unwrap_err().member(), Some(member), "{json}");
    }
    assert!(call(r#"{"tool_name":"a.b","arguments":{}}"#).unwrap().arguments.is_empty());
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

// covers: ENV-3.1-05, ENV-6.1-04
#[test]
fn what_is_not_json_in_utf_8_is_a_validation_error() {
    let mut broken = br#"{"tool_name":"a.b","arguments":{"x":"?"}}"#.to_vec();
    broken[36] = 0xff;
    for json in [
        broken,
        br#"{"tool_name":"a.b","arguments":{"n":01}}"#.to_vec(),
        br#"{"tool_name":"a.b","arguments":{"n":0x1}}"#.to_vec(),
        b"[]".to_vec(),
        b"".to_vec(),
    ] {
        let fault = ToolCall::from_json(json, EnvelopeReading::Strict).unwrap_err();
        assert_eq!(fault.to_error_detail().error_type, ErrorType::ValidationError);
        assert_eq!(fault.member(), None);
    }
}

// covers: ENV-3.2-01, ENV-3.2-13
#[test]
fn the_outcome_is_one_of_four_words_and_enough_for_a_result() {
    for status in ResultStatus::ALL {
        let json = match status {
            ResultStatus::Failure => {
                r#"{"status":"failure","error":{"error_type":"X","error_message":"y"}}"#.to_owned()
            }
            _ => format!(r#"{{"status":"{status}"}}"#),
        };
        let read = result(&json).unwrap();
        assert_eq!(read.status(), *status);
        assert_eq!(read.to_raw().as_bytes(), json.as_bytes());
    }
    for json in
        [r#"{"status":"failed"}"#, r#"{"status":"SUCCESS"}"#, r#"{"status":1}"#, r#"{"status":null}"#, "{}"]
    {
        assert_eq!(result(json).unwrap_err().member(), Some("status"), "{json}");
    }
}

// covers: ENV-3.2-02, ENV-9-02
#[test]
fn the_outcome_is_written_even_where_it_is_the_usual_one() {
    assert_eq!(ToolResult::default().status(), ResultStatus::Success);
    assert_eq!(ToolResult::default().to_raw().as_bytes(), br#"{"status":"success"}"#);
}

// covers: ENV-3.2-03, ENV-3.2-05, ENV-3.2-08
#[test]
fn data_are_an_object_and_the_explanation_is_a_text() {
    for json in [r#"{"status":"success","data":[]}"#, r#"{"status":"success","data":3}"#] {
        assert_eq!(result(json).unwrap_err().member(), Some("data"), "{json}");
    }
    assert_eq!(result(r#"{"status":"success","explanation":4}"#).unwrap_err().member(), Some("explanation"));
    let empty = result(r#"{"status":"success","data":null,"explanation":null}"#).unwrap();
    assert_eq!(empty, ToolResult::default());
    let full = result(r#"{"status":"success","data":{"any":[1]},"explanation":"why"}"#).unwrap();
    assert_eq!(full.data().unwrap().get("any").unwrap().as_bytes(), b"[1]");
    assert_eq!(full.explanation(), Some("why"));
}

// covers: ENV-3.2-04, ENV-3.3-01, ENV-3.3-02
#[test]
fn an_error_has_a_kind_and_a_message() {
    for (error, member) in [
        (r#"{"error_message":"m"}"#, "error_type"),
        (r#"{"error_type":1,"error_message":"m"}"#, "error_type"),
        (r#"{"error_type":"T"}"#, "error_message"),
        (r#"{"error_type":"T","error_message":null}"#, "error_message"),
        (r#""boom""#, "error"),
    ] {
        let json = format!(r#"{{"status":"failure","error":{error}}}"#);
        assert_eq!(result(&json).unwrap_err().member(), Some(member), "{error}");
    }
}

// covers: ENV-3.3-03
#[test]
fn details_of_an_error_are_an_object_a_text_or_nothing() {
    let with = |details: &str| {
        result(&format!(
            r#"{{"status":"failure","error":{{"error_type":"T","error_message":"m","error_details":{details}}}}}"#
        ))
    };
    for details in [r#"{"path":"/x"}"#, r#""a text""#] {
        let read = with(details).unwrap();
        assert_eq!(read.error().unwrap().error_details.as_ref().unwrap().as_bytes(), details.as_bytes());
        assert_eq!(result(&read.to_raw().to_string()).unwrap(), read);
    }
    assert_eq!(with("null").unwrap().error().unwrap().error_details, None);
    for details in ["3", "[]", "true"] {
        assert_eq!(with(details).unwrap_err().member(), Some("error_details"), "{details}");
    }
}

// covers: ENV-3.2-06, ENV-3.2-07, ENV-8.3-01
#[test]
fn a_failed_result_has_an_error_and_no_data() {
    for json in [r#"{"status":"failure"}"#, r#"{"status":"failure","error":null}"#] {
        assert_eq!(result(json).unwrap_err().member(), Some("error"), "{json}");
    }
    let error = r#""error":{"error_type":"T","error_message":"m"}"#;
    assert_eq!(
        result(&format!(r#"{{"status":"failure","data":{{"x":1}},{error}}}"#)).unwrap_err().member(),
        Some("data")
    );
    assert!(result(&format!(r#"{{"status":"failure","data":null,{error}}}"#)).is_ok());
    assert_eq!(ToolResult::failure(ErrorDetail::new(ErrorType::TimeoutError, "late")).data(), None);
}

// covers: ENV-3.2-09
#[test]
fn a_result_of_a_part_has_data_and_an_error() {
    let json =
        r#"{"status":"partial_success","data":{"done":2},"error":{"error_type":"T","error_message":"m"}}"#;
    let read = result(json).unwrap();
    assert!(read.data().is_some() && read.error().is_some());
    assert!(result(r#"{"status":"no_change_needed","data":{"x":1}}"#).unwrap().data().is_some());
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

// covers: ENV-2-02, ENV-3.2-11
#[test]
fn unknown_members_of_a_result_are_kept() {
    let json = r#"{"status":"success","cost":{"units":5},"z":null}"#;
    let read = result(json).unwrap();
    assert_eq!(read.unknown().get("cost").unwrap().as_bytes(), br#"{"units":5}"#);
    assert_eq!(read.to_raw().as_bytes(), json.as_bytes());
}

// covers: ENV-3.2-12
#[test]
fn a_line_break_within_a_string_has_to_be_escaped() {
    assert!(result("{\"status\":\"success\",\"data\":{\"code\":\"a\nb\"}}").is_err());
    let read = result(r#"{"status":"success","data":{"code":"a\nb"}}"#).unwrap();
    assert_eq!(read.data().unwrap().text("code").unwrap(), "a\nb");
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
