//! The forms by which secrets are found within texts.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::REDACTED;
use super::names::{is_header, is_secret_name};

/// Returns the text without what looks like a secret. It is longer than `text` at most by a few words for each
/// secret.
pub(in crate::audit) fn text(text: &str) -> Cow<'_, str> {
    let mut out = Cow::Borrowed(text);
    for (pattern, is_secret) in PATTERNS.iter() {
        if let Some(changed) = replace(pattern, *is_secret, &out) {
            out = Cow::Owned(changed);
        }
    }
    match assignments(&out) {
        Some(changed) => Cow::Owned(changed),
        None => out,
    }
}

/// Returns a name of a tool, a prompt or a method without what looks like a secret.
pub(in crate::audit) fn name(name: &str) -> Cow<'_, str> {
    // Every form that can stand in a name has such a piece, and hardly any name has.
    let mut pieces = name.split(|letter: char| !letter.is_ascii_alphanumeric());
    if pieces.any(|piece| piece.len() >= MIN_PIECE) { text(name) } else { Cow::Borrowed(name) }
}

/// The length of the shortest piece of letters and digits that every secret in a name has.
const MIN_PIECE: usize = 16;

/// Returns whether a number could be that of a payment card.
pub(super) fn is_card_number(text: &str) -> bool {
    let digits: Vec<u32> = text.chars().filter_map(|character| character.to_digit(10)).collect();
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match index % 2 {
            0 => *digit,
            _ => digit * 2 / 10 + digit * 2 % 10,
        })
        .sum();
    let begins_as_one = digits.first().is_some_and(|first| (2..=6).contains(first));
    let varies = digits.iter().any(|digit| Some(digit) != digits.first());
    (13..=19).contains(&digits.len()) && begins_as_one && varies && sum.is_multiple_of(10)
}

/// Puts the mark in place of what the first group matches, or of the whole match if the pattern has no group.
fn replace(pattern: &Regex, is_secret: PatternCheck, text: &str) -> Option<String> {
    let mut out = String::new();
    let mut at = 0;
    for found in pattern.captures_iter(text) {
        let Some(secret) = found.get(1).or_else(|| found.get(0)) else { continue };
        if is_secret(secret.as_str()) {
            out.push_str(&text[at..secret.start()]);
            out.push_str(REDACTED);
            at = secret.end();
        }
    }
    (at > 0).then(|| out + &text[at..])
}

/// Puts the mark in place of values assigned to the name of a secret: in settings, queries, headers, command options
/// and JSON within a text.
fn assignments(text: &str) -> Option<String> {
    let mut out = String::new();
    let (mut written, mut at) = (0, 0);
    while let Some(found) = ASSIGNMENT.captures_at(text, at) {
        let (Some(whole), Some(name), Some(sign)) = (found.get(0), found.get(2), found.get(3)) else { break };
        at = whole.end();
        let is_option = found.get(1).is_some();
        if (sign.as_str().trim().is_empty() && !is_option) || !is_secret_name(name.as_str()) {
            continue;
        }
        let end = at + secret_len(&text[..name.start()], name.as_str(), sign.as_str(), &text[at..]);
        if end > at && !text[at..end].starts_with(REDACTED) {
            out.push_str(&text[written..at]);
            out.push_str(REDACTED);
            written = end;
        }
        at = end;
    }
    (written > 0).then(|| out + &text[written..])
}

/// Returns the length of the value at the beginning of `rest`.
fn secret_len(before: &str, name: &str, sign: &str, rest: &str) -> usize {
    let until = |stop: &dyn Fn(char) -> bool| rest.find(stop).unwrap_or(rest.len());
    let closing = before.trim_end_matches('\\').chars().next_back().filter(|c| matches!(c, '"' | '\'' | '`'));
    let quoted_name = sign.trim_start_matches('\\').starts_with(['"', '\'']);
    if is_header(name) && sign.contains(':') && !quoted_name {
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

/// Returns whether letters and digits are mixed as they are in no word.
fn is_mixed(text: &str) -> bool {
    kinds(text) > 1 || text.ends_with('=')
}

/// Returns whether the last long piece of letters and digits is as mixed as only chance mixes them.
fn is_random(text: &str) -> bool {
    let mut pieces = text.split(|letter: char| !letter.is_ascii_alphanumeric()).rev();
    pieces.find(|piece| piece.len() >= MIN_RANDOM).is_some_and(|piece| {
        let kinds = kinds(piece);
        let digits = piece.bytes().filter(u8::is_ascii_digit).count();
        // Words with a year or a version have few digits, and hexadecimal numbers many.
        kinds == 3 || (kinds == 2 && digits * 6 >= piece.len())
    })
}

/// Returns whether upper case, lower case and digits follow each other as they do by chance, and in no path or name.
fn is_by_chance(text: &str) -> bool {
    let kind = |byte: u8| (byte.is_ascii_digit(), byte.is_ascii_lowercase(), byte.is_ascii_uppercase());
    let changes = text.as_bytes().windows(2).filter(|pair| kind(pair[0]) != kind(pair[1])).count();
    kinds(text) == 3 && changes * 5 >= text.len() * 2
}

fn kinds(text: &str) -> usize {
    let has = |of: fn(&u8) -> bool| text.bytes().any(|byte| of(&byte));
    let kinds = [has(u8::is_ascii_digit), has(u8::is_ascii_lowercase), has(u8::is_ascii_uppercase)];
    kinds.into_iter().filter(|kind| *kind).count()
}

/// The length of the shortest piece that chance is looked for in.
const MIN_RANDOM: usize = 20;

fn any(_: &str) -> bool {
    true
}

/// A check whether a match of a pattern is a secret.
type PatternCheck = fn(&str) -> bool;

type SecretPattern = (Regex, PatternCheck);

static PATTERNS: LazyLock<Vec<SecretPattern>> = LazyLock::new(|| {
    let lines =
        include_str!("patterns.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let read = |line: &'static str| {
        let (check, pattern) = line.split_once(' ').expect("a check stands before each pattern");
        let check: PatternCheck = match check {
            "mixed" => is_mixed,
            "random" => is_random,
            "chance" => is_by_chance,
            "card" => is_card_number,
            _ => any,
        };
        (Regex::new(pattern).expect("the pattern is part of the program"), check)
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
