//! The form in which untrusted texts, and the arguments of a call, are shown to people.

use std::fmt::Write as _;
use std::sync::Arc;

use mgp_types::canonical::Digest;
use mgp_types::{Object, RawJson, json};
use serde::{Deserialize, Serialize};

use crate::secret::{could_be_key, could_be_password, names_key, names_password, secrets};
use crate::visible::visible;

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
        let brief = written(arguments, MAX_TEXT_CHARS)?;
        // The whole may be too long although each string in it is short.
        let brief = match ends(&brief, MAX_BRIEF_CHARS) {
            Some((begin, left_out, end)) => {
                format!("{begin}\n⟨{left_out} characters are left out here⟩\n{end}")
            }
            None => brief,
        };
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
        let first = value.as_bytes().first();
        // Each level is scanned once more, so the depth is bounded.
        if matches!(first, Some(b'{' | b'[')) && depth >= MAX_DEPTH {
            return Err(Unshowable::TooDeep);
        }
        let written = match first {
            Some(b'{') => Object::from_raw(value).ok().map(|object| {
                self.nested(*b"{}", object.iter(), depth, |writer, (name, value)| {
                    writer.text(&name, HiddenText::ByForm);
                    writer.out.extend_from_slice(b": ");
                    writer.value(&value, HiddenText::under(&name), depth + 1)
                })
            }),
            Some(b'[') => value.to::<Vec<RawJson>>().ok().map(|items| {
                self.nested(*b"[]", items.iter(), depth, |writer, item| writer.value(item, hidden, depth + 1))
            }),
            Some(b'"') => value.to_text().map(|text| {
                self.text(&text, hidden);
                Ok(())
            }),
            _ => None,
        };
        written.unwrap_or_else(|| {
            self.out.extend_from_slice(value.as_bytes());
            Ok(())
        })
    }

    /// Writes what stands between two brackets, each part on a line of its own.
    fn nested<T>(
        &mut self,
        [open, close]: [u8; 2],
        parts: impl Iterator<Item = T>,
        depth: usize,
        mut write: impl FnMut(&mut Self, T) -> Result<(), Unshowable>,
    ) -> Result<(), Unshowable> {
        self.out.push(open);
        let begin = self.out.len();
        for part in parts {
            if self.out.len() > begin {
                self.out.push(b',');
            }
            self.end_line(depth + 1);
            write(self, part)?;
        }
        if self.out.len() > begin {
            self.end_line(depth);
        }
        self.out.push(close);
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
        let Some((begin, left_out, end)) = ends(text, self.longest_text) else {
            return json::write_string(&mut self.out, text);
        };
        json::write_string(&mut self.out, begin);
        self.out.push(b' ');
        self.remark(&format!("of {} characters, {left_out} are left out here", text.chars().count()));
        self.out.push(b' ');
        json::write_string(&mut self.out, end);
    }

    fn secret(&mut self, text: &str) {
        let digest = Digest::of_canonical(text.as_bytes()).to_string();
        let chars = text.chars().count();
        let start = text.get(..4).filter(|_| chars >= SHORTEST_WITH_BEGINNING);
        let beginning = start.map(|start| format!(" begins `{start}`,")).unwrap_or_default();
        self.remark(&format!(
            "hidden: looks like a secret,{beginning} {chars} characters, SHA-256 {digest:.12}…"
        ));
    }

    fn remark(&mut self, text: &str) {
        self.out.extend_from_slice(format!("⟨{text}⟩").as_bytes());
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

/// Returns the beginning and the end of a text with more than `most` characters, and the number of those between them;
/// `None` for a shorter text.
fn ends(text: &str, most: usize) -> Option<(&str, usize, &str)> {
    let (chars, begins, ends) = (text.chars().count(), most.saturating_mul(2) / 3, most / 3);
    let at = |char: usize| text.char_indices().nth(char).map_or(text.len(), |(at, _)| at);
    (chars > most).then(|| (&text[..at(begins)], chars - begins - ends, &text[at(chars - ends)..]))
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

/// Returns a text in a form that is safe to show: without characters that move the cursor, change the direction of
/// writing or are invisible, and at most `max_chars` characters long.
///
/// Such texts come from servers and models, and a terminal or page that shows them unchanged can be made to show
/// something else.
fn plain(text: &str, max_chars: usize) -> String {
    shown(text, max_chars, |text| text.split('\n').map(visible).collect::<Vec<_>>().join("\n"))
}

/// Returns a name in a form that is safe to show in backticks within a sentence: it ends neither its quotes nor its
/// line.
pub(super) fn line(name: &str) -> String {
    shown(name, MAX_NAME_CHARS, visible).replace('`', "\\u{60}")
}

/// Returns the words of a server in a form that is safe to show: they do not end their line.
pub(super) fn sentence(words: &str) -> String {
    shown(words, MAX_SENTENCE_CHARS, visible)
}

fn shown(text: &str, max_chars: usize, visible: impl Fn(&str) -> String) -> String {
    let end = text.char_indices().nth(max_chars).map_or(text.len(), |(end, _)| end);
    let mut shown = visible(&text[..end]);
    let cut = text[end..].chars().count();
    if cut > 0 {
        // Writing into a string does not fail.
        let _ = write!(shown, "… ({cut} more characters are not shown)");
    }
    shown
}

/// The largest number of characters of a name that are shown.
const MAX_NAME_CHARS: usize = 128;
/// The largest number of characters of a server's words that are shown.
const MAX_SENTENCE_CHARS: usize = 500;

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

    #[test]
    fn what_would_deceive_the_eye_is_spelled_out() {
        assert_eq!(plain("a\u{1b}[2Kb\u{202e}c\r\n\u{e0041}", 99), "a\\u{1b}[2Kb\\u{202e}c\\r\n\\u{e0041}");
        assert_eq!(plain("Grüße 你好", 99), "Grüße 你好");
    }

    #[test]
    fn what_is_long_is_cut_and_the_cut_is_told() {
        assert_eq!(plain("abcdef", 4), "abcd… (2 more characters are not shown)");
    }
}
