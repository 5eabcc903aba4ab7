use std::io;
use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::{InvertedIndexReader, SegmentId};
use tantivy::postings::{BlockSegmentPostings, TermInfo};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{SegmentReader, TantivyError};

use super::fields::{Fields, SLOT};

/// A segment of the index, opened. It does not change; only which of its tools are still there does.
pub(super) struct Part {
    pub(super) id: SegmentId,
    pub(super) words: Text,
    pub(super) name: Text,
    /// Names, each as one word.
    pub(super) names: Arc<InvertedIndexReader>,
    /// Servers and names, each as one word.
    pub(super) ids: Arc<InvertedIndexReader>,
    /// The slot of each document.
    pub(super) slots: Box<[u32]>,
}

impl Part {
    pub(super) fn open(segment: &SegmentReader, fields: Fields) -> Result<Self, TantivyError> {
        let column = segment.fast_fields().u64(SLOT)?;
        let slot = |doc| column.first(doc).and_then(|slot| u32::try_from(slot).ok()).unwrap_or(u32::MAX);
        Ok(Self {
            id: segment.segment_id(),
            words: Text::open(segment, fields.words)?,
            name: Text::open(segment, fields.name)?,
            names: segment.inverted_index(fields.called)?,
            ids: segment.inverted_index(fields.id)?,
            slots: (0..segment.max_doc()).map(slot).collect(),
        })
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }
}

/// One field of a [`Part`].
pub(super) struct Text {
    pub(super) terms: Arc<InvertedIndexReader>,
    /// How many words it has in each document, as an id.
    pub(super) lengths: Box<[u8]>,
}

impl Text {
    fn open(segment: &SegmentReader, field: Field) -> Result<Self, TantivyError> {
        let lengths: FieldNormReader = segment.get_fieldnorms_reader(field)?;
        Ok(Self {
            terms: segment.inverted_index(field)?,
            lengths: (0..segment.max_doc()).map(|doc| lengths.fieldnorm_id(doc)).collect(),
        })
    }

    pub(super) fn find(&self, term: &str) -> Option<TermInfo> {
        // In memory nothing is there that cannot be read.
        self.terms.terms().get(term).ok().flatten()
    }

    pub(super) fn postings(&self, term: &TermInfo) -> io::Result<BlockSegmentPostings> {
        self.terms.read_block_postings_from_terminfo(term, IndexRecordOption::WithFreqs)
    }
}
