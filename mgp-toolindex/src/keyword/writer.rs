//! The writer of the word index.

use std::collections::HashSet;
use std::hash::BuildHasher;
use std::iter;
use std::num::NonZeroU64;
use std::sync::Arc;

use foldhash::fast::{FixedState, RandomState};
use tantivy::index::{IndexSettings, Segment};
use tantivy::indexer::{AddOperation, IndexWriterOptions, LogMergePolicy, SegmentWriter};
use tantivy::schema::{Field, TantivyDocument};
use tantivy::tokenizer::{TextAnalyzer, WhitespaceTokenizer};
use tantivy::{Document, Index, IndexWriter, SegmentReader, TantivyError, Term};

use super::KeywordReader;
use super::segment::{Fields, IndexSegment, SPACES};
use crate::server_tools::ToolText;
use crate::slot::Slot;
use crate::text::DocumentBuilder;

/// Changes the words of tools. The next [`KeywordReader`] sees the changes.
///
/// Parts of the index are written on the caller's thread, and merged by threads of tantivy that end with this value.
/// Tantivy's own writer, with a thread for it, takes 4 MB and three milliseconds for a single tool.
pub(crate) struct KeywordWriter {
    index: Index,
    writer: IndexWriter<NoDocument>,
    fields: Fields,
    documents: DocumentBuilder,
    /// The document that was last put into each slot.
    kept: Vec<Option<SlotContent>>,
    /// The number of puts so far, plus 1.
    puts: NonZeroU64,
    fresh: Option<OpenSegment>,
    parts: Vec<Arc<IndexSegment>>,
    /// The state after the last commit; `None` if words have changed since.
    latest: Option<Arc<KeywordReader>>,
}

/// The document of a slot.
#[derive(Debug, Clone, Copy)]
struct SlotContent {
    hash: u64,
    /// The number of the put. Documents are deleted by that, and not by their slots, because tantivy deletes from parts
    /// that others wrote also documents that were put there after the deletion.
    put: NonZeroU64,
}

/// The part that is being written.
struct OpenSegment {
    segment: Segment,
    writer: SegmentWriter,
    slots: HashSet<Slot, RandomState>,
}

/// The empty document type for tantivy's own thread. Its queue takes memory for thousands of documents from the start,
/// two megabytes for the usual type.
enum NoDocument {}

impl Document for NoDocument {
    type Value<'a> = &'a str;
    type FieldsValuesIter<'a> = iter::Empty<(Field, &'a str)>;

    fn iter_fields_and_values(&self) -> Self::FieldsValuesIter<'_> {
        match *self {}
    }
}

/// The share of deleted tools at which a part is written anew. Until then these still count in how rare a word is.
const MAX_DELETED: f32 = 0.2;

/// The logarithm of the ratio up to which parts count as of one size: up to four times as large.
const LAYER_LOG_SIZE: f64 = 2.0;

/// The number of tools up to which parts count as of one size.
const SMALL_PART: u32 = 2_000;

/// The number of parts of about one size that are merged.
const FEWEST_MERGED: usize = 4;

/// The number of times that parts are listed anew; merges take longer than that.
const MAX_TRIES: usize = 10;

/// The memory at which a part is finished.
const LARGEST_FRESH_BYTES: usize = 16 << 20;

impl KeywordWriter {
    /// Creates an index without tools.
    pub(crate) fn new() -> Result<Self, KeywordError> {
        let (schema, fields) = Fields::schema();
        // No text is stored, so that no thread for compression is needed for each part.
        let settings =
            IndexSettings { docstore_compress_dedicated_thread: false, ..IndexSettings::default() };
        let index = Index::builder().schema(schema).settings(settings).create_in_ram()?;
        index.tokenizers().register(SPACES, TextAnalyzer::from(WhitespaceTokenizer::default()));
        let options = IndexWriterOptions::builder().num_worker_threads(1).num_merge_threads(1).build();
        let writer = index.writer_with_options(options)?;
        let mut policy = LogMergePolicy::default();
        policy.set_min_num_segments(FEWEST_MERGED);
        policy.set_min_layer_size(SMALL_PART);
        policy.set_level_log_size(LAYER_LOG_SIZE);
        policy.set_max_docs_before_merge(usize::MAX);
        policy.set_del_docs_ratio_before_merge(MAX_DELETED);
        writer.set_merge_policy(Box::new(policy));
        let documents = DocumentBuilder::new();
        Ok(Self {
            index,
            writer,
            fields,
            documents,
            kept: Vec::new(),
            puts: NonZeroU64::MIN,
            fresh: None,
            parts: Vec::new(),
            latest: None,
        })
    }

    /// Replaces the words of the tool in a slot.
    pub(crate) fn put(&mut self, slot: Slot, text: &ToolText<'_>) -> Result<(), KeywordError> {
        let found = self.documents.of(text);
        let hash = FixedState::with_seed(0).hash_one(&found);
        if self.kept.get(slot.index()).is_some_and(|kept| kept.is_some_and(|kept| kept.hash == hash)) {
            return Ok(());
        }
        self.remove(slot)?;
        self.latest = None;
        let mut document = TantivyDocument::new();
        document.add_text(self.fields.words, found.words);
        document.add_text(self.fields.name, found.name);
        document.add_text(self.fields.called, found.called);
        document.add_text(self.fields.id, found.id);
        document.add_u64(self.fields.slot, slot.0.into());
        document.add_u64(self.fields.put, self.puts.get());
        let fresh = match &mut self.fresh {
            Some(fresh) => fresh,
            none => none.insert(OpenSegment::begin(&self.index)?),
        };
        fresh.writer.add_document(AddOperation { opstamp: 0, document })?;
        fresh.slots.insert(slot);
        let large = fresh.writer.mem_usage() > LARGEST_FRESH_BYTES;
        self.kept.resize(self.kept.len().max(slot.index() + 1), None);
        self.kept[slot.index()] = Some(SlotContent { hash, put: self.puts });
        self.puts = self.puts.saturating_add(1);
        if large { self.finish() } else { Ok(()) }
    }

    /// Removes the words of a slot.
    pub(crate) fn remove(&mut self, slot: Slot) -> Result<(), KeywordError> {
        let Some(kept) = self.kept.get_mut(slot.index()).and_then(Option::take) else { return Ok(()) };
        self.latest = None;
        // Only documents of a finished part can be deleted.
        if self.fresh.as_ref().is_some_and(|fresh| fresh.slots.contains(&slot)) {
            self.finish()?;
        }
        self.writer.delete_term(Term::from_field_u64(self.fields.put, kept.put.get()));
        Ok(())
    }

    /// Makes all changes visible.
    pub(crate) fn commit(&mut self) -> Result<Arc<KeywordReader>, KeywordError> {
        if let Some(latest) = &self.latest {
            return Ok(latest.clone());
        }
        self.finish()?;
        self.writer.commit()?;
        let reader = self.reader()?;
        Ok(self.latest.insert(reader).clone())
    }

    /// Returns the state of the last commit in fewer parts, if merging has made them fewer since.
    pub(crate) fn merged(&mut self) -> Result<Option<Arc<KeywordReader>>, KeywordError> {
        let now = self.index.searchable_segment_ids()?;
        let same = now.len() == self.parts.len() && self.parts.iter().all(|part| now.contains(&part.id));
        if same {
            return Ok(None);
        }
        let reader = self.reader()?;
        self.latest = self.latest.is_some().then(|| reader.clone());
        Ok(Some(reader))
    }

    fn finish(&mut self) -> Result<(), KeywordError> {
        let Some(fresh) = self.fresh.take() else { return Ok(()) };
        let count = fresh.writer.max_doc();
        fresh.writer.finalize()?;
        let segment = fresh.segment.with_max_doc(count);
        segment.meta().untrack_temp_docstore();
        self.writer.add_segment(segment.meta().clone())?;
        Ok(())
    }

    fn reader(&mut self) -> Result<Arc<KeywordReader>, KeywordError> {
        let mut tries = 0;
        let opened = loop {
            match self.open() {
                // A merge has replaced the parts between their listing and their opening. Tantivy's own reader prevents
                // that by a lock that it tries only every 100 milliseconds.
                Err(_) if tries < MAX_TRIES => tries += 1,
                opened => break opened?,
            }
        };
        self.parts = opened.iter().map(|(part, _)| Arc::clone(part)).collect();
        let (parts, alive) =
            opened.into_iter().map(|(part, segment)| (part, segment.alive_bitset().cloned())).unzip();
        Ok(Arc::new(KeywordReader::new(parts, alive)))
    }

    fn open(&self) -> Result<Vec<(Arc<IndexSegment>, SegmentReader)>, TantivyError> {
        let open = |segment: &Segment| {
            let segment = SegmentReader::open(segment)?;
            let known = self.parts.iter().find(|part| part.id == segment.segment_id());
            let part = match known {
                Some(part) => Arc::clone(part),
                None => Arc::new(IndexSegment::open(&segment, self.fields)?),
            };
            Ok((part, segment))
        };
        self.index.searchable_segments()?.iter().map(open).collect()
    }
}

/// The memory of a part that is being written, at the start; it grows with its contents.
const FRESH_BYTES: usize = 100_000;

impl OpenSegment {
    fn begin(index: &Index) -> Result<Self, TantivyError> {
        let segment = index.new_segment();
        let writer = SegmentWriter::for_segment(FRESH_BYTES, segment.clone())?;
        Ok(Self { segment, writer, slots: HashSet::default() })
    }
}

mgp_types::partial_debug!(KeywordWriter, self => parts: self.parts.len());

/// An error of the word index, which fails only without memory or threads.
#[derive(Debug, thiserror::Error)]
#[error("the word index cannot be changed")]
pub(crate) struct KeywordError(#[from] TantivyError);
