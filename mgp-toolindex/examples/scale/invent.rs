//! Invented tools and queries that look like real ones, the same each time.

use mgp_toolindex::{ServerTools, ToolListing};
use mgp_types::RawJson;
use mgp_types::mgp::RiskLevel;
use serde_json::{Map, json};

/// Pseudo-random numbers, the same each time.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Returns a number from `least` to `most`.
    pub(crate) fn between(&mut self, least: usize, most: usize) -> usize {
        let span = u64::try_from(most - least + 1).unwrap_or(u64::MAX);
        least + usize::try_from(self.next() % span).unwrap_or(0)
    }

    /// Returns one of these words, by Zipf's law: more often the words in front.
    fn common<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[self.rank(words.len())]
    }

    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the number is kept within the list"
    )]
    fn rank(&mut self, count: usize) -> usize {
        let share = (self.next() >> 11) as f64 / (1_u64 << 53) as f64;
        (((count + 1) as f64).powf(share) as usize).clamp(1, count) - 1
    }
}

/// Invented servers, as many as it takes for the number of tools.
pub(crate) struct Servers {
    chance: Chance,
    number: usize,
    lacking: usize,
}

impl Servers {
    pub(crate) const fn with(tools: usize) -> Self {
        Self { chance: Chance::new(16), number: 0, lacking: tools }
    }
}

const NOUNS: &[&str] = &[
    "file", "user", "message", "document", "issue", "event", "table", "record", "image", "page", "project",
    "customer", "order", "invoice", "payment", "repository", "branch", "commit", "folder", "contact",
    "calendar", "task", "note", "channel", "report", "query", "column", "server", "container", "cluster",
    "bucket", "domain", "certificate", "token", "account", "product", "price", "route", "address", "place",
    "forecast", "sensor", "light", "song", "video", "recording", "transcript", "language", "word", "chart",
    "sheet", "cell", "form", "field", "signature", "contract", "ticket", "sprint", "release", "build",
    "test", "log", "metric", "alert", "dashboard", "database", "index", "schema", "backup", "snapshot",
    "volume", "network", "firewall", "subnet", "machine", "job", "pipeline", "stage", "artifact", "package",
    "vulnerability", "patch", "licence", "policy", "role", "group", "permission", "session", "comment",
    "review", "thread", "mailbox", "label", "rule", "template", "campaign", "subscriber", "newsletter",
    "lead", "deal", "quota", "budget", "expense", "receipt", "salary", "tax", "share", "currency",
    "portfolio", "loan", "flight", "hotel", "booking", "seat", "vehicle", "shipment", "parcel", "warehouse",
    "recipe", "ingredient", "meal", "patient", "prescription", "appointment", "course", "student", "exam",
    "paper", "citation", "gene", "protein", "molecule", "star", "orbit", "satellite", "map", "layer",
    "polygon", "elevation", "tide", "earthquake", "species", "habitat", "crop", "soil", "turbine", "battery",
    "meter", "tariff", "grid", "thermostat", "camera", "door", "alarm", "robot", "drone", "printer", "model",
    "dataset", "embedding", "prompt", "experiment", "notebook", "kernel", "thread_pool", "cache", "queue",
    "topic", "webhook",
];

impl Iterator for Servers {
    type Item = ServerTools;

    fn next(&mut self) -> Option<ServerTools> {
        if self.lacking == 0 {
            return None;
        }
        let count = self.chance.between(5, 20).min(self.lacking);
        self.lacking -= count;
        self.number += 1;
        let about = self.chance.common(NOUNS);
        let tools = (0..count).map(|number| tool(&mut self.chance, number)).collect();
        let server = ServerTools::new(&*format!("{about}-{}", self.number), tools);
        Some(server.description(sentence(&mut self.chance, about, 8)))
    }
}

const VERBS: &[&str] = &[
    "get", "list", "create", "search", "update", "delete", "send", "read", "add", "find", "fetch", "set",
    "run", "export", "convert", "upload", "download", "check", "open", "close", "start", "stop", "count",
    "compare", "merge", "split", "sign", "verify", "schedule", "cancel", "assign", "move", "copy", "rename",
    "restore", "archive", "translate", "summarise", "plot", "render", "resize", "encrypt", "publish",
    "subscribe", "approve", "reject", "measure", "predict", "rank", "filter", "group", "import", "sync",
    "watch", "notify", "validate", "parse", "format", "deploy", "revoke",
];

/// Returns a tool of this name.
pub(crate) fn named(chance: &mut Chance, name: &str) -> ToolListing {
    let (verb, noun) = (chance.common(VERBS), chance.common(NOUNS));
    described(chance, name, verb, noun)
}

/// Returns a tool whose name has this number in its server.
fn tool(chance: &mut Chance, number: usize) -> ToolListing {
    let (verb, noun) = (chance.common(VERBS), chance.common(NOUNS));
    described(chance, &format!("{verb}_{noun}_{number}"), verb, noun)
}

const TYPES: &[&str] = &["string", "integer", "boolean", "number"];

const ENDINGS: &[&str] = &[
    "id", "name", "path", "date", "limit", "type", "text", "url", "format", "count", "filter", "state",
    "size", "key",
];

fn described(chance: &mut Chance, name: &str, verb: &str, noun: &str) -> ToolListing {
    let mut properties = Map::new();
    for number in 0..chance.between(3, 6) {
        let name = format!("{}_{}", chance.common(NOUNS), chance.common(ENDINGS));
        let words = chance.between(3, 7);
        let parameter = json!({ "type": chance.common(TYPES), "description": sentence(chance, noun, words) });
        let name = if properties.contains_key(&name) { format!("{name}_{number}") } else { name };
        properties.insert(name, parameter);
    }
    let words = chance.between(8, 18);
    let definition = json!({
        "name": name,
        "description": format!("{verb}s the {noun}: {}", sentence(chance, noun, words)),
        "inputSchema": { "type": "object", "properties": properties },
    });
    let raw = RawJson::from_value(&definition).expect("strings are JSON");
    ToolListing::read(&raw).expect("the definition has a name").risk(RiskLevel::Safe)
}

/// Returns a query: a few words, a sentence, or three needs at once.
pub(crate) fn query(chance: &mut Chance, number: usize) -> String {
    match number % 3 {
        0 => format!("{} {}", chance.common(VERBS), chance.common(NOUNS)),
        1 => {
            let noun = chance.common(NOUNS);
            sentence(chance, noun, 12)
        }
        _ => {
            let clauses = (0..3).map(|_| {
                let (verb, noun) = (chance.common(VERBS), chance.common(NOUNS));
                format!("{verb} the {noun} of the {}", chance.common(NOUNS))
            });
            clauses.collect::<Vec<_>>().join(", then ")
        }
    }
}

/// Returns a query of ten words.
pub(crate) fn ten_words(chance: &mut Chance) -> String {
    let noun = chance.common(NOUNS);
    let text = sentence(chance, noun, 12);
    text.split(' ').cycle().take(10).collect::<Vec<_>>().join(" ")
}

const LINKS: &[&str] = &[
    "of", "for", "in", "with", "from", "by", "to", "and", "or", "on", "as", "at", "between", "within",
    "without", "after", "before", "under", "over", "per",
];

const QUALITIES: &[&str] = &[
    "new", "open", "given", "recent", "whole", "single", "remote", "local", "public", "private", "daily",
    "active", "current", "large", "small", "matching", "unread", "shared", "archived", "detailed", "short",
    "structured", "raw", "encrypted", "temporary", "scheduled", "failed", "pending", "approved", "weekly",
    "historical", "regional", "nested", "optional",
];

fn sentence(chance: &mut Chance, about: &str, words: usize) -> String {
    let mut sentence = String::from(about);
    for number in 1..words {
        let word = match number % 4 {
            0 => chance.common(NOUNS),
            1 => chance.common(LINKS),
            2 => chance.common(QUALITIES),
            _ => chance.common(VERBS),
        };
        sentence.push(' ');
        sentence.push_str(word);
        // Names and numbers make most of the distinct words.
        if chance.between(0, 9) == 0 {
            let (noun, number) = (chance.common(NOUNS), chance.rank(50_000));
            sentence.extend([" ", noun, &number.to_string()]);
        }
    }
    sentence
}
