//! The kinds of data that tools take and return.

use std::fmt;

use crate::text::lower_words;

/// A kind of data that a tool takes or returns.
///
/// Only kinds that exclude one another are told apart: a word with two meanings has none here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum DataKind {
    Text,
    Json,
    Xml,
    Yaml,
    Html,
    Markdown,
    Table,
    Number,
    Pdf,
    Document,
    Image,
    Chart,
    Audio,
    Video,
    Archive,
}

/// The words for each kind; the first is used in answers.
const NAMES: &[(DataKind, &[&str])] = &[
    (
        DataKind::Text,
        &["text", "txt", "plaintext", "sentence", "paragraph", "prose", "transcript", "prompt", "message"],
    ),
    (DataKind::Json, &["json", "jsonl", "ndjson"]),
    (DataKind::Xml, &["xml"]),
    (DataKind::Yaml, &["yaml", "yml"]),
    (DataKind::Html, &["html", "webpage"]),
    (DataKind::Markdown, &["markdown"]),
    (
        DataKind::Table,
        &[
            "csv", "tsv", "tabular", "spreadsheet", "excel", "xlsx", "xls", "dataframe", "parquet",
            "worksheet",
        ],
    ),
    (DataKind::Number, &["numeric", "number", "float", "integer", "numerical", "statistic"]),
    (DataKind::Pdf, &["pdf"]),
    (DataKind::Document, &["docx", "doc", "odt", "rtf", "epub"]),
    (
        DataKind::Image,
        &[
            "image", "img", "picture", "photo", "photograph", "png", "jpg", "jpeg", "gif", "webp", "svg",
            "bitmap", "tiff", "screenshot", "thumbnail",
        ],
    ),
    (DataKind::Chart, &["chart", "plot", "histogram", "scatterplot", "visualization", "visualisation"]),
    (DataKind::Audio, &["audio", "mp3", "wav", "ogg", "flac", "m4a", "speech", "podcast", "voice"]),
    (DataKind::Video, &["video", "mp4", "mkv", "avi", "webm", "movie"]),
    (DataKind::Archive, &["zip", "tar", "gzip", "7z", "tarball"]),
];

impl DataKind {
    /// Returns the kind that a word names, in lower case.
    pub(super) fn named(word: &str) -> Option<Self> {
        let kind = |word| NAMES.iter().find(|(_, names)| names.contains(&word)).map(|(kind, _)| *kind);
        kind(word).or_else(|| kind(word.strip_suffix('s')?))
    }

    /// Returns the kinds that a text names.
    pub(super) fn all_in(text: &str) -> Vec<Self> {
        let mut kinds: Vec<_> = lower_words(text).filter_map(|word| Self::named(&word)).collect();
        kinds.sort_unstable();
        kinds.dedup();
        kinds
    }

    /// Returns whether data of this kind may be given where `wanted` is wanted. Doubts count as yes.
    pub(super) fn may_stand_for(self, wanted: Self) -> bool {
        let both = |one, other| (self, wanted) == (one, other) || (self, wanted) == (other, one);
        self == wanted
            || (self == Self::Text && wanted.is_written())
            || (wanted == Self::Text && self.is_written())
            || both(Self::Json, Self::Table)
            || both(Self::Json, Self::Number)
            || both(Self::Table, Self::Number)
            || both(Self::Image, Self::Chart)
            || both(Self::Document, Self::Pdf)
            || both(Self::Document, Self::Html)
            || both(Self::Document, Self::Markdown)
    }

    const fn is_written(self) -> bool {
        !matches!(self, Self::Pdf | Self::Image | Self::Chart | Self::Audio | Self::Video | Self::Archive)
    }
}

impl fmt::Display for DataKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(NAMES.iter().find(|(kind, _)| kind == self).map_or("", |(_, names)| names[0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_found_by_many_names() {
        assert_eq!(DataKind::all_in("tabular_data"), [DataKind::Table]);
        assert_eq!(DataKind::all_in("A PNG or JPEGs; see imagePath"), [DataKind::Image]);
        assert_eq!(DataKind::all_in("csvFile of numbers"), [DataKind::Table, DataKind::Number]);
        assert!(DataKind::all_in("file, graph, code 画像").is_empty());
        assert_eq!(DataKind::Table.to_string(), "csv");
    }

    #[test]
    fn what_holds_the_other_may_stand_for_it() {
        assert!(
            DataKind::Text.may_stand_for(DataKind::Table) && DataKind::Json.may_stand_for(DataKind::Number)
        );
        assert!(
            !DataKind::Image.may_stand_for(DataKind::Table) && !DataKind::Text.may_stand_for(DataKind::Audio)
        );
    }
}
