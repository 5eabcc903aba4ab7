//! The bodies of callbacks (§13.4): questions that a server asks its client during a call.

use std::borrow::Cow;

use super::members::leftover;
use crate::json::ObjectWriter;
use crate::macros::words::open_words;
use crate::macros::{record, setter};
use crate::{Object, RawJson, is_hidden};

open_words! {
    /// The kind of answer that a callback asks for (§13.4). Later drafts have further words, like `llm_completion`.
    pub enum CallbackType {
        /// `confirmation`: a yes or no, before the server does something dangerous.
        Confirmation = "confirmation",
        /// `input`: a value that the user knows.
        Input = "input",
        /// `selection`: one of the options.
        Selection = "selection",
        /// `notification`: no answer; the user is only told.
        Notification = "notification",
    }
}

impl CallbackType {
    /// Returns whether the server waits for an answer, as it does for all kinds but notifications.
    pub fn wants_answer(&self) -> bool {
        !matches!(self, Self::Notification)
    }
}

/// The parameters of `notifications/mgp.callback.request` (§13.4): a question of a server to its client during a call.
///
/// The parameters do not name the call: only the connection writes and reads `request_id`, see
/// [`Outbox`](crate::Outbox).
///
/// Reading is lenient but for the id, without which no answer is possible: other members of the wrong type count as
/// missing, and unknown members are kept.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct CallbackRequest {
    /// The id that the answer repeats.
    pub callback_id: Box<str>,
    /// The kind of answer that the server asks for. Some peers call the member `callback_type`.
    pub callback_type: CallbackType,
    /// The question for people, exactly as the server wrote it; [`shown`](Self::shown) makes it safe to display.
    pub message: String,
    /// The answers to choose from. They may be empty, or have repetitions.
    pub options: Vec<String>,
    /// The time in milliseconds for which the server waits; some servers write 0 for no limit.
    pub timeout_ms: Option<u64>,
    /// The members that this version does not know, in order.
    pub unknown: Object,
}

/// The members with a meaning of their own. `request_id` is dropped, because it would name the call of another
/// connection.
const KNOWN: [&str; 7] =
    ["callback_id", "type", "callback_type", "message", "options", "timeout_ms", "request_id"];

impl CallbackRequest {
    /// The greatest length of an id in bytes.
    pub const MAX_ID_BYTES: usize = 256;

    /// Creates a question without options and without a limit of time.
    pub fn new(id: impl Into<Box<str>>, callback_type: CallbackType, message: impl Into<String>) -> Self {
        Self {
            callback_id: id.into(),
            callback_type,
            message: message.into(),
            options: Vec::new(),
            timeout_ms: None,
            unknown: Object::new(),
        }
    }

    crate::setters! { #[must_use] self =>
        /// Sets the answers to choose from.
        pub fn with_options(options: impl IntoIterator<Item = impl Into<String>>) =>
            self.options = options.into_iter().map(Into::into).collect();
    }

    setter!(timeout_ms: u64 => with_timeout_ms);

    /// Reads the request in the parameters of a notification; returns `None` if the id is missing or too long.
    pub fn read(params: &Object) -> Option<Self> {
        let id = params.text("callback_id").filter(|id| !id.is_empty() && id.len() <= Self::MAX_ID_BYTES)?;
        let word = params.text("type").or_else(|| params.text("callback_type")).unwrap_or_default();
        Some(Self {
            callback_id: (*id).into(),
            callback_type: (*word).into(),
            message: params.text("message").unwrap_or_default().into_owned(),
            options: params.get("options").and_then(|raw| raw.to().ok()).unwrap_or_default(),
            timeout_ms: params.get("timeout_ms").and_then(|raw| raw.to().ok()),
            unknown: leftover(params, &KNOWN),
        })
    }

    /// Returns a text of a request in a form that is safe to show to people, on a terminal or as plain text: control
    /// characters, invisible characters and those that turn the direction of writing are written out, as `\u{1b}`. Line
    /// breaks and tabs stay.
    ///
    /// The result is for display only: an answer names an option as it came.
    ///
    /// ```
    /// use mgp_types::mgp::CallbackRequest;
    ///
    /// assert_eq!(CallbackRequest::shown("Delete \u{202e}txt.exe\u{1b}[8m?"), r"Delete \u{202e}txt.exe\u{1b}[8m?");
    /// assert_eq!(CallbackRequest::shown("Löschen?\n\t✓ 是"), "Löschen?\n\t✓ 是");
    /// ```
    pub fn shown(text: &str) -> Cow<'_, str> {
        if !text.contains(is_deceptive) {
            return Cow::Borrowed(text);
        }
        let mut out = String::with_capacity(text.len() + 16);
        for character in text.chars() {
            if is_deceptive(character) {
                out.extend(character.escape_unicode());
            } else {
                out.push(character);
            }
        }
        Cow::Owned(out)
    }

    /// Returns the parameters of the notification.
    pub fn to_params(&self) -> Object {
        let mut out = ObjectWriter::new();
        out.text("callback_id", &self.callback_id);
        out.text("type", self.callback_type.as_str());
        out.text("message", &self.message);
        out.optional("options", Some(&self.options).filter(|options| !options.is_empty()));
        out.optional("timeout_ms", self.timeout_ms.as_ref());
        out.others(&self.unknown, &KNOWN);
        out.finish()
    }
}

record! {
    /// The parameters of `mgp/callback/respond` (§13.4).
    pub struct CallbackRespond {
        /// The id of the answered callback.
        required callback_id: into Box<str>;
        /// The answer, any JSON.
        required response: RawJson;
    }

    /// The result of `mgp/callback/respond`; the specification leaves its form open.
    pub struct CallbackAnswer: Eq {
        /// The id of the answered callback.
        required callback_id: into Box<str>;
        /// True if the server takes this answer. The first answer counts.
        required accepted: bool;
    }
}

/// Returns whether the character makes people see another text than the one written. Joiners and
/// selectors of variants are not deceptive: scripts and emoji need them.
fn is_deceptive(character: char) -> bool {
    let is_needed = matches!(character,
        '\n' | '\t' | '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{200c}' | '\u{200d}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{e0100}'..='\u{e01ef}');
    !is_needed && is_hidden(character)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(json: &str) -> Option<CallbackRequest> {
        CallbackRequest::read(&Object::parse(json.to_owned()).unwrap())
    }

    // covers: MGP-13.4-03, MGP-13.4-05..08
    #[test]
    fn a_request_has_the_members_of_the_specification() {
        let json = concat!(
            r#"{"callback_id":"cb-001","type":"confirmation","#,
            r#""message":"This operation will delete 15 files. Continue?","#,
            r#""options":["confirm","cancel"],"timeout_ms":60000}"#
        );
        let request = CallbackRequest::new(
            "cb-001",
            CallbackType::Confirmation,
            "This operation will delete 15 files. Continue?",
        )
        .with_options(["confirm", "cancel"])
        .with_timeout_ms(60_000);
        assert_eq!(read(json), Some(request.clone()));
        assert_eq!(request.to_params().to_raw().as_bytes(), json.as_bytes());
    }

    #[test]
    fn a_request_needs_no_more_than_an_id() {
        let bare = read(r#"{"callback_id":"a"}"#).unwrap();
        assert_eq!(bare, CallbackRequest::new("a", CallbackType::Unknown("".into()), ""));
        let odd = r#"{"callback_id":"a","options":[1],"timeout_ms":-5,"message":null,"request_id":20}"#;
        assert_eq!(read(odd), Some(bare));
        let long = format!(r#"{{"callback_id":"{}"}}"#, "a".repeat(257));
        for wrong in [r#"{"callback_id":1}"#, r#"{"callback_id":""}"#, "{}", &long] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn what_later_drafts_ask_is_read_and_written_again() {
        let json = r#"{"callback_id":"a","callback_type":"llm_completion","messages":[{"role":"user"}]}"#;
        let request = read(json).unwrap();
        assert_eq!(request.callback_type, CallbackType::Unknown("llm_completion".into()));
        let written = concat!(
            r#"{"callback_id":"a","type":"llm_completion","message":"","#,
            r#""messages":[{"role":"user"}]}"#
        );
        assert_eq!(request.to_params().to_raw().as_bytes(), written.as_bytes());
    }

    // covers: MGP-13.4-12..15
    #[test]
    fn the_types_have_their_names_and_only_a_notification_wants_no_answer() {
        let types = ["confirmation", "input", "selection", "notification"].map(CallbackType::from);
        let expected = [
            CallbackType::Confirmation,
            CallbackType::Input,
            CallbackType::Selection,
            CallbackType::Notification,
        ];
        assert_eq!(types, expected);
        assert_eq!(types.map(|known| known.wants_answer()), [true, true, true, false]);
        assert_eq!(CallbackType::from("llm_completion").to_string(), "llm_completion");
    }

    #[test]
    fn what_is_shown_cannot_control_turn_or_hide() {
        for text in
            ["\u{1b}[2J", "a\rb", "\u{7f}", "\u{9b}8m", "\0", "\u{202e}", "\u{2067}", "\u{e0041}", "\u{200b}"]
        {
            let shown = CallbackRequest::shown(text);
            assert!(shown.contains(r"\u{") && !shown.contains(is_deceptive), "{text:?}");
        }
        for text in ["", "Löschen?\n\t- ja", "مرحبا", "👩\u{200d}💻", "❤\u{fe0f}"] {
            assert!(matches!(CallbackRequest::shown(text), Cow::Borrowed(same) if same == text), "{text:?}");
        }
        let large = "\u{1b}".repeat(1 << 20);
        assert_eq!(CallbackRequest::shown(&large).len(), 6 << 20);
    }
}
