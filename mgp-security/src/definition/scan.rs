//! The search for instructions that are hidden in what a model reads.
//!
//! Words alone say little: honest tools say *must*, *never* and *token*, too. So words are first reduced to what
//! they stand for, in many languages and disguises, and a finding needs several of these atoms close together:
//! somebody who is to be kept in the dark, a secret that is asked for, an address it goes to.

#![allow(clippy::enum_glob_use, reason = "the tables are made of atoms, and of hardly anything else")]

mod atom;
mod compose;
mod deeds;
mod encoded;
mod lexicon;
mod marks;
mod parameters;
mod pattern;
mod phrases;
mod rules;
mod table;
mod table_definitions;
mod table_parameters;
mod table_phrases;
mod words_en;
mod words_en_deeds;
mod words_west;
mod words_world;

use std::fmt::Write as _;

use mgp_types::Object;

use self::atom::Hit;
use self::parameters::Parameters;
use self::rules::{Match, Place};
use super::fold::{Folded, undisguised};
use super::invisible::{self, Hiding, Tolerance, visible};
use super::names::check_spelling;
use crate::Finding;
use crate::canonical::Tree;

/// Whether anything that a model reads of the definition `tool` hides instructions, and where.
///
/// Every text counts, at any depth: names of parameters, defaults and examples as much as descriptions. So does
/// the name of the tool, as far as it can be judged without those of others.
///
/// # Errors
/// Something was found; the finding says what and where, for whoever runs the server.
pub fn scan_definition(tool: &Object) -> Result<(), Finding> {
    let tree = Tree::read(&tool.to_raw()).map_err(|error| {
        Finding::new("malformed-definition", format!("the definition cannot be read: {error}"))
    })?;
    let Tree::Object(members) = tree else { return Ok(()) };
    check_spelling(&tool.text("name").unwrap_or_default())?;
    let mut reader = Reader { parameters: Parameters::of(tool, names(&members)), prose: String::new() };
    for (name, value) in &members {
        // Icons are data that no model reads.
        if name != "icons" {
            let place = if name == "name" { Place::Name } else { Place::Prose };
            let mut pointer = format!("/{name}");
            reader.check_text(name, Place::Name, &pointer)?;
            reader.check_tree(value, place, &mut pointer)?;
        }
    }
    // What no single text says all of them may say together.
    reader.judge(&reader.prose, Place::Prose).map_or(Ok(()), |found| Err(found.finding("")))
}

/// Whether `text`, a result or a prompt on its way to a model, tries to give it instructions.
///
/// # Errors
/// Something was found; the finding says what.
pub fn scan_text(text: &str) -> Result<(), Finding> {
    if let Some((hiding, at)) = invisible::find(text, Tolerance::Typesetting) {
        return Err(hidden(text, hiding, at, ""));
    }
    Reader::default().check_readings(text, Place::Text, "")
}

/// Reads the texts of one definition, or a single text.
#[derive(Default)]
struct Reader {
    parameters: Parameters,
    /// The descriptions so far.
    prose: String,
}

impl Reader {
    fn check_tree(&mut self, tree: &Tree, place: Place, pointer: &mut String) -> Result<(), Finding> {
        match tree {
            Tree::Text(text) => self.check_text(text, place, pointer),
            Tree::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                step(pointer, &index.to_string(), |pointer| self.check_tree(item, place, pointer))
            }),
            Tree::Object(members) => members.iter().try_for_each(|(name, value)| {
                step(pointer, name, |pointer| {
                    self.check_text(name, Place::Name, pointer)?;
                    if let (true, Tree::Object(parameters)) = (name == "properties", value) {
                        parameters.iter().try_for_each(|it| self.check_parameter(it, pointer))?;
                    }
                    let below = if LITERALS.contains(&name.as_str()) { Place::Literal } else { place };
                    self.check_tree(value, below, pointer)
                })
            }),
            Tree::Null | Tree::Bool(_) | Tree::Number(_) => Ok(()),
        }
    }

    /// Judges the name of a parameter and its description as one text.
    fn check_parameter(&self, (name, schema): &(String, Tree), pointer: &str) -> Result<(), Finding> {
        let described = match schema {
            Tree::Object(members) => members.iter().find_map(|(member, value)| match value {
                Tree::Text(text) if member == "description" => Some(text.as_str()),
                _ => None,
            }),
            _ => None,
        };
        let text = format!("{}: {}", in_words(name), described.unwrap_or_default());
        let member = if described.is_some() { "/description" } else { "" };
        let at = || format!("{pointer}/{name}{member}");
        self.judge(&text, Place::Parameter).map_or(Ok(()), |found| Err(found.finding(&at())))
    }

    fn check_text(&mut self, text: &str, place: Place, pointer: &str) -> Result<(), Finding> {
        if let Some((hiding, at)) = invisible::find(text, Tolerance::None) {
            return Err(hidden(text, hiding, at, pointer));
        }
        if place == Place::Name && text.len() <= MAX_NAME {
            // A name is words that are joined; a whole sentence as a name is read as one, too.
            let found = self.judge(&in_words(text), Place::Name);
            found.map_or(Ok(()), |found| Err(found.finding(pointer)))?;
            if !text.contains(char::is_whitespace) {
                return Ok(());
            }
        }
        if place == Place::Prose && text.contains(char::is_whitespace) {
            self.prose.push_str(text);
            self.prose.push(' ');
        }
        let place = if place == Place::Name { Place::Literal } else { place };
        self.check_readings(text, place, pointer)
    }

    /// Judges `text` as it stands, as it reads undisguised, and as it decodes.
    fn check_readings(&self, text: &str, place: Place, pointer: &str) -> Result<(), Finding> {
        if let Some(found) = self.judge(text, place) {
            return Err(found.finding(pointer));
        }
        if let Some(plain) = undisguised(text)
            && let Some(found) = self.judge(&plain, place)
        {
            return Err(found.disguised("in disguised letters").finding(pointer));
        }
        let decoded = encoded::readings(text).into_iter().find_map(|reading| self.judge(&reading, place));
        let turned = || {
            encoded::turned(text)
                .into_iter()
                .find_map(|reading| self.judge_by(&[lexicon::words], &reading, place))
        };
        match decoded.or_else(turned) {
            Some(found) => Err(found.disguised("once decoded").finding(pointer)),
            None => Ok(()),
        }
    }

    fn judge(&self, text: &str, place: Place) -> Option<Found> {
        self.judge_by(&[lexicon::words, marks::marks, phrases::phrases, deeds::deeds], text, place)
    }

    /// What the rules find in `text` by what `finders` find in it.
    fn judge_by(&self, finders: &[fn(&Folded, &mut Vec<Hit>)], text: &str, place: Place) -> Option<Found> {
        let folded = Folded::new(text);
        let mut hits = Vec::new();
        for find in finders {
            find(&folded, &mut hits);
        }
        self.parameters.find(&folded, &mut hits);
        let Match { rule, start, end } = rules::judge(&folded, &mut hits, place, &self.parameters)?;
        let end =
            start + folded.text[start..end].char_indices().nth(MAX_EXCERPT).map_or(end - start, |(at, _)| at);
        let excerpt = visible(&folded.text[start..end]).into_owned();
        Some(Found { rule: rule.name, meaning: rule.meaning, excerpt, disguise: None })
    }
}

/// The names of the parameters that `members` of a definition declare.
fn names(members: &[(String, Tree)]) -> Vec<String> {
    let member = |members: &[(String, Tree)], name: &str| match members.iter().find(|it| it.0 == name) {
        Some((_, Tree::Object(below))) => below.clone(),
        _ => Vec::new(),
    };
    member(&member(members, "inputSchema"), "properties").into_iter().map(|(name, _)| name).collect()
}

fn step<T>(pointer: &mut String, name: &str, inside: impl FnOnce(&mut String) -> T) -> T {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(name);
    let result = inside(pointer);
    pointer.truncate(length);
    result
}

/// What a rule found in a text.
struct Found {
    rule: &'static str,
    meaning: &'static str,
    excerpt: String,
    disguise: Option<&'static str>,
}

impl Found {
    fn disguised(self, disguise: &'static str) -> Self {
        Self { rule: "encoded-instruction", disguise: Some(disguise), ..self }
    }

    fn finding(self, pointer: &str) -> Finding {
        let Self { rule, meaning, excerpt, disguise } = self;
        let mut message = place_of(pointer);
        // Writing to a String cannot fail.
        let _ = write!(message, " {meaning}: \"{excerpt}\"");
        if let Some(disguise) = disguise {
            let _ = write!(message, ", {disguise}");
        }
        Finding::new(rule, message)
    }
}

fn hidden(text: &str, hiding: Hiding, at: usize, pointer: &str) -> Finding {
    let mut message = format!("{} contains {} at byte {at}", place_of(pointer), hiding.describe());
    let spelled: String = invisible::tagged(text).chars().take(MAX_EXCERPT).collect();
    if hiding == Hiding::Tags && !spelled.is_empty() {
        // Writing to a String cannot fail.
        let _ = write!(message, ": \"{spelled}\"");
    }
    Finding::new("invisible-character", message)
}

/// Where the text stands, bounded and safe to show.
fn place_of(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the text".to_owned();
    }
    let start: String = pointer.chars().take(MAX_EXCERPT).collect();
    format!("the text at {}", visible(&start))
}

/// A name as words: `contentFromReading_env` becomes `content from reading env`.
fn in_words(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 8);
    let mut lower = false;
    for character in name.chars() {
        if lower && character.is_uppercase() {
            out.push(' ');
        }
        lower = character.is_lowercase();
        out.push(if matches!(character, '_' | '-' | '.' | '/' | ':') { ' ' } else { character });
    }
    out
}

/// Members of schemas that hold values rather than prose.
const LITERALS: &[&str] = &[
    "default", "enum", "const", "examples", "example", "pattern", "title", "format", "$id", "$ref",
    "required",
];

/// Longer names are texts.
const MAX_NAME: usize = 256;
const MAX_EXCERPT: usize = 160;

#[cfg(test)]
mod tests;
