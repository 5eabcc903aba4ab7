//! Tables in Markdown.

/// A table: the cells of its heading and of its rows, without the marks of code and emphasis.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MarkdownTable {
    pub(super) line: usize,
    headings: Vec<String>,
    rows: Vec<(usize, Vec<String>)>,
}

/// A row of a table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TableRow<'a> {
    pub(super) line: usize,
    table: &'a MarkdownTable,
    cells: &'a [String],
}

impl MarkdownTable {
    pub(super) fn is_row(line: &str) -> bool {
        line.trim_start().starts_with('|')
    }

    /// Reads the rows of a table, of which there is at least one. The first one has the headings.
    pub(super) fn read(rows: &[(usize, &str)]) -> Self {
        let (first, rest) = rows.split_first().map_or((None, rows), |(first, rest)| (Some(first), rest));
        let is_line =
            |cells: &[String]| cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        Self {
            line: first.map_or(0, |(line, _)| *line),
            headings: first.map(|(_, text)| cells(text)).unwrap_or_default(),
            rows: rest
                .iter()
                .map(|(line, text)| (*line, cells(text)))
                .filter(|(_, cells)| !is_line(cells))
                .collect(),
        }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = TableRow<'_>> {
        self.rows.iter().map(|(line, cells)| TableRow { line: *line, table: self, cells })
    }
}

impl<'a> TableRow<'a> {
    /// Returns the cell below the first heading that has one of these words, which are in lower case.
    pub(super) fn cell(self, words: &[&str]) -> Option<&'a str> {
        let has_word = |heading: &String| {
            let heading = heading.to_lowercase();
            heading.split_whitespace().any(|word| words.contains(&word))
        };
        let column = self.table.headings.iter().position(has_word)?;
        Some(self.cells.get(column).map_or("", String::as_str))
    }

    pub(super) fn contains(self, word: &str) -> bool {
        self.cells.iter().any(|cell| cell.contains(word))
    }

    /// Returns the first cell, by which the row is named.
    pub(super) fn name(self) -> &'a str {
        self.cells.first().map_or("", String::as_str)
    }
}

/// Returns the cells of a row; `\|` is a bar in a cell.
fn cells(row: &str) -> Vec<String> {
    let row = row.trim();
    let row = row.strip_prefix('|').unwrap_or(row);
    let mut cells = vec![String::new()];
    let mut characters = row.chars().peekable();
    while let Some(character) = characters.next() {
        let is_escape = character == '\\' && characters.peek() == Some(&'|');
        match cells.last_mut() {
            Some(cell) if is_escape => cell.extend(characters.next()),
            Some(cell) if character != '|' => cell.push(character),
            _ => cells.push(String::new()),
        }
    }
    // The bar at the end of a row begins no cell.
    if cells.last().is_some_and(|cell| cell.trim().is_empty()) {
        cells.pop();
    }
    cells.iter().map(|cell| cell.trim().trim_matches(['`', '*']).to_owned()).collect()
}
