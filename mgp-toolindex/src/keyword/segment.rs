//! Segments of the word index.

use std::sync::Arc;

use tantivy::fieldnorm::FieldNormReader;
use tantivy::index::{InvertedIndexReader, SegmentId};
use tantivy::postings::TermInfo;
use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{SegmentReader, TantivyError};

/// An opened segment of the word index. Only the deletion of its documents changes.
pub(super) struct IndexSegment {
    pub(super) id: SegmentId,
    pub(super) words: SegmentField,
    pub(super) name: SegmentField,
    /// The names, each as one word.
    pub(super) names: Arc<InvertedIndexReader>,
    /// The servers and names, each as one word.
    pub(super) ids: Arc<InvertedIndexReader>,
    /// The slot of each document.
    pub(super) slots: Box<[u32]>,
}

pub(super) const SLOT: &str = "slot";

impl IndexSegment {
    pub(super) fn open(segment: &SegmentReader, fields: Fields) -> Result<Self, TantivyError> {
        let column = segment.fast_fields().u64(SLOT)?;
        let slot = |doc| column.first(doc).and_then(|slot| u32::try_from(slot).ok()).unwrap_or(u32::MAX);
        Ok(Self {
            id: segment.segment_id(),
            words: SegmentField::open(segment, fields.words)?,
            name: SegmentField::open(segment, fields.name)?,
            names: segment.inverted_index(fields.called)?,
            ids: segment.inverted_index(fields.id)?,
            slots: (0..segment.max_doc()).map(slot).collect(),
        })
    }

    pub(super) fn len(&self) -> u32 {
        u32::try_from(self.slots.len()).unwrap_or(u32::MAX)
    }
}

/// One field of a [`IndexSegment`].
pub(super) struct SegmentField {
    pub(super) terms: Arc<InvertedIndexReader>,
    /// The number of words in each document, as an id.
    pub(super) lengths: Box<[u8]>,
}

impl SegmentField {
    fn open(segment: &SegmentReader, field: Field) -> Result<Self, TantivyError> {
        let lengths: FieldNormReader = segment.get_fieldnorms_reader(field)?;
        Ok(Self {
            terms: segment.inverted_index(field)?,
            lengths: (0..segment.max_doc()).map(|doc| lengths.fieldnorm_id(doc)).collect(),
        })
    }

    pub(super) fn find(&self, term: &str) -> Option<TermInfo> {
        // An index in memory can always be read.
        self.terms.terms().get(term).ok().flatten()
    }
}

/// The fields of a tool in the word index. The tools themselves are stored by slot, elsewhere.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fields {
    /// All words.
    pub(super) words: Field,
    /// The words of the name.
    pub(super) name: Field,
    /// The name as one word.
    pub(super) called: Field,
    /// Server and name as one word.
    pub(super) id: Field,
    /// The slot of the tool.
    pub(super) slot: Field,
    /// A number that no other document has.
    pub(super) put: Field,
}

/// The name of the tokenizer that splits words at spaces.
pub(super) const SPACES: &str = "spaces";

impl Fields {
    /// Returns the schema and the fields. Neither positions of words nor texts are stored: no query asks for phrases or
    /// excerpts.
    pub(super) fn schema() -> (Schema, Self) {
        let counted = TextFieldIndexing::default()
            .set_tokenizer(SPACES)
            .set_index_option(IndexRecordOption::WithFreqs)
            .set_fieldnorms(true);
        let counted = TextOptions::default().set_indexing_options(counted);
        let whole = TextFieldIndexing::default()
            .set_tokenizer("raw")
            .set_index_option(IndexRecordOption::Basic)
            .set_fieldnorms(false);
        let whole = TextOptions::default().set_indexing_options(whole);
        let mut schema = Schema::builder();
        let fields = Self {
            words: schema.add_text_field("words", counted.clone()),
            name: schema.add_text_field("name", counted),
            called: schema.add_text_field("called", whole.clone()),
            id: schema.add_text_field("id", whole),
            slot: schema.add_u64_field(SLOT, FAST),
            put: schema.add_u64_field("put", INDEXED),
        };
        (schema.build(), fields)
    }
}
