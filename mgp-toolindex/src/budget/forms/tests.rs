//! Tests of shortened forms.

use serde_json::{Value, json};

use super::*;

fn forms(schema: &Value) -> Vec<Value> {
    let raw = RawJson::from_value(schema).unwrap();
    Forms::of("", &raw).map(|form| form.schema.to().unwrap()).collect()
}

fn shortest(schema: &Value) -> Value {
    forms(schema).pop().unwrap()
}

/// Returns the first form for which `is` holds.
fn first(schema: &Value, is: impl Fn(&Value) -> bool) -> Value {
    forms(schema).into_iter().find(is).unwrap()
}

#[test]
fn the_first_form_is_the_whole() {
    let schema = json!({ "type": "object", "title": "T", "properties": { "a": { "default": 1 } } });
    let raw = RawJson::from_value(&schema).unwrap();
    let form = Forms::of("What it does.", &raw).next().unwrap();
    assert_eq!((form.schema.to::<Value>().unwrap(), form.shortened), (schema, false));
    assert_eq!(form.description, "What it does.");
}

#[test]
fn comments_go_first_but_not_parameters_that_are_called_like_them() {
    let schema = json!({
        "title": "Arguments", "type": "object", "x-order": 1, "required": ["title"],
        "properties": {
            "title": { "type": "string", "title": "Title", "examples": ["a"], "description": "Its title" },
            "default": { "type": "string", "default": "d" },
        },
    });
    let second = forms(&schema).remove(1);
    assert_eq!(
        second,
        json!({
            "type": "object", "required": ["title"],
            "properties": {
                "title": { "type": "string", "description": "Its title" },
                "default": { "type": "string" },
            },
        })
    );
}

#[test]
fn which_header_repeats_a_parameter_stays_as_long_as_the_parameter() {
    let long = "Says at great length what is to be said about it. ".repeat(10);
    let parameter = json!({ "type": "string", "description": long, "x-mcp-header": "Region", "x-order": 1 });
    let schema = json!({
        "type": "object", "required": ["needed"],
        "properties": { "needed": parameter, "optional": parameter },
    });
    let all = forms(&schema);
    assert!(all.len() > 3);
    for form in &all {
        assert_eq!(form["properties"]["needed"]["x-mcp-header"], "Region");
        let optional = form["properties"].get("optional");
        assert!(optional.is_none_or(|optional| optional["x-mcp-header"] == "Region"), "{form}");
    }
    assert!(all[1]["properties"]["needed"].get("x-order").is_none());
}

#[test]
fn words_then_structure_then_optional_parameters_go() {
    let long = "Says at great length what is to be said about it. ".repeat(10);
    let filter =
        json!({ "type": "object", "description": long, "properties": { "a": { "type": "string" } } });
    let schema = json!({
        "type": "object", "required": ["path"],
        "properties": { "path": { "type": "string", "description": long }, "filter": filter },
    });
    let all = forms(&schema);
    let stages: Vec<(usize, bool, bool)> = all
        .iter()
        .map(|form| {
            let filter = form["properties"].get("filter");
            let words = filter.map_or(0, |filter| filter["description"].as_str().unwrap().len());
            (words, filter.is_some(), filter.is_some_and(|filter| filter.get("properties").is_some()))
        })
        .collect();
    assert!(
        stages
            .is_sorted_by(|before, after| before.0 >= after.0 && before.1 >= after.1 && before.2 >= after.2)
    );
    assert!(stages.iter().any(|(words, there, inner)| *words < 200 && *there && *inner));
    assert!(stages.iter().any(|(_, there, inner)| *there && !*inner));
    let last = all.last().unwrap();
    assert_eq!(last["required"], json!(["path"]));
    assert_eq!(last["properties"]["path"]["type"], "string");
    assert!(last["properties"].get("filter").is_none());
    assert!(last["properties"]["path"]["description"].as_str().unwrap().ends_with('…'));
}

#[test]
fn a_long_list_of_values_becomes_a_note_that_forbids_nothing() {
    let codes: Vec<String> = (0..300).map(|n| format!("code-{n}")).collect();
    let schema = json!({
        "type": "object", "required": ["code", "mode"],
        "properties": {
            "code": { "enum": codes, "description": "Which one" },
            "mode": { "type": "string", "enum": ["fast", "slow"] },
        },
    });
    let last = shortest(&schema);
    let code = &last["properties"]["code"];
    assert_eq!(code["type"], "string");
    assert!(code.get("enum").is_none());
    let description = code["description"].as_str().unwrap();
    assert!(description.starts_with("Which one (one of 300 values, like code-0, code-1"), "{description}");
    assert_eq!(last["properties"]["mode"]["enum"], json!(["fast", "slow"]));
}

#[test]
fn only_definitions_that_are_referred_to_stay() {
    let text = "Much is said here about what is in there. ".repeat(6);
    let schema = json!({
        "type": "object", "required": ["to"],
        "properties": { "to": { "$ref": "#/$defs/Address" }, "copy": { "$ref": "#/$defs/List" } },
        "$defs": {
            "Address": { "type": "object", "required": ["street"], "properties": { "street": { "$ref": "#/$defs/Line" } } },
            "Line": { "type": "string", "maxLength": 80 },
            "List": { "type": "array", "description": text, "items": { "$ref": "#/$defs/Address" } },
            "Unused": { "type": "null", "title": "Nothing" },
        },
    });
    let names = |form: &Value| form["$defs"].as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&forms(&schema)[1]), ["Address", "Line", "List"]);
    let outlined = first(&schema, |form| form["properties"]["copy"].get("type").is_some());
    assert_eq!(outlined["properties"]["copy"]["type"], "array");
    assert_eq!(names(&outlined), ["Address", "Line"]);
    assert_eq!(names(&shortest(&schema)), ["Address", "Line"]);
}

#[test]
fn what_some_alternative_requires_is_not_optional() {
    let schema = json!({
        "type": "object",
        "properties": {
            "id": { "type": "string" }, "name": { "type": "string" }, "verbose": { "type": "boolean" },
            "page": { "type": "integer" }, "size": { "type": "integer" },
        },
        "anyOf": [{ "required": ["id"] }, { "required": ["name"] }],
        "dependentRequired": { "page": ["size"] },
    });
    let last = shortest(&schema);
    let kept: Vec<&String> = last["properties"].as_object().unwrap().keys().collect();
    assert_eq!(kept, ["id", "name", "page", "size"]);
}

#[test]
fn alternatives_that_exclude_one_another_keep_what_tells_them_apart() {
    let schema = json!({
        "type": "object", "required": ["shape"],
        "properties": { "shape": { "oneOf": [{ "$ref": "#/$defs/A" }, { "$ref": "#/$defs/B" }] } },
        "$defs": {
            "A": { "type": "object", "title": "A", "properties": { "x": { "type": "string" } } },
            "B": { "type": "object", "title": "B", "properties": { "x": { "type": "integer" } } },
        },
    });
    let last = shortest(&schema);
    assert_eq!(last["$defs"]["A"], json!({ "type": "object", "properties": { "x": { "type": "string" } } }));
    assert_eq!(last["$defs"]["B"]["properties"]["x"]["type"], "integer");
}

#[test]
fn places_that_are_referred_to_stay() {
    let schema = json!({
        "type": "object", "title": "T", "required": ["a"],
        "properties": { "a": { "$ref": "#/properties/b" }, "b": { "type": "string" } },
    });
    assert_eq!(shortest(&schema)["properties"]["b"]["type"], "string");
}

#[test]
fn nonsense_and_depth_are_survived() {
    for schema in
        [json!(true), json!([1]), json!({ "properties": [1], "required": 3, "anyOf": {}, "enum": 7 })]
    {
        assert!(!forms(&schema).is_empty());
    }
    let mut deep = json!({ "type": "string", "title": "deepest" });
    for _ in 0..100 {
        deep = json!({ "title": "t", "items": deep });
    }
    assert!(forms(&deep).len() > 1);
}

#[test]
fn of_a_very_long_schema_only_what_is_required_stays() {
    let text = "Says at length what nobody needs to know. ".repeat(80);
    let properties: serde_json::Map<String, Value> =
        (0..60).map(|n| (format!("p{n}"), json!({ "type": "string", "description": text }))).collect();
    let schema = json!({ "type": "object", "properties": properties, "required": ["p1"] });
    assert!(schema.to_string().len() > LONG_SCHEMA);
    let all = forms(&schema);
    assert_eq!(all[1]["properties"].as_object().unwrap().keys().collect::<Vec<_>>(), ["p1"]);
    assert!(all.last().unwrap().to_string().len() < 200);
}

#[test]
fn a_schema_that_nobody_could_read_has_only_its_whole() {
    let schema = json!({ "type": "object", "title": "x".repeat(LONGEST_SCHEMA) });
    assert_eq!(forms(&schema).len(), 1);
}

#[test]
fn definitions_that_refer_to_one_another_stay_together() {
    let ring: serde_json::Map<String, Value> = (0..300)
        .map(|n| {
            let next = format!("#/definitions/d{}", (n + 1) % 300);
            (format!("d{n}"), json!({ "title": "t", "items": { "$ref": next } }))
        })
        .collect();
    let schema = json!({ "items": { "$ref": "#/definitions/d7" }, "definitions": ring });
    let last = shortest(&schema);
    assert_eq!(last["definitions"].as_object().unwrap().len(), 300);
    assert_eq!(last["definitions"]["d299"], json!({ "items": { "$ref": "#/definitions/d0" } }));
}
