//! The search for instructions that are hidden in texts that a model reads.
//!
//! Words alone say little: honest tools say *must*, *never* and *token*, too. So words are first reduced to atoms,
//! which stand for their meaning in many languages and disguises, and a finding needs several atoms close together:
//! somebody who is to be kept in the dark, a secret that is asked for, an address it goes to.
//!
//! Words, wordings and rules are data: `atoms.txt`, `words.txt`, `wordings.txt`, `parameters.txt` and `rules.txt`.

mod atom;
mod encoded;
mod judge;
mod lexicon;
mod parameters;
mod pattern;
mod wording;

use std::time::Duration;

use mgp_types::Object;
use mgp_types::canonical::CanonicalTree;

use self::judge::{Match, TextPlace};
use self::lexicon::LEXICON;
use self::parameters::{PATTERNS, Parameters};
use self::wording::WORDINGS;
use super::DefinitionKind;
use super::fold::{FoldedText, undisguised};
use super::invisible::{self, HidingPlace};
use super::names::check_spelling;
use crate::Finding;
use crate::named::Named as _;
use crate::visible::visible;

/// Judges whether anything that a model reads of `listed`, the definition of a `kind`, hides instructions. Returns the
/// finding that flags it, if there is one: models may read it, and an operator is told that it is worded like orders to
/// models, as some honest texts are, too.
///
/// Every text counts, at any depth: names of parameters, defaults and examples as much as descriptions. So does the
/// name of a tool, as far as it can be judged without the names of other tools. A definition is held if it hides
/// something from people, in characters that they do not see or in code, or from the user by asking the model to keep
/// quiet; if it has orders about files of secrets, or orders of two kinds; or if it has orders about tools that
/// `is_foreign` recognises as those of other servers. Other suspicious wording only flags.
///
/// # Errors
/// Fails with the finding that holds the definition: no model may read it until an operator approves it, because there
/// is evidence that no honest definition has.
pub fn judge_definition(
    kind: DefinitionKind,
    listed: &Object,
    is_foreign: &dyn Fn(&str) -> bool,
    spared: &dyn Fn(&str) -> bool,
) -> Result<Option<Finding>, Finding> {
    let mut reader = DefinitionReader::new(is_foreign, spared);
    reader.read_definition(kind, listed)?;
    Ok(reader.flagged)
}

/// The rules whose findings an operator can accept, by their stable names. Other findings concern the form of a
/// definition or its name, which only the server can correct.
pub const RULES: [&str; 6] = [HIDDEN, REQUEST, EXFILTRATION, ENCODED, CROSS, INVISIBLE];

/// Returns whether an operator can accept what the rule of this name finds.
pub(crate) fn is_rule(name: &str) -> bool {
    RULES.contains(&name)
}

/// Checks that `text`, a result or a prompt on its way to a model, does not try to give it instructions.
///
/// # Errors
/// Fails with the finding, if there is one.
pub fn scan_text(text: &str) -> Result<(), Finding> {
    if let Some((hiding, at)) = invisible::find(text, true) {
        return Err(hidden(text, hiding, at, ""));
    }
    let mut reader = DefinitionReader::new(&|_| false, &|_| false);
    reader.check_readings(text, TextPlace::Text, "")?;
    reader.flagged.map_or(Ok(()), Err)
}

/// Frees the compiled words and patterns, about 10 MB, when no text was scanned for a minute, for as long as it is polled.
/// The next text has them compiled again.
pub async fn free_unused_patterns() {
    loop {
        tokio::time::sleep(Duration::from_mins(1)).await;
        LEXICON.free_unused();
        WORDINGS.free_unused();
        PATTERNS.free_unused();
    }
}

/// A reader of the texts of one definition, or of a single text. A finding that holds the definition ends the reading;
/// one that flags is noted.
struct DefinitionReader<'a> {
    /// A test for whether a word is the name of another server's tool.
    is_foreign: &'a dyn Fn(&str) -> bool,
    /// A test for whether the findings of a rule are accepted.
    spared: &'a dyn Fn(&str) -> bool,
    parameters: Parameters,
    /// The descriptions read so far.
    prose: String,
    /// The first finding that rests on wording alone.
    flagged: Option<Finding>,
}

impl<'a> DefinitionReader<'a> {
    fn new(is_foreign: &'a dyn Fn(&str) -> bool, spared: &'a dyn Fn(&str) -> bool) -> Self {
        Self { is_foreign, spared, parameters: Parameters::default(), prose: String::new(), flagged: None }
    }

    fn read_definition(&mut self, kind: DefinitionKind, listed: &Object) -> Result<(), Finding> {
        let tree = CanonicalTree::read(&listed.to_raw()).map_err(|error| {
            Finding::new("malformed-definition", format!("the definition cannot be read: {error}"))
        })?;
        let CanonicalTree::Object(members) = tree else { return Ok(()) };
        if kind == DefinitionKind::Tool {
            check_spelling(&kind.name_in(listed))?;
        }
        self.parameters = Parameters::of(kind, listed, names(&members));
        for (name, value) in &members {
            let place = match name.as_str() {
                // No model reads the data of icons.
                "icons" => continue,
                "name" => TextPlace::Name,
                "uri" | "uriTemplate" => TextPlace::Literal,
                _ => TextPlace::Prose,
            };
            let mut pointer = format!("/{name}");
            self.check_text(name, TextPlace::Name, &pointer)?;
            if let (true, CanonicalTree::Array(arguments)) = (name == "arguments", value) {
                arguments.iter().enumerate().try_for_each(|(index, argument)| {
                    let name = text_of(argument, "name").unwrap_or_default();
                    self.check_parameter(name, argument, &format!("{pointer}/{index}"))
                })?;
            }
            self.check_tree(value, place, &mut pointer)?;
        }
        // Instructions may be spread over several texts, so the descriptions are also judged together.
        let prose = std::mem::take(&mut self.prose);
        self.judge(&prose, TextPlace::Prose, "")
    }

    /// Notes a finding.
    fn note(&mut self, found: Option<Found>) -> Result<(), Finding> {
        if let Some((finding, is_hard)) = found.filter(|(finding, _)| !(self.spared)(finding.rule)) {
            if is_hard {
                return Err(finding);
            }
            self.flagged.get_or_insert(finding);
        }
        Ok(())
    }

    fn check_tree(
        &mut self,
        tree: &CanonicalTree,
        place: TextPlace,
        pointer: &mut String,
    ) -> Result<(), Finding> {
        match tree {
            CanonicalTree::Text(text) => self.check_text(text, place, pointer),
            CanonicalTree::Array(items) => items.iter().enumerate().try_for_each(|(index, item)| {
                step(pointer, &index.to_string(), |pointer| self.check_tree(item, place, pointer))
            }),
            CanonicalTree::Object(members) => members.iter().try_for_each(|(name, value)| {
                step(pointer, name, |pointer| {
                    self.check_text(name, TextPlace::Name, pointer)?;
                    if let (true, CanonicalTree::Object(parameters)) = (name == "properties", value) {
                        parameters.iter().try_for_each(|(name, schema)| {
                            self.check_parameter(name, schema, &format!("{pointer}/{name}"))
                        })?;
                    }
                    let below = if LITERALS.contains(&name.as_str()) { TextPlace::Literal } else { place };
                    self.check_tree(value, below, pointer)
                })
            }),
            CanonicalTree::Null | CanonicalTree::Bool(_) | CanonicalTree::Number(_) => Ok(()),
        }
    }

    /// Judges the name of a parameter and its description as one text.
    fn check_parameter(&mut self, name: &str, schema: &CanonicalTree, at: &str) -> Result<(), Finding> {
        if matches!(text_of(schema, "type"), Some("boolean" | "integer" | "number")) {
            // A parameter of this type cannot carry anything away.
            return Ok(());
        }
        let described = text_of(schema, "description");
        let text = format!("{}: {}", in_words(name), described.unwrap_or_default());
        let member = if described.is_some() { "/description" } else { "" };
        self.judge(&text, TextPlace::Parameter, &format!("{at}{member}"))
    }

    fn check_text(&mut self, text: &str, place: TextPlace, pointer: &str) -> Result<(), Finding> {
        if let Some((hiding, at)) = invisible::find(text, false)
            && !(self.spared)(INVISIBLE)
        {
            return Err(hidden(text, hiding, at, pointer));
        }
        if place == TextPlace::Name && text.len() <= MAX_NAME {
            // A name consists of joined words; a whole sentence used as a name is judged as a text, too.
            self.judge(&in_words(text), TextPlace::Name, pointer)?;
            if !text.contains(char::is_whitespace) {
                return Ok(());
            }
        }
        if place == TextPlace::Prose && text.contains(char::is_whitespace) {
            self.prose.push_str(text);
            self.prose.push(' ');
        }
        let place = if place == TextPlace::Name { TextPlace::Literal } else { place };
        self.check_readings(text, place, pointer)
    }

    /// Judges `text` as it is written, without its disguises, and decoded.
    fn check_readings(&mut self, text: &str, place: TextPlace, pointer: &str) -> Result<(), Finding> {
        self.judge(text, place, pointer)?;
        if let Some(plain) = undisguised(text) {
            let found = self.found(&plain, (place, pointer), Some("in disguised letters"), true);
            self.note(found)?;
        }
        let decoded = |reading: String, has_wordings| {
            self.found(&reading, (place, pointer), Some("once decoded"), has_wordings)
        };
        let found = encoded::readings(text).into_iter().find_map(|reading| decoded(reading, true));
        let turned = || encoded::turned(text).into_iter().find_map(|reading| decoded(reading, false));
        let found = found.or_else(turned);
        self.note(found)
    }

    fn judge(&mut self, text: &str, place: TextPlace, pointer: &str) -> Result<(), Finding> {
        let found = self.found(text, (place, pointer), None, true);
        self.note(found)
    }

    /// Returns the finding of the rules in `text`, which may rest on its words or also on its wordings. A disguised
    /// reading is judged by all rules: an operator who accepted a finding in plain words did not accept a disguised one.
    fn found(
        &self,
        text: &str,
        (place, pointer): (TextPlace, &str),
        disguise: Option<&'static str>,
        has_wordings: bool,
    ) -> Option<Found> {
        let folded = FoldedText::new(text);
        let mut hits = Vec::new();
        LEXICON.get().find(&folded, &mut hits);
        if has_wordings {
            WORDINGS.get().find(&folded, &mut hits);
        }
        self.parameters.find(&folded, &mut hits);
        let spared: &dyn Fn(&str) -> bool = if disguise.is_some() { &|_| false } else { self.spared };
        let Match { rule, start, end, is_hard } =
            judge::judge(&folded, &mut hits, place, &self.parameters, spared)?;
        let is_hard =
            disguise.is_some() || is_hard || (rule.name == CROSS && self.names_foreign(&folded.text));
        let end =
            start + folded.text[start..end].char_indices().nth(MAX_EXCERPT).map_or(end - start, |(at, _)| at);
        let excerpt = visible(&folded.text[start..end]);
        let name = if disguise.is_some() { ENCODED } else { rule.name };
        let disguise = disguise.map(|disguise| format!(", {disguise}")).unwrap_or_default();
        let message = format!("{} {}: \"{excerpt}\"{disguise}", place_of(pointer), rule.meaning);
        Some((Finding::new(name, message), is_hard))
    }

    /// Returns whether `text` names a tool of another server. A plain word does not count as a name, because all texts
    /// use it.
    fn names_foreign(&self, text: &str) -> bool {
        let mut words = text.split(|it: char| !it.is_alphanumeric() && !"_-.".contains(it));
        words.any(|word| {
            let word = word.trim_matches(|it: char| !it.is_alphanumeric());
            word.contains(['_', '-', '.']) && (self.is_foreign)(word)
        })
    }
}

/// Returns the names of the parameters that `members` of a definition declare.
fn names(members: &[(String, CanonicalTree)]) -> Vec<String> {
    let of = |name: &str| members.iter().find(|(member, _)| member == name).map(|(_, value)| value);
    match (of("inputSchema").and_then(|schema| schema.member("properties")), of("arguments")) {
        (Some(CanonicalTree::Object(properties)), _) => {
            properties.iter().map(|(name, _)| name.clone()).collect()
        }
        (_, Some(CanonicalTree::Array(arguments))) => {
            arguments.iter().filter_map(|argument| text_of(argument, "name")).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns the text that is the member `name` of `tree`.
fn text_of<'t>(tree: &'t CanonicalTree, name: &str) -> Option<&'t str> {
    if let Some(CanonicalTree::Text(text)) = tree.member(name) { Some(text) } else { None }
}

fn step<T>(pointer: &mut String, name: &str, inside: impl FnOnce(&mut String) -> T) -> T {
    let length = pointer.len();
    pointer.push('/');
    pointer.push_str(name);
    let result = inside(pointer);
    pointer.truncate(length);
    result
}

/// A finding of a rule in a text, and true if the finding rests on more than wording.
type Found = (Finding, bool);

fn hidden(text: &str, hiding: HidingPlace, at: usize, pointer: &str) -> Finding {
    let mut message = format!("{} contains {} at byte {at}", place_of(pointer), hiding.name());
    let spelled: String = invisible::tagged(text).chars().take(MAX_EXCERPT).collect();
    if hiding == HidingPlace::Tags && !spelled.is_empty() {
        message = format!("{message}: \"{spelled}\"");
    }
    Finding::new(INVISIBLE, message)
}

/// Returns the place of the text, bounded and safe to show.
fn place_of(pointer: &str) -> String {
    if pointer.is_empty() {
        return "the text".to_owned();
    }
    let start: String = pointer.chars().take(MAX_EXCERPT).collect();
    format!("the text at {}", visible(&start))
}

/// Returns a name as words: `contentFromReading_env` becomes `content from reading env`.
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

/// The members of schemas that hold values rather than prose.
const LITERALS: &[&str] = &[
    "default", "enum", "const", "examples", "example", "pattern", "title", "format", "$id", "$ref",
    "required",
];

const HIDDEN: &str = "hidden-instruction";
const REQUEST: &str = "secret-request";
const EXFILTRATION: &str = "exfiltration";
const ENCODED: &str = "encoded-instruction";
const CROSS: &str = "cross-tool";
const INVISIBLE: &str = "invisible-character";

/// The largest length of a name in bytes; longer ones are judged as texts.
const MAX_NAME: usize = 256;
/// The largest number of characters of a text or pointer that a finding shows.
const MAX_EXCERPT: usize = 160;

#[cfg(test)]
mod tests;
