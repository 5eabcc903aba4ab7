//! Paths of categories.

use std::sync::Arc;

/// The path of a category: levels separated by `/`, in lower case, neither deep nor long.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CategoryPath(Arc<str>);

/// The length of a level at most, in characters.
const LONGEST_LEVEL: usize = 64;

const DEEPEST: usize = 6;

impl CategoryPath {
    /// Reads a path whose levels are separated by `/`, `.` or `>`; `None` if there are no levels.
    ///
    /// ```
    /// use mgp_toolindex::category::CategoryPath;
    ///
    /// let path = CategoryPath::read(" Filesystem > Read ").unwrap();
    /// assert_eq!(path.as_str(), "filesystem/read");
    /// assert!(path.is_in(&CategoryPath::read("filesystem").unwrap()));
    /// ```
    pub fn read(text: &str) -> Option<Self> {
        let level = |level: &str| {
            let words = level.split(|c: char| c.is_whitespace() || c.is_control());
            let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
            words.join(" ").chars().flat_map(char::to_lowercase).take(LONGEST_LEVEL).collect::<String>()
        };
        let levels = text.split(['/', '.', '>']).map(level).filter(|level| !level.is_empty());
        let levels: Vec<String> = levels.take(DEEPEST).collect();
        (!levels.is_empty()).then(|| Self(levels.join("/").into()))
    }

    /// Returns the levels, joined by `/`.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the levels, the widest first.
    pub fn levels(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }

    /// Returns whether the category is `wider`, or below it.
    pub fn is_in(&self, wider: &Self) -> bool {
        self.0.strip_prefix(wider.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

mgp_types::write_as!(Display of CategoryPath, self => "{}", self.0);
