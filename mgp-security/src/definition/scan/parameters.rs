//! The parameters of a tool, as evidence about the texts in its definition: texts that speak of a parameter by its
//! name, and parameters that have nothing to do with the purpose of the tool.

use std::collections::HashSet;
use std::sync::LazyLock;

use mgp_types::Object;

use super::atom::{Atom, Hit};
use super::data::{DataFile, Entry, Line, Mistake, Section};
use super::pattern::Pattern;
use crate::definition::DefinitionKind;
use crate::definition::fold::FoldedText;

/// The patterns that recognise names of parameters and the topics of a tool.
struct Topics {
    /// Patterns whose first group may be the name of a parameter.
    named: Vec<Pattern>,
    talk: Pattern,
    secrets: Pattern,
    deeds: Pattern,
}

impl Topics {
    /// Returns the topics of `parameters.txt`.
    fn get() -> &'static Self {
        static TOPICS: LazyLock<Topics> = LazyLock::new(|| Topics::read().expect("a test reads the topics"));
        &TOPICS
    }

    fn read() -> Result<Self, Mistake> {
        Self::of(PARAMETERS)
    }

    fn of(file: DataFile) -> Result<Self, Mistake> {
        let mut named = Vec::new();
        let [mut talk, mut secrets, mut deeds] = [const { None }; 3];
        for Section { heading, entries } in file.sections()? {
            let topic = match heading.text {
                "names of parameters" => {
                    let patterns = entries.iter().map(|entry| pattern(&entry.line, &entry.joined()));
                    named = patterns.collect::<Result<_, _>>()?;
                    continue;
                }
                "conversations" => &mut talk,
                "access" => &mut secrets,
                "deeds" => &mut deeds,
                name => return Err(heading.mistake(format!("`{name}` is no topic"))),
            };
            let stems = entries.iter().map(Entry::joined).collect::<Vec<_>>().join("|");
            *topic = Some(pattern(&heading, &format!(r"\b(?:{stems})"))?);
        }
        let missing = || file.lacks("a topic");
        Ok(Self {
            named,
            talk: talk.ok_or_else(missing)?,
            secrets: secrets.ok_or_else(missing)?,
            deeds: deeds.ok_or_else(missing)?,
        })
    }
}

fn pattern(line: &Line, text: &str) -> Result<Pattern, Mistake> {
    Pattern::new(text).map_err(|error| line.mistake(error.to_string()))
}

/// The parameters of a tool, and the topics that the tool is about.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    names: HashSet<String>,
    /// True if the tool is about conversations, models or their prompts.
    pub(super) about_talk: bool,
    /// True if the tool is about access, keys, machines or payments.
    pub(super) about_secrets: bool,
    /// True if the tool itself does something: sends, deletes, books.
    pub(super) about_deeds: bool,
}

impl Parameters {
    /// Returns the parameters of `listed`, whose topics are read from its name and the start of its description.
    pub(super) fn of(kind: DefinitionKind, listed: &Object, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_lowercase()).collect();
        if matches!(kind, DefinitionKind::Resource | DefinitionKind::Template | DefinitionKind::Text) {
            // A resource has no parameters that could ask for anything, nor has a text.
            return Self { names, ..Self::of_everything() };
        }
        let text = |member: &str| listed.text(member).unwrap_or_default();
        // A prompt exists to talk with a model, about any subject.
        let is_prompt = kind == DefinitionKind::Prompt;
        let described = text("description");
        let start =
            described.char_indices().nth(MAX_PURPOSE).map_or(&described[..], |(at, _)| &described[..at]);
        let first = start.split_once(". ").map_or(start, |(first, _)| first);
        let purpose = FoldedText::new(&format!("{} {first}", super::in_words(&text("name")))).text;
        let topics = Topics::get();
        // A tool with almost no description may have any purpose.
        let terse = first.split_whitespace().count() < MIN_PURPOSE;
        Self {
            names,
            about_talk: is_prompt || terse || topics.talk.is_match(&purpose),
            about_secrets: terse || topics.secrets.is_match(&purpose),
            about_deeds: is_prompt || terse || topics.deeds.is_match(&purpose),
        }
    }

    /// Returns the parameters of a text that has none, and may be about anything.
    pub(super) fn of_everything() -> Self {
        Self { names: HashSet::new(), about_talk: true, about_secrets: true, about_deeds: true }
    }

    /// Notes the places where `folded` speaks of one of the parameters as the place for something.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        if self.names.is_empty() {
            return;
        }
        for pattern in &Topics::get().named {
            for (whole, name) in pattern.groups_iter(&folded.text) {
                if self.names.contains(&folded.text[name]) {
                    let (start, end, sentence) = (whole.start, whole.end, folded.sentence(whole.start));
                    let atoms = [Atom::PARAMETER, Atom::PROPERTY_REF];
                    hits.extend(atoms.map(|atom| Hit { atom, start, end, sentence }));
                }
            }
        }
    }
}

const PARAMETERS: DataFile = DataFile::new("parameters.txt", include_str!("parameters.txt"));

/// The smallest number of words that say what a tool is for.
const MIN_PURPOSE: usize = 3;
/// The largest number of characters of a description that are read for the purpose of a tool.
const MAX_PURPOSE: usize = 240;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_known_by_its_name() {
        let tool = Object::parse(r#"{"name":"add","description":"Adds two numbers."}"#).unwrap();
        let parameters = Parameters::of(DefinitionKind::Tool, &tool, ["Note".to_owned()]);
        let mut hits = Vec::new();
        parameters.find(&FoldedText::new("put it into `note`, and in noted"), &mut hits);
        assert_eq!(hits.iter().filter(|hit| hit.atom == Atom::PROPERTY_REF).count(), 1);
        assert!(!parameters.about_talk && !parameters.about_secrets);
    }

    #[test]
    fn the_topics_can_be_read() {
        assert_eq!(Topics::read().err().map(|mistake| mistake.to_string()), None);
    }

    #[test]
    fn mistakes_are_named_by_their_lines() {
        let mistake = |text| Topics::of(DataFile::new("parameters.txt", text)).err().unwrap().to_string();
        assert_eq!(
            mistake("[deeds]\nrun\n[weather]\nrain"),
            "line 3 of parameters.txt: `weather` is no topic"
        );
        assert!(mistake("[names of parameters]\nin (a\n").starts_with("line 2 of parameters.txt"));
    }
}
