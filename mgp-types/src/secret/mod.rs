//! Detection of secrets, by the names under which they stand and by their form.
//!
//! [`secrets`] finds rather too much than too little, for records. [`certain_secrets`] finds only what is certain, for
//! people who have to see everything else.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde::de::value::{Error, StrDeserializer};

use crate::words::{WordLists, word_lists, words};

/// Returns whether the value under a member of this name is a secret, by the usual names of secrets.
pub fn is_secret_name(name: &str) -> bool {
    is_secret(&words(name))
}

/// Returns whether the value of a setting of this name, as of an environment variable, is a secret.
pub fn is_secret_setting(name: &str) -> bool {
    let words = words(name);
    let ends = |list| words.last().is_some_and(|last| is_in(list, last));
    if ends("last word about a secret") || ends("last word about a harmless setting") {
        return false;
    }
    is_secret(&words) || words.iter().any(|word| is_in("word of a secret setting", word))
}

/// Returns whether the whole value behind `name` in a line of text is one secret, including spaces.
fn is_header_name(name: &str) -> bool {
    words(name).iter().any(|word| matches!(word.as_str(), "authorization" | "cookie"))
}

/// Returns whether the member holds the name for the value next to it, as in `{"name":"API_KEY","value":"…"}`.
pub fn is_label(name: &str) -> bool {
    is_in("label", &words(name).concat())
}

/// Returns whether the member holds the value that a label next to it names.
pub fn is_labelled(name: &str) -> bool {
    is_in("labelled", &words(name).concat())
}

fn is_secret(words: &[String]) -> bool {
    if words.len() > 1 && words.last().is_some_and(|last| is_in("last word about a secret", last)) {
        return false;
    }
    let alone = words.iter().enumerate().any(|(index, word)| {
        let before = index.checked_sub(1).and_then(|before| words.get(before));
        let is_page =
            word == "token" && before.is_some_and(|before| is_in("before a token of pages", before));
        !is_page && is_in("word of a secret", word)
    });
    let paired = words.windows(2).any(|pair| is_in("pair of words of a secret", &pair.join(" ")));
    alone || paired || {
        let whole = words.concat().replace("secretar", "");
        LISTS["part of a secret name"].iter().any(|part| whole.contains(part))
    }
}

fn is_in(list: &str, word: &str) -> bool {
    LISTS[list].contains(&word)
}

/// The lists of words by which names are judged, by their headings.
static LISTS: LazyLock<WordLists> = LazyLock::new(|| word_lists(include_str!("names.txt")));

/// Returns the parts of a text that look like secrets or are assigned to the name of one, in order and apart from each
/// other.
pub fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = by_form(text, SecretForm::fits);
    found.extend(assignments(text));
    merged(found)
}

/// Returns the parts of a text that are secrets by their form for certain, in order and apart from each other: keys with
/// a distinctive mark, passwords in addresses, bodies of private keys, and words that are more random than any name.
/// Longer texts are data.
pub fn certain_secrets(text: &str) -> Vec<Range<usize>> {
    merged(by_form(text, |form, part| match form {
        SecretForm::Mark => {
            part.len() <= MAX_MARKED_BYTES && count(part, u8::is_ascii_digit) > 0 && kinds(part) > 1
        }
        SecretForm::Word => part.len() <= MAX_WORD_BYTES && form.fits(part),
        SecretForm::Password => true,
        _ => false,
    }))
}

/// Returns the text with a mark in place of each of these `parts` of it, which are in order and apart from each other.
pub fn masked(text: &str, parts: Vec<Range<usize>>) -> Cow<'_, str> {
    if parts.is_empty() {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    let mut at = 0;
    for part in parts {
        shown.push_str(&text[at..part.start]);
        shown.push_str(REDACTED);
        at = part.end;
    }
    shown.push_str(&text[at..]);
    Cow::Owned(shown)
}

/// The mark in place of a secret.
pub const REDACTED: &str = "[redacted]";

/// The most bytes of a secret with a mark, such as a JSON Web Token.
const MAX_MARKED_BYTES: usize = 4096;

/// The most bytes of a random word.
const MAX_WORD_BYTES: usize = 256;

/// Returns whether a number could be that of a payment card.
pub fn is_card_number(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|character| character.to_digit(10)).collect();
    let doubled = |digit: u32| digit * 2 / 10 + digit * 2 % 10;
    let weight = |(index, digit): (usize, &u32)| if index % 2 == 1 { doubled(*digit) } else { *digit };
    let sum: u32 = digits.iter().rev().enumerate().map(weight).sum();
    let begins_as_one = digits.first().is_some_and(|first| (2..=6).contains(first));
    let varies = digits.iter().any(|digit| Some(digit) != digits.first());
    (13..=19).contains(&digits.len()) && begins_as_one && varies && sum.is_multiple_of(10)
}

/// The condition on which the match of a pattern is a secret.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SecretForm {
    /// None: the match begins with a distinctive mark.
    Mark,
    /// None: the match stands in the place of a password.
    Password,
    /// None.
    Any,
    /// Letters and digits are mixed in the match as in no word.
    Mixed,
    /// The last long piece of letters and digits is as mixed as only chance mixes them.
    Random,
    /// Letters of both cases and digits follow each other as by chance.
    Chance,
    /// The match is a word in which they do so, and no path or name.
    Word,
    /// The digits of the match are those of a payment card.
    Card,
}

impl SecretForm {
    fn fits(self, text: &str) -> bool {
        match self {
            Self::Mark | Self::Password | Self::Any => true,
            Self::Mixed => kinds(text) > 1 || text.ends_with('='),
            Self::Random => is_random(text),
            Self::Chance => kinds(text) == 3 && changes(text) * 5 >= text.len() * 2,
            Self::Word => is_random_word(text),
            Self::Card => is_card_number(text),
        }
    }
}

/// Returns the matches of all patterns that are secrets, as `is_secret` tells by form and text: what the first group of
/// the pattern matches, or all if it has no group.
fn by_form(text: &str, is_secret: impl Fn(SecretForm, &str) -> bool) -> Vec<Range<usize>> {
    let matches = PATTERNS.iter().flat_map(|(form, pattern)| {
        let parts = pattern.captures_iter(text).filter_map(|found| found.get(1).or_else(|| found.get(0)));
        parts.filter(|part| is_secret(*form, part.as_str())).map(|part| part.range())
    });
    matches.collect()
}

fn merged(mut parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    parts.sort_unstable_by_key(|part| part.start);
    let mut apart: Vec<Range<usize>> = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        match apart.last_mut().filter(|last| part.start < last.end) {
            Some(last) => last.end = last.end.max(part.end),
            None => apart.push(part),
        }
    }
    apart
}

/// Returns the values assigned to the name of a secret: in settings, queries, headers, command options and JSON within a
/// text.
fn assignments(text: &str) -> Vec<Range<usize>> {
    let mut values = Vec::new();
    let mut at = 0;
    while let Some(assignment) = ASSIGNMENT.captures_at(text, at) {
        let (Some(whole), Some(name), Some(sign)) = (assignment.get(0), assignment.get(2), assignment.get(3))
        else {
            break;
        };
        at = whole.end();
        let is_option = assignment.get(1).is_some();
        if (sign.as_str().trim().is_empty() && !is_option) || !is_secret_name(name.as_str()) {
            continue;
        }
        let end = at + value_len(&text[..name.start()], name.as_str(), sign.as_str(), &text[at..]);
        values.push(at..end);
        at = end;
    }
    values
}

/// Returns the length of the value at the beginning of `rest`.
fn value_len(before: &str, name: &str, sign: &str, rest: &str) -> usize {
    let until = |stop: &dyn Fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
    let closing = before.trim_end_matches('\\').chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    let quoted_name = sign.trim_start_matches('\\').starts_with(['"', '\'']);
    if is_header_name(name) && sign.contains(':') && !quoted_name {
        return until(&|c| c == '\n' || c == '\r' || Some(c) == closing);
    }
    // A sign may end in the quote that opens the value.
    match sign.trim_start_matches(['\\', '"', '\'']).chars().next_back() {
        Some(quote @ ('"' | '\'' | '`')) => until(&|c| c == quote),
        _ if sign.contains(':') => until(&|c| matches!(c, '\n' | '\r' | '"' | '\'' | ',' | '}' | ']')),
        _ if sign.trim().is_empty() && rest.starts_with('-') => 0,
        _ => {
            until(&|c| c.is_whitespace() || matches!(c, '"' | '\'' | '&' | ';' | ',' | '}' | ')' | '`' | '|'))
        }
    }
}

fn is_random(text: &str) -> bool {
    let mut pieces = text.split(|letter: char| !letter.is_ascii_alphanumeric()).rev();
    pieces.find(|piece| piece.len() >= MIN_RANDOM).is_some_and(|piece| {
        let kinds = kinds(piece);
        // Words with a year or a version have few digits, and hexadecimal numbers many.
        kinds == 3 || (kinds == 2 && count(piece, u8::is_ascii_digit) * 6 >= piece.len())
    })
}

/// Returns whether the word mixes digits and letters of both cases in no order. Digests and commits are written with
/// letters of one case; paths and names of packages have separators, above all slashes, and few digits or capitals.
fn is_random_word(word: &str) -> bool {
    let separators = count(word, |byte| b"_-./".contains(byte)) + count(word, |byte| *byte == b'/');
    of_each_kind(word).iter().all(|count| *count >= 2)
        && separators * 8 <= word.len()
        && changes(word) * 4 >= word.len()
}

/// Returns how often a digit, a small letter, a capital or another character follows one of another kind.
fn changes(text: &str) -> usize {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_lowercase(), byte.is_ascii_uppercase());
    text.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count()
}

fn kinds(text: &str) -> usize {
    of_each_kind(text).into_iter().filter(|count| *count > 0).count()
}

/// Returns the numbers of digits, of small letters and of capitals.
fn of_each_kind(text: &str) -> [usize; 3] {
    [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase].map(|of| count(text, of))
}

fn count(text: &str, of: impl Fn(&u8) -> bool) -> usize {
    text.bytes().filter(|byte| of(byte)).count()
}

/// The length of the shortest piece that chance is looked for in.
const MIN_RANDOM: usize = 20;

static PATTERNS: LazyLock<Vec<(SecretForm, Regex)>> = LazyLock::new(|| {
    let lines =
        include_str!("patterns.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &'static str| {
        let (form, pattern) = line.split_once(' ').expect("a form stands before each pattern");
        let form = SecretForm::deserialize(StrDeserializer::<Error>::new(form)).expect("the form is known");
        (form, Regex::new(pattern).expect("the pattern is part of the program"))
    };
    lines.map(read).collect()
});

/// A name, in its second group, with the sign that assigns a value to it.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?:(--?)|\b|_)([A-Za-z][A-Za-z0-9_.-]{0,63})(\\?["'`]?\]?\s*(?:=>|:=|==?|:)\s*\\?["'`]?|\s+["']?)"#,
    )
    .expect("the pattern is written here")
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_secrets_are_known_in_any_spelling() {
        for name in [
            "password", "PASSWORD", "userPassword", "user_password", "user-password", "userpassword",
            "PGPASSWORD", "api_key", "apiKey", "APIKey", "API-KEY", "x-api-key", "X_API_KEY", "apikey",
            "myapikey", "token", "accessToken", "ACCESS_TOKEN", "accesstoken", "github_token",
            "GITHUB.TOKEN", "client_secret", "clientSecret", "Authorization", "proxy-authorization",
            "Cookie", "set-cookie", "aws_secret_access_key", "AWSSecretAccessKey", "private_key",
            "privateKeyPem", "connectionString", "session_id", "jwt", "credentials", "db.passwd", "pwd",
            "otp", "cardNumber", "password_hash", "secret_id", "AccountKey",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
    }

    #[test]
    fn names_of_other_things_are_left() {
        for name in [
            "max_tokens", "maxTokens", "tokens", "token_count", "tokenLimit", "nextPageToken", "page_token",
            "path", "author", "authority", "keyboard", "key", "public_key", "monkey", "compass", "passenger",
            "secretary", "token_type", "password_policy", "auth_method", "token_url", "tokenizer",
            "cookbook", "signature", "id", "", "___", "secret_name",
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
