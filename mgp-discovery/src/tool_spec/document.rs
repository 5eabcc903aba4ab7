//! Specification documents as they are written: tools, their sections, and what stands in them.

use std::path::{Path, PathBuf};

/// A specification document, read line by line.
///
/// The reader knows headings with `#`, tables with `|` at the start of each row, and code between fences. A tool begins
/// with ``## Tool: `module.tool` `` and ends with the next heading of the first or second level. The first heading of a
/// tool has the level of all its sections; deeper headings belong to the section above them.
#[derive(Debug, Clone)]
pub struct SpecDocument {
    pub(super) file: PathBuf,
    pub(super) tools: Vec<DocumentedTool>,
    /// The line of a code block that does not end.
    pub(super) open_block: Option<usize>,
}

/// The part of a document that describes one tool.
#[derive(Debug, Clone, Default)]
pub(super) struct DocumentedTool {
    pub(super) name: String,
    pub(super) line: usize,
    /// True if the name stands between backticks.
    pub(super) is_quoted: bool,
    /// The text above the first section of a specification.
    pub(super) preamble: Vec<Block>,
    pub(super) sections: Vec<Section>,
}

/// A section of a tool.
#[derive(Debug, Clone)]
pub(super) struct Section {
    pub(super) line: usize,
    pub(super) title: String,
    /// The number in front of the title.
    pub(super) number: Option<usize>,
    /// `None` if the section is none of the eight.
    pub(super) kind: Option<SectionKind>,
    pub(super) blocks: Vec<Block>,
}

/// A part of a section.
#[derive(Debug, Clone)]
pub(super) enum Block {
    /// A line of text that is not empty.
    Text {
        line: usize,
        text: String,
    },
    Table(MarkdownTable),
    /// Code between fences; `line` is that of the opening fence.
    Code {
        line: usize,
        language: String,
        text: String,
    },
}

impl SpecDocument {
    /// The name of the file in which a module specifies its tools.
    pub const FILE_NAME: &str = "MCP_TOOL_SPECIFICATION.md";

    /// Reads the text of a document. `file` is only the name for findings.
    pub fn read(file: &Path, text: &str) -> Self {
        let mut document = Self { file: file.to_owned(), tools: Vec::new(), open_block: None };
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let mut lines = text.lines().zip(1..).peekable();
        let mut section_level = None;
        // The text above the first tool, and between tools, belongs to nobody.
        let mut is_in_tool = false;
        while let Some((text, line)) = lines.next() {
            if let Some((level, title)) = heading(text) {
                if level <= 2 {
                    is_in_tool = level == 2 && title.starts_with(TOOL);
                    section_level = None;
                    if is_in_tool {
                        document.tools.push(DocumentedTool::declared(title, line));
                    }
                    continue;
                }
                if is_in_tool && level <= *section_level.get_or_insert(level) {
                    if let Some(tool) = document.tools.last_mut() {
                        tool.sections.push(Section::titled(title, line));
                    }
                    continue;
                }
            }
            let block = if let Some((fence, language)) = opened(text) {
                let mut code = String::new();
                let closed = lines.by_ref().find(|(text, _)| {
                    let is_end = text.trim_start().starts_with(fence)
                        && text.trim().trim_matches(['`', '~']).is_empty();
                    if !is_end {
                        code.push_str(text);
                        code.push('\n');
                    }
                    is_end
                });
                if closed.is_none() {
                    document.open_block = Some(line);
                }
                Block::Code { line, language: language.to_ascii_lowercase(), text: code }
            } else if MarkdownTable::is_row(text) {
                let rows = std::iter::from_fn(|| lines.next_if(|(text, _)| MarkdownTable::is_row(text)));
                Block::Table(MarkdownTable::read(line, text, rows))
            } else if text.trim().is_empty() {
                continue;
            } else {
                Block::Text { line, text: text.trim().to_owned() }
            };
            if is_in_tool && let Some(tool) = document.tools.last_mut() {
                let blocks =
                    tool.sections.last_mut().map_or(&mut tool.preamble, |section| &mut section.blocks);
                blocks.push(block);
            }
        }
        document
    }
}

impl DocumentedTool {
    fn declared(title: &str, line: usize) -> Self {
        let name = title.trim_start_matches(TOOL).trim();
        let quoted = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'));
        Self { name: quoted.unwrap_or(name).to_owned(), line, is_quoted: quoted.is_some(), ..Self::default() }
    }

    /// Returns the first section of a kind.
    pub(super) fn section(&self, kind: SectionKind) -> Option<&Section> {
        self.sections.iter().find(|section| section.kind == Some(kind))
    }

    /// Returns the declared version and its line: of `**Version**: 1.2.3` above the sections, or in the first one.
    pub(super) fn version(&self) -> Option<(usize, &str)> {
        let purpose = self.section(SectionKind::Purpose).map(|section| &*section.blocks).unwrap_or_default();
        self.preamble.iter().chain(purpose).find_map(|block| match block {
            Block::Text { line, text } => Some((*line, text.strip_prefix(VERSION)?.trim())),
            _ => None,
        })
    }

    /// Returns the section that says how callers move to the new major version.
    pub(super) fn migration(&self) -> Option<&Section> {
        let is_migration = |section: &&Section| section.title.to_lowercase().starts_with("migration");
        self.sections.iter().find(is_migration).filter(|section| !section.blocks.is_empty())
    }

    /// Returns whether the tool is said to be idempotent; `None` if the section says neither. Its first line contains
    /// "not idempotent" or "idempotent", or answers with "Yes" or "No", also behind `**Idempotent**:`.
    pub(super) fn idempotent(&self) -> Option<bool> {
        let (_, line) = self.section(SectionKind::Idempotency)?.texts().next()?;
        let line = line.to_lowercase().replace(['*', '`', '_'], "");
        let answer = line.strip_prefix("idempotent:").unwrap_or(&line);
        match answer.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty()) {
            Some("yes" | "true") => return Some(true),
            Some("no" | "false") => return Some(false),
            _ => {}
        }
        let denials = ["not idempotent", "non-idempotent", "isn't idempotent"];
        let is_denied = denials.iter().any(|denial| line.contains(denial));
        if is_denied { Some(false) } else { line.contains("is idempotent").then_some(true) }
    }

    /// Returns the purpose as one text, without the version.
    pub(super) fn purpose(&self) -> String {
        let lines = self.section(SectionKind::Purpose).into_iter().flat_map(Section::texts);
        lines.map(|(_, text)| text).filter(|text| !text.starts_with(VERSION)).collect::<Vec<_>>().join(" ")
    }
}

impl Section {
    fn titled(title: &str, line: usize) -> Self {
        let (number, title) = match title.split_once(['.', ')']) {
            Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (number.parse().ok(), rest.trim())
            }
            _ => (None, title),
        };
        Self { line, title: title.to_owned(), number, kind: SectionKind::titled(title), blocks: Vec::new() }
    }

    /// Returns the lines of text that are neither headings nor tables nor code.
    pub(super) fn texts(&self) -> impl Iterator<Item = (usize, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Text { line, text } if !text.starts_with('#') => Some((*line, text.as_str())),
            _ => None,
        })
    }

    pub(super) fn tables(&self) -> impl Iterator<Item = &MarkdownTable> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Table(table) => Some(table),
            _ => None,
        })
    }

    /// Returns the blocks of JSON, each with the line of its fence.
    pub(super) fn json(&self) -> impl Iterator<Item = (usize, &str)> {
        self.blocks.iter().filter_map(|block| match block {
            Block::Code { line, language, text } if language == "json" => Some((*line, text.as_str())),
            _ => None,
        })
    }
}

/// Returns the level and the text of a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let rest = line.trim_start_matches('#');
    let level = line.len() - rest.len();
    let is_heading = (1..=6).contains(&level) && rest.starts_with([' ', '\t']);
    is_heading.then(|| (level, rest.trim().trim_end_matches('#').trim_end()))
}

/// Returns the fence that a line opens, and the language behind it.
fn opened(line: &str) -> Option<(&str, &str)> {
    let line = line.trim();
    let rest = line.trim_start_matches(line.chars().next().filter(|first| matches!(first, '`' | '~'))?);
    let fence = &line[..line.len() - rest.len()];
    let is_fence = fence.len() >= 3 && !rest.contains('`');
    is_fence.then(|| (fence, rest.split_whitespace().next().unwrap_or_default()))
}

const TOOL: &str = "Tool:";

/// The beginning of the line that declares the version.
pub(super) const VERSION: &str = "**Version**:";

/// A section of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SectionKind {
    Purpose,
    InvocationName,
    InputSchema,
    OutputSchema,
    ErrorHandling,
    Idempotency,
    Examples,
    Security,
}

impl SectionKind {
    /// The sections in the order of the template, which is that of `sections.txt`.
    pub(super) const ALL: [Self; 8] = [
        Self::Purpose,
        Self::InvocationName,
        Self::InputSchema,
        Self::OutputSchema,
        Self::ErrorHandling,
        Self::Idempotency,
        Self::Examples,
        Self::Security,
    ];

    /// Returns the titles of the section: that of the template, and the shorter ones that are accepted.
    fn titles(self) -> impl Iterator<Item = &'static str> {
        include_str!("sections.txt").lines().nth(self as usize).unwrap_or_default().split(" | ")
    }

    /// Returns the section with this number, from 1.
    pub(super) fn numbered(number: usize) -> Option<Self> {
        Self::ALL.into_iter().nth(number.checked_sub(1)?)
    }

    /// Returns the number of the section, from 1.
    pub(super) const fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns the title of the template.
    pub(super) fn title(self) -> &'static str {
        self.titles().next().unwrap_or_default()
    }

    /// Returns the section with this title, with or without what stands in brackets. Upper and lower case are the same.
    pub(super) fn titled(title: &str) -> Option<Self> {
        let title = bare(title);
        Self::ALL.into_iter().find(|section| section.titles().any(|known| bare(known) == title))
    }
}

fn bare(title: &str) -> String {
    let title = title.split('(').next().unwrap_or_default();
    title.trim().trim_end_matches(':').to_lowercase()
}

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
    fn is_row(line: &str) -> bool {
        line.trim_start().starts_with('|')
    }

    /// Reads a table: the line of its headings, and the rows below, each with its line.
    fn read<'t>(line: usize, headings: &str, rows: impl Iterator<Item = (&'t str, usize)>) -> Self {
        let is_line =
            |cells: &[String]| cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        let rows = rows.map(|(text, line)| (line, cells(text))).filter(|(_, cells)| !is_line(cells));
        Self { line, headings: cells(headings), rows: rows.collect() }
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
