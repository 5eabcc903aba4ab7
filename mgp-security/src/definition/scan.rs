//! The search for texts in definitions and results that give orders to the model which reads them.
//!
//! Words alone say little: honest tools say *must*, *never* and *token*, too. So a finding needs several signs in one
//! sentence: a secret that is asked for and an address it goes to, or something that is to be kept from the user. Such
//! a finding flags a definition and never withholds it. What is written so that people do not see it, in invisible
//! characters or in code, holds a definition.
//!
//! Signs and rules are data: `signs.txt` and `rules.txt`.

mod encoded;
mod signs;

use std::sync::{Arc, LazyLock};

use mgp_types::Object;
#[cfg(feature = "permission")]
use mgp_types::RawJson;
use mgp_types::canonical::{CanonicalTree, Digest};

use self::signs::{Signs, TextPlace};
use super::DefinitionKind;
use super::fold::{FoldedText, undisguised};
use super::invisible::{self, HidingPlace};
use super::names::check_spelling;
use crate::Finding;
use crate::named::Named as _;
use crate::visible::visible;

/// Returns the findings in everything that a model reads of `listed`, the definition of a `kind`: at most one for each rule.
///
/// Every text counts, at any depth: names of parameters, defaults and examples as much as descriptions. So does the
/// name of a tool, as far as it can be judged without the names of other tools. [`is_flag`] says of a rule whether its
/// findings flag the definition, which is used, or hold it until an operator approves it.
pub fn judge_definition(kind: DefinitionKind, listed: &Object) -> Vec<Finding> {
    let mut reader = DefinitionReader { signs: Signs::get(), findings: Vec::new() };
    reader.read_definition(kind, listed);
    reader.findings
}

/// The rules whose findings an operator can accept, by their stable names. Other findings concern the form of a
/// definition or its name, which only the server can correct.
pub const RULES: [&str; 6] = [HIDDEN, REQUEST, EXFILTRATION, CROSS, ENCODED, INVISIBLE];

/// The rules that judge by wording, which honest texts may have, too.
const FLAGS: [&str; 4] = [HIDDEN, REQUEST, EXFILTRATION, CROSS];

/// Returns whether the findings of this rule flag a definition and do not hold it.
pub fn is_flag(rule: &str) -> bool {
    FLAGS.contains(&rule)
}

/// Returns the rule of this name, if an operator can accept what it finds.
pub(super) fn rule_called(name: &str) -> Option<&'static str> {
    RULES.into_iter().find(|rule| *rule == name)
}

/// Returns the digest of everything by which texts are judged: while it stays the same, so do the findings in a text.
pub(super) fn scanner() -> Digest {
    static SCANNER: LazyLock<Digest> = LazyLock::new(|| {
        Digest::of_canonical([&[VERSION], &signs::rule_book()[..]].concat().concat().as_bytes())
    });
    *SCANNER
}

/// The version of the code that judges texts: a change of it makes all definitions be judged again.
const VERSION: &str = "1";

/// Returns a value that keeps the compiled signs in memory until it is dropped, for somebody who has many texts to judge.
pub(crate) fn keep_signs() -> impl Sized {
    Signs::get()
}

/// Checks that `text`, a result or a prompt on its way to a model, does not try to give it instructions.
///
/// # Errors
/// Fails with the finding, if there is one.
pub fn scan_text(text: &str) -> Result<(), Finding> {
    if let Some((hiding, at)) = invisible::find(text, true) {
        return Err(hidden(text, hiding, at, ""));
    }
    let mut reader = DefinitionReader { signs: Signs::get(), findings: Vec::new() };
    reader.judge_readings(text, TextPlace::Text, "");
    reader.findings.into_iter().next().map_or(Ok(()), Err)
}

/// Returns whether a text in the start of `result` is worded like orders to a model.
#[cfg(feature = "permission")]
pub(crate) fn has_orders(result: &RawJson) -> bool {
    static SIGNS: LazyLock<Arc<Signs>> = LazyLock::new(Signs::get);
    // Where one result is judged, others follow.
    LazyLock::force(&SIGNS);
    let Ok(value) = crate::text::read(result) else { return false };
    let mut room = MAX_RESULT;
    let judged = crate::text::walk(&value, &mut |_, text| {
        let start = &text[..text.floor_char_boundary(room)];
        room -= start.len();
        scan_text(start)
    });
    judged.is_err()
}

/// The largest number of bytes of texts in a result that are judged.
#[cfg(feature = "permission")]
const MAX_RESULT: usize = 32 << 10;

/// A reader of the texts of one definition, or of a single text.
struct DefinitionReader {
    signs: Arc<Signs>,
    /// The findings so far, one for each rule.
    findings: Vec<Finding>,
}

impl DefinitionReader {
    fn read_definition(&mut self, kind: DefinitionKind, listed: &Object) {
        let members = match CanonicalTree::read(&listed.to_raw()) {
            Ok(CanonicalTree::Object(members)) => members,
            Ok(_) => return,
            Err(error) => {
                let message = format!("the definition cannot be read: {error}");
                return self.note(Finding::new("malformed-definition", message));
            }
        };
        if kind == DefinitionKind::Tool
            && let Err(finding) = check_spelling(&kind.name_in(listed))
        {
            self.note(finding);
        }
        for (name, value) in &members {
            // No model reads the data of icons.
            if name == "icons" {
                continue;
            }
            let mut pointer = format!("/{name}");
            if let (true, CanonicalTree::Array(arguments)) = (name == "arguments", value) {
                for (index, argument) in arguments.iter().enumerate() {
                    let name = text_of(argument, "name").unwrap_or_default();
                    self.judge_parameter(name, argument, &format!("{pointer}/{index}"));
                }
            }
            self.judge_name(name, &pointer);
            self.judge_tree(value, &mut pointer);
        }
    }

    fn note(&mut self, finding: Finding) {
        if self.findings.iter().all(|known| known.rule != finding.rule) {
            self.findings.push(finding);
        }
    }

    fn judge_tree(&mut self, tree: &CanonicalTree, pointer: &mut String) {
        match tree {
            CanonicalTree::Text(text) => self.judge_text(text, pointer),
            CanonicalTree::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    step(pointer, &index.to_string(), |pointer| self.judge_tree(item, pointer));
                }
            }
            CanonicalTree::Object(members) => {
                for (name, value) in members {
                    step(pointer, name, |pointer| {
                        self.judge_name(name, pointer);
                        if let (true, CanonicalTree::Object(parameters)) = (name == "properties", value) {
                            for (name, schema) in parameters {
                                self.judge_parameter(name, schema, &format!("{pointer}/{name}"));
                            }
                        }
                        self.judge_tree(value, pointer);
                    });
                }
            }
            CanonicalTree::Null | CanonicalTree::Bool(_) | CanonicalTree::Number(_) => {}
        }
    }

    /// Judges the name of a parameter and its description as one text.
    fn judge_parameter(&mut self, name: &str, schema: &CanonicalTree, at: &str) {
        if matches!(text_of(schema, "type"), Some("boolean" | "integer" | "number")) {
            // A parameter of this type cannot carry anything away.
            return;
        }
        let described = text_of(schema, "description");
        let text = format!("{}: {}", in_words(name), described.unwrap_or_default());
        let member = if described.is_some() { "/description" } else { "" };
        self.judge(&text, TextPlace::Parameter, &format!("{at}{member}"), None);
    }

    /// Judges the name of a member, which consists of joined words; one that is a sentence is judged as a text, too.
    fn judge_name(&mut self, name: &str, pointer: &str) {
        if name.len() <= MAX_NAME {
            self.judge(&in_words(name), TextPlace::Name, pointer, None);
        }
        if name.len() > MAX_NAME || name.contains(char::is_whitespace) {
            self.judge_text(name, pointer);
        }
    }

    fn judge_text(&mut self, text: &str, pointer: &str) {
        if let Some((hiding, at)) = invisible::find(text, false) {
            self.note(hidden(text, hiding, at, pointer));
        }
        self.judge_readings(text, TextPlace::Definition, pointer);
    }

    /// Judges `text` as it is written, without its disguises, and decoded.
    fn judge_readings(&mut self, text: &str, place: TextPlace, pointer: &str) {
        self.judge(text, place, pointer, None);
        let written = FoldedText::new(text);
        if let Some(plain) = undisguised(text) {
            self.judge(&plain, place, pointer, Some((&written, "in disguised letters")));
        }
        for reading in encoded::readings(text) {
            self.judge(&reading, place, pointer, Some((&written, "once decoded")));
        }
        for reading in encoded::turned(text) {
            self.judge(&reading, TextPlace::Turned, pointer, Some((&written, "once decoded")));
        }
    }

    /// Notes the finding of the rules in a reading of a text. If the text as it is written hides it by a `disguise`, sentences
    /// that are not disguised are no part of that.
    fn judge(
        &mut self,
        reading: &str,
        place: TextPlace,
        pointer: &str,
        disguise: Option<(&FoldedText, &str)>,
    ) {
        let folded = FoldedText::new(reading);
        let written = disguise.map(|(written, _)| written);
        let Some(broken) = self.signs.broken_rule(&folded, place, written) else { return };
        let excerpt: String = broken.sentence.trim().chars().take(MAX_EXCERPT).collect();
        let message = format!("{} {}: \"{}\"", place_of(pointer), broken.meaning, visible(&excerpt));
        self.note(match disguise {
            None => Finding::new(broken.name, message),
            Some((_, disguise)) => Finding::new(ENCODED, format!("{message}, {disguise}")),
        });
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
