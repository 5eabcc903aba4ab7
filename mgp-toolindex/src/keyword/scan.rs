//! Postings of one word.
//!
//! Tantivy's postings are read directly, in place of its queries and collectors: one pass gives exact scores of
//! given tools and the share of the request that they cover. Its query parser is not used, so no query has a syntax.

use tantivy::postings::BlockSegmentPostings;

use super::reader::MAX_OFTEN;

/// The documents of a part that have one word in one field, with its worth.
pub(super) struct PostingScan<'a> {
    /// The number of the word in the query.
    pub(super) word: usize,
    postings: BlockSegmentPostings,
    at: usize,
    weight: f32,
    lengths: &'a [u8],
    factors: &'a [[f32; 256]; MAX_OFTEN],
}

impl<'a> PostingScan<'a> {
    pub(super) const fn new(
        word: usize,
        postings: BlockSegmentPostings,
        weight: f32,
        lengths: &'a [u8],
        factors: &'a [[f32; 256]; MAX_OFTEN],
    ) -> Self {
        Self { word, postings, at: 0, weight, lengths, factors }
    }

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
