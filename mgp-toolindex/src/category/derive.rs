//! Categories of tools that declare none, derived from their words. The words are data, `topics.txt`.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use mgp_types::mcp::ToolAnnotations;

use super::CategoryPath;
use crate::server_tools::ToolText;
use crate::text::lower_words;

/// The number of words of a description that are read.
const MAX_WORDS: usize = 64;

/// The least score of a topic; a single word of a description is not enough.
const ENOUGH: u32 = 2;

const IN_DESCRIPTION: u32 = 1;
const IN_SERVER: u32 = 2;
const IN_NAME: u32 = 3;

/// Returns the topic that most words of a tool speak of: words of its name count most, then those of its server, then
/// those of its description. `None` if they hardly speak of any.
pub(super) fn derive(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Option<CategoryPath> {
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
    let hinted = || match annotations.read_only_hint {
        Some(true) => Some("read"),
        Some(false) => Some("write"),
        None => None,
    };
    found.or_else(hinted)
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
