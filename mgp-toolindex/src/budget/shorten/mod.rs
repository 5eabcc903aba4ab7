//! JSON Schemas that are shorter and allow no fewer calls.

mod definitions;
mod outline;
mod places;

use std::collections::HashMap;

use mgp_types::json::write_string;
use mgp_types::{Object, RawJson};

use self::definitions::{HOLDERS, References, SchemaDefinition, SchemaDefinitions};
use self::outline::Outline;
pub(super) use self::places::clip;
use self::places::{KeywordContent, RequiredProperties, is_comment};

/// A cut: the parts of a definition that stay.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShortenLevel {
    /// The characters of the tool's description that stay.
    pub(super) tool_words: usize,
    /// The characters of a required parameter's description that stay.
    pub(super) needed_words: usize,
    /// The characters of an optional parameter's description that stay.
    pub(super) optional_words: usize,
    /// The parts of optional parameters that stay.
    pub(super) optional: OptionalParameters,
    /// The share of the tool's own optional parameters that stay, in eighths, from the front.
    pub(super) kept_eighths: usize,
    /// Set if long lists of values stay.
    pub(super) long_lists: bool,
}

/// The parts of optional parameters that stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OptionalParameters {
    /// All parts.
    Whole,
    /// Type, values and the first words.
    Outline,
    /// Nothing, also for those within required ones.
    Gone,
}

/// A schema that can be shortened.
#[derive(Debug, Clone)]
pub(super) struct ShortenableSchema {
    raw: RawJson,
    members: Object,
    references: References,
    definitions: SchemaDefinitions,
}

impl ShortenableSchema {
    pub(super) fn read(raw: &RawJson) -> Self {
        let raw = compact(raw);
        let members = Object::from_raw(&raw).unwrap_or_default();
        let references = References::in_text(raw.as_bytes());
        let definitions = SchemaDefinitions::of(raw.as_bytes(), &members);
        Self { raw, members, references, definitions }
    }

    /// Returns the schema, shortened by the cut.
    pub(super) fn shorten(&self, cut: &ShortenLevel) -> RawJson {
        if !self.raw.is_object() {
            return self.raw.clone();
        }
        let place = SchemaPlace { words: cut.needed_words, fixed: self.references.are_obscure(), depth: 0 };
        let mut out = Vec::with_capacity(self.raw.as_bytes().len());
        SchemaWriter { cut, schema: self }.root(&mut out, place);
        RawJson::from_written(out)
    }
}

struct SchemaWriter<'a> {
    cut: &'a ShortenLevel,
    schema: &'a ShortenableSchema,
}

/// A place in the schema.
#[derive(Debug, Clone, Copy)]
struct SchemaPlace {
    /// The characters of descriptions that stay here.
    words: usize,
    /// Set if nothing may become more permissive here: among alternatives that exclude one another, and below `not`, a
    /// more permissive one forbids more.
    fixed: bool,
    depth: usize,
}

impl SchemaPlace {
    const fn below(self) -> Self {
        Self { depth: self.depth + 1, ..self }
    }
}

/// The number of levels that are shortened; deeper ones stay as they are.
const DEEPEST: usize = 8;

impl SchemaWriter<'_> {
    /// Writes the full schema, with the definitions that it refers to.
    fn root(&self, out: &mut Vec<u8>, place: SchemaPlace) {
        out.push(b'{');
        self.members(out, &self.schema.members, place, true);
        let mut written = self.definitions(out, place.below()).into_iter().peekable();
        while let Some((first, _)) = written.peek() {
            let holder = first.holder;
            next_member(out, holder);
            out.push(b'{');
            while let Some((one, text)) = written.next_if(|(one, _)| one.holder == holder) {
                next_member(out, &one.name);
                out.extend_from_slice(&text);
            }
            out.push(b'}');
        }
        out.push(b'}');
    }

    /// Returns the definitions that the written text refers to, or that refer to one another.
    fn definitions(&self, written: &[u8], place: SchemaPlace) -> Vec<(&SchemaDefinition, Vec<u8>)> {
        let write = |one: &SchemaDefinition| {
            let mut text = Vec::new();
            self.schema(&mut text, &one.schema, SchemaPlace { fixed: place.fixed || one.fixed, ..place });
            text
        };
        let definitions = &self.schema.definitions;
        if self.schema.references.are_obscure() {
            return definitions.iter().map(|one| (one, write(one))).collect();
        }
        let mut texts = HashMap::new();
        let reached = definitions.reached(&References::in_text(written), |place, one| {
            let text = write(one);
            let references = References::in_text(&text);
            texts.insert(place, text);
            references
        });
        reached.into_iter().filter_map(|(place, one)| Some((one, texts.remove(&place)?))).collect()
    }

    fn schema(&self, out: &mut Vec<u8>, raw: &RawJson, place: SchemaPlace) {
        match Object::from_raw(raw) {
            Ok(members) if place.depth < DEEPEST => {
                out.push(b'{');
                self.members(out, &members, place, false);
                out.push(b'}');
            }
            _ => write_compact(out, raw),
        }
    }

    fn members(&self, out: &mut Vec<u8>, members: &Object, place: SchemaPlace, is_root: bool) {
        let cut_values = !self.cut.long_lists && !place.fixed && outline::is_long(members);
        let note = if cut_values { outline::note(members) } else { String::new() };
        let properties = self.kept(members, place, is_root);
        for (name, value) in members.iter() {
            let name = &*name;
            if is_comment(name, &value) || (is_root && HOLDERS.contains(&name)) {
                continue;
            }
            match (name, places::inside(name)) {
                ("description", _) => {
                    let text = members.text(name).unwrap_or_default();
                    write_text(out, name, &format!("{}{note}", clip(&text, place.words)));
                }
                ("enum", _) if cut_values => {
                    if !members.contains("description") {
                        write_text(out, "description", note.trim_start());
                    }
                    if !members.contains("type") && outline::all_text(&value) {
                        write_text(out, "type", "string");
                    }
                }
                ("properties", _) => {
                    next_member(out, name);
                    self.properties(out, &properties, place);
                }
                // A property that is cut may still be in a call.
                ("additionalProperties", _) if properties.some_go => {}
                (_, KeywordContent::Value) => {
                    next_member(out, name);
                    write_compact(out, &value);
                }
                (_, KeywordContent::Schema(alone)) => {
                    next_member(out, name);
                    let fixed = place.fixed || alone;
                    self.schema_or_list(out, &value, SchemaPlace { fixed, ..place.below() });
                }
                (_, KeywordContent::Named) => {
                    next_member(out, name);
                    self.named(out, &value, place.below());
                }
            }
        }
    }

    fn schema_or_list(&self, out: &mut Vec<u8>, raw: &RawJson, place: SchemaPlace) {
        if raw.as_bytes().first() != Some(&b'[') {
            self.schema(out, raw, place);
            return;
        }
        out.push(b'[');
        for (index, schema) in list(raw).iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            self.schema(out, schema, place);
        }
        out.push(b']');
    }

    fn named(&self, out: &mut Vec<u8>, raw: &RawJson, place: SchemaPlace) {
        let Ok(schemas) = Object::from_raw(raw) else { return write_compact(out, raw) };
        out.push(b'{');
        for (name, schema) in schemas.iter() {
            next_member(out, &name);
            self.schema(out, &schema, place);
        }
        out.push(b'}');
    }

    fn kept(&self, members: &Object, place: SchemaPlace, is_root: bool) -> Properties {
        let raw = members.get("properties");
        let all = raw.and_then(|raw| Object::from_raw(&raw).ok()).unwrap_or_default();
        let needed = if place.fixed { RequiredProperties::All } else { RequiredProperties::of(members) };
        let optional = all.iter().filter(|(name, _)| !needed.has(name)).count();
        let kept_optional = match (is_root, self.cut.optional) {
            (true, _) => optional * self.cut.kept_eighths / 8,
            (false, OptionalParameters::Gone) => 0,
            (false, _) => optional,
        };
        Properties { all, needed, kept_optional, some_go: kept_optional < optional }
    }

    fn properties(&self, out: &mut Vec<u8>, properties: &Properties, place: SchemaPlace) {
        let mut left = properties.kept_optional;
        out.push(b'{');
        for (name, property) in properties.all.iter() {
            if properties.needed.has(&name) {
                next_member(out, &name);
                self.schema(out, &property, place.below());
            } else if left > 0 {
                left -= 1;
                next_member(out, &name);
                let words = place.words.min(self.cut.optional_words);
                if self.cut.optional == OptionalParameters::Whole {
                    self.schema(out, &property, SchemaPlace { words, ..place.below() });
                } else {
                    Outline::of(&property, &self.schema.definitions).write(out, words);
                }
            }
        }
        out.push(b'}');
    }
}

/// The properties of a schema, and which of them stay.
struct Properties {
    all: Object,
    needed: RequiredProperties,
    /// The number of optional properties that stay, from the front.
    kept_optional: usize,
    some_go: bool,
}

/// Begins a member of an object.
fn next_member(out: &mut Vec<u8>, name: &str) {
    if out.last() != Some(&b'{') {
        out.push(b',');
    }
    write_string(out, name);
    out.push(b':');
}

fn write_text(out: &mut Vec<u8>, name: &str, text: &str) {
    next_member(out, name);
    write_string(out, text);
}

fn list(raw: &RawJson) -> Vec<RawJson> {
    raw.to().unwrap_or_default()
}

/// Appends a value without the white space between its parts.
fn write_compact(out: &mut Vec<u8>, value: &RawJson) {
    let (mut in_string, mut escaped) = (false, false);
    for &byte in value.as_bytes() {
        if in_string {
            in_string = escaped || byte != b'"';
            escaped = !escaped && byte == b'\\';
        } else if byte.is_ascii_whitespace() {
            continue;
        } else {
            in_string = byte == b'"';
        }
        out.push(byte);
    }
}

/// Returns a value without the white space between its parts.
pub(super) fn compact(value: &RawJson) -> RawJson {
    let mut out = Vec::with_capacity(value.as_bytes().len());
    write_compact(&mut out, value);
    RawJson::from_written(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn white_space_goes_except_within_strings() {
        let spaced = RawJson::parse("{ \"a b\" : [ 1 ,\n 2 ], \"c\\\" \\\\\": \" x \" }").unwrap();
        assert_eq!(compact(&spaced).as_bytes(), br#"{"a b":[1,2],"c\" \\":" x "}"#);
    }
}
