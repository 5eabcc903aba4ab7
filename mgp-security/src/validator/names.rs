//! The check that no argument name is a second spelling of a name in the tool's schema.

use std::collections::HashMap;

use mgp_types::{RawJson, folded};
use serde_json::Value;

use super::call::Located;
use crate::Finding;

/// The argument names in the schema of a tool, level by level.
///
/// Validators judge an argument such as `path` by its name, but a server that ignores the case of names accepts `Path`
/// for it as well. An argument that is not in the schema but reads like a name in it is therefore refused. Arguments
/// that read like no name in the schema are left to the tool.
#[derive(Debug, Default)]
pub(super) struct ArgumentNames {
    members: HashMap<Box<str>, Self, foldhash::fast::RandomState>,
    /// The argument names in folded form, in which a lenient server compares them, each with its proper spelling.
    read: HashMap<Box<str>, Box<str>, foldhash::fast::RandomState>,
    /// The names in the elements of a list.
    items: Option<Box<Self>>,
}

impl ArgumentNames {
    /// Returns the argument names in `schema`.
    pub(super) fn of(schema: &RawJson) -> Self {
        schema.to::<Value>().map(|schema| Self::in_schema(&schema)).unwrap_or_default()
    }

    fn in_schema(schema: &Value) -> Self {
        let mut names = Self::default();
        for (name, schema) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            names.read.insert(folded(name).into(), name.as_str().into());
            names.members.insert(name.as_str().into(), Self::in_schema(schema));
        }
        let items = schema.get("items").map(Self::in_schema);
        names.items = items.filter(|items| !items.is_empty()).map(Box::new);
        names
    }

    fn is_empty(&self) -> bool {
        self.members.is_empty() && self.items.is_none()
    }

    /// Checks that no argument at any level has a name that reads like one in the schema but is spelled differently.
    pub(super) fn check(&self, arguments: &Value) -> Result<(), Located> {
        self.check_at(arguments, "")
    }

    fn check_at(&self, value: &Value, above: &str) -> Result<(), Located> {
        match (value, &self.items) {
            (Value::Object(object), _) if !self.members.is_empty() => {
                object.iter().try_for_each(|(name, value)| match self.members.get(&**name) {
                    Some(inner) if inner.is_empty() => Ok(()),
                    Some(inner) => inner.check_at(value, &format!("{above}/{name}")),
                    None => self.check_unknown(name, above),
                })
            }
            (Value::Array(elements), Some(items)) => {
                let mut elements = elements.iter().enumerate();
                elements.try_for_each(|(index, element)| items.check_at(element, &format!("{above}/{index}")))
            }
            _ => Ok(()),
        }
    }

    fn check_unknown(&self, name: &str, above: &str) -> Result<(), Located> {
        let Some(proper) = self.read.get(&*folded(name)) else { return Ok(()) };
        let message = format!("the tool spells it `{proper}`, and its server may take one for the other");
        let pointer = format!("{above}/{}", name.escape_debug());
        Err(Located { finding: Finding::new("misspelled-argument", message), pointer: Some(pointer) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_spelling_of_an_argument_is_refused_at_every_level() {
        let schema = r#"{"properties":{
            "path":{"type":"string"}, "ID":{}, "id":{},
            "to":{"type":"array","items":{"properties":{"host":{}}}}, "options":{"properties":{"force":{}}}
        }}"#;
        let names = ArgumentNames::of(&RawJson::parse(schema).unwrap());
        let check = |arguments: &str| names.check(&serde_json::from_str(arguments).unwrap());
        for arguments in [
            r#"{"path":"a","Path":"b"}"#,
            r#"{"PATH":"b"}"#,
            r#"{"path ":"b"}"#,
            r#"{"p\u0041th":"b"}"#,
            r#"{"ｐath":"b"}"#,
            r#"{"Id":1}"#,
            r#"{"options":{"Force":true}}"#,
            r#"{"to":[{"host":"a"},{"Host":"b"}]}"#,
        ] {
            let refused = check(arguments).expect_err(arguments);
            assert_eq!(refused.finding.rule, "misspelled-argument", "{arguments}");
        }
        for arguments in [
            r#"{"path":"a","ID":1,"id":2}"#,
            r#"{"other":1,"Other":2,"paths":[]}"#,
            r#"{"path":{"Path":1},"options":{"Path":1},"to":[]}"#,
            "{}",
            "[]",
        ] {
            assert!(check(arguments).is_ok(), "{arguments}");
        }
    }
}
