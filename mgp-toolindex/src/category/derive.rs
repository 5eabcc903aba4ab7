use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use mgp_types::mcp::ToolAnnotations;

use super::CategoryPath;
use super::topics::{ACTIONS, TOPICS};
use crate::text::lower_words;
use crate::tool::ToolText;

/// The topic that most words of a tool speak of: those of its name count most, then those of its server, then those
/// of its description. `None` if they hardly speak of any.
pub(super) fn derive(text: &ToolText<'_>, annotations: &ToolAnnotations) -> Option<CategoryPath> {
    let mut points = [0_u32; TOPICS.len()];
    let parts = [(&text.name, IN_NAME), (&text.server, IN_SERVER), (&text.description, IN_DESCRIPTION)];
    for (text, weight) in parts {
        let mut said = [false; TOPICS.len()];
        let mut left = MOST_WORDS;
        lower_words(text, |word| {
            for topic in spoken_of(word) {
                if !std::mem::replace(&mut said[usize::from(*topic)], true) {
                    points[usize::from(*topic)] += weight;
                }
            }
            left -= 1;
            if left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
    }
    let (best, points) =
        points.iter().enumerate().max_by_key(|(at, points)| (**points, std::cmp::Reverse(*at)))?;
    if *points < ENOUGH {
        return None;
    }
    let topic = &TOPICS[best];
    let action = if topic.acts { action(&text.name, annotations) } else { None };
    CategoryPath::read(
        &action.map_or_else(|| topic.path.to_owned(), |action| format!("{}/{action}", topic.path)),
    )
}

/// What a tool does, by the first word of its name that says it, else by what its server hints at.
fn action(name: &str, annotations: &ToolAnnotations) -> Option<&'static str> {
    let mut found = None;
    lower_words(name, |word| {
        let done = |words: &str| words.split(' ').any(|known| known == word);
        found = ACTIONS.iter().find(|(_, words)| done(words)).map(|(action, _)| *action);
        if found.is_some() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    let hinted = || match annotations.read_only_hint {
        Some(true) => Some("read"),
        Some(false) => Some("write"),
        None => None,
    };
    found.or_else(hinted)
}

/// The topics that a word speaks of, in the singular or the plural.
fn spoken_of(word: &str) -> &'static [u8] {
    let topics = |word: &str| WORDS.get(word).map(Vec::as_slice);
    let singular = || topics(word.strip_suffix('s')?);
    topics(word).or_else(singular).unwrap_or_default()
}

static WORDS: LazyLock<HashMap<&'static str, Vec<u8>, RandomState>> = LazyLock::new(|| {
    let mut words: HashMap<_, Vec<u8>, _> = HashMap::default();
    for (number, topic) in (0..).zip(TOPICS) {
        for word in topic.words.split(' ') {
            words.entry(word).or_default().push(number);
        }
    }
    words
});

const IN_NAME: u32 = 3;
const IN_SERVER: u32 = 2;
const IN_DESCRIPTION: u32 = 1;

/// One word of a description may be there for any reason.
const ENOUGH: u32 = 2;

/// A description that says something has said it by then.
const MOST_WORDS: usize = 64;
