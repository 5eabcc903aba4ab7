//! Requests, split into their needs, and the servers that they name.

use std::ops::Range;

use crate::text::QueryWords;

/// A stretch of a request, and its words.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RequestPart {
    /// The stretch as it is.
    pub(crate) text: Box<str>,
    /// The stretch with the words that tools have for what it says in everyday words.
    pub(crate) meant: Box<str>,
    /// The words of what is meant.
    pub(crate) words: QueryWords,
    /// The number of words of the stretch itself, which come first.
    pub(crate) own_words: usize,
}

/// The bytes of a text that are split into needs.
const LONGEST_TOLD_APART: usize = 4096;

impl RequestPart {
    /// Returns a request as a whole, and behind it each of its needs if there are several. `translated` returns a text
    /// with the words that tools have for what it says, if there are any.
    ///
    /// "Find flights to Oslo and book a hotel" is near to no tool as a whole. Each of its halves is.
    pub(crate) fn all(text: &str, translated: impl Fn(&str) -> Option<String>) -> Vec<Self> {
        let needs = needs(&text[..text.floor_char_boundary(LONGEST_TOLD_APART)]);
        std::iter::once(text).chain(needs).map(|text| Self::of(text, &translated)).collect()
    }

    /// Returns a text as one part.
    pub(crate) fn of(text: &str, translated: impl Fn(&str) -> Option<String>) -> Self {
        let meant = translated(text).unwrap_or_else(|| text.to_owned());
        let words = QueryWords::of(&meant);
        let own_words =
            if meant.len() == text.len() { words.terms.len() } else { QueryWords::of(text).terms.len() };
        Self { text: text.into(), own_words, words, meant: meant.into() }
    }
}

/// The number of needs in a request; each costs a search.
const MAX_NEEDS: usize = 8;

/// Returns the needs in a text, if there is more than one. Sentences are split first, and a sentence only where there
/// is room for all of its parts: half of a need is worse than two in one.
fn needs(text: &str) -> Vec<&str> {
    let mut sentences = telling(text, split(text, 0..text.len(), after_sentence));
    if sentences.len() > MAX_NEEDS {
        sentences.truncate(MAX_NEEDS);
        sentences[MAX_NEEDS - 1].end = text.len();
    }
    let mut needs = Vec::new();
    for (number, sentence) in sentences.iter().enumerate() {
        let still_to_come = sentences.len() - number - 1;
        let within = telling(text, split(text, sentence.clone(), at_joint));
        if needs.len() + within.len() + still_to_come <= MAX_NEEDS {
            needs.extend(within);
        } else {
            needs.push(sentence.clone());
        }
    }
    if needs.len() < 2 { Vec::new() } else { needs.into_iter().map(|need| text[need].trim()).collect() }
}

/// Splits a stretch of a text. `joint` gets a character and the text behind it, and returns the length of the joint
/// that begins there.
fn split(text: &str, within: Range<usize>, joint: fn(char, &str) -> usize) -> Vec<Range<usize>> {
    let (mut pieces, mut start, mut before) = (Vec::new(), within.start, ' ');
    for (at, c) in text[within.clone()].char_indices() {
        let at = within.start + at;
        let length = joint(before, &text[at..within.end]);
        if length > 0 {
            pieces.push(start..at);
            start = at + length;
        }
        before = c;
    }
    pieces.push(start..within.end);
    pieces
}

/// The weight of a need at least: two words, or as much in scripts that do not separate words.
const LEAST_SAID: f32 = 1.5;

/// Joins each piece that tells too little to be a need with the next one, and the last one with the one before.
fn telling(text: &str, pieces: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let (mut ranges, mut open, mut said) = (Vec::<Range<usize>>::new(), None::<Range<usize>>, 0.0);
    for piece in pieces {
        said += says(&text[piece.clone()]);
        let joined = open.map_or(piece.start, |open| open.start)..piece.end;
        if said >= LEAST_SAID {
            ranges.push(joined);
            (open, said) = (None, 0.0);
        } else {
            open = Some(joined);
        }
    }
    match (ranges.last_mut(), open) {
        (Some(last), Some(open)) => last.end = open.end,
        (None, Some(open)) => ranges.push(open),
        (_, None) => {}
    }
    ranges
}

fn says(text: &str) -> f32 {
    QueryWords::of(text).terms.iter().map(|term| term.weight).sum()
}

/// Returns the length of the separator after a sentence.
fn after_sentence(before: char, rest: &str) -> usize {
    match rest.chars().next() {
        Some(c @ ('\n' | '。' | '！' | '？' | '；')) => c.len_utf8(),
        Some(c) if c.is_whitespace() && matches!(before, '.' | '!' | '?' | ';') => c.len_utf8(),
        _ => 0,
    }
}

const JOINTS: [&str; 3] = ["and", "then", "also"];

/// Returns the length of a comma or word that joins two needs within a sentence.
fn at_joint(before: char, rest: &str) -> usize {
    let mut chars = rest.chars();
    match chars.next() {
        Some(c @ ('、' | '，')) => c.len_utf8(),
        Some(',') if chars.next().is_none_or(char::is_whitespace) => 1,
        Some(_) if !before.is_alphanumeric() => JOINTS
            .iter()
            .find(|joint| {
                let (word, behind) = rest.split_at_checked(joint.len()).unwrap_or_default();
                word.eq_ignore_ascii_case(joint) && !behind.starts_with(char::is_alphanumeric)
            })
            .map_or(0, |joint| joint.len()),
        _ => 0,
    }
}

/// Words in the names of servers that name none.
const GENERIC: [&str; 16] = [
    "mcp", "mgp", "server", "servers", "service", "api", "tool", "tools", "client", "integration", "for",
    "of", "the", "a", "and", "by",
];

/// Returns whether each word of a server's name that is not generic is among the spoken ones.
pub(super) fn is_named(server: &str, spoken: &[&str]) -> bool {
    let mut telling = words(server).filter(|word| !is_among(&GENERIC, word)).peekable();
    telling.peek().is_some() && telling.all(|word| is_among(spoken, word))
}

/// Returns the words of a text, in which the names of servers are looked for.
pub(super) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty())
}

fn is_among(words: &[&str], word: &str) -> bool {
    words.iter().any(|other| other.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needs_of(text: &str) -> Vec<String> {
        RequestPart::all(text, |_| None)[1..].iter().map(|part| part.text.to_string()).collect()
    }

    #[test]
    fn a_request_with_one_need_stays_whole() {
        for text in
            ["", "  ", "weather", "read a file from disk", "What is the weather in Oslo?", "明日の天気"]
        {
            let request = RequestPart::all(text, |_| None);
            assert_eq!(request.len(), 1, "{text}");
            assert_eq!(&*request[0].text, text);
        }
    }

    #[test]
    fn sentences_and_their_halves_are_needs() {
        assert_eq!(
            needs_of("Find flights to Oslo and book a hotel. Then send the invoice by mail!"),
            ["Find flights to Oslo", "book a hotel.", "Then send the invoice by mail!"]
        );
        assert_eq!(
            needs_of("download the page, translate its text, then store the result"),
            ["download the page", "translate its text", "then store the result"]
        );
    }

    #[test]
    fn needs_are_told_apart_in_japanese_and_chinese() {
        assert_eq!(
            needs_of("東京の天気予報を調べて、ホテルを予約する。"),
            ["東京の天気予報を調べて", "ホテルを予約する。"]
        );
        assert_eq!(needs_of("查询天气预报，然后发送电子邮件"), ["查询天气预报", "然后发送电子邮件"]);
    }

    #[test]
    fn what_says_too_little_is_no_need_of_its_own() {
        assert_eq!(needs_of("search and replace words in a file"), Vec::<String>::new());
        assert_eq!(needs_of("Hello. Convert 1,000 dollars into euros"), Vec::<String>::new());
        assert_eq!(
            needs_of("convert dollars into euros, show the stock prices, thanks"),
            ["convert dollars into euros", "show the stock prices, thanks"]
        );
    }

    #[test]
    fn a_word_that_begins_like_a_joint_is_none() {
        assert_eq!(
            needs_of("control android phones, brandy thenceforth"),
            ["control android phones", "brandy thenceforth"]
        );
    }

    #[test]
    fn too_many_needs_are_told_apart_by_sentences_only() {
        let text = "Read one file and write another file. ".repeat(6);
        assert_eq!(needs_of(&text).len(), 8);
        let text = "Read one file and write another file. ".repeat(100);
        let needs = needs_of(&text);
        assert_eq!(needs.len(), 8);
        assert_eq!(needs[0], "Read one file and write another file.");
        assert!(needs[7].len() > 1000);
    }

    proptest! {
        #[test]
        fn any_text_has_few_needs_which_are_in_it(text in "(\\PC|[a-z, .;。、\n]| and ){0,200}") {
            let request = RequestPart::all(&text, |_| None);
            prop_assert!((1..=9).contains(&request.len()) && request.len() != 2);
            prop_assert!(request.iter().all(|part| text.contains(&*part.text)));
        }
    }

    #[test]
    fn a_server_is_named_by_all_that_tells_it_from_others() {
        let named = |text, server| is_named(server, &words(text).collect::<Vec<_>>());
        assert!(named("rows of our Notion table", "notion"));
        assert!(named("pages in yahoo finance", "MCP Yahoo Finance"));
        assert!(!named("pages in yahoo", "MCP Yahoo Finance"));
        assert!(!named("notions", "notion"));
        assert!(named("東京 の 天気", "天気"));
    }

    #[test]
    fn generic_words_name_no_server() {
        for server in ["mcp-server", "the API", "", "--"] {
            assert!(!is_named(server, &["the", "mcp", "server", "api"]), "{server}");
        }
    }
}
