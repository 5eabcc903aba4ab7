//! Detection of text that looks like a secret, so that it can be hidden from people who have to see everything else.
//!
//! A person who decides about a call must not be shown keys, and must see all that the call does. So only text that has
//! the form of a secret is hidden, and nothing that could have an effect: the hidden part is one run of letters, digits
//! and the few signs that keys are written with. It never contains a space, a quote or a sign that a shell acts on.

use std::ops::Range;

use crate::words::words as words_of;

/// Returns the parts of `text` that look like secrets, in order.
pub(crate) fn secrets(text: &str) -> Vec<Range<usize>> {
    let mut found = private_keys(text);
    for word in words(text) {
        let is_within = found.iter().any(|part| part.start < word.end && word.start < part.end);
        if !is_within && has_secret_form(&text[word.clone()]) {
            found.push(word);
        }
    }
    let passwords: Vec<_> = passwords_of_addresses(text, &found).collect();
    found.extend(passwords);
    found.sort_unstable_by_key(|part| part.start);
    found
}

/// Returns whether a member of this name usually holds a password, which has no form of its own.
pub(crate) fn names_password(name: &str) -> bool {
    last_word(name).is_some_and(|last| PASSWORDS.contains(&&*last))
}

/// Returns whether a member of this name usually holds a key or token.
pub(crate) fn names_key(name: &str) -> bool {
    last_word(name).is_some_and(|last| KEYS.contains(&&*last))
}

/// Returns whether `text` could be a password or key and nothing else: one short word that is not a path,
/// URL or option.
pub(crate) fn could_be_password(text: &str) -> bool {
    let is_short = text.chars().count() <= LONGEST_PASSWORD && text.chars().any(char::is_alphanumeric);
    is_short
        && text.chars().all(|c| c.is_alphanumeric() || "_-.!#%^+=?@~".contains(c))
        && !text.starts_with('-')
}

/// Returns whether `text` could be a key: it could be a password, has letters and digits, and is at least 8 bytes long.
pub(crate) fn could_be_key(text: &str) -> bool {
    let has = |of: fn(&char) -> bool| text.chars().any(|c| of(&c));
    let is_mixed = has(char::is_ascii_digit) && has(|c| c.is_alphabetic());
    text.len() >= 8 && is_mixed && could_be_password(text)
}

/// Returns whether one word is a key by its form: by its prefix, or because it is more random than any word.
fn has_secret_form(word: &str) -> bool {
    let has = |of: fn(&u8) -> bool| word.bytes().any(|byte| of(&byte));
    let is_mixed = has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic);
    let begins = |prefix: &&str| word.starts_with(*prefix) && word.len() >= prefix.len() + BEHIND_PREFIX;
    let is_web_token =
        word.starts_with("eyJ") && word.matches('.').count() == 2 && word.len() <= LONGEST_TOKEN;
    let is_known = is_mixed && word.len() <= LONGEST_KEY && PREFIXES.iter().any(begins);
    is_web_token || is_known || is_random(word)
}

/// Returns whether the word mixes digits and letters of both cases in no order. Digests and commits are not random in
/// this sense, and no secrets: they are written with letters of one case.
fn is_random(word: &str) -> bool {
    let len = word.len();
    if !(SHORTEST_RANDOM..=LONGEST_KEY).contains(&len) {
        return false;
    }
    let count = |of: fn(&u8) -> bool| word.bytes().filter(of).count();
    let kinds = [count(u8::is_ascii_digit), count(u8::is_ascii_lowercase), count(u8::is_ascii_uppercase)];
    // Paths and names of packages have separators, and few digits or capitals.
    let separators = word.bytes().filter(|byte| b"_-./".contains(byte)).count();
    kinds.iter().all(|count| *count >= 2)
        && separators * 8 <= len
        && changes(word) * 4 >= len
        && bits(word) >= 3.5
}

/// Returns how often a character is of another kind (digit, capital, other) than the one before it.
fn changes(word: &str) -> usize {
    let kind = |byte: &u8| (byte.is_ascii_digit(), byte.is_ascii_uppercase());
    word.as_bytes().windows(2).filter(|pair| kind(&pair[0]) != kind(&pair[1])).count()
}

/// Returns the entropy of the characters of `word`, in bits per character.
#[expect(clippy::cast_precision_loss, reason = "words are short")]
fn bits(word: &str) -> f64 {
    let mut counts = [0_u32; 256];
    word.bytes().for_each(|byte| counts[usize::from(byte)] += 1);
    let shares = counts.iter().filter(|count| **count > 0).map(|count| f64::from(*count) / word.len() as f64);
    shares.map(|share| -share * share.log2()).sum()
}

/// Returns the words of a text that could be keys: the runs of characters that keys are written with.
fn words(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut at = 0;
    text.split(|c: char| !(c.is_ascii_alphanumeric() || "_-./+~".contains(c))).filter_map(move |word| {
        let end = at + word.len();
        at = end + text[end..].chars().next().map_or(0, char::len_utf8);
        let start = end - word.trim_start_matches(['-', '/', '.']).len();
        (start < end).then_some(start..end)
    })
}

/// Returns the bodies of private keys in PEM. Text that is not part of a key stays visible, whatever surrounds it.
fn private_keys(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(begin) = text[at..].find("-----BEGIN ").map(|begin| at + begin + "-----BEGIN ".len()) {
        at = begin;
        let Some((label, rest)) = text[begin..].split_once("-----") else { break };
        let start = text.len() - rest.len();
        let Some(len) = rest.find("-----END ") else { continue };
        let body = &rest[..len];
        let is_body = body.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\r\n".contains(&byte));
        if label.ends_with("PRIVATE KEY") && label.len() < 40 && is_body && body.trim().len() > 40 {
            found.push(start..start + len);
            at = start + len;
        }
    }
    found
}

/// Returns the passwords in addresses, as in `postgres://user:password@host`.
fn passwords_of_addresses<'a>(
    text: &'a str,
    found: &'a [Range<usize>],
) -> impl Iterator<Item = Range<usize>> + 'a {
    text.match_indices("://").filter_map(move |(at, _)| {
        let start = at + 3;
        let rest = &text[start..];
        let authority = &rest
            [..rest.find(|c: char| "/?# '\"<>\\".contains(c) || c.is_whitespace()).unwrap_or(rest.len())];
        let user = &authority[..authority.rfind('@')?];
        let password = start + user.find(':')? + 1..start + user.len();
        let is_within = found.iter().any(|part| part.start < password.end && password.start < part.end);
        (!is_within && could_be_password(&text[password.clone()])).then_some(password)
    })
}

/// Returns the last word of a name, in lower case: it is the same for `dbPassword`, `DB_PASSWORD` and `db-password`.
fn last_word(name: &str) -> Option<String> {
    let mut words = words_of(name);
    let whole = words.concat();
    let joined = PASSWORDS.iter().chain(&KEYS).find(|word| word.len() > 4 && whole.ends_with(**word));
    let last = words.pop()?;
    Some(joined.map_or(last, |word| (*word).to_owned()))
}

const PASSWORDS: [&str; 7] = ["password", "passwords", "passwd", "passphrase", "passcode", "pwd", "passwort"];

const KEYS: [&str; 11] = [
    "token", "apikey", "secretkey", "accesskey", "privatekey", "secret", "authorization", "credential",
    "credentials", "cookie", "jwt",
];

/// The prefixes that identify keys of known services.
const PREFIXES: [&str; 44] = [
    "sk-", "sk_", "pk_", "rk_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "glpat-", "gldt-",
    "glrt-", "xoxa-", "xoxb-", "xoxp-", "xoxe-", "xapp-", "AKIA", "ASIA", "AROA", "AIza", "ya29.", "GOCSPX-",
    "hf_", "npm_", "pypi-", "dop_v1_", "figd_", "lin_api_", "ntn_", "secret_", "tvly-", "shpat_", "whsec_",
    "gsk_", "xai-", "pplx-", "SG.", "hvs.", "dapi", "PMAK-", "glsa_", "AGE-SECRET-KEY-1",
];

/// The smallest number of bytes of a key behind its prefix.
const BEHIND_PREFIX: usize = 12;
/// The smallest length in bytes of a word that can be random enough for a key.
const SHORTEST_RANDOM: usize = 24;
/// The largest length of a key, in bytes. A longer text is data, which is shown like any other text.
const LONGEST_KEY: usize = 256;
/// The largest length of a JSON Web Token, in bytes.
const LONGEST_TOKEN: usize = 4096;
/// The largest length of a password, in characters.
const LONGEST_PASSWORD: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn hidden(text: &str) -> String {
        let mut out = text.to_owned();
        for part in secrets(text).into_iter().rev() {
            out.replace_range(part, "*");
        }
        out
    }

    #[test]
    fn keys_are_found_by_their_form_within_any_text() {
        for (text, expected) in [
            ("ghp_0123456789abcdefABCDEF", "*"),
            ("Authorization: Bearer sk-ant-api03-aB3dE5gH7jK9", "Authorization: Bearer *"),
            ("curl 'https://h/?api_key=q7Zp2LmX9vTc4RbN8sWk1YdF&x=1'", "curl 'https://h/?api_key=*&x=1'"),
            ("postgres://ada:hunter2@db/x", "postgres://ada:*@db/x"),
            ("AKIAIOSFODNN7EXAMPLE", "*"),
            ("eyJhbGciOiJI.eyJzdWIiOiIx.SflKxwRJSMeKKF2QT4", "*"),
        ] {
            assert_eq!(hidden(text), expected);
        }
        let key = format!(
            "-----BEGIN RSA PRIVATE KEY-----\n{}\n-----END RSA PRIVATE KEY-----",
            "MIIEow12".repeat(12)
        );
        assert_eq!(hidden(&key), "-----BEGIN RSA PRIVATE KEY-----*-----END RSA PRIVATE KEY-----");
    }

    #[test]
    fn nothing_that_could_do_something_is_hidden() {
        for text in [
            "TOKEN=$(rm -rf ~)",
            "--password '; rm -rf /'",
            "-----BEGIN PRIVATE KEY-----; rm -rf / #",
            "echo -----BEGIN PRIVATE KEY-----\nrm -rf /home\n-----END PRIVATE KEY-----",
            "https://a:$(id)@h/",
            "git reset --hard 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
            "550e8400-e29b-41d4-a716-446655440000",
            "/home/ada/Projects/2026/Invoices/March",
            "@modelcontextprotocol/server-filesystem@2025.11.18",
            "sk-learn-regression-pipeline",
            "ThisIsALongCamelCaseIdentifierInJava2",
        ] {
            assert_eq!(hidden(text), text);
        }
    }

    #[test]
    fn a_name_alone_hides_nothing() {
        for name in ["password", "db_password", "dbPassword", "PGPASSWORD"] {
            assert!(names_password(name), "{name}");
        }
        for name in ["secret_path", "token_kind", "password_policy", "compass", "bypass_all", "keyboard"] {
            assert!(!names_password(name) && !names_key(name), "{name}");
        }
        assert!(names_key("apiKey") && names_key("auth_token"));
        assert!(could_be_password("hunter2") && could_be_key("hunter2x9"));
        for text in ["", "/etc/shadow", "rm -rf /", "$(id)", "a;b", "a\nb", "-rf"] {
            assert!(!could_be_password(text), "{text}");
        }
        assert!(!could_be_key("production") && !could_be_key("all"));
    }
}
