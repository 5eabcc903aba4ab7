//! The searches of other products, rebuilt from their publications.

use std::collections::HashMap;

use frostem::{Algorithm, Stemmer};
use mgp_toolindex::rows::ToolRow;
use mgp_types::{Object, RawJson};

/// A search to rebuild.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Rival {
    /// BM25 over name, description, argument names and argument descriptions, without stemming
    AnthropicBm25,
    /// BM25 over the same and the values of arguments, stemmed, with the constants that Ratel chose
    Ratel,
}

/// Texts that can be ranked.
pub(crate) struct Ranker {
    texts: Bm25,
    words: Words,
}

enum Words {
    Plain,
    English(Stemmer),
}

impl Rival {
    /// Indexes tools for this search.
    pub(crate) fn ranker(self, rows: &[ToolRow]) -> Ranker {
        match self {
            Self::AnthropicBm25 => Ranker::new(Words::Plain, 1.2, 0.75, rows.iter().map(four_fields)),
            Self::Ratel => {
                let stemmer = Stemmer::new(Algorithm::English);
                Ranker::new(Words::English(stemmer), 0.9, 0.4, rows.iter().map(names_twice))
            }
        }
    }
}

impl Ranker {
    fn new(words: Words, k1: f32, b: f32, texts: impl Iterator<Item = String>) -> Self {
        let texts: Vec<_> = texts.map(|text| words.of(&text)).collect();
        Self { texts: Bm25::new(&texts, k1, b), words }
    }

    /// Returns the rows that fit best, with their scores.
    pub(crate) fn rank(&self, query: &str, top: usize) -> Vec<(usize, f32)> {
        let mut ranked = self.texts.scores(&self.words.of(query));
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranked.truncate(top);
        ranked
    }
}

/// The words without a meaning of their own.
const FUNCTION_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "against", "ain", "all", "am", "an", "and", "any", "are", "as",
    "at", "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "did",
    "do", "does", "doing", "don", "down", "during", "each", "few", "for", "from", "further", "had", "has",
    "have", "having", "he", "her", "here", "hers", "herself", "him", "himself", "his", "how", "i", "if",
    "in", "into", "is", "it", "its", "itself", "just", "ll", "m", "me", "more", "most", "my", "myself", "no",
    "nor", "not", "now", "o", "of", "off", "on", "once", "only", "or", "other", "our", "ours", "ourselves",
    "out", "over", "own", "re", "s", "same", "she", "should", "so", "some", "such", "t", "than", "that",
    "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "this", "those",
    "through", "to", "too", "under", "until", "up", "ve", "very", "was", "we", "were", "what", "when",
    "where", "which", "while", "who", "whom", "why", "will", "with", "y", "you", "your", "yours", "yourself",
    "yourselves",
];

impl Words {
    fn of(&self, text: &str) -> Vec<String> {
        let text = text.to_lowercase();
        match self {
            Self::Plain => {
                let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                words.map(String::from).collect()
            }
            Self::English(stemmer) => whole_words(&text)
                .filter(|word| !FUNCTION_WORDS.contains(word))
                .map(|word| stemmer.stem(word).into())
                .collect(),
        }
    }
}

const JOINING: [char; 3] = ['\'', '\u{2019}', '.'];

/// Returns words as Unicode separates them: `_` joins, and so do `'` and `.` within a word.
fn whole_words(text: &str) -> impl Iterator<Item = &str> {
    let letter = |c: char| c.is_alphanumeric() || c == '_';
    let words = text.split(move |c: char| !letter(c) && !JOINING.contains(&c));
    let parts = words.flat_map(move |word| {
        let twice = word.match_indices(JOINING).filter(move |(at, sign)| {
            let before = word[..*at].chars().next_back().is_some_and(letter);
            !(before && word[at + sign.len()..].chars().next().is_some_and(letter))
        });
        let cuts: Vec<_> = twice.map(|(at, sign)| (at, at + sign.len())).collect();
        let starts = [0].into_iter().chain(cuts.iter().map(|cut| cut.1)).collect::<Vec<_>>();
        let ends = cuts.iter().map(|cut| cut.0).chain([word.len()]).collect::<Vec<_>>();
        starts.into_iter().zip(ends).map(move |(start, end)| &word[start..end])
    });
    parts.filter(|word| !word.is_empty())
}

/// Texts by their words, scored by BM25.
struct Bm25 {
    /// The texts with each word, and the score of the word there.
    postings: HashMap<String, Vec<(usize, f32)>>,
    texts: usize,
}

impl Bm25 {
    #[expect(clippy::cast_precision_loss, reason = "texts are short")]
    fn new(texts: &[Vec<String>], k1: f32, b: f32) -> Self {
        let words: usize = texts.iter().map(Vec::len).sum();
        let mean = words as f32 / texts.len().max(1) as f32;
        let mut postings: HashMap<String, Vec<(usize, f32)>> = HashMap::new();
        for (number, text) in texts.iter().enumerate() {
            let mut counts: HashMap<&str, f32> = HashMap::new();
            for word in text {
                *counts.entry(word).or_default() += 1.0;
            }
            for (word, count) in counts {
                let length = 1.0 - b + b * text.len() as f32 / mean;
                let worth = count * (k1 + 1.0) / (count + k1 * length);
                postings.entry(word.to_owned()).or_default().push((number, worth));
            }
        }
        Self { postings, texts: texts.len() }
    }

    #[expect(clippy::cast_precision_loss, reason = "there are fewer texts than 2^24")]
    fn scores(&self, words: &[String]) -> Vec<(usize, f32)> {
        let mut scores: HashMap<usize, f32> = HashMap::new();
        for word in words {
            let Some(found) = self.postings.get(word) else { continue };
            let with = found.len() as f32;
            let rarity = (1.0 + (self.texts as f32 - with + 0.5) / (with + 0.5)).ln();
            for (number, worth) in found {
                *scores.entry(*number).or_default() += rarity * worth;
            }
        }
        scores.into_iter().collect()
    }
}

/// Returns the fields that are documented to be searched as one text: adding up the scores of the fields finds less.
fn four_fields(row: &ToolRow) -> String {
    let mut text = format!("{} {}", parted(&row.name), row.description);
    for argument in Argument::all(&row.input_schema) {
        text.extend([" ", &parted(&argument.name), " ", &argument.description]);
    }
    text
}

/// Returns names as they are, and once more in parts where they have any.
fn names_twice(row: &ToolRow) -> String {
    let twice = |name: &str| {
        let parted = parted(name);
        if parted == name { parted } else { format!("{name} {parted}") }
    };
    let mut text = format!("{} {}", twice(&row.name), row.description);
    for argument in Argument::all(&row.input_schema) {
        text.extend([
            " ",
            &twice(&argument.name),
            " ",
            &argument.description,
            " ",
            &argument.values.join(" "),
        ]);
    }
    text
}

/// Returns a name in the parts that `_` and changes of case make.
fn parted(name: &str) -> String {
    let mut parts = String::with_capacity(name.len() + 4);
    let mut small = false;
    for c in name.chars() {
        if c.is_uppercase() && small {
            parts.push(' ');
        }
        parts.push(if c == '_' { ' ' } else { c });
        small = c.is_lowercase();
    }
    parts
}

/// An argument, and its values.
struct Argument {
    name: String,
    description: String,
    values: Vec<String>,
}

const DEEPEST: usize = 8;

impl Argument {
    /// Returns all arguments of a schema, and those within others.
    fn all(schema: &RawJson) -> Vec<Self> {
        let mut found = Vec::new();
        Self::collect(schema, 0, &mut found);
        found
    }

    fn collect(schema: &RawJson, depth: usize, found: &mut Vec<Self>) {
        let Ok(schema) = Object::from_raw(schema) else { return };
        let inner = schema.get("properties").and_then(|raw| Object::from_raw(&raw).ok()).unwrap_or_default();
        for (name, property) in inner.iter() {
            let members = Object::from_raw(&property).unwrap_or_default();
            found.push(Self {
                name: name.into_owned(),
                description: members.text("description").unwrap_or_default().into_owned(),
                values: members.get("enum").and_then(|values| values.to().ok()).unwrap_or_default(),
            });
            if depth < DEEPEST {
                Self::collect(&property, depth + 1, found);
            }
        }
        if let Some(items) = schema.get("items").filter(|_| depth < DEEPEST) {
            Self::collect(&items, depth + 1, found);
        }
    }
}
