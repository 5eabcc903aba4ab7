//! Property tests: the promises that hold for every shortened schema.

use mgp_types::RawJson;
use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::Forms;

/// Returns text that is long enough to be cut now and then.
fn words() -> impl Strategy<Value = String> {
    (0_usize..40).prop_map(|count| "so many words. ".repeat(count))
}

fn leaf() -> impl Strategy<Value = Value> {
    prop_oneof![
        words().prop_map(|text| json!({ "type": "string", "description": text, "title": "S" })),
        (0_i64..9).prop_map(|least| json!({ "type": "integer", "minimum": least, "default": least })),
        (1_usize..40).prop_map(|count| {
            let values: Vec<String> = (0..count).map(|n| format!("value-{n}")).collect();
            json!({ "enum": values })
        }),
        Just(json!({ "$ref": "#/$defs/one" })),
        Just(json!({ "$ref": "#/$defs/two", "description": "Another" })),
        Just(json!({ "const": "always" })),
        Just(json!(true)),
    ]
}

fn object(inner: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
    let properties = prop::collection::btree_map("[a-e]|title|description", inner, 0..5);
    (properties, any::<u8>(), any::<bool>()).prop_map(|(properties, required, closed)| {
        let names = properties.keys().enumerate();
        let required: Vec<&String> =
            names.filter(|(n, _)| required >> n & 1 == 1).map(|(_, name)| name).collect();
        let mut schema = json!({ "type": "object", "properties": properties, "required": required });
        if closed {
            schema["additionalProperties"] = json!(false);
        }
        schema
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let any_schema = leaf().prop_recursive(4, 24, 5, |inner| {
        prop_oneof![
            3 => object(inner.clone()),
            1 => inner.clone().prop_map(|items| json!({ "type": "array", "items": items })),
            1 => prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({ "anyOf": all })),
            1 => prop::collection::vec(inner.clone(), 1..3).prop_map(|all| json!({ "oneOf": all })),
            1 => inner.prop_map(|one| json!({ "allOf": [one] })),
        ]
    });
    let root = object(any_schema.clone());
    (root, any_schema.clone(), leaf()).prop_map(|(mut root, one, two)| {
        // The first may refer to the second; the second has no references, or there would be schemas without an end.
        let one = without_references_to_one(one);
        let two = if two.get("$ref").is_some() { json!({ "type": "boolean" }) } else { two };
        root["$defs"] = json!({ "one": one, "two": two });
        root
    })
}

fn without_references_to_one(schema: Value) -> Value {
    match schema {
        Value::Object(members) if members.get("$ref") == Some(&json!("#/$defs/one")) => {
            json!({ "type": "null" })
        }
        Value::Object(members) => Value::Object(
            members.into_iter().map(|(name, value)| (name, without_references_to_one(value))).collect(),
        ),
        Value::Array(all) => Value::Array(all.into_iter().map(without_references_to_one).collect()),
        other => other,
    }
}

/// Returns a value that the schema may well allow; `choices` makes the choices.
fn sample(schema: &Value, root: &Value, choices: &mut u64) -> Value {
    if let Some(pointer) = schema.get("$ref") {
        let target = root.pointer(&pointer.as_str().unwrap()[1..]).unwrap();
        return sample(target, root, choices);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        return values[choose(choices, values.len())].clone();
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        if let Some(all) = schema.get(several).and_then(Value::as_array) {
            let one = choose(choices, all.len());
            return sample(&all[one], root, choices);
        }
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => json!("text"),
        Some("integer") => json!(9 + choose(choices, 3)),
        Some("boolean") => json!(true),
        Some("null") => Value::Null,
        Some("array") => (0..choose(choices, 3)).map(|_| sample(&schema["items"], root, choices)).collect(),
        Some("object") => {
            let required = schema["required"].as_array().unwrap();
            let mut value = Map::new();
            for (name, property) in schema["properties"].as_object().unwrap() {
                if required.contains(&json!(name)) || choose(choices, 2) == 0 {
                    value.insert(name.clone(), sample(property, root, choices));
                }
            }
            Value::Object(value)
        }
        _ => schema.get("const").cloned().unwrap_or_else(|| json!([choose(choices, 5)])),
    }
}

fn choose(choices: &mut u64, among: usize) -> usize {
    *choices = choices.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    usize::try_from(*choices >> 33).unwrap() % among.max(1)
}

/// Checks that every required parameter of the full schema is in the short one with its type, as far down as both have
/// parameters.
fn keeps_what_is_required(whole: &Value, short: &Value) -> bool {
    let Some(required) = whole.get("required").and_then(Value::as_array) else { return true };
    short["required"] == whole["required"]
        && required.iter().filter_map(Value::as_str).all(|name| {
            let (whole, short) = (&whole["properties"][name], &short["properties"][name]);
            short.is_null() == whole.is_null()
                && whole.get("type").is_none_or(|kind| short["type"] == *kind)
                && keeps_what_is_required(whole, short)
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn a_shorter_form_requires_the_same_and_is_a_schema(schema in schema()) {
        let raw = RawJson::from_value(&schema).unwrap();
        let mut length = usize::MAX;
        for form in Forms::of("What it does.", &raw) {
            let short: Value = form.schema.to().unwrap();
            prop_assert!(jsonschema::meta::is_valid(&short), "{short}");
            prop_assert!(jsonschema::validator_for(&short).is_ok(), "a reference leads nowhere: {short}");
            prop_assert!(keeps_what_is_required(&schema, &short), "{schema} became {short}");
            let now = form.schema.as_bytes().len() + form.description.len();
            prop_assert!(now < length);
            length = now;
        }
    }

    #[test]
    fn a_shorter_form_forbids_nothing(schema in schema(), choices in any::<u64>()) {
        let raw = RawJson::from_value(&schema).unwrap();
        let whole = jsonschema::validator_for(&schema).unwrap();
        let mut choices = choices;
        let calls: Vec<Value> = (0..8)
            .map(|_| sample(&schema, &schema, &mut choices))
            .filter(|call| whole.is_valid(call))
            .collect();
        for form in Forms::of("", &raw) {
            let short: Value = form.schema.to().unwrap();
            let validator = jsonschema::validator_for(&short).unwrap();
            for call in &calls {
                prop_assert!(validator.is_valid(call), "{call} by {schema}, not by {short}");
            }
        }
    }
}
