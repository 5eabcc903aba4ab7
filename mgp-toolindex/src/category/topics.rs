/// What a tool is about, and the words that say so.
pub(super) struct Topic {
    pub(super) path: &'static str,
    /// In the singular, separated by spaces.
    pub(super) words: &'static str,
    /// Whether what is done divides the topic further.
    pub(super) acts: bool,
}

const fn topic(path: &'static str, words: &'static str) -> Topic {
    Topic { path, words, acts: false }
}

const fn acting(path: &'static str, words: &'static str) -> Topic {
    Topic { path, words, acts: true }
}

/// Few and wide: a category is for browsing, and a search finds what is finer. Of topics that fit a tool equally well
/// the one in front is taken.
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

/// What is done, and the words that say so.
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
