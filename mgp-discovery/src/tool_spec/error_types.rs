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

    /// Returns the listed types that are neither of the standard ones nor declared.
    pub(super) fn unknown(&self) -> impl Iterator<Item = (usize, &str)> {
        self.listed.iter().filter(|(_, name)| !self.is_known(name)).map(|(line, name)| (*line, name.as_str()))
    }

    pub(super) fn is_known(&self, name: &str) -> bool {
        ErrorType::STANDARD.iter().any(|standard| standard.as_str() == name)
            || self.custom.iter().any(|custom| custom == name)
    }

    /// Returns what to do about an unknown type.
    pub(super) fn advice(&self, unknown: &str) -> String {
        let known =
            ErrorType::STANDARD.iter().map(ErrorType::as_str).chain(self.custom.iter().map(String::as_str));
        match nearest(unknown, known) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("declare it in section 5: {CUSTOM} `{unknown}`"),
        }
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
