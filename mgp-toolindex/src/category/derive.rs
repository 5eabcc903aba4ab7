//! Categories of tools that declare none, derived from their words.

use std::collections::HashMap;
use std::sync::LazyLock;

use foldhash::fast::RandomState;
use mgp_types::mcp::ToolAnnotations;

use super::CategoryPath;
use crate::server_tools::ToolText;
use crate::text::lower_words;

/// The topics. Topics are few and wide: categories are for browsing, and a search finds finer differences. Of topics
/// that fit a tool equally well the first is taken.
pub(super) const TOPICS: &[Topic] = &[
    acting("filesystem", "file folder directory filesystem disk path drive"),
    acting("database", "database sql table row column schema postgres postgresql mysql sqlite mongodb redis"),
    topic("web/browser", "browser navigate click tab playwright puppeteer selenium screenshot"),
    acting("web", "web website page url http html crawl scrape internet sitemap domain dns"),
    topic("web/news", "news headline article rss"),
    topic("communication/email", "email mail inbox gmail smtp imap outlook mailbox"),
    topic("communication/chat", "chat message slack discord telegram sms whatsapp channel conversation"),
    topic("communication/social", "social tweet twitter linkedin reddit instagram facebook follower hashtag"),
    topic("code/repository", "git repository repo commit branch github gitlab pull merge"),
    topic("code/execute", "execute shell command terminal script bash python sandbox interpreter notebook"),
    topic("code/analysis", "code lint refactor compile function syntax debug test"),
    topic("productivity/tasks", "task todo ticket issue project sprint jira linear kanban board reminder"),
    topic("productivity/notes", "note notion notebook bookmark obsidian journal"),
    topic("productivity/documents", "document doc pdf spreadsheet sheet presentation slide word excel"),
    topic("time/calendar", "calendar event meeting schedule appointment availability"),
    topic("time/clock", "time date timezone clock timestamp countdown"),
    topic("media/image", "image photo picture logo icon thumbnail svg png jpeg diagram"),
    topic("media/video", "video youtube movie film stream subtitle clip"),
    topic("media/audio", "audio speech voice music song podcast sound playlist transcription"),
    topic("maps", "map location geocode route direction place distance latitude longitude coordinate"),
    topic("weather", "weather forecast temperature rain humidity climate"),
    topic("finance/crypto", "crypto wallet token blockchain bitcoin ethereum coin nft swap"),
    topic("finance/market", "stock market share quote trade portfolio ticker dividend option exchange"),
    topic("finance/payment", "payment invoice bank account balance transaction currency budget expense tax"),
    topic("commerce", "product order cart shop store price inventory shipping customer discount"),
    topic("sales", "crm lead contact deal campaign company prospect"),
    topic("travel", "flight hotel travel trip booking airport train itinerary"),
    topic("language/translation", "translate translation language"),
    topic("language/text", "text summarize summary sentiment grammar paraphrase spell"),
    topic("data/analysis", "data chart statistic csv analyze plot dataset metric analytics correlation"),
    topic("math", "math calculate calculator equation sum multiply convert unit number random"),
    topic("infrastructure", "cluster container docker kubernetes deploy deployment instance pod cloud vm"),
    topic("infrastructure/monitoring", "log alert monitor trace incident uptime dashboard"),
    topic("security", "security vulnerability password secret encrypt permission certificate scan malware"),
    topic("knowledge/memory", "memory remember recall knowledge entity graph embedding"),
    topic("knowledge/reference", "wikipedia dictionary encyclopedia definition quote fact"),
    topic("research", "paper arxiv pubmed research citation journal author gene protein"),
    topic("health", "health medical drug patient disease nutrition fitness workout"),
    topic("food", "recipe food meal ingredient restaurant cocktail"),
    topic("games", "game player match team league sport score"),
    topic("ai", "model prompt agent llm completion"),
];

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
    let mut points = [0_u32; TOPICS.len()];
    let parts = [(&text.name, IN_NAME), (&text.server, IN_SERVER), (&text.description, IN_DESCRIPTION)];
    for (text, weight) in parts {
        let mut said = [false; TOPICS.len()];
        for topic in lower_words(text).take(MAX_WORDS).flat_map(|word| spoken_of(&word)) {
            if !std::mem::replace(&mut said[usize::from(*topic)], true) {
                points[usize::from(*topic)] += weight;
            }
        }
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

/// The actions, and the words that tell them.
pub(super) const ACTIONS: &[(&str, &str)] = &[
    ("delete", "delete remove drop trash purge erase truncate"),
    ("write", "write create save append edit move copy rename update insert upload add set put mkdir modify"),
    ("search", "search find grep glob lookup"),
    ("query", "query select aggregate"),
    (
        "read",
        "read get list view open show describe stat tree fetch download load cat head tail crawl scrape extract",
    ),
];

/// Returns the action of a tool, by the first word of its name that tells it, else by the hints of its server.
fn action(name: &str, annotations: &ToolAnnotations) -> Option<&'static str> {
    let found = lower_words(name).find_map(|word| {
        let done = |words: &str| words.split(' ').any(|known| known == word);
        ACTIONS.iter().find(|(_, words)| done(words)).map(|(action, _)| *action)
    });
    let hinted = || match annotations.read_only_hint {
        Some(true) => Some("read"),
        Some(false) => Some("write"),
        None => None,
    };
    found.or_else(hinted)
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

/// Returns the topics of a word in the singular or the plural.
fn spoken_of(word: &str) -> &'static [u8] {
    let topics = |word: &str| WORDS.get(word).map(Vec::as_slice);
    let singular = || topics(word.strip_suffix('s')?);
    topics(word).or_else(singular).unwrap_or_default()
}

/// A topic of tools, and the words that tell it.
pub(super) struct Topic {
    pub(super) path: &'static str,
    /// The words in the singular, separated by spaces.
    pub(super) words: &'static str,
    /// Set if actions divide the topic further.
    pub(super) acts: bool,
}

const fn topic(path: &'static str, words: &'static str) -> Topic {
    Topic { path, words, acts: false }
}

const fn acting(path: &'static str, words: &'static str) -> Topic {
    Topic { path, words, acts: true }
}
