//! Postings of one word.
//!
//! Tantivy's postings are read directly, in place of its queries and collectors: one pass gives exact scores of
//! given tools and the share of the request that they cover. Its query parser is not used, so no query has a syntax.

use tantivy::postings::BlockSegmentPostings;

use super::reader::{LengthNorms, MAX_OFTEN};

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
