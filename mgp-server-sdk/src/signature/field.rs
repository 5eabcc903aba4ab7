//! The fields of a signature: the arguments of a tool and the members of its result.

use serde_json::{Map, Value, json};

use super::Constraint;
use crate::Fault;

/// The type of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FieldType {
    /// A text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Float,
    /// True or false.
    Boolean,
    /// A list of values of one type.
    Array(Box<Self>),
    /// A value that may be missing.
    Optional(Box<Self>),
}

/// An argument of a tool.
#[derive(Debug, Clone, PartialEq)]
#[must_use = "a field does nothing until it is in a signature"]
pub struct InputField {
    pub(super) name: String,
    pub(super) kind: FieldType,
    pub(super) description: String,
    pub(super) is_required: bool,
    pub(super) is_secret: bool,
    pub(super) constraints: Vec<Constraint>,
    pub(super) examples: Vec<Value>,
}

/// A member of a tool's structured result.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a field does nothing until it is in a signature"]
pub struct OutputField {
    pub(super) name: String,
    pub(super) kind: FieldType,
    pub(super) description: String,
}

impl FieldType {
    /// Returns the type of the values of a Rust type, like `i32`, `Vec<String>` or `Option<bool>`.
    ///
    /// ```
    /// use mgp_server_sdk::FieldType;
    ///
    /// assert_eq!(FieldType::of_rust("u64").unwrap(), FieldType::Integer);
    /// assert!(FieldType::of_rust("SystemTime").is_err());
    /// assert_eq!(FieldType::of_rust_or_string("SystemTime"), FieldType::String);
    /// ```
    ///
    /// # Errors
    /// The type has no JSON type of its own.
    pub fn of_rust(name: &str) -> Result<Self, Fault> {
        Self::known(name, 0).ok_or_else(|| {
            let shown: String = name.chars().take(64).collect();
            Fault::new(format!("type `{shown}`"), "it has no JSON type: choose one of `FieldType`")
        })
    }

    /// Returns the type of the values of a Rust type; [`FieldType::String`] for a type that has no JSON type of its
    /// own.
    pub fn of_rust_or_string(name: &str) -> Self {
        Self::known(name, 0).unwrap_or(Self::String)
    }

    fn known(name: &str, depth: usize) -> Option<Self> {
        let name = name.trim();
        let inner = |of: &str| {
            let inner = name.strip_prefix(of)?.trim_start().strip_prefix('<')?.strip_suffix('>')?;
            (depth < MAX_DEPTH).then(|| Self::known(inner, depth + 1)).flatten().map(Box::new)
        };
        Some(match name {
            "String" | "str" | "&str" | "&'static str" => Self::String,
            "i8" | "i16" | "i32" | "i64" | "i128" | "isize" | "u8" | "u16" | "u32" | "u64" | "u128"
            | "usize" => Self::Integer,
            "f32" | "f64" => Self::Float,
            "bool" => Self::Boolean,
            _ => inner("Vec").map(Self::Array).or_else(|| inner("Option").map(Self::Optional))?,
        })
    }

    /// Returns the type of a value that is there.
    pub(super) fn present(&self) -> &Self {
        match self {
            Self::Optional(inner) => inner.present(),
            other => other,
        }
    }

    /// Returns the schema of the type.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let mut schema = Map::new();
        match self {
            Self::Array(items) => {
                schema.insert("type".into(), "array".into());
                schema.insert("items".into(), Value::Object(items.schema()));
            }
            Self::Optional(inner) => {
                schema.insert("anyOf".into(), json!([inner.schema(), {"type": "null"}]));
            }
            plain => _ = schema.insert("type".into(), plain.name().into()),
        }
        schema
    }

    /// Returns the type's name in JSON Schema.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::String => "string",
            Self::Integer => "integer",
            Self::Float => "number",
            Self::Boolean => "boolean",
            Self::Array(_) => "array",
            Self::Optional(_) => "null",
        }
    }

    /// Returns whether a value is of the type.
    pub(super) fn holds(&self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => {
                value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|n| n.fract() == 0.0)
            }
            Self::Float => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Array(items) => {
                value.as_array().is_some_and(|all| all.iter().all(|item| items.holds(item)))
            }
            Self::Optional(inner) => value.is_null() || inner.holds(value),
        }
    }
}

impl InputField {
    /// Creates an argument. It is required, unless its type is optional or a default is among its constraints.
    pub fn new(name: impl Into<String>, kind: FieldType, description: impl Into<String>) -> Self {
        let (name, description) = (name.into(), description.into());
        let is_required = !matches!(kind, FieldType::Optional(_));
        Self { name, kind, description, is_required, is_secret: false, constraints: vec![], examples: vec![] }
    }

    /// Adds a constraint.
    pub fn constraint(mut self, constraint: Constraint) -> Self {
        self.is_required &= !matches!(constraint, Constraint::Default(_));
        self.constraints.push(constraint);
        self
    }

    mgp_types::setters! { self =>
        /// Lets callers leave the argument out.
        pub fn optional() => self.is_required = false;

        /// Marks the argument as a secret: no message quotes its values.
        pub fn secret() => self.is_secret = true;

        /// Adds a value for generated examples, which stands before those that constraints give.
        pub fn example(value: impl Into<Value>) => self.examples.push(value.into());
    }

    /// Returns the schema of the argument, in order of declaration.
    pub(super) fn schema(&self) -> Map<String, Value> {
        let mut schema = self.kind.present().schema();
        schema.insert("description".into(), self.description.as_str().into());
        for constraint in &self.constraints {
            constraint.write(&mut schema);
        }
        if self.is_secret {
            schema.insert("writeOnly".into(), true.into());
        }
        schema
    }

    /// Returns the value that stands in for an absent argument.
    pub(super) fn default(&self) -> Option<&Value> {
        self.constraints.iter().find_map(|constraint| match constraint {
            Constraint::Default(value) => Some(value),
            _ => None,
        })
    }
}

impl OutputField {
    /// Creates a member of the result. Each result has it, unless its type is optional.
    pub fn new(name: impl Into<String>, kind: FieldType, description: impl Into<String>) -> Self {
        Self { name: name.into(), kind, description: description.into() }
    }

    pub(super) const fn is_required(&self) -> bool {
        !matches!(self.kind, FieldType::Optional(_))
    }

    pub(super) fn schema(&self) -> Map<String, Value> {
        // A result may say `null` where it has no value, as serializers of optional members do.
        let mut schema = self.kind.schema();
        schema.insert("description".into(), self.description.as_str().into());
        schema
    }
}

/// The largest depth of types within types.
const MAX_DEPTH: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rust_types_have_json_types() {
        for (names, kind) in [
            (&["String", "&str"][..], "string"),
            (&["i32", "i64", "u32", "u64"], "integer"),
            (&["i8", "i16", "i128", "isize", "u8", "u16", "u128", "usize"], "integer"),
            (&["f32", "f64"], "number"),
            (&["bool"], "boolean"),
        ] {
            for name in names {
                assert_eq!(FieldType::of_rust(name).unwrap().schema()["type"], kind, "{name}");
            }
        }
        let list = FieldType::of_rust("Vec<Vec<u8>>").unwrap();
        assert_eq!(
            Value::Object(list.schema()),
            json!({"type": "array", "items": {"type": "array", "items": {"type": "integer"}}})
        );
        let kind = FieldType::of_rust("Option<f32>").unwrap();
        let field = InputField::new("x", kind, "A number.");
        assert!(!field.is_required && field.schema()["type"] == "number");
        let named = [FieldType::String, FieldType::Integer, FieldType::Float, FieldType::Boolean];
        assert_eq!(named.map(|kind| kind.name()), ["string", "integer", "number", "boolean"]);
    }

    #[test]
    fn an_unknown_rust_type_is_a_string_only_where_that_was_asked_for() {
        for name in ["Duration", "HashMap<String, u8>", "Vec<Duration>", "", &"Vec<".repeat(1000)] {
            assert!(FieldType::of_rust(name).is_err(), "{name}");
            assert_eq!(FieldType::of_rust_or_string(name), FieldType::String);
        }
        let fault = FieldType::of_rust("Duration").unwrap_err();
        assert_eq!(fault.to_string(), "type `Duration`: it has no JSON type: choose one of `FieldType`");
    }
}
