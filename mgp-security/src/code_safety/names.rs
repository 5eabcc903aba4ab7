//! Lists of names in text files beside the rules that use them.

use std::collections::HashSet;
use std::sync::OnceLock;

/// A list of names: a section of a text file, with one name on each line below `[section]`.
///
/// Lines that begin with `# ` are comments.
pub(super) struct Names {
    file: &'static str,
    section: &'static str,
    lines: OnceLock<Lines>,
}

struct Lines {
    ordered: Vec<&'static str>,
    all: HashSet<&'static str>,
}

impl Names {
    /// Returns the list of a section. The compiler checks that the file has the section, because lists are constants.
    pub(super) const fn new(file: &'static str, section: &'static str) -> Self {
        assert!(has_section(file.as_bytes(), section.as_bytes()), "the file has no such section");
        Self { file, section, lines: OnceLock::new() }
    }

    pub(super) fn contains(&self, name: &str) -> bool {
        self.lines().all.contains(name)
    }

    /// Returns the names in the order in which they stand in the file.
    pub(super) fn iter(&self) -> impl Iterator<Item = &'static str> {
        self.lines().ordered.iter().copied()
    }

    fn lines(&self) -> &Lines {
        self.lines.get_or_init(|| {
            let mut section = "";
            let mut ordered = Vec::new();
            for line in self.file.lines().filter(|line| !line.is_empty() && !line.starts_with("# ")) {
                match line.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
                    Some(name) => section = name,
                    None if section == self.section => ordered.push(line),
                    None => {}
                }
            }
            Lines { all: ordered.iter().copied().collect(), ordered }
        })
    }
}

/// Returns whether a line of the file is `[section]`.
const fn has_section(file: &[u8], section: &[u8]) -> bool {
    let mut at = 0;
    while at + section.len() + 2 <= file.len() {
        let mut length = 0;
        while length < section.len() && file[at + 1 + length] == section[length] {
            length += 1;
        }
        if file[at] == b'[' && length == section.len() && file[at + 1 + length] == b']' {
            return true;
        }
        while at < file.len() && file[at] != b'\n' {
            at += 1;
        }
        at += 1;
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_names_of_its_section_in_their_order() {
        static LIST: Names = Names::new("# About.\n[first]\nb\na b\n\n[second]\n# Why.\nc\n#d\n", "second");
        assert_eq!(LIST.iter().collect::<Vec<_>>(), ["c", "#d"]);
        assert!(LIST.contains("c") && !LIST.contains("b") && !LIST.contains("[first]"));
        assert!(!has_section(b"[second]", b"first") && has_section(b"[first]", b"first"));
    }
}
