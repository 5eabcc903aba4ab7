use tantivy::schema::{FAST, Field, INDEXED, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};

/// What the index has of a tool. The tools themselves are kept elsewhere, by slot.
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
    /// Where the tool is kept.
    pub(super) slot: Field,
    /// A number that no other document has.
    pub(super) put: Field,
}

impl Fields {
    /// Neither places of words nor texts are kept: nothing here asks for phrases or shows excerpts.
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

/// The tokenizer that takes words apart which were found before.
pub(super) const SPACES: &str = "spaces";

pub(super) const SLOT: &str = "slot";
