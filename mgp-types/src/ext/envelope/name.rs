//! The names of tools in envelopes, and their way back to the names of MCP.

use std::collections::HashMap;

use crate::macros::text_traits;

/// The name of a tool in an envelope: at least two parts of lower-case letters, digits and `_`, with dots between them.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DottedName(Box<str>);

/// The longest name of a tool that is read.
const MAX_NAME_BYTES: usize = 256;

impl DottedName {
    /// Reads a name; returns `None` for any other text.
    pub fn read(name: &str) -> Option<Self> {
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(is_word_byte);
        let is_name = name.len() <= MAX_NAME_BYTES && name.contains('.') && name.split('.').all(is_part);
        is_name.then(|| Self(name.into()))
    }

    /// Returns the name of the tool `tool` of the server `server`: capitals become small, and characters that such
    /// a name cannot have become `_`.
    pub fn of_tool(server: &str, tool: &str) -> Self {
        let mut name = String::with_capacity(server.len() + 1 + tool.len());
        push_words(&mut name, server);
        name.push('.');
        push_words(&mut name, tool);
        Self(name.into())
    }

    /// Returns the name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

text_traits!(DottedName: Display, Serialize);

const fn is_word_byte(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_')
}

fn push_words(out: &mut String, text: &str) {
    let start = out.len();
    for c in text.chars() {
        let c = c.to_ascii_lowercase();
        out.push(if c.is_ascii_lowercase() || c.is_ascii_digit() { c } else { '_' });
    }
    if out.len() == start {
        out.push('_');
    }
}

/// The names of tools in a form that other protocols want, with the way back to each tool.
///
/// Two tools whose names become one are told apart by `_2`, `_3` and so on, in the order in which they are given. So the
/// names are the same for the same list of tools.
#[derive(Debug, Clone)]
pub struct ProjectedNames<K> {
    keys: HashMap<Box<str>, K>,
    names: Vec<Box<str>>,
}

impl<K> ProjectedNames<K> {
    /// Creates the names of envelopes, like `git.status`, of tools by server and name.
    pub fn dotted<'a>(tools: impl IntoIterator<Item = (&'a str, &'a str, K)>) -> Self {
        let name = |server: &str, tool: &str| DottedName::of_tool(server, tool).0.into_string();
        Self::by(tools.into_iter().map(|(server, tool, key)| (name(server, tool), key)))
    }

    /// Creates the names of service manifests, like `git__status`: they begin with a letter, have no capitals, and
    /// each dot becomes `__`.
    pub fn snake<'a>(tools: impl IntoIterator<Item = (&'a str, K)>) -> Self {
        Self::by(tools.into_iter().map(|(tool, key)| (snake(tool), key)))
    }

    /// Returns the tool with this name.
    pub fn tool(&self, name: &str) -> Option<&K> {
        self.keys.get(name)
    }

    /// Returns the names, in the order of the tools.
    pub fn names(&self) -> &[Box<str>] {
        &self.names
    }

    fn by(tools: impl Iterator<Item = (String, K)>) -> Self {
        let mut projected = Self { keys: HashMap::new(), names: Vec::new() };
        for (wanted, key) in tools {
            let mut name = wanted.clone();
            for number in 2.. {
                if !projected.keys.contains_key(&*name) {
                    break;
                }
                name = format!("{wanted}_{number}");
            }
            let name: Box<str> = name.into();
            projected.names.push(name.clone());
            projected.keys.insert(name, key);
        }
        projected
    }
}

fn snake(tool: &str) -> String {
    let mut name = String::with_capacity(tool.len());
    if !tool.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.push_str("t_");
    }
    for (place, part) in tool.split('.').enumerate() {
        if place > 0 {
            name.push_str("__");
        }
        push_words(&mut name, part);
    }
    name
}
