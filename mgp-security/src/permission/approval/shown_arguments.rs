//! The form in which the arguments of a call are shown to people.

use std::fmt::Write as _;
use std::sync::Arc;

use mgp_types::{Object, RawJson, hex, json};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::display::plain;
use crate::secret::{could_be_key, could_be_password, names_key, names_password, secrets};

/// The arguments of a call in the form that is shown to the people who decide about it.
///
/// All arguments are shown, decoded, as they will be sent: numbers with all their digits, and invisible characters
/// spelled out. A value that looks like a secret is replaced by its length and digest. If the whole is long, the
/// [brief](Self::brief) form leaves out parts between beginnings and ends, and says how much is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownArguments {
    brief: Arc<str>,
    whole: Option<Arc<str>>,
}

/// The reason why arguments cannot be shown to a person, who then cannot approve them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unshowable {
    /// The arguments are nested too deep.
    #[error("its arguments are nested deeper than {MAX_DEPTH} levels, and nobody can be shown that")]
    TooDeep,
    /// The arguments are too long.
    #[error("its arguments have more than {MAX_BYTES} bytes, and nobody can read that")]
    TooLong,
}

impl ShownArguments {
    /// Returns the shown form of the arguments of a call; no arguments equal an empty object.
    ///
    /// # Errors
    /// Fails if the arguments are too long or nested too deep for a person to judge.
    pub(crate) fn of(arguments: Option<&RawJson>) -> Result<Self, Unshowable> {
        let Some(arguments) = arguments else {
            return Ok(Self { brief: "{}".into(), whole: None });
        };
        if arguments.as_bytes().len() > MAX_BYTES {
            return Err(Unshowable::TooLong);
        }
        let whole = written(arguments, usize::MAX)?;
        if whole.chars().count() <= MAX_BRIEF_CHARS {
            return Ok(Self { brief: whole.into(), whole: None });
        }
        let brief = middle_left_out(&written(arguments, MAX_TEXT_CHARS)?);
        Ok(Self { brief: brief.into(), whole: Some(whole.into()) })
    }

    /// Returns the form that fits into a question.
    pub fn brief(&self) -> &str {
        &self.brief
    }

    /// Returns the complete form.
    pub fn whole(&self) -> &str {
        self.whole.as_deref().unwrap_or(&self.brief)
    }

    /// Returns whether the brief form leaves something out.
    pub const fn is_abridged(&self) -> bool {
        self.whole.is_some()
    }
}

fn written(arguments: &RawJson, longest_text: usize) -> Result<String, Unshowable> {
    let mut writer = ArgumentWriter { out: Vec::new(), longest_text };
    writer.value(arguments, HiddenText::ByForm, 0)?;
    Ok(plain(&String::from_utf8_lossy(&writer.out), usize::MAX))
}

/// The parts of a text that are hidden.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HiddenText {
    /// Only parts that have the form of a secret are hidden.
    ByForm,
    /// All of the text is hidden if it could be a key.
    Key,
    /// All of the text is hidden if it could be a password.
    Password,
}

struct ArgumentWriter {
    out: Vec<u8>,
    /// The length in characters beyond which only the beginning and the end of a text are written.
    longest_text: usize,
}

impl ArgumentWriter {
    fn value(&mut self, value: &RawJson, hidden: HiddenText, depth: usize) -> Result<(), Unshowable> {
        match value.as_bytes().first() {
            // Each level is scanned once more, so the depth is bounded.
            Some(b'{' | b'[') if depth >= MAX_DEPTH => return Err(Unshowable::TooDeep),
            Some(b'{') => match Object::from_raw(value) {
                Ok(object) if object.is_empty() => self.out.extend_from_slice(b"{}"),
                Ok(object) => {
                    self.out.push(b'{');
                    for (index, (name, value)) in object.iter().enumerate() {
                        self.next_line(index, depth + 1);
                        self.text(&name, HiddenText::ByForm);
                        self.out.extend_from_slice(b": ");
                        self.value(&value, HiddenText::under(&name), depth + 1)?;
                    }
                    self.end_line(depth);
                    self.out.push(b'}');
                }
                Err(_) => self.out.extend_from_slice(value.as_bytes()),
            },
            Some(b'[') => match value.to::<Vec<RawJson>>() {
                Ok(items) if items.is_empty() => self.out.extend_from_slice(b"[]"),
                Ok(items) => {
                    self.out.push(b'[');
                    for (index, item) in items.iter().enumerate() {
                        self.next_line(index, depth + 1);
                        self.value(item, hidden, depth + 1)?;
                    }
                    self.end_line(depth);
                    self.out.push(b']');
                }
                Err(_) => self.out.extend_from_slice(value.as_bytes()),
            },
            Some(b'"') => match value.to_text() {
                Some(text) => self.text(&text, hidden),
                None => self.out.extend_from_slice(value.as_bytes()),
            },
            _ => self.out.extend_from_slice(value.as_bytes()),
        }
        Ok(())
    }

    /// Writes a text in quotes. Remarks about it stand outside the quotes, so that no text can imitate one.
    fn text(&mut self, text: &str, hidden: HiddenText) {
        if hidden == HiddenText::Password && could_be_password(text) {
            let length = match text.chars().count() {
                0..8 => "fewer than 8",
                8..16 => "8 to 15",
                _ => "16 or more",
            };
            return self.remark(&format!("hidden: a password of {length} characters"));
        }
        if hidden != HiddenText::ByForm && could_be_key(text) {
            return self.secret(text);
        }
        let parts = secrets(text);
        let mut at = 0;
        for part in parts {
            if part.start > at {
                self.quoted(&text[at..part.start]);
                self.out.push(b' ');
            }
            self.secret(&text[part.clone()]);
            if part.end < text.len() {
                self.out.push(b' ');
            }
            at = part.end;
        }
        if at < text.len() || text.is_empty() {
            self.quoted(&text[at..]);
        }
    }

    /// Writes a part of a text that is no secret, shortened if it is long.
    fn quoted(&mut self, text: &str) {
        let chars = text.chars().count();
        if chars <= self.longest_text {
            return json::write_string(&mut self.out, text);
        }
        let at = |char: usize| text.char_indices().nth(char).map_or(text.len(), |(at, _)| at);
        let (begins, ends) = (self.longest_text * 2 / 3, self.longest_text / 3);
        json::write_string(&mut self.out, &text[..at(begins)]);
        self.out.push(b' ');
        self.remark(&format!("of {chars} characters, {} are left out here", chars - begins - ends));
        self.out.push(b' ');
        json::write_string(&mut self.out, &text[at(chars - ends)..]);
    }

    fn secret(&mut self, text: &str) {
        let digest: [u8; 32] = Sha256::digest(text).into();
        let digest = hex::<64>(&digest);
        let digest = String::from_utf8_lossy(&digest[..12]);
        let chars = text.chars().count();
        let mut beginning = String::new();
        if let (true, Some(start)) = (chars >= SHORTEST_WITH_BEGINNING, text.get(..4)) {
            beginning = format!(" begins `{start}`,");
        }
        self.remark(&format!(
            "hidden: looks like a secret,{beginning} {chars} characters, SHA-256 {digest}…"
        ));
    }

    fn remark(&mut self, text: &str) {
        self.out.extend_from_slice("⟨".as_bytes());
        self.out.extend_from_slice(text.as_bytes());
        self.out.extend_from_slice("⟩".as_bytes());
    }

    fn next_line(&mut self, index: usize, depth: usize) {
        if index > 0 {
            self.out.push(b',');
        }
        self.end_line(depth);
    }

    fn end_line(&mut self, depth: usize) {
        self.out.push(b'\n');
        self.out.resize(self.out.len() + 2 * depth, b' ');
    }
}

impl HiddenText {
    /// Returns what is to be hidden in the value of a member called `name`.
    fn under(name: &str) -> Self {
        if names_password(name) {
            Self::Password
        } else if names_key(name) {
            Self::Key
        } else {
            Self::ByForm
        }
    }
}

/// Returns the beginning and the end of a text that is too long, although each string in it is short.
fn middle_left_out(text: &str) -> String {
    let chars = text.chars().count();
    if chars <= MAX_BRIEF_CHARS {
        return text.to_owned();
    }
    let (begins, ends) = (MAX_BRIEF_CHARS * 2 / 3, MAX_BRIEF_CHARS / 3);
    let at = |char: usize| text.char_indices().nth(char).map_or(text.len(), |(at, _)| at);
    let mut out = text[..at(begins)].to_owned();
    // Writing into a string does not fail.
    let _ = write!(out, "\n⟨{} characters are left out here⟩\n", chars - begins - ends);
    out.push_str(&text[at(chars - ends)..]);
    out
}

/// The largest number of characters of arguments that a question shows.
const MAX_BRIEF_CHARS: usize = 4000;
/// The largest number of characters of one string that is shown where the whole is too long.
const MAX_TEXT_CHARS: usize = 600;
/// The smallest number of characters in a secret whose beginning is shown.
const SHORTEST_WITH_BEGINNING: usize = 20;
/// The largest number of levels of nesting that can be shown.
const MAX_DEPTH: usize = 32;
/// The largest size of arguments that can be shown, in bytes.
const MAX_BYTES: usize = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(arguments: String) -> ShownArguments {
        ShownArguments::of(Some(&RawJson::parse(arguments).unwrap())).unwrap()
    }

    fn of(arguments: &str) -> String {
        shown(arguments.to_owned()).brief().to_owned()
    }

    #[test]
    fn values_are_hidden_by_what_they_are_and_not_by_what_they_are_called() {
        let text = of(
            r#"{"secret_path":"/etc/shadow","token_kind":"root","password":"'; rm -rf /","apiKey":"all","secret":"delete everything"}"#,
        );
        for seen in ["/etc/shadow", "root", "'; rm -rf /", "\"all\"", "delete everything"] {
            assert!(text.contains(seen), "{seen}: {text}");
        }
        assert!(!text.contains("hidden"), "{text}");
    }

    #[test]
    fn what_looks_like_a_secret_is_hidden_at_any_depth_and_told_apart_by_its_digest() {
        let text = of(
            r#"{"user":"ada","apiKey":"k1m2n3p4","login":[{"Pass-Word":"hunter2"}],"header":"Bearer ghp_0123456789abcdefABCDEF"}"#,
        );
        assert!(text.contains("ada") && text.contains("\"Bearer \""), "{text}");
        for secret in ["k1m2n3p4", "hunter2", "0123456789abcdef"] {
            assert!(!text.contains(secret), "{text}");
        }
        assert!(text.contains("begins `ghp_`, 26 characters, SHA-256 "), "{text}");
        assert!(text.contains("a password of fewer than 8 characters"), "{text}");
    }

    #[test]
    fn what_is_shown_is_what_is_meant() {
        assert_eq!(
            of(r#"{"a":"\u0072m","n":12345678901234567890123,"e":[],"o":{},"t":""}"#),
            "{\n  \"a\": \"rm\",\n  \"n\": 12345678901234567890123,\n  \"e\": [],\n  \"o\": {},\n  \"t\": \"\"\n}"
        );
        assert_eq!(of(r#"["\u202e\u001b[2K"]"#), "[\n  \"\\u{202e}\\u001b[2K\"\n]");
        assert_eq!(ShownArguments::of(None).unwrap().brief(), "{}");
    }

    #[test]
    fn of_long_arguments_the_beginning_the_end_and_the_length_are_shown_and_the_whole_is_there() {
        let long = format!("begins{}{}ends", "x".repeat(5000), "y".repeat(5000));
        let arguments = shown(format!(r#"{{"a":"{long}","b":"rm"}}"#));
        assert!(arguments.is_abridged() && arguments.whole().contains(&long));
        let brief = arguments.brief();
        assert!(
            brief.contains("\"begins") && brief.contains("yends\"") && brief.contains("\"rm\""),
            "{brief}"
        );
        assert!(brief.contains("of 10010 characters, 9410 are left out here"), "{brief}");
        let many = shown(format!("[{}\"last\"]", "\"item\",".repeat(2000)));
        assert!(
            many.brief().contains("characters are left out here") && many.brief().ends_with("\"last\"\n]")
        );
        assert!(many.brief().chars().count() < 4_100);
        assert!(!shown(r#"{"a":"short"}"#.to_owned()).is_abridged());
    }

    #[test]
    fn what_nobody_can_be_shown_is_an_error() {
        let deep = format!("{}1{}", "[".repeat(40), "]".repeat(40));
        let deep = RawJson::parse(deep).unwrap();
        assert_eq!(ShownArguments::of(Some(&deep)), Err(Unshowable::TooDeep));
        let long = RawJson::parse(format!("\"{}\"", "x".repeat(MAX_BYTES))).unwrap();
        assert_eq!(ShownArguments::of(Some(&long)), Err(Unshowable::TooLong));
    }
}
