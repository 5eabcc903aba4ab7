use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::Schema;

/// What the schemas of all revisions and the parsers of the SDKs accept together, as JSON Schema.
const STRICT: &str = include_str!("strict.json");

fn good(kind: DefinitionKind) -> Value {
    let annotations =
        json!({"audience": ["user"], "priority": 0.5, "lastModified": "2025-01-12T15:00:58.5+01:00"});
    let icons = json!([{"src": "a.png", "mimeType": "image/png", "sizes": ["any"], "theme": "dark"}]);
    match kind {
        DefinitionKind::Tool => json!({
            "name": "a", "title": "A", "description": "Does.", "icons": icons, "_meta": {"x": null},
            "inputSchema": {"$schema": "x", "type": "object", "properties": {"p": {"type": "string"}}, "required": ["p"]},
            "outputSchema": {"type": "object", "properties": {"p": {}}, "required": ["p"]},
            "annotations": {"title": "A", "readOnlyHint": true, "destructiveHint": false},
            "execution": {"taskSupport": "optional"}, "other": [1.50],
        }),
        DefinitionKind::Prompt => json!({
            "name": "a", "title": "A", "description": "Does.", "icons": icons, "_meta": {},
            "arguments": [{"name": "x", "title": "X", "description": "It.", "required": true}],
        }),
        DefinitionKind::Resource => json!({
            "uri": "file:///a", "name": "a", "title": "A", "description": "It.", "mimeType": "text/plain", "size": 5,
            "icons": icons, "_meta": {}, "annotations": annotations,
        }),
        _ => json!({
            "uriTemplate": "file:///{a}", "name": "a", "title": "A", "description": "It.", "mimeType": "text/plain",
            "icons": icons, "_meta": {}, "annotations": annotations,
        }),
    }
}

const KINDS: [DefinitionKind; 4] =
    [DefinitionKind::Tool, DefinitionKind::Prompt, DefinitionKind::Resource, DefinitionKind::Template];

fn strict(kind: DefinitionKind) -> Schema {
    let mut all: Value = serde_json::from_str(STRICT).unwrap();
    let mut schema = all[kind.as_str()].take();
    schema["$defs"] = all["$defs"].take();
    Schema::compile(&RawJson::from_value(&schema).unwrap()).unwrap()
}

fn accepts(strict: &Schema, definition: &Object) -> bool {
    strict.check(definition.to_raw().as_bytes()).is_ok()
}

/// Returns the JSON pointers of everything in a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(members) => {
            members.iter().for_each(|(name, it)| places(it, &format!("{at}/{name}"), found));
        }
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, it)| places(it, &format!("{at}/{place}"), found));
        }
        _ => {}
    }
}

fn any_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!(false)),
        Just(json!("object")),
        Just(json!("x")),
        Just(json!("")),
        Just(json!(0.5)),
        Just(json!(1)),
        Just(json!(-7)),
        Just(json!([])),
        Just(json!([null])),
        Just(json!(["object", "null"])),
        Just(json!({})),
        Just(json!({"a": true})),
        Just(json!({"type": "array"})),
    ]
}

proptest! {
    /// Whatever is wrong with a definition, what is listed is accepted by strict clients, and what they accept is listed
    /// as it is.
    #[test]
    fn what_is_listed_is_accepted_by_strict_clients(
        kind in prop::sample::select(&KINDS[..]),
        changes in prop::collection::vec((any::<prop::sample::Index>(), prop::option::of(any_value())), 0..4),
    ) {
        let mut value = good(kind);
        for (place, change) in changes {
            let mut found = Vec::new();
            places(&value, "", &mut found);
            let at = place.get(&found).clone();
            let Some((parent, name)) = at.rsplit_once('/') else { continue };
            match (value.pointer_mut(parent).unwrap(), change) {
                (Value::Object(members), Some(change)) => drop(members.insert(name.to_owned(), change)),
                (Value::Object(members), None) => drop(members.remove(name)),
                (Value::Array(items), Some(change)) => items[name.parse::<usize>().unwrap()] = change,
                (Value::Array(items), None) => drop(items.remove(name.parse::<usize>().unwrap())),
                _ => {}
            }
        }
        let listed = Object::from_value(&value).unwrap();
        let strict = strict(kind);
        let is_accepted = accepts(&strict, &listed);
        match well_formed(kind, &listed) {
            Ok(shown) if is_accepted => prop_assert_eq!(shown.to_raw(), listed.to_raw()),
            Ok(shown) => prop_assert!(accepts(&strict, &shown), "{}", shown.to_raw()),
            Err(fault) => prop_assert!(!is_accepted, "{fault}: {value}"),
        }
    }
}

/// Returns the definition as it is listed, or the fault.
fn shown(kind: DefinitionKind, listed: &str) -> String {
    let shown = well_formed(kind, &Object::parse(listed.to_owned()).unwrap());
    shown.map_or_else(|fault| fault.to_string(), |shown| shown.to_raw().to_string())
}

#[test]
fn what_has_one_meaning_is_corrected_and_nothing_else_is_touched() {
    for (kind, listed, expected) in [
        (DefinitionKind::Tool, r#"{"name":"a"}"#, r#"{"name":"a","inputSchema":{"type":"object"}}"#),
        (
            DefinitionKind::Tool,
            r#"{"name":"a", "inputSchema":{"$schema":"x"},"x":1.50}"#,
            r#"{"name":"a","inputSchema":{"$schema":"x","type":"object"},"x":1.50}"#,
        ),
        (
            DefinitionKind::Tool,
            r#"{"name":"a","inputSchema":{"type":["object","null"],"properties":{"b":true,"c":false,"d":{ }},"required":null},"outputSchema":null,"annotations":{"title":null}}"#,
            r#"{"name":"a","inputSchema":{"type":"object","properties":{"b":{},"c":{"not":{}},"d":{ }}},"annotations":{}}"#,
        ),
        (DefinitionKind::Resource, r#"{"uri":"a:b","description":null}"#, r#"{"uri":"a:b","name":"a:b"}"#),
        (
            DefinitionKind::Prompt,
            r#"{"name":"a","arguments":[{"name":"b","required":null},{"name":"c"}]}"#,
            r#"{"name":"a","arguments":[{"name":"b"},{"name":"c"}]}"#,
        ),
    ] {
        assert_eq!(shown(kind, listed), expected);
    }
}

#[test]
fn a_fault_names_the_member_and_what_is_wrong_with_it() {
    for (kind, listed, expected) in [
        (DefinitionKind::Tool, "{}", "`name` is missing"),
        (DefinitionKind::Tool, r#"{"name":""}"#, "`name` must be a string that is not empty"),
        (DefinitionKind::Tool, r#"{"name":"a","inputSchema":[]}"#, "`inputSchema` must be an object"),
        (
            DefinitionKind::Tool,
            r#"{"name":"a","inputSchema":{"type":"string"}}"#,
            "`inputSchema.type` must be \"object\"",
        ),
        (
            DefinitionKind::Tool,
            r#"{"name":"a","outputSchema":{"properties":{"x":"string"}}}"#,
            "`outputSchema.properties.x` must be an object",
        ),
        (
            DefinitionKind::Tool,
            r#"{"name":"a","execution":{"taskSupport":"maybe"}}"#,
            "`execution.taskSupport` must be one of forbidden, optional, required",
        ),
        (
            DefinitionKind::Prompt,
            r#"{"name":"a","arguments":[{"name":"b"},{}]}"#,
            "`arguments[1].name` is missing",
        ),
        (DefinitionKind::Prompt, r#"{"name":"a","icons":[{"src":1}]}"#, "`icons[0].src` must be a string"),
        (DefinitionKind::Resource, r#"{"uri":"note 1"}"#, "`uri` must be a valid absolute URI"),
        (
            DefinitionKind::Template,
            r#"{"uriTemplate":"a:{b}","annotations":{"lastModified":"2025-01-12"}}"#,
            "`annotations.lastModified` must be a time like 2025-01-12T15:00:58Z",
        ),
    ] {
        assert_eq!(shown(kind, listed), expected);
    }
}

/// The URIs are those that version 1 of the Python SDK rejects, and some that it accepts although they look odd.
#[test]
fn a_uri_is_read_as_the_python_sdk_does() {
    for uri in [
        "", "note", "/a/b", "1a:b", "http://", "https://exa mple/x", "http://[::1", "a_b://x", "foo://a|b",
        "foo://host:port/x", "http://a:99999/",
    ] {
        let listed = json!({"uri": uri}).to_string();
        assert_eq!(shown(DefinitionKind::Resource, &listed), "`uri` must be a valid absolute URI", "{uri}");
    }
    for uri in ["a:b", "urn:x", "foo://", "file:///a b", "ui://widget/x.html", "C:\\a", "foo://{a}"] {
        let listed = json!({"uri": uri, "name": "a"}).to_string();
        assert_eq!(shown(DefinitionKind::Resource, &listed), listed, "{uri}");
    }
}

/// The times are those that the TypeScript SDK accepts and rejects.
#[test]
fn a_time_is_read_as_the_typescript_sdk_does() {
    for (time, is_good) in [
        ("2025-01-12T15:00:58Z", true),
        ("2025-01-12T15:00:58.123456+01:00", true),
        ("2025-01-12", false),
        ("2025-01-12T15:00:58", false),
        ("2025-01-12T15:00Z", false),
        ("2025-01-12t15:00:58z", false),
        ("2025-01-12T15:00:58+0100", false),
        ("2025-02-29T15:00:58Z", false),
        ("2025-02-28T24:00:00Z", false),
        ("2025-02-28T23:59:60Z", false),
    ] {
        assert_eq!(is_time(time), is_good, "{time}");
    }
}
