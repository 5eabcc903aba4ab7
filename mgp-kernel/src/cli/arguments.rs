//! The `KEY=VALUE` arguments of `mgp call`, converted by the input schema of the tool.

use mgp_discovery::config::nearest;
use mgp_types::RawJson;
use serde_json::{Map, Value};

use crate::terminal::Failure;

/// Returns the arguments of a call. A key that is given several times becomes a list, as does one that the schema
/// declares as an array.
///
/// A value whose type the schema leaves open is a string; `KEY:=JSON` gives any other value.
pub(super) fn arguments(given: &[String], schema: Option<&RawJson>) -> Result<RawJson, Failure> {
    let schema: Value = schema.and_then(|schema| schema.to().ok()).unwrap_or_default();
    let mut arguments: Map<String, Value> = Map::new();
    for pair in given {
        let Some((key, text)) = pair.split_once('=') else {
            return Err(Failure::usage(format!(
                "`{pair}` is not an argument: write KEY=VALUE, or KEY:=JSON"
            )));
        };
        let (key, value) = if let Some(key) = key.strip_suffix(':') {
            (key, json(key, text)?)
        } else {
            let property = &schema["properties"][key];
            if let Some(meant) = meant(key, &schema) {
                return Err(Failure::usage(format!(
                    "`{key}` is not an argument of this tool: did you mean `{meant}`?"
                ))
                .hint(format!("`{key}:=JSON` passes it all the same")));
            }
            let value = match kind(property) {
                // A whole list can be given as JSON.
                Some("array") if text.starts_with('[') => json(key, text)?,
                Some("array") => Value::Array(vec![typed(key, text, &property["items"])?]),
                _ => typed(key, text, property)?,
            };
            (key, value)
        };
        match arguments.get_mut(key) {
            None => {
                arguments.insert(key.to_owned(), value);
            }
            Some(Value::Array(items)) => match value {
                Value::Array(more) => items.extend(more),
                one => items.push(one),
            },
            Some(before) => *before = Value::Array(vec![before.take(), value]),
        }
    }
    RawJson::from_value(&arguments).map_err(|error| Failure::usage(error.to_string()))
}

/// Returns the argument that is probably meant by one that the schema does not know.
fn meant<'s>(key: &str, schema: &'s Value) -> Option<&'s str> {
    let known = schema["properties"].as_object()?;
    if known.contains_key(key) { None } else { nearest(key, known.keys().map(String::as_str)) }
}

fn typed(key: &str, text: &str, schema: &Value) -> Result<Value, Failure> {
    let wrong = |what: &str| Failure::usage(format!("`{key}` has to be {what}, and `{text}` is not"));
    match kind(schema) {
        Some("integer") => {
            let number = text.parse::<i64>().map(Value::from);
            number.or_else(|_| text.parse::<u64>().map(Value::from)).map_err(|_| wrong("a whole number"))
        }
        Some("number") => match serde_json::from_str(text) {
            Ok(Value::Number(number)) => Ok(Value::Number(number)),
            _ => Err(wrong("a number")),
        },
        Some("boolean") => match text {
            "true" | "yes" | "1" => Ok(Value::Bool(true)),
            "false" | "no" | "0" => Ok(Value::Bool(false)),
            _ => Err(wrong("true or false")),
        },
        Some("null") => Ok(Value::Null),
        Some("object" | "array") => json(key, text),
        _ => Ok(Value::String(text.to_owned())),
    }
}

fn json(key: &str, text: &str) -> Result<Value, Failure> {
    serde_json::from_str(text).map_err(|error| Failure::usage(format!("`{key}` has to be JSON: {error}")))
}

/// Returns the one type that a schema allows apart from `null`, if there is exactly one.
fn kind(schema: &Value) -> Option<&str> {
    let all: Vec<&str> = match &schema["type"] {
        Value::String(one) => return Some(one),
        Value::Array(all) => all.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => schema["anyOf"].as_array()?.iter().map(|one| one["type"].as_str()).collect::<Option<_>>()?,
    };
    let mut others = all.into_iter().filter(|one| *one != "null");
    others.next().filter(|_| others.next().is_none())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCHEMA: &str = r#"{"type":"object","properties":{
        "text":{"type":"string"},"count":{"type":"integer"},"share":{"type":["number","null"]},
        "deep":{"type":"boolean"},"tags":{"type":"array","items":{"type":"string"}},
        "ids":{"type":"array","items":{"type":"integer"}},"filter":{"type":"object"},
        "rows":{"type":"array","items":{"type":"array"}},
        "maybe":{"anyOf":[{"type":"integer"},{"type":"null"}]},"any":{}}}"#;

    fn read(given: &[&str]) -> Result<Value, Failure> {
        let schema = RawJson::parse(SCHEMA).unwrap();
        let given: Vec<_> = given.iter().map(|&it| it.to_owned()).collect();
        arguments(&given, Some(&schema)).map(|arguments| arguments.to().unwrap())
    }

    #[test]
    fn the_schema_says_what_a_value_is() {
        for (given, expected) in [
            (&["text=7"][..], r#"{"text":"7"}"#),
            (&["text=[a]=b"], r#"{"text":"[a]=b"}"#),
            (&["count=7"], r#"{"count":7}"#),
            (&["count=18446744073709551615"], r#"{"count":18446744073709551615}"#),
            (&["share=0.5"], r#"{"share":0.5}"#),
            (&["deep=true"], r#"{"deep":true}"#),
            (&["tags=a"], r#"{"tags":["a"]}"#),
            (&["tags=a", "tags=b"], r#"{"tags":["a","b"]}"#),
            (&["ids=1", "ids=2"], r#"{"ids":[1,2]}"#),
            (&["ids=[1,2]"], r#"{"ids":[1,2]}"#),
            (&[r#"tags=["a","b"]"#], r#"{"tags":["a","b"]}"#),
            (&[r#"tags=["a","b"]"#, "tags=c"], r#"{"tags":["a","b","c"]}"#),
            (&["any=[draft]"], r#"{"any":"[draft]"}"#),
            (&["unknown=[draft]"], r#"{"unknown":"[draft]"}"#),
            (&["rows=[1]"], r#"{"rows":[1]}"#),
            (&[r#"filter={"a":1}"#], r#"{"filter":{"a":1}}"#),
            (&["maybe=3"], r#"{"maybe":3}"#),
            (&["any=7"], r#"{"any":"7"}"#),
            (&["any:=7"], r#"{"any":7}"#),
            (&["unknown=x", "unknown=y"], r#"{"unknown":["x","y"]}"#),
            (&[], "{}"),
        ] {
            let expected: Value = serde_json::from_str(expected).unwrap();
            assert_eq!(read(given).unwrap(), expected, "{given:?}");
        }
    }

    #[test]
    fn what_is_no_such_value_is_named() {
        for given in
            ["count=x", "count=1.5", "share=NaN", "deep=perhaps", "filter=x", "tags=[a", "any:=x", "alone"]
        {
            let failure = read(&[given]).unwrap_err();
            let name = given.split([':', '=']).next().unwrap();
            assert!(failure.message().contains(name), "{given}: {}", failure.message());
        }
    }
}
