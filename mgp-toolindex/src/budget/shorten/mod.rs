//! JSON Schemas that are shorter and allow no fewer calls.

mod definitions;
mod outline;
mod places;

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use mgp_types::json::ObjectWriter;
use mgp_types::{Object, RawJson};

use self::definitions::{HOLDERS, References, SchemaDefinition, SchemaDefinitions};
use self::outline::outline;
pub(super) use self::places::clip;
use self::places::{KeywordContent, is_comment};

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
    /// No part: optional parameters are left out, also those within required ones.
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
        let raw = raw.compact();
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
        let place = SchemaPlace { words: cut.needed_words, fixed: self.references.obscure, depth: 0 };
        SchemaWriter { cut, schema: self }.root(place)
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
    /// Returns the full schema, with the definitions that it refers to.
    fn root(&self, place: SchemaPlace) -> RawJson {
        let mut members = self.members(&self.schema.members, place, true);
        let definitions = self.definitions(&object(&members), place.below());
        for holder in HOLDERS {
            let held = definitions.iter().filter(|(one, _)| one.holder == holder);
            let held: Vec<Member<'_>> =
                held.map(|(one, schema)| (Cow::Borrowed(&*one.name), schema.clone())).collect();
            if !held.is_empty() {
                members.push((holder.into(), object(&held)));
            }
        }
        object(&members)
    }

    /// Returns the definitions that the written schema refers to, or that refer to one another.
    fn definitions(&self, written: &RawJson, place: SchemaPlace) -> Vec<(&SchemaDefinition, RawJson)> {
        let write = |one: &SchemaDefinition| {
            self.schema(&one.schema, SchemaPlace { fixed: place.fixed || one.fixed, ..place })
        };
        let definitions = &self.schema.definitions;
        if self.schema.references.obscure {
            return definitions.all.iter().map(|one| (one, write(one))).collect();
        }
        let mut schemas = HashMap::new();
        let reached = definitions.reached(&References::in_text(written.as_bytes()), |place, one| {
            let schema = write(one);
            let references = References::in_text(schema.as_bytes());
            schemas.insert(place, schema);
            references
        });
        reached.into_iter().filter_map(|(place, one)| Some((one, schemas.remove(&place)?))).collect()
    }

    fn schema(&self, raw: &RawJson, place: SchemaPlace) -> RawJson {
        match Object::from_raw(raw) {
            Ok(members) if place.depth < DEEPEST => object(&self.members(&members, place, false)),
            _ => raw.clone(),
        }
    }

    fn members<'m>(&self, members: &'m Object, place: SchemaPlace, is_root: bool) -> Vec<Member<'m>> {
        let cut_values = !self.cut.long_lists && !place.fixed && outline::is_long(members);
        let note = if cut_values { outline::note(members) } else { String::new() };
        let properties = self.kept(members, place, is_root);
        let mut out = Vec::new();
        for (name, value) in members.iter() {
            if is_comment(&name, &value) || (is_root && HOLDERS.contains(&&*name)) {
                continue;
            }
            let value = match (&*name, places::inside(&name)) {
                ("description", _) => {
                    let text = members.text("description").unwrap_or_default();
                    RawJson::from_text(&format!("{}{note}", clip(&text, place.words)))
                }
                ("enum", _) if cut_values => {
                    if !members.contains("description") {
                        out.push(("description".into(), RawJson::from_text(note.trim_start())));
                    }
                    if !members.contains("type") && outline::all_text(&value) {
                        out.push(("type".into(), RawJson::from_text("string")));
                    }
                    continue;
                }
                ("properties", _) => self.properties(&properties, place),
                // A property that is cut may still be in a call.
                ("additionalProperties", _) if properties.some_go => continue,
                (_, KeywordContent::Value) => value,
                (_, KeywordContent::Schema(alone)) => {
                    let fixed = place.fixed || alone;
                    self.schema_or_list(&value, SchemaPlace { fixed, ..place.below() })
                }
                (_, KeywordContent::Named) => self.named(&value, place.below()),
            };
            out.push((name, value));
        }
        out
    }

    fn schema_or_list(&self, raw: &RawJson, place: SchemaPlace) -> RawJson {
        if raw.as_bytes().first() == Some(&b'[') {
            array(list(raw).iter().map(|schema| self.schema(schema, place)))
        } else {
            self.schema(raw, place)
        }
    }

    fn named(&self, raw: &RawJson, place: SchemaPlace) -> RawJson {
        let Ok(schemas) = Object::from_raw(raw) else { return raw.clone() };
        let schemas: Vec<_> =
            schemas.iter().map(|(name, schema)| (name, self.schema(&schema, place))).collect();
        object(&schemas)
    }

    fn kept(&self, members: &Object, place: SchemaPlace, is_root: bool) -> Properties {
        let raw = members.get("properties");
        let all = raw.and_then(|raw| Object::from_raw(&raw).ok()).unwrap_or_default();
        let needed = if place.fixed { None } else { places::required(members) };
        let is_optional = |name: &str| needed.as_ref().is_some_and(|needed| !needed.contains(name));
        let optional = all.iter().filter(|(name, _)| is_optional(name)).count();
        let kept_optional = match (is_root, self.cut.optional) {
            (true, _) => optional * self.cut.kept_eighths / 8,
            (false, OptionalParameters::Gone) => 0,
            (false, _) => optional,
        };
        Properties { all, needed, kept_optional, some_go: kept_optional < optional }
    }

    fn properties(&self, properties: &Properties, place: SchemaPlace) -> RawJson {
        let mut left = properties.kept_optional;
        let mut kept = Vec::new();
        for (name, property) in properties.all.iter() {
            let property = if properties.needed.as_ref().is_none_or(|needed| needed.contains(&*name)) {
                self.schema(&property, place.below())
            } else if left > 0 {
                left -= 1;
                let words = place.words.min(self.cut.optional_words);
                if self.cut.optional == OptionalParameters::Whole {
                    self.schema(&property, SchemaPlace { words, ..place.below() })
                } else {
                    outline(&property, &self.schema.definitions, words)
                }
            } else {
                continue;
            };
            kept.push((name, property));
        }
        object(&kept)
    }
}

/// The properties of a schema, and which of them stay.
struct Properties {
    all: Object,
    /// The properties without which a call may be refused; any of them if `None`.
    needed: Option<HashSet<String>>,
    /// The number of optional properties that stay, from the front.
    kept_optional: usize,
    some_go: bool,
}

/// A member of a written object.
type Member<'a> = (Cow<'a, str>, RawJson);

/// Returns the object of these members.
fn object(members: &[Member<'_>]) -> RawJson {
    let mut out = ObjectWriter::new();
    for (name, value) in members {
        out.json(name, value);
    }
    out.finish().to_raw()
}

fn array(values: impl Iterator<Item = RawJson>) -> RawJson {
    RawJson::from_value(&values.collect::<Vec<_>>()).expect("values that are written can be written again")
}

fn list(raw: &RawJson) -> Vec<RawJson> {
    raw.to().unwrap_or_default()
}
