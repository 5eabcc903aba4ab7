//! The reader of the arguments that the input schema of a tool declares.

use std::cell::Cell;

use mgp_types::{Object, RawJson, words};

use super::lexicon::documented;
use super::nature::ArgumentNature;

/// One argument of a tool, or a member of an argument at any depth.
#[derive(Debug, Clone, Default)]
pub(super) struct SchemaArgument {
    pub(super) name: Box<str>,
    /// The description in the schema, or else the part of the tool's description about this argument.
    pub(super) description: String,
    /// True if callers can write any text in the argument, which they cannot in a number, a boolean, a choice, or an
    /// object of members.
    pub(super) takes_text: bool,
    /// The nature that `format` or `contentMediaType` declare.
    pub(super) declared: Option<ArgumentNature>,
    /// True if the argument is a member of the items of a list.
    pub(super) is_in_list: bool,
    /// True if a destination stands beside the argument.
    pub(super) is_copied: bool,
}

/// Returns the arguments of the tool that `definition` describes, at any depth, including members behind references.
pub(super) fn arguments(definition: &Object) -> Vec<SchemaArgument> {
    let Some(root) = definition.object("inputSchema") else { return Vec::new() };
    let description = definition.text("description").unwrap_or_default();
    let left = Cell::new(MAX_SCHEMAS);
    let mut reader = SchemaReader { root: &root, description: &description, left, found: Vec::new() };
    reader.read(&root, 0, false);
    reader.found
}

/// Returns whether `name` is that of a place where something is put.
pub(super) fn is_destination(name: &str) -> bool {
    matches!(&*words(name).concat(), "destination" | "dest" | "dst")
}

struct SchemaReader<'a> {
    root: &'a Object,
    description: &'a str,
    /// The number of schemas that may still be read: references can make a small text a large tree.
    left: Cell<usize>,
    found: Vec<SchemaArgument>,
}

impl SchemaReader<'_> {
    fn read(&mut self, schema: &Object, depth: usize, is_in_list: bool) {
        if !self.may_read(depth) {
            return;
        }
        for (keyword, value) in schema.iter() {
            match &*keyword {
                "properties" | "patternProperties" => self.read_members(&value, depth, is_in_list),
                "additionalProperties" | "if" | "then" | "else" => self.read_raw(&value, depth, is_in_list),
                "items" => self.read_raw(&value, depth, true),
                "anyOf" | "oneOf" | "allOf" | "prefixItems" => {
                    for branch in value.to::<Vec<RawJson>>().unwrap_or_default() {
                        self.read_raw(&branch, depth, is_in_list || keyword == "prefixItems");
                    }
                }
                "$ref" => {
                    if let Some(referenced) = self.referenced(&value) {
                        self.read(&referenced, depth + 1, is_in_list);
                    }
                }
                _ => {}
            }
        }
    }

    fn read_raw(&mut self, schema: &RawJson, depth: usize, is_in_list: bool) {
        if let Ok(schema) = Object::from_raw(schema) {
            self.read(&schema, depth + 1, is_in_list);
        }
    }

    fn read_members(&mut self, members: &RawJson, depth: usize, is_in_list: bool) {
        let Ok(members) = Object::from_raw(members) else { return };
        let is_copied = members.iter().any(|(name, _)| is_destination(&name));
        for (name, value) in members.iter() {
            // A schema can also be `true`, which allows any value.
            let schema = Object::from_raw(&value).unwrap_or_default();
            let described = schema.text("description").map(std::borrow::Cow::into_owned);
            let documented = || documented(self.description, &name).unwrap_or_default().to_owned();
            self.found.push(SchemaArgument {
                name: (&*name).into(),
                description: described.unwrap_or_else(documented),
                takes_text: self.takes_text(&schema, depth),
                declared: declared(&schema),
                is_in_list,
                is_copied,
            });
            self.read(&schema, depth + 1, is_in_list);
        }
    }

    /// Returns whether one more schema may be read, at this depth.
    fn may_read(&self, depth: usize) -> bool {
        let left = self.left.get();
        self.left.set(left.saturating_sub(1));
        left > 0 && depth <= MAX_DEPTH
    }

    /// Returns whether a value that fits `schema` can be any text, or a list of such texts.
    fn takes_text(&self, schema: &Object, depth: usize) -> bool {
        if !self.may_read(depth) {
            return true;
        }
        if schema.contains("enum") || schema.contains("const") {
            return false;
        }
        let below = |raw: &RawJson| Object::from_raw(raw).map_or(true, |it| self.takes_text(&it, depth + 1));
        if let Some(reference) = schema.get("$ref") {
            return self.referenced(&reference).is_none_or(|it| self.takes_text(&it, depth + 1));
        }
        for keyword in ["anyOf", "oneOf", "allOf"] {
            let branches = schema.get(keyword).and_then(|raw| raw.to::<Vec<RawJson>>().ok());
            if let Some(branches) = branches.filter(|branches| !branches.is_empty()) {
                // A value must fit all branches of `allOf`, but only one of the other keywords.
                let mut branches = branches.iter();
                return if keyword == "allOf" { branches.all(below) } else { branches.any(below) };
            }
        }
        let has_members = schema.contains("properties") || schema.contains("additionalProperties");
        let listed = |kinds: RawJson| kinds.to_text().map(|kind| vec![kind]).or_else(|| kinds.to().ok());
        match schema.get("type").and_then(listed) {
            None if schema.contains("items") => schema.get("items").is_none_or(|items| below(&items)),
            None => !has_members,
            Some(kinds) => kinds.iter().any(|kind| match &**kind {
                "string" => !schema.text("format").is_some_and(|format| FIXED_FORMATS.contains(&&*format)),
                "array" => schema.get("items").is_none_or(|items| below(&items)),
                _ => false,
            }),
        }
    }

    /// Returns the schema that a reference within the same schema leads to, as in `#/$defs/Item`.
    fn referenced(&self, reference: &RawJson) -> Option<Object> {
        let pointer = reference.to_text()?;
        let mut at = self.root.clone();
        for step in pointer.strip_prefix("#")?.split('/').skip(1) {
            let name = step.replace("~1", "/").replace("~0", "~");
            at = Object::from_raw(&at.get(&name)?).ok()?;
        }
        Some(at)
    }
}

fn declared(schema: &Object) -> Option<ArgumentNature> {
    let items = schema.object("items");
    let hint = |name: &str| schema.text(name).or_else(|| items.as_ref()?.text(name));
    match hint("format").as_deref() {
        Some("uri" | "uri-reference" | "iri" | "iri-reference" | "url") => Some(ArgumentNature::Url),
        Some("hostname" | "idn-hostname" | "ipv4" | "ipv6") => Some(ArgumentNature::Host),
        Some("path" | "file-path" | "directory-path") => Some(ArgumentNature::Path),
        _ => match hint("contentMediaType").as_deref() {
            Some("application/sql") => Some(ArgumentNature::Sql),
            Some("application/x-sh") => Some(ArgumentNature::Command),
            Some(media) if CODE_MEDIA.iter().any(|known| media.contains(known)) => Some(ArgumentNature::Code),
            _ => None,
        },
    }
}

/// The formats of texts that are as harmless as numbers.
const FIXED_FORMATS: &[&str] = &["date", "time", "date-time", "duration", "uuid", "email"];
const CODE_MEDIA: &[&str] = &["python", "javascript", "typescript", "ecmascript"];

/// The largest depth to which schemas are read; deeper arguments are judged by their names alone.
const MAX_DEPTH: usize = 16;
/// The largest number of schemas of one tool that are read.
const MAX_SCHEMAS: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    fn taking_text(properties: &str) -> Vec<String> {
        let definition = format!(
            r##"{{"inputSchema":{{"properties":{{{properties}}},
                "$defs":{{"choice":{{"enum":["a"]}},"line":{{"type":"string"}},"loop":{{"$ref":"#/$defs/loop"}}}}}}}}"##
        );
        let arguments = arguments(&Object::parse(definition).unwrap());
        arguments.into_iter().filter(|it| it.takes_text).map(|it| it.name.into()).collect()
    }

    #[test]
    fn only_what_takes_any_text_counts_as_text() {
        let found = taking_text(
            r##""free":{"type":"string"},"unsaid":{},"anything":true,"choice":{"enum":["a"]},"fixed":{"const":1},
            "flag":{"type":"boolean"},"count":{"type":["integer","null"]},"or_null":{"type":["string","null"]},
            "list":{"type":"array","items":{"type":"string"}},"numbers":{"type":"array","items":{"type":"number"}},
            "either":{"anyOf":[{"type":"string"},{"type":"null"}]},"neither":{"anyOf":[{"enum":["x"]},{"type":"null"}]},
            "by_reference":{"$ref":"#/$defs/line"},"chosen":{"allOf":[{"$ref":"#/$defs/choice"}]},
            "when":{"type":"string","format":"date-time"},"endless":{"$ref":"#/$defs/loop"}"##,
        );
        let wanted = ["free", "unsaid", "anything", "or_null", "list", "either", "by_reference", "endless"];
        assert_eq!(found, wanted);
    }

    #[test]
    fn definitions_count_only_where_they_are_referenced() {
        let definition = r##"{"inputSchema":{"properties":{"a":{"$ref":"#/$defs/used"}},"$defs":{
            "used":{"properties":{"path":{"type":"string"}}},"unused":{"properties":{"command":{}}}}}}"##;
        let arguments = arguments(&Object::parse(definition.to_owned()).unwrap());
        let names: Vec<_> = arguments.iter().map(|it| &*it.name).collect();
        assert_eq!(names, ["a", "path"]);
    }
}
