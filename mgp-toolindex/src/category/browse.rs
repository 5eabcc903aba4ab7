//! The search for tools by the names of their categories.

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::CategoryPath;
use crate::keyword::FuzzyMatcher;
use crate::slot::Slot;

/// The number of words of a text that are read as names of categories.
const MAX_WORDS: usize = 8;

const BY_A_WORD: f32 = 0.5;

/// Returns the tools of the categories that a text names, with their closeness: tools of the closest category first,
/// those directly in it before those below it, and among equals in the order of their names.
pub(crate) fn browse<'a, T: Iterator<Item = (Slot, &'a [CategoryPath])>>(
    tools: impl Fn() -> T,
    text: &str,
    limit: usize,
    fits: impl Fn(Slot) -> bool,
    name: impl Fn(Slot) -> &'a str,
) -> Vec<(Slot, f32)> {
    let asked = CategoryPath::read(text);
    // An empty text means the widest categories.
    let levels = asked.as_ref().map_or_else(|| vec![""], |asked| asked.levels().collect());
    let mut found = closest(tools(), &[levels], 1.0);
    if found.is_empty() && asked.is_some() {
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words: Vec<String> = words.take(MAX_WORDS).map(str::to_lowercase).collect();
        let words: Vec<_> = words.iter().map(|word| vec![word.as_str()]).collect();
        found = closest(tools(), &words, BY_A_WORD);
    }
    found.retain(|(slot, _)| fits(*slot));
    let order = |a: &(Slot, f32), b: &(Slot, f32)| {
        b.1.total_cmp(&a.1).then_with(|| name(a.0).cmp(name(b.0))).then(a.0.cmp(&b.0))
    };
    if found.len() > limit {
        // Sorting all tools of a wide category would take longer than finding it.
        found.select_nth_unstable_by(limit, order);
        found.truncate(limit);
    }
    found.sort_unstable_by(order);
    found
}

/// Returns the tools with a category that fits one of the paths that are asked for, with the closeness of the closest.
fn closest<'a>(
    tools: impl Iterator<Item = (Slot, &'a [CategoryPath])>,
    asked: &[Vec<&str>],
    worth: f32,
) -> Vec<(Slot, f32)> {
    // Many tools have the same categories.
    let mut known: HashMap<&CategoryPath, Option<f32>, RandomState> = HashMap::default();
    let mut of_path = |path: &'a CategoryPath| {
        *known.entry(path).or_insert_with(|| {
            asked.iter().filter_map(|levels| closeness(levels, path, worth)).max_by(f32::total_cmp)
        })
    };
    let of_tool = |(slot, paths): (Slot, &'a [CategoryPath])| {
        Some((slot, paths.iter().filter_map(&mut of_path).max_by(f32::total_cmp)?))
    };
    tools.filter_map(of_tool).collect()
}

const NOT_FROM_THE_TOP: f32 = 0.9;
/// The closeness of a tool one level below, as a factor.
const A_LEVEL_BELOW: f32 = 0.95;

/// Returns how close a category is to the levels that are asked for: itself, or one above it, from its top or from a
/// level below that on.
fn closeness(asked: &[&str], path: &CategoryPath, worth: f32) -> Option<f32> {
    let levels: Vec<&str> = path.levels().collect();
    let from = |start: usize| {
        let worth = if start > 0 { worth * NOT_FROM_THE_TOP } else { worth };
        let (named, below) = levels[start..].split_at_checked(asked.len())?;
        let mut pairs = asked.iter().zip(named);
        let close = pairs.try_fold(worth, |close, (asked, name)| Some(close * likeness(asked, name)?))?;
        Some(below.iter().fold(close, |close, _| close * A_LEVEL_BELOW))
    };
    let starts = if asked == [""] { 1 } else { levels.len() };
    (0..starts).filter_map(from).max_by(f32::total_cmp)
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
