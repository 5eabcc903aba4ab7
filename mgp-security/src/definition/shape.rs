//! The shape that clients demand of a definition: one that is wrong makes them reject the whole list that it is in.
//!
//! The shapes are what all of these accept: the JSON schemas of the revisions of MCP, the models of the Python SDK (1.x
//! and 2.x), and the parsers of the TypeScript SDK. Members that none of them reads are not looked at.

use std::fmt;

use mgp_types::mgp::Timestamp;
use mgp_types::{JsonError, Object, RawJson};
use serde_json::Value;
use url::Url;

use super::DefinitionKind;
use crate::visible::visible;

/// Returns the definition as strict clients accept it: `listed` itself, byte for byte, if nothing is wrong with it.
///
/// What has only one meaning is corrected: an optional member that is `null` is one that is absent, a schema of arguments
/// is one of an object, `true` is the schema that allows anything, and a resource without a name is named by its URI. The
/// correction is not part of what is pinned: operators approve what the server sent, and a pin must not depend on the
/// version of this program.
///
/// # Errors
/// Fails if a member is wrong in another way. Clients must not be given the definition then.
pub fn well_formed(kind: DefinitionKind, listed: &Object) -> Result<Object, ShapeFault> {
    let mut definition = listed.clone();
    let is_absent = |member: &str| listed.get(member).is_none_or(|value| value.is_null());
    let shape = match kind {
        DefinitionKind::Tool => {
            if is_absent("inputSchema") {
                definition.set("inputSchema", RawJson::empty_object());
            }
            TOOL
        }
        DefinitionKind::Prompt => PROMPT,
        DefinitionKind::Resource | DefinitionKind::Template => {
            let uri = listed.get(kind.name_member());
            if let Some(uri) = uri.filter(|_| is_absent("name")) {
                definition.set("name", uri);
            }
            if kind == DefinitionKind::Resource { RESOURCE } else { TEMPLATE }
        }
        // Clients get this text in other ways than a list.
        DefinitionKind::Text => return Ok(definition),
    };
    correct_members(shape, &mut definition)?;
    Ok(definition)
}

/// The member of a definition that strict clients reject, and what they demand of it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{member}` {demand}")]
pub struct ShapeFault {
    /// The path of the member, like `inputSchema.required`. Its server wrote it, so invisible characters are escaped.
    member: String,
    demand: Demand,
}

/// What is demanded of a member.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Demand {
    Present,
    Is(&'static str),
    OneOf(&'static [&'static str]),
}

impl fmt::Display for Demand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Present => f.write_str("is missing"),
            Self::Is(what) => write!(f, "must be {what}"),
            Self::OneOf(words) => write!(f, "must be one of {}", words.join(", ")),
        }
    }
}

impl ShapeFault {
    fn is_not(what: &'static str) -> Self {
        Self { member: String::new(), demand: Demand::Is(what) }
    }

    /// Returns the fault as one of the object that has the faulty value as its member `name`.
    fn within(mut self, name: &str) -> Self {
        let separator = if self.member.is_empty() || self.member.starts_with('[') { "" } else { "." };
        self.member = format!("{}{separator}{}", visible(name), self.member);
        self
    }
}

/// The shape of a value.
#[derive(Clone, Copy)]
enum Shape {
    Text,
    /// A text that is not empty.
    Name,
    Boolean,
    /// A number without a fraction.
    Integer,
    /// A number from 0 to 1.
    Fraction,
    /// A time with seconds and an offset.
    Time,
    /// An absolute URI, as browsers read it; version 1 of the Python SDK reads it like them.
    Uri,
    OneOf(&'static [&'static str]),
    AnyObject,
    Object(&'static [MemberRule]),
    List(&'static Self),
    /// The JSON Schema of arguments, which are always an object.
    InputSchema,
    /// The JSON Schema of a result. Clients of older revisions accept only objects as results; they are not listed others.
    OutputSchema,
}

/// A member of an object: its name, its shape, and whether it must be there.
#[derive(Clone, Copy)]
struct MemberRule(&'static str, Shape, Need);

#[derive(Clone, Copy, PartialEq, Eq)]
enum Need {
    Required,
    Optional,
}

use Need::{Optional, Required};

const TOOL: &[MemberRule] = &[
    MemberRule("name", Shape::Name, Required),
    TITLE,
    DESCRIPTION,
    ICONS,
    MemberRule("inputSchema", Shape::InputSchema, Required),
    MemberRule("outputSchema", Shape::OutputSchema, Optional),
    MemberRule(
        "annotations",
        Shape::Object(&[
            TITLE,
            MemberRule("readOnlyHint", Shape::Boolean, Optional),
            MemberRule("destructiveHint", Shape::Boolean, Optional),
            MemberRule("idempotentHint", Shape::Boolean, Optional),
            MemberRule("openWorldHint", Shape::Boolean, Optional),
        ]),
        Optional,
    ),
    MemberRule(
        "execution",
        Shape::Object(&[MemberRule(
            "taskSupport",
            Shape::OneOf(&["forbidden", "optional", "required"]),
            Optional,
        )]),
        Optional,
    ),
    META,
];

const PROMPT: &[MemberRule] = &[
    MemberRule("name", Shape::Name, Required),
    TITLE,
    DESCRIPTION,
    ICONS,
    MemberRule(
        "arguments",
        Shape::List(&Shape::Object(&[
            MemberRule("name", Shape::Text, Required),
            TITLE,
            DESCRIPTION,
            MemberRule("required", Shape::Boolean, Optional),
        ])),
        Optional,
    ),
    META,
];

const RESOURCE: &[MemberRule] = &[
    MemberRule("uri", Shape::Uri, Required),
    MemberRule("name", Shape::Text, Required),
    TITLE,
    DESCRIPTION,
    ICONS,
    MIME_TYPE,
    MemberRule("size", Shape::Integer, Optional),
    ANNOTATIONS,
    META,
];

const TEMPLATE: &[MemberRule] = &[
    MemberRule("uriTemplate", Shape::Name, Required),
    MemberRule("name", Shape::Text, Required),
    TITLE,
    DESCRIPTION,
    ICONS,
    MIME_TYPE,
    ANNOTATIONS,
    META,
];

const TITLE: MemberRule = MemberRule("title", Shape::Text, Optional);
const DESCRIPTION: MemberRule = MemberRule("description", Shape::Text, Optional);
const MIME_TYPE: MemberRule = MemberRule("mimeType", Shape::Text, Optional);
const META: MemberRule = MemberRule("_meta", Shape::AnyObject, Optional);
const ICONS: MemberRule = MemberRule(
    "icons",
    Shape::List(&Shape::Object(&[
        MemberRule("src", Shape::Text, Required),
        MIME_TYPE,
        MemberRule("sizes", Shape::List(&Shape::Text), Optional),
        MemberRule("theme", Shape::OneOf(&["light", "dark"]), Optional),
    ])),
    Optional,
);
const ANNOTATIONS: MemberRule = MemberRule(
    "annotations",
    Shape::Object(&[
        MemberRule("audience", Shape::List(&Shape::OneOf(&["user", "assistant"])), Optional),
        MemberRule("priority", Shape::Fraction, Optional),
        MemberRule("lastModified", Shape::Time, Optional),
    ]),
    Optional,
);
/// The members of the schema of an object that clients read.
const SCHEMA: &[MemberRule] = &[
    MemberRule("$schema", Shape::Text, Optional),
    MemberRule("required", Shape::List(&Shape::Text), Optional),
];

/// Corrects the members of `object` that have only one meaning.
fn correct_members(members: &'static [MemberRule], object: &mut Object) -> Result<(), ShapeFault> {
    for MemberRule(name, shape, need) in members {
        let Some(value) = object.get(name) else {
            if *need == Required {
                return Err(ShapeFault { member: (*name).to_owned(), demand: Demand::Present });
            }
            continue;
        };
        if value.is_null() && *need == Optional {
            object.remove(*name);
        } else if let Some(corrected) = corrected(*shape, &value).map_err(|fault| fault.within(name))? {
            object.set(*name, corrected);
        }
    }
    Ok(())
}

/// Returns the value with what has only one meaning corrected; `None` if nothing is wrong with it.
fn corrected(shape: Shape, value: &RawJson) -> Result<Option<RawJson>, ShapeFault> {
    let text = || value.to_text();
    let number = || value.to::<f64>().ok();
    let (is_good, what) = match shape {
        Shape::Text => (text().is_some(), "a string"),
        Shape::Name => (text().is_some_and(|text| !text.is_empty()), "a string that is not empty"),
        Shape::Boolean => (value.to::<bool>().is_ok(), "true or false"),
        Shape::Integer => {
            let is_exact = |number: f64| number.fract() == 0.0 && number.abs() <= MAX_EXACT;
            (number().is_some_and(is_exact), "an integer")
        }
        Shape::Fraction => (number().is_some_and(|it| (0.0..=1.0).contains(&it)), "a number from 0 to 1"),
        Shape::Time => (text().is_some_and(|text| is_time(&text)), "a time like 2025-01-12T15:00:58Z"),
        Shape::Uri => (text().is_some_and(|text| Url::parse(&text).is_ok()), "a valid absolute URI"),
        Shape::OneOf(words) => {
            let is_known = text().is_some_and(|text| words.contains(&&*text));
            return is_known
                .then_some(None)
                .ok_or(ShapeFault { member: String::new(), demand: Demand::OneOf(words) });
        }
        Shape::AnyObject => (value.is_object(), "an object"),
        Shape::Object(members) => return corrected_object(value, |object| correct_members(members, object)),
        Shape::List(of) => return corrected_list(*of, value),
        Shape::InputSchema => return corrected_object(value, correct_input_schema),
        Shape::OutputSchema => return corrected_object(value, correct_schema),
    };
    if is_good { Ok(None) } else { Err(ShapeFault::is_not(what)) }
}

fn corrected_object(
    value: &RawJson,
    correct: impl FnOnce(&mut Object) -> Result<(), ShapeFault>,
) -> Result<Option<RawJson>, ShapeFault> {
    let mut object = read_object(value)?;
    correct(&mut object)?;
    let corrected = object.to_raw();
    Ok((corrected != *value).then_some(corrected))
}

fn corrected_list(of: Shape, value: &RawJson) -> Result<Option<RawJson>, ShapeFault> {
    let mut items: Vec<RawJson> = value.to().map_err(|_| ShapeFault::is_not("an array"))?;
    let mut is_corrected = false;
    for (place, item) in items.iter_mut().enumerate() {
        let fixed = corrected(of, item).map_err(|fault| fault.within(&format!("[{place}]")))?;
        if let Some(fixed) = fixed {
            (*item, is_corrected) = (fixed, true);
        }
    }
    Ok(is_corrected.then(|| RawJson::from_value(&items).ok()).flatten())
}

fn correct_input_schema(schema: &mut Object) -> Result<(), ShapeFault> {
    let is_object = match schema.get("type").and_then(|root| root.to::<Value>().ok()) {
        None | Some(Value::Null) => false,
        Some(Value::String(root)) if root == "object" => true,
        // Of several types, arguments have this one.
        Some(Value::Array(roots)) if roots.contains(&Value::from("object")) => false,
        Some(_) => return Err(ShapeFault::is_not("\"object\"").within("type")),
    };
    if !is_object {
        schema.set("type", RawJson::from_text("object"));
    }
    correct_schema(schema)
}

fn correct_schema(schema: &mut Object) -> Result<(), ShapeFault> {
    correct_members(SCHEMA, schema)?;
    match schema.get("properties") {
        None => {}
        Some(properties) if properties.is_null() => {
            schema.remove("properties");
        }
        Some(properties) => {
            let corrected = corrected_object(&properties, correct_properties);
            if let Some(corrected) = corrected.map_err(|fault| fault.within("properties"))? {
                schema.set("properties", corrected);
            }
        }
    }
    Ok(())
}

fn correct_properties(properties: &mut Object) -> Result<(), ShapeFault> {
    let others = properties.iter().filter(|(_, property)| !property.is_object());
    let others: Vec<_> = others.map(|(name, property)| (name.into_owned(), property)).collect();
    for (name, property) in others {
        // JSON Schema writes these two in another way as well, which clients accept.
        let same = match property.as_bytes() {
            b"true" => RawJson::empty_object(),
            b"false" => RawJson::from_written(br#"{"not":{}}"#.to_vec()),
            _ => return Err(ShapeFault::is_not("an object").within(&name)),
        };
        properties.set(name, same);
    }
    Ok(())
}

fn read_object(value: &RawJson) -> Result<Object, ShapeFault> {
    Object::from_raw(value).map_err(|_: JsonError| ShapeFault::is_not("an object"))
}

/// Returns whether a text is a time as the TypeScript SDK reads it, which is narrower than RFC 3339.
fn is_time(text: &str) -> bool {
    let form: String = text.chars().map(|it| if it.is_ascii_digit() { '0' } else { it }).collect();
    let Some(("0000-00-00T00:00:00", rest)) = form.split_at_checked("0000-00-00T00:00:00".len()) else {
        return false;
    };
    let zone = rest.strip_prefix(".0").map_or(rest, |fraction| fraction.trim_start_matches('0'));
    let is_leap_second = text.get(17..19) == Some("60");
    matches!(zone, "Z" | "+00:00" | "-00:00") && !is_leap_second && text.parse::<Timestamp>().is_ok()
}

/// The largest integer below which each integer is a number of JavaScript.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

#[cfg(test)]
mod tests;
