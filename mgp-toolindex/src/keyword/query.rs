//! Queries against the word index.

use tantivy::postings::TermInfo;

use super::reader::{KeywordReader, LengthNorms, PostingScan};
use super::segment::SegmentField;
use crate::slot::{BestSlots, Slot};
use crate::text::QueryWords;

/// A query whose words were looked up. Scores are BM25 over all text, and half as much again for the name.
pub(crate) struct KeywordQuery<'a> {
    index: &'a KeywordReader,
    /// The worth of each word: its rarity times its weight in the query.
    pub(crate) worth: Vec<f32>,
    /// The occurrences in each part: the number of the word, and its postings in all text and in names.
    found: Vec<TermPostings>,
}

#[derive(Default)]
struct TermPostings {
    words: Vec<(usize, TermInfo)>,
    name: Vec<(usize, TermInfo)>,
}

/// The number of documents that are scored at once, so that their scores stay in the processor's cache.
const STRETCH: u32 = 4096;

/// The weight of a word in a name beside its weight in the text (of which the name is a part).
const NAME_SHARE: f32 = 0.5;

impl<'a> KeywordQuery<'a> {
    pub(super) fn new(index: &'a KeywordReader, words: &QueryWords) -> Self {
        let find = |text: &SegmentField| {
            let terms = words.terms.iter().enumerate();
            terms.filter_map(|(number, term)| Some((number, text.find(&term.text)?))).collect()
        };
        let found: Vec<TermPostings> = index
            .parts
            .iter()
            .map(|part| TermPostings { words: find(&part.words), name: find(&part.name) })
            .collect();
        let mut counts = vec![0; words.terms.len()];
        for (number, term) in found.iter().flat_map(|found| &found.words) {
            counts[*number] += u64::from(term.doc_freq);
        }
        let worth =
            counts.iter().zip(&words.terms).map(|(n, term)| term.weight * rarity(*n, index.count)).collect();
        Self { index, worth, found }
    }

    /// Returns the best tools that `fits` lets pass, the best first. `fits` is asked only about tools that could be
    /// among them.
    pub(crate) fn best(&self, limit: usize, fits: &mut dyn FnMut(Slot) -> bool) -> Vec<(Slot, f32)> {
        if limit == 0 {
            return Vec::new();
        }
        let mut best = BestSlots::new(limit, 0.0);
        let mut scores = [0.0; STRETCH as usize];
        for number in 0..self.index.parts.len() {
            let mut scans = self.scans(number);
            let len = self.index.parts[number].len();
            for start in (0..len).step_by(STRETCH as usize) {
                let scores = &mut scores[..STRETCH.min(len - start) as usize];
                scores.fill(0.0);
                for scan in &mut scans {
                    scan.add(start, scores);
                }
                let mut least = best.least();
                for (doc, score) in (start..).zip(&*scores) {
                    if *score > least
                        && let Some(slot) = self.index.slot(number, doc).filter(|slot| fits(*slot))
                    {
                        best.push(slot, *score);
                        least = best.least();
                    }
                }
            }
        }
        best.into_sorted()
    }

    /// Returns the scores of exactly these tools.
    pub(crate) fn scores(&self, slots: &[Slot]) -> Vec<f32> {
        let mut scores = vec![0.0; slots.len()];
        self.visit(slots, |_, at, worth| scores[at] += worth);
        scores
    }

    /// Returns the share of the words' worth that these tools have, however often.
    pub(crate) fn coverage(&self, slots: &[Slot]) -> Vec<f32> {
        let all: f32 = self.worth.iter().sum();
        let share = |seen: &u64| {
            let had = self.worth.iter().enumerate().filter(|(word, _)| seen >> word & 1 == 1);
            if all > 0.0 { had.map(|(_, worth)| worth).sum::<f32>() / all } else { 0.0 }
        };
        self.had(slots).iter().map(share).collect()
    }

    /// Returns the words of the query that these tools have, a bit for each in their order.
    pub(crate) fn had(&self, slots: &[Slot]) -> Vec<u64> {
        let mut seen = vec![0; slots.len()];
        self.visit(slots, |word, at, _| seen[at] |= 1 << word);
        seen
    }

    /// Calls `each` for each word that a tool has: the number of the word, the position of the tool among `slots`, and
    /// the score.
    fn visit(&self, slots: &[Slot], mut each: impl FnMut(usize, usize, f32)) {
        let place = |(at, slot): (usize, &Slot)| self.index.place(*slot).map(|(part, doc)| (part, doc, at));
        let mut places: Vec<(usize, u32, usize)> = slots.iter().enumerate().filter_map(place).collect();
        places.sort_unstable();
        for places in places.chunk_by(|a, b| a.0 == b.0) {
            let part = places[0].0;
            for mut scan in self.scans(part) {
                for (_, doc, at) in places {
                    let worth = scan.of(*doc);
                    if worth > 0.0 {
                        each(scan.word, *at, worth);
                    }
                }
            }
        }
    }

    /// Returns the postings to read in a part: each word in all text, then each in names.
    fn scans(&self, number: usize) -> Vec<PostingScan<'a>> {
        let (index, part, found) = (self.index, &self.index.parts[number], &self.found[number]);
        let scan =
            |text: &'a SegmentField, norms: &'a LengthNorms, share: f32, word: usize, term: &TermInfo| {
                let postings = text.postings(term).ok()?;
                let (weight, lengths) = (share * self.worth[word], &*text.lengths);
                Some(PostingScan { word, postings, at: 0, weight, lengths, factors: norms })
            };
        let words = found.words.iter().map(|(word, term)| scan(&part.words, &index.words, 1.0, *word, term));
        let name =
            found.name.iter().map(|(word, term)| scan(&part.name, &index.name, NAME_SHARE, *word, term));
        words.chain(name).flatten().collect()
    }
}

/// Returns the rarity of a word that `n` of `count` tools have.
#[expect(clippy::cast_precision_loss, reason = "a logarithm needs no more")]
fn rarity(n: u64, count: u64) -> f32 {
    (1.0 + (count.saturating_sub(n) as f32 + 0.5) / (n as f32 + 0.5)).ln()
}
