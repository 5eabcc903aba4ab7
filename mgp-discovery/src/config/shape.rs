//! The shape of the file, for the checks and the reference page: derived from the JSON Schema that `schemars` makes
//! from the types, so that there is one definition of all three.

use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::model::Config;

/// The kind of a value.
#[derive(Debug, Clone)]
pub(super) enum Shape {
    /// A table with keys that are known.
    Table(TableShape),
    /// A table with any keys.
    Map(Box<Self>),
    List(Box<Self>),
    /// A word of a list; with `open`, other words are allowed too.
    Words {
        words: Vec<KnownWord>,
        open: bool,
    },
    Text,
    Flag,
    Number {
        least: i64,
        most: i64,
    },
    Anything,
}

#[derive(Debug, Clone)]
pub(super) struct TableShape {
    pub keys: Vec<KeyShape>,
    /// Set if an unknown key is an error, and not only a warning.
    pub closed: bool,
}

#[derive(Debug, Clone)]
pub(super) struct KeyShape {
    pub name: String,
    pub doc: String,
    pub shape: Shape,
    pub required: bool,
    /// The default as TOML, where `doc` does not name it.
    pub default: Option<String>,
}

#[derive(Debug, Clone)]
pub(super) struct KnownWord {
    pub word: String,
    pub doc: String,
}

/// Returns the JSON Schema of the file, for editors.
pub fn schema() -> String {
    let mut text = serde_json::to_string_pretty(&schemars::schema_for!(Config)).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the shape of the whole file.
pub(super) fn root() -> &'static TableShape {
    static ROOT: LazyLock<TableShape> = LazyLock::new(|| {
        let settings = SchemaSettings::default().with(|settings| settings.inline_subschemas = true);
        match shape(settings.into_generator().into_root_schema_for::<Config>().as_value()) {
            Shape::Table(table) => table,
            _ => TableShape { keys: Vec::new(), closed: false },
        }
    });
    &ROOT
}

impl KeyShape {
    /// Returns whether the key holds a list of texts.
    pub(super) fn is_list_of_texts(&self) -> bool {
        matches!(&self.shape, Shape::List(each) if matches!(**each, Shape::Text))
    }

    /// Returns the header of the section that the key begins, such as `[[servers]]`, and its table, if the key is called
    /// `path` and begins one.
    pub(super) fn section(&self, path: &str) -> Option<(String, &TableShape)> {
        let (header, shape) = match &self.shape {
            Shape::List(each) => (format!("[[{path}]]"), &**each),
            Shape::Map(each) => (format!("[{path}.NAME]"), &**each),
            one => (format!("[{path}]"), one),
        };
        if let Shape::Table(table) = shape { Some((header, table)) } else { None }
    }
}

impl TableShape {
    pub(super) fn key(&self, name: &str) -> Option<&KeyShape> {
        self.keys.iter().find(|key| key.name == name)
    }
}

/// Returns the shape of what fits a schema, which refers to no other one.
fn shape(schema: &Value) -> Shape {
    if let Some(either) = schema.get("anyOf").and_then(Value::as_array) {
        return one_of(either);
    }
    if let Some(words) = words(schema) {
        return Shape::Words { words, open: false };
    }
    match type_of(schema) {
        Some("object") => object(schema),
        Some("array") => Shape::List(Box::new(schema.get("items").map_or(Shape::Anything, shape))),
        Some("string") => Shape::Text,
        Some("boolean") => Shape::Flag,
        Some("integer") => number(schema),
        _ => Shape::Anything,
    }
}

/// Returns the shape of one of several schemas. The schema of an optional value has `null` beside it, which TOML does not
/// know.
fn one_of(schemas: &[Value]) -> Shape {
    let mut shapes = schemas.iter().filter(|schema| type_of(schema) != Some("null")).map(shape);
    match (shapes.next(), shapes.next()) {
        (Some(shape), None) => shape,
        (Some(Shape::Words { words, .. }), Some(Shape::Text)) => Shape::Words { words, open: true },
        _ => Shape::Anything,
    }
}

fn object(schema: &Value) -> Shape {
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        let values = schema.get("additionalProperties").filter(|schema| schema.is_object());
        return Shape::Map(Box::new(values.map_or(Shape::Anything, shape)));
    };
    let required = schema.get("required").and_then(Value::as_array);
    let keys = properties.iter().map(|(name, schema)| KeyShape {
        name: name.clone(),
        doc: description(schema),
        shape: shape(schema),
        required: required.is_some_and(|names| names.iter().any(|known| known == name)),
        default: schema.get("default").and_then(said),
    });
    Shape::Table(TableShape {
        keys: keys.collect(),
        closed: schema.get("additionalProperties") == Some(&Value::Bool(false)),
    })
}

fn words(schema: &Value) -> Option<Vec<KnownWord>> {
    if let Some(words) = schema.get("enum").and_then(Value::as_array) {
        let words = words.iter().filter_map(Value::as_str);
        return Some(words.map(|word| KnownWord { word: word.into(), doc: String::new() }).collect());
    }
    let alternatives = schema.get("oneOf")?.as_array()?;
    let mut all = Vec::new();
    for schema in alternatives {
        match schema.get("const").and_then(Value::as_str) {
            Some(word) => all.push(KnownWord { word: word.into(), doc: description(schema) }),
            None => all.extend(words(schema)?),
        }
    }
    Some(all)
}

/// Returns the type, without the `null` of an optional value.
fn type_of(schema: &Value) -> Option<&str> {
    match schema.get("type")? {
        Value::String(name) => Some(name),
        Value::Array(names) => names.iter().filter_map(Value::as_str).find(|name| *name != "null"),
        _ => None,
    }
}

fn number(schema: &Value) -> Shape {
    let most = match schema.get("format").and_then(Value::as_str) {
        Some("uint16") => u16::MAX.into(),
        Some("uint32") => u32::MAX.into(),
        _ => i64::MAX,
    };
    let bound = |name: &str| schema.get(name).and_then(Value::as_i64);
    Shape::Number { least: bound("minimum").unwrap_or(0), most: bound("maximum").unwrap_or(most).min(most) }
}

fn description(schema: &Value) -> String {
    schema.get("description").and_then(Value::as_str).unwrap_or_default().replace('\n', " ")
}

/// Returns a default that is worth telling; empty, off and zero are not.
fn said(default: &Value) -> Option<String> {
    match default {
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) if !text.is_empty() => Some(format!("\"{text}\"")),
        _ => None,
    }
}

/// Returns the section of a key that stands in the wrong one, or both sections if there are two.
pub(super) fn section_of(name: &str) -> Option<String> {
    let mut found = Vec::new();
    add_sections(root(), "", name, &mut found);
    if root().keys.iter().any(|key| key.name == name && key.is_list_of_texts()) {
        found.push("the top of the file, above the first `[section]`".to_owned());
    }
    (1..=2).contains(&found.len()).then(|| found.join(" or "))
}

/// Adds the sections below `table` that have the key `name`.
fn add_sections(table: &TableShape, path: &str, name: &str, found: &mut Vec<String>) {
    for section in &table.keys {
        let path = format!("{path}{}", section.name);
        let Some((header, table)) =
            section.section(&path).filter(|_| !matches!(section.shape, Shape::Map(_)))
        else {
            continue;
        };
        if table.key(name).is_some() {
            found.push(format!("`{header}`"));
        }
        add_sections(table, &format!("{path}."), name, found);
    }
}
