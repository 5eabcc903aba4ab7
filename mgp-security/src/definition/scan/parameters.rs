//! The parameters of a tool, as evidence about the texts in its definition: texts that speak of a parameter by its
//! name, and parameters that have nothing to do with the purpose of the tool.

use std::collections::HashSet;

use mgp_types::Object;

use super::atom::{Atoms, Hit};
use super::pattern::{CompiledList, FoldedPattern};
use crate::data_file::{Entry, Section, sections};
use crate::definition::DefinitionKind;
use crate::definition::fold::FoldedText;

/// The patterns that recognise names of parameters and the topics of a tool.
pub(super) struct ParameterPatterns {
    /// Patterns whose first group may be the name of a parameter.
    named: Vec<FoldedPattern>,
    topics: Vec<(&'static str, FoldedPattern)>,
}

pub(super) static PATTERNS: CompiledList<ParameterPatterns> = CompiledList::new(ParameterPatterns::read);

impl ParameterPatterns {
    /// Returns the patterns of `parameters.txt`.
    fn read() -> Self {
        let mut read = Self { named: Vec::new(), topics: Vec::new() };
        for Section { heading, entries } in sections(include_str!("parameters.txt")) {
            let texts: Vec<_> = entries.iter().map(Entry::joined).collect();
            if heading == "names of parameters" {
                read.named = texts.iter().map(|text| FoldedPattern::new(text)).collect();
            } else {
                read.topics.push((heading, FoldedPattern::new(&format!(r"\b(?:{})", texts.join("|")))));
            }
        }
        read
    }
}

/// The parameters of a tool, and the topics that the tool is about.
#[derive(Debug, Default)]
pub(super) struct Parameters {
    names: HashSet<String>,
    /// The topics of the tool, by their headings in `parameters.txt`: conversations, models and prompts; access, keys,
    /// machines and payments; and deeds, if the tool itself sends, deletes or books something.
    pub(super) topics: Vec<&'static str>,
}

impl Parameters {
    /// Returns the parameters of `listed`, whose topics are read from its name and the start of its description.
    pub(super) fn of(kind: DefinitionKind, listed: &Object, names: impl IntoIterator<Item = String>) -> Self {
        let names = names.into_iter().map(|name| name.to_lowercase()).collect();
        if matches!(kind, DefinitionKind::Resource | DefinitionKind::Template | DefinitionKind::Text) {
            // A resource has no parameters that could ask for anything, nor has a text; both may be about anything.
            let topics = PATTERNS.get().topics.iter().map(|(topic, _)| *topic).collect();
            return Self { names, topics };
        }
        let text = |member: &str| listed.text(member).unwrap_or_default();
        // A prompt exists to talk with a model, about any subject.
        let is_prompt = kind == DefinitionKind::Prompt;
        let described = text("description");
        let start =
            described.char_indices().nth(MAX_PURPOSE).map_or(&described[..], |(at, _)| &described[..at]);
        let first = start.split_once(". ").map_or(start, |(first, _)| first);
        let purpose = FoldedText::new(&format!("{} {first}", super::in_words(&text("name")))).text;
        // A tool with almost no description may have any purpose.
        let is_terse = first.split_whitespace().count() < MIN_PURPOSE;
        let patterns = PATTERNS.get();
        let topics = patterns.topics.iter().filter(|(topic, pattern)| {
            is_terse || (is_prompt && *topic != "access") || pattern.is_match(&purpose)
        });
        Self { names, topics: topics.map(|(topic, _)| *topic).collect() }
    }

    /// Notes the places where `folded` speaks of one of the parameters as the place for something.
    pub(super) fn find(&self, folded: &FoldedText, hits: &mut Vec<Hit>) {
        if self.names.is_empty() {
            return;
        }
        for pattern in &PATTERNS.get().named {
            for (whole, name) in pattern.groups_iter(&folded.text) {
                if self.names.contains(&folded.text[name]) {
                    let (start, end, sentence) = (whole.start, whole.end, folded.sentence(whole.start));
                    let atoms = [Atoms::PARAMETER, Atoms::PROPERTY_REF];
                    hits.extend(atoms.map(|atom| Hit { atom, start, end, sentence }));
                }
            }
        }
    }
}

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
        assert_eq!(hits.iter().filter(|hit| hit.atom == Atoms::PROPERTY_REF).count(), 1);
        assert_eq!(parameters.topics, ["deeds"]);
    }
}
