//! The summary of a text without a model: the sentences that say most of it, in their order. The same text always has the
//! same summary.

use std::collections::{BTreeSet, HashMap};

use mgp_toolindex::budget::{TokenCounter, TokenEstimator};
use mgp_toolindex::embed::StaticEmbedder;

use super::sentences::sentences;
use super::style::Style;

/// The demands on a summary.
#[derive(Debug, Clone, Copy)]
pub(super) struct SummaryLimits<'a> {
    /// The most tokens that the summary may have.
    pub(super) max_tokens: u32,
    /// The texts that the summary keeps, where the text has them.
    pub(super) preserve: &'a [String],
    pub(super) style: Style,
}

/// Returns the tokens of a text, by the estimate that the kernel counts definitions with.
pub(super) fn tokens(text: &str) -> u32 {
    TokenEstimator::new().count(text)
}

/// Returns whether a text holds another, whatever the case of the letters.
pub(super) fn holds(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(&part.to_lowercase())
}

/// Returns the summary of a text.
///
/// # Errors
/// What is to be preserved alone has more than `max_tokens`.
pub(super) fn extract(text: &str, limits: SummaryLimits<'_>) -> Result<String, String> {
    let mut selection = Selection::of(text, limits);
    selection.preserve()?;
    selection.fill();
    Ok(selection.written())
}

/// The sentences of a text, with those that were chosen.
struct Selection<'a> {
    limits: SummaryLimits<'a>,
    sentences: Vec<&'a str>,
    vectors: Vec<Option<Vec<f32>>>,
    /// How much of the text each sentence says.
    scores: Vec<f32>,
    chosen: BTreeSet<usize>,
    /// Preserved texts without the sentences around them, which have no room.
    bare: Vec<&'a str>,
}

impl<'a> Selection<'a> {
    fn of(text: &'a str, limits: SummaryLimits<'a>) -> Self {
        let sentences: Vec<&str> = sentences(text).into_iter().map(|sentence| sentence.0).collect();
        let embedder = StaticEmbedder::new();
        let vectors: Vec<_> = sentences.iter().map(|sentence| embedder.vector(sentence)).collect();
        let scores = scores(&sentences, &vectors);
        Self { limits, sentences, vectors, scores, chosen: BTreeSet::new(), bare: Vec::new() }
    }

    /// Chooses what has to be kept: the best sentence that holds it, or the bare text where that has no room.
    fn preserve(&mut self) -> Result<(), String> {
        let kept: Vec<&str> = self.limits.preserve.iter().map(String::as_str).collect();
        let present = |item: &&str| self.sentences.iter().any(|sentence| holds(sentence, item));
        let kept: Vec<&str> = kept.into_iter().filter(present).collect();
        let needed = tokens(&self.limits.style.write(&kept));
        if needed > self.limits.max_tokens {
            let most = self.limits.max_tokens;
            return Err(format!("what is to be preserved has {needed} tokens, and `max_tokens` is {most}"));
        }
        for (at, item) in kept.iter().enumerate() {
            if self.chosen.iter().any(|&index| holds(self.sentences[index], item)) {
                continue;
            }
            let holding = (0..self.sentences.len()).filter(|&index| holds(self.sentences[index], item));
            let best = holding.max_by(|&one, &other| self.scores[one].total_cmp(&self.scores[other]));
            // The texts that follow need their room, too.
            let rest = &kept[at + 1..];
            match best {
                Some(best) if self.fits_with(Some(best), rest) => _ = self.chosen.insert(best),
                _ => self.bare.push(item),
            }
        }
        Ok(())
    }

    /// Chooses further sentences while there is room: all of them where they fit, else those that say more of the text
    /// than most, and nothing that was said.
    fn fill(&mut self) {
        let all: BTreeSet<usize> = (0..self.sentences.len().min(MAX_CHOSEN)).collect();
        let missing = all.len() < self.sentences.len();
        let before = std::mem::replace(&mut self.chosen, all);
        if !missing && self.fits_with(None, &[]) {
            return;
        }
        self.chosen = before;
        let usual = mean(&self.scores);
        let mut said = vec![0.0_f32; self.sentences.len()];
        for &chosen in &self.chosen {
            self.note_said(&mut said, chosen);
        }
        let is_left = |at: &usize| self.scores[*at] >= usual && !self.chosen.contains(at);
        let mut left: BTreeSet<usize> = (0..self.sentences.len()).filter(is_left).collect();
        let mut misfits = 0;
        while let Some(best) = left.iter().copied().max_by(|&one, &other| {
            let worth = |at: usize| self.scores[at] - OF_REPETITION * said[at];
            // Of two that are worth the same, the first is the larger.
            worth(one).total_cmp(&worth(other)).then(other.cmp(&one))
        }) {
            left.remove(&best);
            if self.fits_with(Some(best), &[]) {
                self.chosen.insert(best);
                self.note_said(&mut said, best);
            } else {
                misfits += 1;
            }
            if self.chosen.len() >= MAX_CHOSEN || misfits >= MAX_MISFITS {
                break;
            }
        }
    }

    /// Notes for each sentence how much of it a chosen one says.
    fn note_said(&self, said: &mut [f32], chosen: usize) {
        for (said, vector) in said.iter_mut().zip(&self.vectors) {
            *said = said.max(likeness(vector.as_ref(), self.vectors[chosen].as_ref()));
        }
    }

    fn fits_with(&self, another: Option<usize>, bare: &[&str]) -> bool {
        tokens(&self.write(another, bare)) <= self.limits.max_tokens
    }

    fn write(&self, another: Option<usize>, bare: &[&str]) -> String {
        let chosen: BTreeSet<usize> = self.chosen.iter().copied().chain(another).collect();
        let all: Vec<&str> = chosen
            .iter()
            .map(|&at| self.sentences[at])
            .chain(self.bare.iter().copied())
            .chain(bare.iter().copied())
            .collect();
        self.limits.style.write(&all)
    }

    /// Writes the summary; the beginning of the best sentence where none has room.
    fn written(&self) -> String {
        let written = self.write(None, &[]);
        if !written.is_empty() {
            return written;
        }
        let best =
            (0..self.sentences.len()).max_by(|&one, &other| self.scores[one].total_cmp(&self.scores[other]));
        best.map_or_else(String::new, |best| beginning(self.sentences[best], self.limits.max_tokens))
    }
}

/// Returns how much of the text each sentence says: its likeness to the text as a whole, its share of words that the text
/// has several times, and more for what comes first and for numbers.
fn scores(sentences: &[&str], vectors: &[Option<Vec<f32>>]) -> Vec<f32> {
    let whole = direction(vectors);
    let words: Vec<Vec<String>> = sentences.iter().map(|sentence| content_words(sentence)).collect();
    let mut counts: HashMap<&str, u16> = HashMap::new();
    for word in words.iter().flatten() {
        let count = counts.entry(word).or_default();
        *count = count.saturating_add(1);
    }
    let mut place = OF_PLACE;
    let score = |((sentence, vector), words): ((&&str, &Option<Vec<f32>>), &Vec<String>)| {
        place *= FADING;
        let numbers = if sentence.bytes().any(|byte| byte.is_ascii_digit()) { OF_NUMBERS } else { 0.0 };
        let repeated =
            words.iter().filter(|word| counts.get(word.as_str()).is_some_and(|count| *count > 1)).count();
        OF_MEANING * likeness(vector.as_ref(), Some(&whole))
            + OF_WORDS * ratio(repeated, words.len())
            + place
            + numbers
    };
    sentences.iter().zip(vectors).zip(&words).map(score).collect()
}

/// Returns the direction of all vectors together, of length 1.
fn direction(vectors: &[Option<Vec<f32>>]) -> Vec<f32> {
    let mut whole: Vec<f32> = Vec::new();
    for vector in vectors.iter().flatten() {
        whole.resize(vector.len(), 0.0);
        whole.iter_mut().zip(vector).for_each(|(sum, member)| *sum += member);
    }
    let length = whole.iter().map(|member| member * member).sum::<f32>().sqrt();
    if length > 0.0 {
        for member in &mut whole {
            *member /= length;
        }
    }
    whole
}

/// Returns the words of a sentence that are long enough to mean something, each once, in small letters.
fn content_words(sentence: &str) -> Vec<String> {
    let words = sentence.split(|letter: char| !letter.is_alphanumeric());
    let words = words.filter(|word| word.chars().count() > LONGEST_FUNCTION_WORD).map(str::to_lowercase);
    words.collect::<BTreeSet<_>>().into_iter().collect()
}

fn mean(numbers: &[f32]) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a text has few sentences")]
    let count = numbers.len().max(1) as f32;
    numbers.iter().sum::<f32>() / count
}

fn ratio(part: usize, of: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a sentence has few words")]
    let ratio = part as f32 / of.max(1) as f32;
    ratio
}

fn likeness(one: Option<&Vec<f32>>, other: Option<&Vec<f32>>) -> f32 {
    let (Some(one), Some(other)) = (one, other) else { return 0.0 };
    one.iter().zip(other).map(|(a, b)| a * b).sum()
}

/// Returns the beginning of a text, as many words as have no more than `most` tokens.
pub(super) fn beginning(text: &str, most: u32) -> String {
    if tokens(text) <= most {
        return text.to_owned();
    }
    let ends: Vec<usize> = text.match_indices(char::is_whitespace).map(|(at, _)| at).collect();
    // The mark behind the last word is a token, too.
    let fitting = ends.partition_point(|&end| tokens(&text[..end]) < most);
    let end = fitting.checked_sub(1).map_or(0, |last| ends[last]);
    format!("{}…", text[..end].trim_end())
}

/// The weights of the likeness to the whole text, and of words that it has several times.
const OF_MEANING: f32 = 0.5;
const OF_WORDS: f32 = 0.5;

/// The length of words up to which they are mostly such as `the` and `with`.
const LONGEST_FUNCTION_WORD: usize = 3;

/// The weight of what was said already.
const OF_REPETITION: f32 = 0.3;

/// The weight of the first sentence for its place; it fades with each further one.
const OF_PLACE: f32 = 0.15;
const FADING: f32 = 0.9;
const OF_NUMBERS: f32 = 0.05;
const MAX_CHOSEN: usize = 200;

/// The number of sentences without room after which no shorter one is looked for.
const MAX_MISFITS: usize = 50;

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "\
The database ran out of disk space on Monday and the shop was down for two hours.
Everybody had coffee.
The cause was the log of the database, which nobody rotated.
We like the new chairs.
The log of the database is rotated daily now, and an alarm tells when the disk is 80 percent full.
The weather was nice.
Customers were told by e-mail, and ticket OPS-1234 has the details.
Lunch was good.";

    fn summary(max_tokens: u32, preserve: &[&str], style: Style) -> Result<String, String> {
        let preserve: Vec<String> = preserve.iter().map(|&item| item.to_owned()).collect();
        extract(REPORT, SummaryLimits { max_tokens, preserve: &preserve, style })
    }

    // covers: P-2-02, P-2-06
    #[test]
    fn a_summary_has_what_matters_within_its_tokens_and_is_the_same_each_time() {
        let text = summary(50, &[], Style::Narrative).unwrap();
        assert!(text.contains("disk") && text.contains("log of the database"), "{text}");
        assert!(!text.contains("Lunch") && !text.contains("chairs"), "{text}");
        assert_eq!(summary(50, &[], Style::Narrative).unwrap(), text);
        for max_tokens in [1, 5, 20, 40, 80, 1000] {
            for style in [Style::Narrative, Style::Bullets, Style::Structured] {
                let text = summary(max_tokens, &[], style).unwrap();
                assert!(tokens(&text) <= max_tokens, "{max_tokens} {style:?}: {text}");
            }
        }
        assert_eq!(summary(1000, &[], Style::Narrative).unwrap(), REPORT.replace('\n', " "));
    }

    // covers: P-2-03
    #[test]
    fn what_is_to_be_preserved_survives_however_little_room_there_is() {
        for max_tokens in [8, 20, 60] {
            let text = summary(max_tokens, &["OPS-1234"], Style::Narrative).unwrap();
            assert!(text.contains("OPS-1234") && tokens(&text) <= max_tokens, "{max_tokens}: {text}");
        }
        let both = summary(14, &["ops-1234", "Lunch"], Style::Bullets).unwrap();
        assert!(holds(&both, "OPS-1234") && both.contains("Lunch") && tokens(&both) <= 14, "{both}");
        assert!(summary(2, &["OPS-1234"], Style::Narrative).unwrap_err().contains("max_tokens"));
        // What the text does not have is not made up.
        assert!(!summary(60, &["OPS-9999"], Style::Narrative).unwrap().contains("9999"));
    }

    #[test]
    fn sentences_keep_their_order() {
        let text = summary(60, &[], Style::Narrative).unwrap();
        let places: Vec<_> = REPORT.lines().filter_map(|line| text.find(line)).collect();
        assert!(places.len() > 1 && places.is_sorted(), "{text}");
    }

    #[test]
    fn texts_of_other_scripts_and_empty_ones_have_a_summary_too() {
        let of = |text: &str| {
            extract(text, SummaryLimits { max_tokens: 20, preserve: &[], style: Style::Narrative }).unwrap()
        };
        assert_eq!(of(""), "");
        assert_eq!(of("\n---\n"), "");
        assert!(!of("データベースの容量が足りなくなった。店は二時間止まった。").is_empty());
        assert!(tokens(&of(&"word ".repeat(10_000))) <= 20);
    }
}
