//! The categories of tools: their paths, and the search for tools by them (§16.4).

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use foldhash::fast::RandomState;
use mgp_types::mcp::ToolAnnotations;
use smallvec::SmallVec;

use crate::keyword::FuzzyMatcher;
use crate::server_tools::ToolText;
use crate::slot::Slot;
use crate::text::lower_words;

/// The number of categories of one tool: a tool in all categories would be found in none.
const MAX_CATEGORIES: usize = 8;

/// The number of declared categories that are read.
const MAX_READ: usize = 64;

/// The category above the category of each server.
const SERVER: &str = "server";

/// Returns the categories of a tool: those that its server declares; if there are none, those that the words of the
/// tool suggest. The category of its server is always among them, so that every tool can be found by browsing.
pub(crate) fn of(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Box<[CategoryPath]> {
    let mut paths: SmallVec<[CategoryPath; MAX_CATEGORIES]> = SmallVec::new();
    for path in text.categories.iter().take(MAX_READ).filter_map(|declared| CategoryPath::read(declared)) {
        if paths.len() < MAX_CATEGORIES - 1 && !paths.contains(&path) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        paths.extend(derive(text, annotations));
    }
    if let Some(server) = CategoryPath::read(&format!("{SERVER}/{}", text.server))
        && !paths.contains(&server)
    {
        paths.push(server);
    }
    paths.into_vec().into()
}

/// The number of categories in the list at most.
const MAX_LISTED: usize = 100;

/// Returns the uppermost of the categories that each of some tools has, by name; of too many, those with the most tools.
///
/// The categories stand for all tools at level L1 (§16.3). The category of all servers is left out, because it tells
/// nothing.
pub(crate) fn uppermost<'a>(tools: impl Iterator<Item = &'a [CategoryPath]>) -> Vec<String> {
    let mut counts: HashMap<&str, usize, RandomState> = HashMap::default();
    for categories in tools {
        let names = || categories.iter().filter_map(name);
        for (at, name) in names().enumerate() {
            if !names().take(at).any(|before| before == name) {
                *counts.entry(name).or_default() += 1;
            }
        }
    }
    let mut by_size: Vec<_> = counts.into_iter().collect();
    by_size.sort_unstable_by(|(one, few), (other, many)| many.cmp(few).then_with(|| one.cmp(other)));
    by_size.truncate(MAX_LISTED);
    let mut names: Vec<_> = by_size.into_iter().map(|(name, _)| name.to_owned()).collect();
    names.sort_unstable();
    names
}

/// The length of a name at most, in characters.
const LONGEST: usize = 40;

/// Returns the name of the category, if it is one. The name comes from a server and becomes a part of the kernel's own
/// words for the model, so that it must be a name and nothing else.
fn name(category: &CategoryPath) -> Option<&str> {
    let name = category.levels().next().filter(|level| *level != SERVER)?;
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    (name.chars().count() <= LONGEST && name.chars().all(is_name)).then_some(name)
}

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

/// The number of words of a description that are read.
const MAX_WORDS: usize = 64;

/// The least score of a topic; a single word of a description is not enough.
const ENOUGH: u32 = 2;

const IN_DESCRIPTION: u32 = 1;
const IN_SERVER: u32 = 2;
const IN_NAME: u32 = 3;

/// Returns the topic that most words of a tool speak of: words of its name count most, then those of its server, then
/// those of its description. `None` if they hardly speak of any.
fn derive(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Option<CategoryPath> {
    let mut points = vec![0_u32; TABLE.topics.len()];
    let parts = [(&text.name, IN_NAME), (&text.server, IN_SERVER), (&text.description, IN_DESCRIPTION)];
    for (text, weight) in parts {
        let mut said = vec![false; points.len()];
        for topic in lower_words(text).take(MAX_WORDS).flat_map(|word| spoken_of(&word)) {
            if !std::mem::replace(&mut said[*topic], true) {
                points[*topic] += weight;
            }
        }
    }
    let (best, points) =
        points.iter().enumerate().max_by_key(|(at, points)| (**points, std::cmp::Reverse(*at)))?;
    if *points < ENOUGH {
        return None;
    }
    let (path, acts) = TABLE.topics[best];
    let action = if acts { action(&text.name, annotations) } else { None };
    CategoryPath::read(&action.map_or_else(|| path.to_owned(), |action| format!("{path}/{action}")))
}

/// Returns the action of a tool, by the first word of its name that tells it, else by the hints of its server.
fn action(name: &str, annotations: &ToolAnnotations) -> Option<&'static str> {
    let found = lower_words(name).find_map(|word| TABLE.actions.get(&*word).copied());
    found.or_else(|| annotations.read_only_hint.map(|reads| if reads { "read" } else { "write" }))
}

/// Returns the topics of a word in the singular or the plural.
fn spoken_of(word: &str) -> &'static [usize] {
    let topics = |word: &str| TABLE.words.get(word).map(Vec::as_slice);
    let singular = || topics(word.strip_suffix('s')?);
    topics(word).or_else(singular).unwrap_or_default()
}

/// The topics and the actions of tools, and the words that tell them.
#[derive(Default)]
struct TopicTable {
    /// The path of each topic, and whether its tools are told apart by what they do.
    topics: Vec<(&'static str, bool)>,
    /// The numbers of the topics of each word.
    words: HashMap<&'static str, Vec<usize>, RandomState>,
    /// The action of each word.
    actions: HashMap<&'static str, &'static str, RandomState>,
}

static TABLE: LazyLock<TopicTable> = LazyLock::new(|| {
    let mut table = TopicTable::default();
    for line in include_str!("topics.txt").lines().filter(|line| !line.starts_with('#')) {
        let mut words = line.split(' ');
        let (Some(kind), Some(name)) = (words.next(), words.next()) else { continue };
        if kind == "action" {
            table.actions.extend(words.map(|word| (word, name)));
            continue;
        }
        for word in words {
            table.words.entry(word).or_default().push(table.topics.len());
        }
        table.topics.push((name, kind == "acting"));
    }
    table
});

/// The number of words of a text that are read as names of categories.
const MAX_NAMES: usize = 8;

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
        let words: Vec<String> = words.take(MAX_NAMES).map(str::to_lowercase).collect();
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

#[cfg(test)]
mod tests;
