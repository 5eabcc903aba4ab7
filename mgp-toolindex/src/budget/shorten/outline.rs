//! Outlines of parameters, without their inner structure.

use mgp_types::{Object, RawJson};

use super::definitions::SchemaDefinitions;
use super::places::HEADER;
use super::{Member, array, clip, list, object};

const DEEPEST: usize = 2;
const MAX_ALTERNATIVES: usize = 8;
const KEPT: [&str; 7] = ["type", "format", "const", "minimum", "maximum", "nullable", HEADER];

/// Returns the part of a parameter that stays without its inner structure, with so many characters of each description.
/// The outline allows all that the parameter's own schema allows; references are followed into the definitions.
pub(super) fn outline(schema: &RawJson, definitions: &SchemaDefinitions, words: usize) -> RawJson {
    at_depth(schema, definitions, words, 0)
}

fn at_depth(schema: &RawJson, definitions: &SchemaDefinitions, words: usize, mut depth: usize) -> RawJson {
    let mut members = Object::from_raw(schema).unwrap_or_default();
    // The schema that this one refers to has to be met too.
    while depth < DEEPEST
        && let Some(target) = same_as(&members, definitions)
    {
        depth += 1;
        members.remove("$ref");
        members.remove("allOf");
        for (name, value) in Object::from_raw(&target).unwrap_or_default().iter() {
            if !members.contains(&name) {
                members.set(name.into_owned(), value);
            }
        }
    }
    let kept = |name: &'static str| Some((name.into(), members.get(name)?));
    let mut outline: Vec<Member<'_>> = KEPT.into_iter().filter_map(kept).collect();
    let is_long = is_long(&members);
    outline.extend(kept("enum").filter(|_| !is_long));
    let note = if is_long { note(&members) } else { String::new() };
    let description = members.text("description").unwrap_or_default();
    let description = format!("{}{note}", clip(&description, words));
    if !description.is_empty() {
        outline.push(("description".into(), RawJson::from_text(description.trim_start())));
    }
    if depth < DEEPEST {
        let below = |schema: &RawJson| at_depth(schema, definitions, words, depth + 1);
        let items = members.get("items").filter(RawJson::is_object);
        outline.extend(items.map(|items| ("items".into(), below(&items))));
        let alternatives = members.get("anyOf").or_else(|| members.get("oneOf")).map(|raw| list(&raw));
        let few = alternatives.filter(|list| (1..=MAX_ALTERNATIVES).contains(&list.len()));
        outline.extend(few.map(|few| ("anyOf".into(), array(few.iter().map(below)))));
    }
    object(&outline)
}

/// Returns the schema that a schema refers to, or the only one that it combines.
fn same_as(members: &Object, definitions: &SchemaDefinitions) -> Option<RawJson> {
    if let Some(pointer) = members.text("$ref") {
        return definitions.get(&pointer).cloned();
    }
    let mut all = list(&members.get("allOf")?);
    if all.len() == 1 { all.pop() } else { None }
}

const FEW_BYTES: usize = 120;

/// The number of values up to which a list is short; a list is also short by its length.
const FEW_VALUES: usize = 16;

/// Returns whether a schema lists so many values that a note with examples replaces them.
pub(super) fn is_long(members: &Object) -> bool {
    members.get("enum").is_some_and(|raw| raw.as_bytes().len() > FEW_BYTES && list(&raw).len() > FEW_VALUES)
}

const EXAMPLES: usize = 6;

/// Returns the note that names some values of a schema.
pub(super) fn note(members: &Object) -> String {
    let values = members.get("enum").map(|raw| list(&raw)).unwrap_or_default();
    let some: Vec<String> = values.iter().take(EXAMPLES).map(plain).collect();
    format!(" (one of {} values, like {})", values.len(), some.join(", "))
}

/// Returns whether all values are strings.
pub(super) fn all_text(values: &RawJson) -> bool {
    list(values).iter().all(|value| value.as_bytes().first() == Some(&b'"'))
}

const LONGEST_EXAMPLE: usize = 24;

fn plain(value: &RawJson) -> String {
    let text = value.to_text().unwrap_or_else(|| String::from_utf8_lossy(value.as_bytes()).into_owned());
    clip(&text, LONGEST_EXAMPLE).into_owned()
}
