//! Tools as documents of the word index.

use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;
use std::ops::ControlFlow;

use foldhash::fast::RandomState;

use super::analysis::{Analyser, cut, push_word};
use super::name_candidate::joined;
use crate::server_tools::ToolText;

/// Makes documents for the index from the definitions of servers. Servers are not trusted: no word gains by being
/// repeated or by a long text.
#[derive(Debug)]
pub(crate) struct DocumentBuilder {
    analyser: Analyser,
    counts: HashMap<u64, u8, RandomState>,
    sentences: HashSet<u64, RandomState>,
    hasher: RandomState,
}

/// The words of a tool, separated by spaces.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(crate) struct ToolDocument {
    /// All words.
    pub(crate) words: String,
    /// The words of the name.
    pub(crate) name: String,
    /// The name as one word.
    pub(crate) called: String,
    /// Server and name as one word.
    pub(crate) id: String,
}

const MAX_IN_LABELS: usize = 40;
const MAX_IN_LABEL: usize = 6;
const MAX_OF_SERVER: usize = 60;
const MAX_IN_PARAMETERS: usize = 200;
const MAX_IN_PARAMETER: usize = 24;
const MAX_IN_DESCRIPTION: usize = 300;
const MAX_IN_NAME: usize = 8;

/// The number of times that a repeated word counts.
pub(crate) const MAX_OFTEN: u8 = 3;

/// The bytes of ids that are compared, up to a factor of two.
const LONGEST_ID: usize = 128;

impl DocumentBuilder {
    pub(crate) fn new() -> Self {
        Self {
            analyser: Analyser::new(),
            counts: HashMap::default(),
            sentences: HashSet::default(),
            hasher: RandomState::default(),
        }
    }

    /// Returns the words of a tool.
    pub(crate) fn of(&mut self, tool: &ToolText<'_>) -> ToolDocument {
        let called = joined(&tool.name);
        let id = joined(&format!("{}.{}", cut(&tool.server, LONGEST_ID), cut(&tool.name, LONGEST_ID)));
        let mut document = ToolDocument { called, id, ..ToolDocument::default() };
        self.counts.clear();
        self.section(&tool.name, MAX_IN_NAME, 1, &mut document.name);
        self.counts.clear();
        let words = &mut document.words;
        self.section(&tool.name, MAX_IN_NAME, MAX_OFTEN, words);
        self.section(&tool.title, MAX_IN_NAME, MAX_OFTEN, words);
        self.sentences(&tool.description, MAX_IN_DESCRIPTION, words);
        let mut left = MAX_IN_PARAMETERS;
        for parameter in &tool.parameters {
            left -= self.section(&parameter.name, left.min(MAX_IN_NAME), MAX_OFTEN, words);
            left -= self.section(&parameter.description, left.min(MAX_IN_PARAMETER), MAX_OFTEN, words);
        }
        self.section(&tool.server, MAX_IN_NAME, MAX_OFTEN, words);
        self.sentences(&tool.server_description, MAX_OF_SERVER, words);
        let mut left = MAX_IN_LABELS;
        for label in tool.keywords.iter().map(String::as_str).chain(tool.categories.iter().map(AsRef::as_ref))
        {
            left -= self.section(label, left.min(MAX_IN_LABEL), MAX_OFTEN, words);
        }
        document
    }

    /// Adds a text whose repeated sentences count once.
    fn sentences(&mut self, text: &str, most: usize, into: &mut String) {
        self.sentences.clear();
        let mut left = most;
        for sentence in text.split(['.', '!', '?', ';', '\n', '。', '！', '？', '；']) {
            let sentence = sentence.trim();
            if left == 0 {
                break;
            }
            if !sentence.is_empty() && self.sentences.insert(self.hasher.hash_one(sentence)) {
                left -= self.section(sentence, left, MAX_OFTEN, into);
            }
        }
    }

    /// Takes at most `most` words of a text, and each at most `most_often` times. Returns the number of words taken.
    fn section(&mut self, text: &str, most: usize, most_often: u8, into: &mut String) -> usize {
        let (mut taken, counts, hasher) = (0, &mut self.counts, &self.hasher);
        self.analyser.words(text, &mut |word, _| {
            if taken == most {
                return ControlFlow::Break(());
            }
            taken += 1;
            let count = counts.entry(hasher.hash_one(word)).or_default();
            if *count < most_often {
                *count += 1;
                push_word(into, word);
            }
            ControlFlow::Continue(())
        });
        taken
    }
}
