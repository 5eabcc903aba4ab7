//! The readable state of the word index, and the postings of one word in it.

use std::sync::Arc;

use tantivy::fastfield::AliveBitSet;
use tantivy::fieldnorm::FieldNormReader;
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::IndexRecordOption;

use super::segment::{IndexSegment, SegmentField};
use crate::slot::{BestSlots, Slot};
use crate::text::QueryWords;

/// The words of all tools at one time.
pub(crate) struct KeywordReader {
    pub(super) parts: Vec<Arc<IndexSegment>>,
    alive: Vec<Option<AliveBitSet>>,
    /// The position of the tool of each slot: the number of the part, and the document within it.
    places: Box<[(u32, u32)]>,
    /// The number of documents, including deleted ones that are not yet merged away.
    pub(super) count: u64,
    pub(super) words: Box<LengthNorms>,
    pub(super) name: Box<LengthNorms>,
}

/// The frequency of a word in a document at most.
pub(super) const MAX_OFTEN: usize = crate::text::MAX_OFTEN as usize;

/// The factor of a word's score for the length of its field, by length and by the frequency of the word.
pub(super) type LengthNorms = [[f32; 256]; MAX_OFTEN];

const NOWHERE: (u32, u32) = (u32::MAX, u32::MAX);

impl KeywordReader {
    pub(super) fn new(parts: Vec<Arc<IndexSegment>>, alive: Vec<Option<AliveBitSet>>) -> Self {
        let highest =
            parts.iter().flat_map(|part| &part.slots).copied().filter(|slot| *slot != u32::MAX).max();
        let mut places = vec![NOWHERE; highest.map_or(0, |slot| slot as usize + 1)];
        for (number, (part, alive)) in (0..).zip(parts.iter().zip(&alive)) {
            for (doc, slot) in (0..).zip(&part.slots) {
                if alive.as_ref().is_none_or(|alive| alive.is_alive(doc))
                    && let Some(place) = places.get_mut(*slot as usize)
                {
                    *place = (number, doc);
                }
            }
        }
        let count = parts.iter().map(|part| u64::from(part.len())).sum();
        Self {
            words: length_norms(&parts, count, |part| &part.words),
            name: length_norms(&parts, count, |part| &part.name),
            places: places.into(),
            count,
            parts,
            alive,
        }
    }

    /// Looks up the words of a query.
    pub(crate) fn ask(&self, words: &QueryWords) -> KeywordQuery<'_> {
        let find = |text: &SegmentField| {
            let terms = words.terms.iter().enumerate();
            terms.filter_map(|(number, term)| Some((number, text.find(&term.text)?))).collect()
        };
        let found = self.parts.iter();
        let found = found.map(|part| TermPostings { words: find(&part.words), name: find(&part.name) });
        let found: Vec<TermPostings> = found.collect();
        let mut counts = vec![0; words.terms.len()];
        for (number, term) in found.iter().flat_map(|found| &found.words) {
            counts[*number] += u64::from(term.doc_freq);
        }
        let worth =
            counts.iter().zip(&words.terms).map(|(n, term)| term.weight * rarity(*n, self.count)).collect();
        KeywordQuery { index: self, worth, found }
    }

    /// Returns whether a word, in any form, is part of the name of a tool.
    pub(crate) fn is_in_a_name(&self, word: &str) -> bool {
        let words = QueryWords::of(word);
        let is_found = |term: &str| self.parts.iter().any(|part| part.name.find(term).is_some());
        !words.terms.is_empty() && words.terms.iter().all(|term| is_found(&term.text))
    }

    /// Returns the slot of a document, if it is not deleted.
    pub(super) fn slot(&self, part: usize, doc: u32) -> Option<Slot> {
        let alive = self.alive[part].as_ref().is_none_or(|alive| alive.is_alive(doc));
        alive.then(|| Slot(self.parts[part].slots[doc as usize]))
    }

    /// Returns the document of a slot.
    pub(super) fn place(&self, slot: Slot) -> Option<(usize, u32)> {
        let place = self.places.get(slot.index()).filter(|place| **place != NOWHERE)?;
        Some((place.0 as usize, place.1))
    }
}

/// The constant of BM25 for the length of a text.
const B: f32 = 0.75;

/// The constant of BM25 for the frequency of a word.
const K1: f32 = 1.2;

#[expect(clippy::cast_precision_loss, reason = "a mean needs no more")]
fn length_norms(
    parts: &[Arc<IndexSegment>],
    count: u64,
    text: impl Fn(&IndexSegment) -> &SegmentField,
) -> Box<LengthNorms> {
    let total: u64 = parts.iter().map(|part| text(part).terms.total_num_tokens()).sum();
    let mean = (total as f32 / count.max(1) as f32).max(1.0);
    let mut factors = Box::new([[0.0; 256]; MAX_OFTEN]);
    for (often, factors) in (1u8..).zip(factors.iter_mut()) {
        for (id, factor) in (0..=u8::MAX).zip(factors) {
            let length = FieldNormReader::id_to_fieldnorm(id) as f32;
            let often = f32::from(often);
            *factor = often * (K1 + 1.0) / (often + K1 * (1.0 - B + B * length / mean));
        }
    }
    factors
}

mgp_types::partial_debug!(KeywordReader, self => parts: self.parts.len());

/// The documents of a part that have one word in one field, with its worth.
pub(super) struct PostingScan<'a> {
    /// The number of the word in the query.
    pub(super) word: usize,
    pub(super) postings: BlockSegmentPostings,
    pub(super) at: usize,
    pub(super) weight: f32,
    pub(super) lengths: &'a [u8],
    pub(super) factors: &'a LengthNorms,
}

impl PostingScan<'_> {
    /// Adds the worth of the word to the scores of the documents from `start` on. Stretches must ascend.
    pub(super) fn add(&mut self, start: u32, scores: &mut [f32]) {
        loop {
            let (docs, freqs) = (self.postings.docs(), self.postings.freqs());
            let mut at = self.at;
            for (doc, freq) in docs[at..].iter().zip(&freqs[at..]) {
                let Some(score) = scores.get_mut((*doc - start) as usize) else { break };
                *score += self.worth(*doc, *freq);
                at += 1;
            }
            self.at = at;
            if at < docs.len() || docs.is_empty() {
                return;
            }
            self.postings.advance();
            self.at = 0;
        }
    }

    /// Returns the worth of the word in this document, 0 if the document does not have it. Documents must ascend.
    pub(super) fn of(&mut self, doc: u32) -> f32 {
        if self.postings.doc_freq() == 0 {
            return 0.0;
        }
        let at = self.postings.seek(doc);
        if self.postings.doc(at) != doc {
            return 0.0;
        }
        self.worth(doc, self.postings.freq(at))
    }

    fn worth(&self, doc: u32, freq: u32) -> f32 {
        let often = (freq as usize).clamp(1, MAX_OFTEN) - 1;
        self.weight * self.factors[often][self.lengths[doc as usize] as usize]
    }
}

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
                let with_freqs = IndexRecordOption::WithFreqs;
                let postings = text.terms.read_block_postings_from_terminfo(term, with_freqs).ok()?;
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
