use std::fmt;
use std::sync::Arc;

use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::schema::TantivyDocument;
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{Index, IndexWriter, TantivyError, Term};

use super::KeywordReader;
use super::fields::{Fields, SPACES};
use super::part::Part;
use crate::slot::Slot;
use crate::text::Documents;
use crate::tool::ToolText;

/// Changes the words of tools. What it makes is seen by the next [`KeywordReader`] only.
///
/// Tantivy writes and merges in threads of its own, which end with this.
pub(crate) struct KeywordWriter {
    index: Index,
    writer: IndexWriter,
    fields: Fields,
    documents: Documents,
    parts: Vec<Arc<Part>>,
}

impl KeywordWriter {
    /// An index without tools.
    pub(crate) fn new() -> Result<Self, KeywordError> {
        let (schema, fields) = Fields::schema();
        let index = Index::create_in_ram(schema);
        index.tokenizers().register(SPACES, TextAnalyzer::from(WhitespaceTokenizer::default()));
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(ARENA_BYTES)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(FEWEST_MERGED);
        policy.set_min_layer_size(SMALL_PART);
        policy.set_level_log_size(LAYER_LOG_SIZE);
        policy.set_max_docs_before_merge(usize::MAX);
        policy.set_del_docs_ratio_before_merge(MOST_DELETED);
        writer.set_merge_policy(Box::new(policy));
        Ok(Self { index, writer, fields, documents: Documents::new(), parts: Vec::new() })
    }

    /// The words of the tool in a slot, instead of those it had.
    pub(crate) fn put(&mut self, slot: Slot, text: &ToolText<'_>) -> Result<(), KeywordError> {
        let found = self.documents.of(text);
        self.remove(slot);
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.words, found.words);
        document.add_text(self.fields.name, found.name);
        document.add_u64(self.fields.slot, slot.0.into());
        self.writer.add_document(document)?;
        Ok(())
    }

    /// Forgets the words of a slot.
    pub(crate) fn remove(&mut self, slot: Slot) {
        self.writer.delete_term(Term::from_field_u64(self.fields.slot, slot.0.into()));
    }

    /// Makes visible what was changed.
    pub(crate) fn commit(&mut self) -> Result<KeywordReader, KeywordError> {
        self.writer.commit()?;
        self.reader()
    }

    /// What was visible after the last commit, in fewer parts, if merging has made it fewer since.
    pub(crate) fn merged(&mut self) -> Result<Option<KeywordReader>, KeywordError> {
        let now = self.index.searchable_segment_ids()?;
        let same = now.len() == self.parts.len() && self.parts.iter().all(|part| now.contains(&part.id));
        if same { Ok(None) } else { self.reader().map(Some) }
    }

    /// What is visible, in as few parts as merging has left.
    fn reader(&mut self) -> Result<KeywordReader, KeywordError> {
        let reader = self.index.reader_builder().reload_policy(tantivy::ReloadPolicy::Manual).try_into()?;
        let searcher = reader.searcher();
        let mut alive = Vec::new();
        let mut parts = Vec::new();
        for segment in searcher.segment_readers() {
            let known = self.parts.iter().find(|part| part.id == segment.segment_id());
            parts.push(match known {
                Some(part) => Arc::clone(part),
                None => Arc::new(Part::open(segment, self.fields)?),
            });
            alive.push(segment.alive_bitset().cloned());
        }
        self.parts.clone_from(&parts);
        Ok(KeywordReader::new(parts, alive))
    }
}

impl fmt::Debug for KeywordWriter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeywordWriter").field("parts", &self.parts.len()).finish_non_exhaustive()
    }
}

/// The index of words failed, which it does only if memory or threads are wanting.
#[derive(Debug, thiserror::Error)]
#[error("the index of words cannot be changed")]
pub(crate) struct KeywordError(#[from] TantivyError);

/// The least that tantivy takes. It is held only while there is something to write.
const ARENA_BYTES: usize = 15_000_000;

/// Parts of about one size are merged when there are so many of them.
const FEWEST_MERGED: usize = 4;

/// Parts of fewer tools than this count as of one size.
const SMALL_PART: u32 = 2_000;

/// Parts of which one is up to four times as large as another count as of one size.
const LAYER_LOG_SIZE: f64 = 2.0;

/// A part is written anew when more than this share of its tools is gone. Until then these still count in how rare
/// a word is.
const MOST_DELETED: f32 = 0.2;
