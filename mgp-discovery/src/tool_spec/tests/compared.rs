//! What changes between interfaces mean.

use mgp_types::mgp::ChangeClass::{self, Breaking, Compatible, Documentation};

use super::*;
use crate::tool_spec::ToolDiff;

/// Returns the one change of the parameters.
fn of_input(old: &str, new: &str) -> (ChangeClass, String) {
    only(&tool(old, ""), &tool(new, ""))
}

fn of_output(old: &str, new: &str) -> (ChangeClass, String) {
    only(&tool("{}", old), &tool("{}", new))
}

fn only(old: &ToolInterface, new: &ToolInterface) -> (ChangeClass, String) {
    let mut changes = new.changes_since(old);
    assert_eq!(changes.len(), 1, "{changes:#?}");
    let change = changes.remove(0);
    (change.class, change.what)
}

/// An object with these properties, of which those in `required` are required.
fn object(properties: &str, required: &str) -> String {
    format!(r#"{{"type":"object","properties":{{{properties}}},"required":[{required}]}}"#)
}

// covers: ENV-5.2-02
#[test]
fn what_may_break_callers_is_breaking() {
    let (none, one) = (object("", ""), object(r#""a":{"type":"string"}"#, ""));
    let required = object(r#""a":{"type":"string"}"#, r#""a""#);
    for (change, what) in [
        (of_input(&none, &required), "parameter `a` was added and is required"),
        (of_input(&one, &none), "parameter `a` was removed"),
        (of_input(&one, &required), "parameter `a` is required now"),
        (
            of_input(&one, &object(r#""a":{"type":"integer"}"#, "")),
            "parameter `a` changed its type from string to integer",
        ),
        (of_output(&one, &none), "output field `a` was removed"),
        (
            of_output(&one, &object(r#""a":{"type":"integer"}"#, "")),
            "output field `a` changed its type from string to integer",
        ),
        (of_output(&required, &one), "output field `a` is no longer required"),
    ] {
        assert_eq!(change, (Breaking, what.to_owned()));
    }
}

#[test]
fn a_parameter_that_accepts_less_is_breaking_and_one_that_accepts_more_is_not() {
    for (old, new) in [
        (r#"{"type":["string","null"]}"#, r#"{"type":"string"}"#),
        (r#"{"type":"string"}"#, r#"{"type":"string","enum":["a"]}"#),
        (r#"{"enum":["a","b"]}"#, r#"{"enum":["a"]}"#),
        (r#"{"minimum":1}"#, r#"{"minimum":2}"#),
        (r#"{"maxLength":9}"#, r#"{"maxLength":8}"#),
        ("{}", r#"{"pattern":"^a"}"#),
        ("{}", r#"{"additionalProperties":false}"#),
        (r#"{"items":{"type":["string","integer"]}}"#, r#"{"items":{"type":"string"}}"#),
        (r#"{"anyOf":[{"type":"string"},{"maximum":9}]}"#, r#"{"anyOf":[{"type":"string"},{"maximum":8}]}"#),
    ] {
        let (old, new) = (object(&format!(r#""a":{old}"#), ""), object(&format!(r#""a":{new}"#), ""));
        assert_eq!(of_input(&old, &new).0, Breaking, "{new}");
        assert_eq!(of_input(&new, &old).0, Compatible, "{old}");
        if !new.contains("additionalProperties") {
            assert_eq!(of_output(&new, &old).0, Breaking, "{old}");
        }
        assert_eq!(of_output(&old, &new).0, Compatible, "{new}");
    }
    // A change that accepts some values anew and others no longer.
    for (old, new) in [
        (r#"{"enum":["a","b"]}"#, r#"{"enum":["a","c"]}"#),
        (r#"{"pattern":"^a"}"#, r#"{"pattern":"^b"}"#),
        (r#"{"type":"integer"}"#, r#"{"type":"number"}"#),
        (r#"{"not":{"type":"string"}}"#, r#"{"not":{"type":"null"}}"#),
    ] {
        let (old, new) = (object(&format!(r#""a":{old}"#), ""), object(&format!(r#""a":{new}"#), ""));
        assert_eq!((of_input(&old, &new).0, of_output(&old, &new).0), (Breaking, Breaking), "{new}");
    }
}

// covers: ENV-5.2-03
#[test]
fn what_breaks_nobody_is_compatible_or_documentation() {
    let (none, one) = (object("", ""), object(r#""a":{"type":"string"}"#, ""));
    assert_eq!(of_input(&none, &one), (Compatible, "parameter `a` was added and is optional".to_owned()));
    assert_eq!(of_output(&none, &one), (Compatible, "output field `a` was added".to_owned()));
    let documented = object(r#""a":{"type":"string","description":"A.","examples":["x"]}"#, "");
    let changes = tool(&documented, "").changes_since(&tool(&one, ""));
    assert_eq!(
        changes.iter().map(|change| change.class).collect::<Vec<_>>(),
        [Documentation; 2],
        "{changes:?}"
    );
    // A correction changes neither schema.
    assert_eq!(tool(&one, "").changes_since(&tool(&one, "")), []);
    let old = ToolInterface::of_document(&document(EXAMPLE));
    let text =
        EXAMPLE.replace("**Version**: 1.2.0", "**Version**: 1.2.1").replace("newer one", "more recent one");
    let diff = ToolDiff::between(&old, &ToolInterface::of_document(&document(&text))).remove(0);
    assert_eq!((diff.changes.len(), diff.changes[0].class, diff.is_announced), (1, Documentation, true));
}

#[test]
fn a_version_has_to_grow_as_far_as_the_changes_go() {
    let of = |version: &str, schema: &str| {
        let definition =
            format!(r#"{{"name":"a","inputSchema":{schema},"_meta":{{"version":"{version}"}}}}"#);
        ToolInterface::of_definitions(&definition).unwrap()
    };
    let (none, one) = (object("", ""), object(r#""a":{"type":"string"}"#, ""));
    for (old, new, version, least, is_announced) in [
        (&none, &one, "1.2.4", "1.3.0", false),
        (&none, &one, "1.3.0", "1.3.0", true),
        (&one, &none, "1.9.9", "2.0.0", false),
        (&one, &none, "2.0.0", "2.0.0", true),
        (&one, &one, "1.2.3", "1.2.3", true),
        (&one, &one, "1.2.2", "1.2.3", false),
    ] {
        let diff = ToolDiff::between(&of("1.2.3", old), &of(version, new)).remove(0);
        assert_eq!((diff.least_version, diff.is_announced), (least.parse().ok(), is_announced), "{version}");
    }
    let undeclared = ToolDiff::between(&of("-", &one), &of("-", &none)).remove(0);
    assert_eq!((undeclared.least_version, undeclared.is_announced), (None, true));
    let lost = ToolDiff::between(&of("1.0.0", &one), &of("-", &none)).remove(0);
    assert!(!lost.is_announced);
}

#[test]
fn tools_are_compared_by_their_names_with_or_without_a_module() {
    let list = |names: &[&str]| {
        let tools: Vec<_> =
            names.iter().map(|name| format!(r#"{{"name":"{name}","inputSchema":{{}}}}"#)).collect();
        ToolInterface::of_definitions(&format!(r#"{{"tools":[{}]}}"#, tools.join(","))).unwrap()
    };
    let diffs = ToolDiff::between(
        &list(&["GetForecast", "gone", "a.x"]),
        &list(&["weather.get_forecast", "come", "b.x"]),
    );
    let changes: Vec<_> = diffs
        .iter()
        .map(|diff| (diff.tool.as_str(), diff.changes.first().map(|c| c.what.as_str())))
        .collect();
    assert_eq!(
        changes,
        [
            ("gone", Some("the tool was removed")),
            ("a.x", Some("the tool was removed")),
            ("weather.get_forecast", None),
            ("come", Some("the tool was added")),
            ("b.x", Some("the tool was added")),
        ]
    );
    let renamed = ToolDiff::between(&list(&["a.x"]), &list(&["a.y"])).remove(0);
    assert_eq!((renamed.changes[0].class, &*renamed.changes[0].at), (Breaking, "/name"));
}

#[test]
fn references_are_followed_and_circles_end() {
    let node = |kind: &str| {
        format!(
            r##"{{"type":"object","properties":{{"root":{{"$ref":"#/$defs/node"}}}},"$defs":{{"node":{{"type":"object",
            "properties":{{"name":{{"type":"{kind}"}},"next":{{"$ref":"#/$defs/node"}}}}}}}}}}"##
        )
    };
    let (class, what) = of_input(&node("string"), &node("integer"));
    assert_eq!((class, &*what), (Breaking, "parameter `root.name` changed its type from string to integer"));
    let inline = object(r#""a":{"type":"string"}"#, "");
    let referring =
        r##"{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"type":"string"}}}"##;
    assert_eq!(tool(referring, "").changes_since(&tool(&inline, "")), []);
}

#[test]
fn what_the_definition_says_beside_its_schemas_is_compared_too() {
    let of = |rest: &str| {
        ToolInterface::of_definitions(&format!(r#"{{"name":"a","inputSchema":{{}}{rest}}}"#))
            .unwrap()
            .remove(0)
    };
    for (rest, class, at) in [
        (r#","description":"Adds.""#, Documentation, "/description"),
        (r#","title":"Add""#, Documentation, "/title"),
        (r#","annotations":{"destructiveHint":true}"#, Compatible, "/annotations"),
        (r#","security":{"risk_level":"dangerous"}"#, Compatible, "/security"),
        (r#","outputSchema":{"type":"object","minProperties":1}"#, Compatible, "/outputSchema"),
    ] {
        let changes = of(rest).changes_since(&of(""));
        assert_eq!((changes.len(), changes[0].class, &*changes[0].at), (1, class, at), "{rest}");
    }
    // A schema that takes any object is as good as none.
    assert_eq!(of(r#","outputSchema":{"type":"object"}"#).changes_since(&of("")), []);
    let (yes, no) =
        (of(r#","annotations":{"idempotentHint":true}"#), of(r#","annotations":{"idempotentHint":false}"#));
    assert_eq!(only(&yes, &no), (Compatible, "the tool is no longer idempotent".to_owned()));
}
