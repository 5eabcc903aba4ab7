//! The client's answers to callbacks, read for the server that asked.

use mgp_types::RawJson;
use mgp_types::mcp::Elicited;

/// The outcome of a question for a yes or no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a user says yes, says no, or says nothing")]
pub enum Confirmation {
    /// The user said yes.
    Confirmed,
    /// The user said no, or gave an answer that is not known to be a yes.
    Declined,
    /// The user closed the question without an answer.
    Cancelled,
}

impl Confirmation {
    /// Returns whether the user said yes.
    pub const fn is_confirmed(self) -> bool {
        matches!(self, Self::Confirmed)
    }
}

/// The chosen option of a selection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SelectedOption {
    /// The position of the option, from 0.
    pub index: usize,
    /// The text of the option.
    pub option: String,
}

const CANCEL: [&str; 2] = ["cancel", "cancelled"];
const YES: [&str; 8] = ["confirm", "confirmed", "yes", "true", "ok", "accept", "approve", "approved"];

/// Reads a client's answer to a question for a yes or no.
///
/// Unknown answers are a no: the user is asked before actions that cannot be taken back.
pub(super) fn confirmation(response: &RawJson) -> Confirmation {
    if response.is_null() {
        return Confirmation::Cancelled;
    }
    let Some(text) = response.to_text() else {
        let is_yes = response.as_bytes() == b"true";
        return if is_yes { Confirmation::Confirmed } else { Confirmation::Declined };
    };
    let text = text.trim();
    let is = |word: &&str| word.eq_ignore_ascii_case(text);
    if CANCEL.iter().any(is) {
        Confirmation::Cancelled
    } else if YES.iter().any(is) {
        Confirmation::Confirmed
    } else {
        Confirmation::Declined
    }
}

/// Reads a client's answer to a question for a value.
pub(super) fn input(response: &RawJson) -> Elicited<RawJson> {
    if response.is_null() { Elicited::Cancelled } else { Elicited::Accepted(response.detached()) }
}

/// Reads a client's answer to a question for one of `options`; `None` if the answer is none of them.
pub(super) fn selection(options: &[String], response: &RawJson) -> Option<Elicited<SelectedOption>> {
    if response.is_null() {
        return Some(Elicited::Cancelled);
    }
    choice(options, &response.to_text()?).map(Elicited::Accepted)
}

/// Returns the option that equals `text` letter by letter: options may differ in case only.
pub(super) fn choice(options: &[String], text: &str) -> Option<SelectedOption> {
    let index = options.iter().position(|option| option == text)?;
    Some(SelectedOption { index, option: options[index].clone() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> RawJson {
        RawJson::parse(json.to_owned()).unwrap()
    }

    // covers: MGP-13.4-12, MGP-13.4-11
    #[test]
    fn only_what_is_known_to_be_a_yes_is_one() {
        for yes in [r#""confirm""#, r#"" Yes ""#, "true", r#""CONFIRM""#, r#""approve""#, r#""true""#] {
            assert_eq!(confirmation(&raw(yes)), Confirmation::Confirmed, "{yes}");
        }
        for no in [r#""no""#, "false", "1", r#""""#, r#""yes, but""#, r#"{"confirm":true}"#, "[true]"] {
            assert_eq!(confirmation(&raw(no)), Confirmation::Declined, "{no}");
        }
        for neither in [r#""cancel""#, "null", r#""Cancelled""#] {
            assert_eq!(confirmation(&raw(neither)), Confirmation::Cancelled, "{neither}");
        }
    }

    // covers: MGP-13.4-14
    #[test]
    fn a_selection_is_one_of_the_options_or_none() {
        let options = ["a".to_owned(), "A".to_owned()];
        let chosen = selection(&options, &raw(r#""A""#)).unwrap().accepted().unwrap();
        assert_eq!((chosen.index, &*chosen.option), (1, "A"));
        assert_eq!(selection(&options, &RawJson::null()), Some(Elicited::Cancelled));
        for none in [r#""b""#, "0", r#""a ""#, r#"{"index":0}"#] {
            assert_eq!(selection(&options, &raw(none)), None, "{none}");
        }
    }
}
