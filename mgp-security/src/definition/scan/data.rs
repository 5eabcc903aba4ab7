//! The parser of the text files that contain words, wordings and rules.
//!
//! A file has sections, each under a `[heading]`, and one entry per line. Indented lines below an entry belong to it.
//! Lines that are `#` or start with `#` and a blank are comments. `␣` stands for a blank where an editor would remove
//! one.

use std::fmt;

/// A text file that is part of the program.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataFile {
    name: &'static str,
    text: &'static str,
}

/// A heading, and the entries below it.
#[derive(Debug)]
pub(super) struct Section {
    pub(super) heading: Line,
    pub(super) entries: Vec<Entry>,
}

/// An entry, and the indented lines that belong to it.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) line: Line,
    pub(super) below: Vec<Line>,
}

/// The text of a line, without the white space around it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    pub(super) text: &'static str,
    number: usize,
    file: &'static str,
}

/// A line that cannot be read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mistake {
    file: &'static str,
    line: usize,
    reason: String,
}

impl DataFile {
    pub(super) const fn new(name: &'static str, text: &'static str) -> Self {
        Self { name, text }
    }

    /// Returns the sections from top to bottom.
    ///
    /// # Errors
    /// Fails if an entry stands above the first heading, or an indented line stands below no entry.
    pub(super) fn sections(self) -> Result<Vec<Section>, Mistake> {
        let mut sections: Vec<Section> = Vec::new();
        for (index, text) in self.text.lines().enumerate() {
            let line = Line { text: text.trim(), number: index + 1, file: self.name };
            if line.text.is_empty() || line.text == "#" || line.text.starts_with("# ") {
                continue;
            }
            if let Some(text) = heading(line.text) {
                sections.push(Section { heading: Line { text, ..line }, entries: Vec::new() });
                continue;
            }
            let section = sections.last_mut().ok_or_else(|| line.mistake("no heading stands above"))?;
            if text.starts_with([' ', '\t']) {
                let entry = section.entries.last_mut();
                let entry = entry.ok_or_else(|| line.mistake("the line is indented below no entry"))?;
                entry.below.push(line);
            } else {
                section.entries.push(Entry { line, below: Vec::new() });
            }
        }
        Ok(sections)
    }

    /// Returns a mistake at the end of the file: `what` is missing.
    pub(super) fn lacks(self, what: &str) -> Mistake {
        Mistake { file: self.name, line: self.text.lines().count(), reason: format!("{what} is missing") }
    }
}

/// Returns the words of a heading, which has letters and little else between its brackets: patterns have brackets, too.
fn heading(text: &str) -> Option<&str> {
    let words = text.strip_prefix('[')?.strip_suffix(']')?;
    let is_plain = |it: char| it.is_ascii_alphabetic() || matches!(it, ' ' | '-' | ',' | ':');
    (words.len() > 1 && words.chars().all(is_plain)).then_some(words)
}

impl Entry {
    /// Returns the entry and what is below it as one text.
    pub(super) fn joined(&self) -> String {
        let mut text = self.line.with_blanks();
        text.extend(self.below.iter().map(Line::with_blanks));
        text
    }
}

impl Line {
    /// Returns a mistake in this line.
    pub(super) fn mistake(&self, reason: impl Into<String>) -> Mistake {
        Mistake { file: self.file, line: self.number, reason: reason.into() }
    }

    /// Returns the parts of the line before and behind `separator`.
    pub(super) fn split(&self, separator: &str) -> Result<(&'static str, &'static str), Mistake> {
        self.text.split_once(separator).ok_or_else(|| self.mistake(format!("`{separator}` is missing")))
    }

    /// Returns the text with each `␣` replaced by a blank.
    pub(super) fn with_blanks(&self) -> String {
        self.text.replace('␣', " ")
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} of {}: {}", self.line, self.file, self.reason)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mistake(text: &'static str) -> Option<usize> {
        DataFile::new("a.txt", text).sections().err().map(|mistake| mistake.line)
    }

    #[test]
    fn entries_stand_in_sections_and_lines_below_them() {
        let text = "# A comment.\n[first part]\none\n  more␣\n[^a-z]\n#{2}\n\n[second]\n";
        let sections = DataFile::new("a.txt", text).sections().unwrap();
        let [first, second] = &sections[..] else { panic!("there are two") };
        assert_eq!((first.heading.text, second.heading.text), ("first part", "second"));
        let texts: Vec<_> = first.entries.iter().map(Entry::joined).collect();
        assert_eq!(texts, ["onemore ", "[^a-z]", "#{2}"]);
        assert_eq!(first.entries[1].line.mistake("it").to_string(), "line 5 of a.txt: it");
    }

    #[test]
    fn a_line_in_no_section_is_named() {
        assert_eq!(mistake("\none\n[a part]"), Some(2));
        assert_eq!(mistake("[a part]\n# Nothing.\n  below"), Some(3));
    }
}
