//! The parser of the text files that contain lists of words and rules.
//!
//! A file has sections, each under a `[heading]`, and one entry per line. Indented lines below an entry belong to it.
//! Lines that are `#` or start with `#` and a blank are comments. `␣` stands for a blank where an editor would remove
//! one.
//!
//! The files are part of the program, and every scan reads all of them: a malformed one ends the first test with a
//! panic that quotes the line.

use regex::Regex;

/// A heading, and the entries below it.
#[derive(Debug)]
pub(crate) struct Section {
    pub(crate) heading: &'static str,
    pub(crate) entries: Vec<Entry>,
}

/// An entry, and the indented lines that belong to it.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) line: &'static str,
    pub(crate) below: Vec<&'static str>,
}

/// Returns the sections of `file` from top to bottom.
pub(crate) fn sections(file: &'static str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in file.lines() {
        let text = line.trim();
        if text.is_empty() || text == "#" || text.starts_with("# ") {
            continue;
        }
        if let Some(heading) = heading(text) {
            sections.push(Section { heading, entries: Vec::new() });
            continue;
        }
        let entries = &mut sections.last_mut().expect("a heading stands above").entries;
        if line.starts_with([' ', '\t']) {
            entries.last_mut().expect("an entry stands above").below.push(text);
        } else {
            entries.push(Entry { line: text, below: Vec::new() });
        }
    }
    sections
}

/// Returns the words of a heading, which has letters and little else between its brackets: patterns have brackets, too.
fn heading(text: &str) -> Option<&str> {
    let words = text.strip_prefix('[')?.strip_suffix(']')?;
    let is_plain = |it: char| it.is_ascii_alphabetic() || matches!(it, ' ' | '-' | ',' | ':');
    (words.len() > 1 && words.chars().all(is_plain)).then_some(words)
}

/// Returns the parts of `line` before and behind `separator`.
pub(crate) fn split(line: &'static str, separator: &str) -> (&'static str, &'static str) {
    line.split_once(separator).unwrap_or_else(|| panic!("no `{separator}` is in `{line}`"))
}

/// Returns `text` with each `␣` replaced by a blank.
pub(crate) fn with_blanks(text: &str) -> String {
    text.replace('␣', " ")
}

/// Compiles an expression that is part of the program.
pub(crate) fn expression(text: &str) -> Regex {
    Regex::new(text).expect("the expression is a constant, and the tests compile it")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_stand_in_sections_and_lines_below_them() {
        let text = "# A comment.\n[first part]\none\n  more\n[^a-z]\n#{2}\n\n[second]\n";
        let sections = sections(text);
        let [first, second] = &sections[..] else { panic!("there are two") };
        assert_eq!((first.heading, second.heading), ("first part", "second"));
        let texts: Vec<_> = first.entries.iter().map(|entry| entry.line).collect();
        assert_eq!(texts, ["one", "[^a-z]", "#{2}"]);
        assert_eq!(first.entries[0].below, ["more"]);
    }
}
