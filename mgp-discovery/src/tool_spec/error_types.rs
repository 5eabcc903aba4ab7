//! The types of errors that a tool documents.

use mgp_types::ext::ErrorType;

use super::document::Section;
use super::table::MarkdownTable;
use crate::config::nearest;

/// The types of errors in the section on errors.
#[derive(Debug, Clone, Default)]
pub(super) struct ErrorTypes {
    /// The types with their lines: of the column "Error Type" of a table, or of items such as ``- `ValidationError`: …``.
    pub(super) listed: Vec<(usize, String)>,
    /// The tool's own types, of the line ``**Custom error types**: `A`, `B` ``.
    custom: Vec<String>,
}

impl ErrorTypes {
    pub(super) fn of(section: &Section) -> Self {
        let mut types = Self::default();
        for row in section.tables().flat_map(MarkdownTable::rows) {
            if let Some(name) = row.cell(&["error", "error_type"]) {
                types.listed.push((row.line, name.to_owned()));
            }
        }
        for (line, text) in section.texts() {
            if let Some(names) = text.strip_prefix(CUSTOM) {
                types.custom.extend(quoted(names).map(str::to_owned));
            } else if let Some(name) = text.strip_prefix(['-', '*']).and_then(|item| quoted(item).next())
                && is_type(name)
            {
                types.listed.push((line, name.to_owned()));
            }
        }
        types
    }

    /// Returns what is wrong with a type that is neither one of the standard ones nor declared.
    pub(super) fn fault(&self, name: &str) -> Option<String> {
        let custom = self.custom.iter().map(String::as_str);
        let known = || ErrorType::KNOWN.iter().map(ErrorType::as_str).chain(custom.clone());
        if known().any(|known| known == name) {
            return None;
        }
        Some(match nearest(name, known()) {
            Some(near) => format!("`{name}` is not a known error type: did you mean `{near}`?"),
            None => format!("`{name}` is neither a known error type nor declared in section 5"),
        })
    }
}

/// Returns what stands between backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn is_type(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

const CUSTOM: &str = "**Custom error types**:";
