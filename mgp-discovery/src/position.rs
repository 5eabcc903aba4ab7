//! Positions in texts.

use std::fmt;

/// A position in a text; both numbers begin at 1, and columns count characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(clippy::exhaustive_structs, reason = "a line and a column are a position")]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column in the line, from 1.
    pub column: usize,
}

impl Position {
    /// Returns the position of the byte at `offset`; the middle of a character counts as its start, and an offset past
    /// the end as the end.
    pub(crate) fn of(text: &str, offset: usize) -> Self {
        let before = &text[..text.floor_char_boundary(offset)];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.bytes().filter(|byte| *byte == b'\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}, column {}", self.line, self.column)
    }
}
