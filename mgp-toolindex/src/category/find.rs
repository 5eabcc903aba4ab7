//! The search for categories by name.

use super::CategoryPath;
use super::hierarchy::CategoryNode;
use crate::keyword::FuzzyMatcher;

/// A category that was found.
pub(super) struct FoundCategory<'a> {
    pub(super) path: CategoryPath,
    pub(super) node: &'a CategoryNode,
    pub(super) closeness: f32,
}

/// The number of words of a text that are read as names of categories.
const MAX_WORDS: usize = 8;

const BY_A_WORD: f32 = 0.5;

/// Returns the categories that a text names, the closest first.
pub(super) fn find<'a>(root: &'a CategoryNode, text: &str) -> Vec<FoundCategory<'a>> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    if let Some(asked) = CategoryPath::read(text) {
        let levels: Vec<&str> = asked.levels().collect();
        search(root, &levels, 1.0, &mut path, &mut found);
        if found.is_empty() {
            let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
            for word in words.take(MAX_WORDS) {
                let word = word.to_lowercase();
                search(root, &[&word], BY_A_WORD, &mut path, &mut found);
            }
        }
    } else {
        search(root, &[""], 1.0, &mut path, &mut found);
    }
    found.sort_by(|a, b| b.closeness.total_cmp(&a.closeness).then_with(|| a.path.cmp(&b.path)));
    let mut seen = std::collections::BTreeSet::new();
    found.retain(|found| seen.insert(found.path.clone()));
    found
}

const NOT_FROM_THE_TOP: f32 = 0.9;

/// Looks for `levels` from this node on, and from each below it on.
fn search<'a>(
    node: &'a CategoryNode,
    levels: &[&str],
    worth: f32,
    path: &mut Vec<&'a str>,
    found: &mut Vec<FoundCategory<'a>>,
) {
    descend(node, levels, worth, path, found);
    // An empty text means the widest categories.
    if levels != [""] {
        for (name, below) in &node.below {
            path.push(name);
            let worth = if path.len() == 1 { worth * NOT_FROM_THE_TOP } else { worth };
            search(below, levels, worth, path, found);
            path.pop();
        }
    }
}

fn descend<'a>(
    node: &'a CategoryNode,
    levels: &[&str],
    closeness: f32,
    path: &mut Vec<&'a str>,
    found: &mut Vec<FoundCategory<'a>>,
) {
    let Some((level, rest)) = levels.split_first() else {
        found.extend(CategoryPath::read(&path.join("/")).map(|path| FoundCategory { path, node, closeness }));
        return;
    };
    for (name, below) in &node.below {
        if let Some(likeness) = likeness(level, name) {
            path.push(name);
            descend(below, rest, closeness * likeness, path, found);
            path.pop();
        }
    }
}

const SHORTEST_BEGINNING: usize = 3;
/// The length from which on a name may have two slips.
const LONG: usize = 8;

const SLIP: f32 = 0.6;
const BEGINNING: f32 = 0.8;

/// Returns how close the name of a level is to the name that was asked for; `None` if it is another one.
fn likeness(asked: &str, name: &str) -> Option<f32> {
    if asked == name || asked.is_empty() {
        return Some(1.0);
    }
    if name.starts_with(asked) && asked.chars().count() >= SHORTEST_BEGINNING {
        return Some(BEGINNING);
    }
    let most_slips = if asked.len() < LONG { 1 } else { 2 };
    let slips = FuzzyMatcher::to(asked)?.changes(name.as_bytes())?;
    (slips <= most_slips).then_some(SLIP)
}
