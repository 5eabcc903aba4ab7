//! Conversion of loosely typed arguments as servers do it: `"5"` where a number is wanted, one item for a list, `null`
//! for an optional member.

use mgp_types::RawJson;
use serde_json::Value;

use super::Schema;

impl Schema {
    /// Returns a value that fits the schema and differs from `value`, which does not fit, only as far as servers
    /// convert types; `None` if there is none.
    ///
    /// Each place that the schema rejects is converted by itself, and counts as converted only if the schema no longer
    /// rejects it. So demands of the schema beyond types still hold.
    pub fn converted(&self, value: &RawJson) -> Option<RawJson> {
        if value.as_bytes().len() > MAX_CONVERTED_BYTES {
            return None;
        }
        let mut converted: Value = value.to().ok()?;
        if !self.explains(&converted) {
            return None;
        }
        for _ in 0..MAX_CONVERSIONS {
            let place =
                self.compiled.iter_errors(&converted).next().map(|error| error.instance_path().to_string());
            let Some(place) = place else { return RawJson::from_value(&converted).ok() };
            converted = self.converted_at(&converted, &place)?;
        }
        None
    }

    fn converted_at(&self, value: &Value, place: &str) -> Option<Value> {
        let fits = |value: &Value| {
            !self.compiled.iter_errors(value).any(|error| error.instance_path().as_str() == place)
        };
        readings(value.pointer(place)?).into_iter().find_map(|reading| {
            let mut whole = value.clone();
            put(&mut whole, place, reading)?;
            fits(&whole).then_some(whole)
        })
    }
}

/// Returns the conversions to try for a value, the likeliest first; `None` removes the value.
fn readings(value: &Value) -> Vec<Option<Value>> {
    let alone = || Some(Value::Array(vec![value.clone()]));
    match value {
        Value::Null => vec![None],
        Value::String(text) => {
            let parsed = parsed(text).into_iter();
            parsed.chain(truth(text).map(Value::Bool)).map(Some).chain([alone()]).collect()
        }
        Value::Number(number) => {
            let truth = number.as_i64().filter(|it| matches!(it, 0 | 1)).map(|it| Some(Value::Bool(it == 1)));
            let text = Some(Value::String(number.to_string()));
            truth.into_iter().chain([text, alone()]).collect()
        }
        Value::Bool(truth) => {
            let text = Some(Value::String(truth.to_string()));
            vec![text, Some(Value::from(u8::from(*truth))), alone()]
        }
        Value::Array(_) => vec![Some(within(value))],
        Value::Object(_) => vec![Some(within(value)), alone()],
    }
}

/// Returns the value with every possible conversion within it: for schemas with alternatives, which do not report
/// single places.
fn within(value: &Value) -> Value {
    match value {
        Value::String(text) => {
            parsed(text).or_else(|| truth(text).map(Value::Bool)).unwrap_or_else(|| value.clone())
        }
        Value::Array(items) => items.iter().map(within).collect(),
        Value::Object(members) => {
            let there = members.iter().filter(|(_, value)| !value.is_null());
            there.map(|(name, value)| (name.clone(), within(value))).collect()
        }
        _ => value.clone(),
    }
}

/// Returns the JSON value in a text, if that is neither a text nor `null`.
fn parsed(text: &str) -> Option<Value> {
    let value: Value = serde_json::from_str(text.trim()).ok()?;
    (!value.is_string() && !value.is_null()).then_some(value)
}

/// Returns the truth value of a word that servers accept for true or false.
fn truth(text: &str) -> Option<bool> {
    let is_one = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text.trim()));
    let is_true = is_one(&["true", "yes", "on", "1", "y", "t"]);
    (is_true || is_one(&["false", "no", "off", "0", "n", "f"])).then_some(is_true)
}

/// Puts a converted value in the place that a JSON pointer names.
fn put(whole: &mut Value, place: &str, reading: Option<Value>) -> Option<()> {
    if let Some(value) = reading {
        *whole.pointer_mut(place)? = value;
    } else {
        let (parent, name) = place.rsplit_once('/')?;
        let name = name.replace("~1", "/").replace("~0", "~");
        whole.pointer_mut(parent)?.as_object_mut()?.remove(&name)?;
    }
    Some(())
}

/// The largest size of arguments that are converted, in bytes: each conversion copies them.
const MAX_CONVERTED_BYTES: usize = 1 << 20;

/// The largest number of rounds in which a value is converted; one that still does not fit is not converted at all.
const MAX_CONVERSIONS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doubles::cases;

    const SCHEMA: &str = r#"{"type":"object","required":["need"],"additionalProperties":false,"properties":{
        "need":{"type":"integer","maximum":9}, "flag":{"type":"boolean"}, "text":{"type":"string"},
        "list":{"type":"array","items":{"type":"integer"}}, "one":{"enum":[1,2]},
        "inner":{"type":"object","properties":{"path":{"type":"string"},"deep":{"type":"number"}}},
        "maybe":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"null"}]}}}"#;

    fn converted(arguments: &str) -> Option<String> {
        let schema = Schema::compile(&RawJson::parse(SCHEMA).unwrap()).unwrap();
        let arguments = RawJson::parse(arguments.to_owned()).unwrap();
        assert!(schema.check(arguments.as_bytes()).is_err());
        schema
            .converted(&arguments)
            .map(|converted| String::from_utf8(converted.as_bytes().to_vec()).unwrap())
    }

    #[test]
    fn every_row_of_the_table_is_converted_or_refused() {
        for (expected, arguments) in cases(include_str!("conversions.txt")) {
            let read = |json: &str| serde_json::from_str::<Value>(json).ok();
            let converted = converted(&arguments).as_deref().and_then(read);
            assert_eq!(converted, read(expected), "{arguments}");
        }
    }
}
