//! Whether what came through the kernel is, byte for byte, what the server wrote.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use serde::Deserialize;
use serde_json::value::RawValue;

/// The members of an object, each as it was written.
pub(super) type Members = BTreeMap<String, Box<RawValue>>;

/// An answer, with its members as they were written.
#[derive(Debug, Deserialize)]
pub(super) struct Answer {
    pub(super) result: Option<Members>,
    pub(super) error: Option<Members>,
}

impl Answer {
    pub(super) fn read(line: &str) -> Result<Self> {
        serde_json::from_str(line).with_context(|| format!("no answer of JSON-RPC: {line}"))
    }

    /// Returns whether the answer is a result that reports no error.
    pub(super) fn succeeds(&self) -> bool {
        let is_error = |result: &Members| result.get("isError").is_some_and(|raw| raw.get() == "true");
        self.result.as_ref().is_some_and(|result| !is_error(result))
    }

    /// Returns the difference from the answer that the server itself gave. A peer may add members, and must leave those
    /// that were there.
    pub(super) fn difference(&self, direct: &Self, digits: Digits) -> Option<String> {
        if digits == Digits::Text {
            let (own, other) = (self.succeeds(), direct.succeeds());
            return (own != other).then(|| format!("it succeeds: {own} in place of {other}: {self:?}"));
        }
        match (&direct.result, &direct.error, &self.result, &self.error) {
            (Some(wanted), _, Some(got), _) => difference(wanted, got, &OF_THE_ERA, digits),
            (None, Some(wanted), _, Some(got)) => {
                difference(wanted, got, &["message"], digits).or_else(|| other_message(wanted, got, digits))
            }
            (Some(_), _, _, Some(error)) => Some(format!("an error in place of a result: {error:?}")),
            _ => Some("a result in place of an error".into()),
        }
    }
}

/// The part of an answer that has to be the same: all of it; all but numbers, as in answers that tell times or process
/// ids; or only whether the call succeeds, as in answers that change with what the calls before them did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Digits {
    Same,
    Any,
    Text,
}

/// Members of a result that only one of the eras has, or that say who answers.
const OF_THE_ERA: [&str; 2] = ["resultType", "_meta"];

/// The first of the wanted members that is missing or written in another way, apart from those in `but`.
pub(super) fn difference(wanted: &Members, got: &Members, but: &[&str], digits: Digits) -> Option<String> {
    let written = |value: &RawValue| match digits {
        Digits::Same => value.get().to_owned(),
        Digits::Any | Digits::Text => without_numbers(value.get()),
    };
    for (name, value) in wanted.iter().filter(|(name, _)| !but.contains(&name.as_str())) {
        match got.get(name) {
            None => return Some(format!("`{name}` is missing")),
            Some(other) if written(other) != written(value) => {
                return Some(format!("`{name}` is {} in place of {}", excerpt(other), excerpt(value)));
            }
            Some(_) => {}
        }
    }
    None
}

/// The text with one `0` for each number in it, of however many digits.
fn without_numbers(text: &str) -> String {
    let mut in_number = false;
    let begins = |c: &char| !(std::mem::replace(&mut in_number, c.is_ascii_digit()) && c.is_ascii_digit());
    text.chars().filter(begins).map(|c| if c.is_ascii_digit() { '0' } else { c }).collect()
}

/// The message of an error, if it is not that of the server on one line, with the server's name in front.
fn other_message(wanted: &Members, got: &Members, digits: Digits) -> Option<String> {
    let words = |members: &Members| {
        let text: String = serde_json::from_str(members.get("message")?.get()).ok()?;
        let text = if digits == Digits::Same { text } else { without_numbers(&text) };
        Some(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    };
    let (wanted, got) = (words(wanted), words(got));
    let said = got.as_ref().and_then(|got| got.split_first()).filter(|(name, _)| name.ends_with(':'));
    let is_same = said.map(|(_, said)| said) == wanted.as_deref();
    (!is_same).then(|| format!("the message is {got:?} in place of {wanted:?}"))
}

/// Returns the members with the letters of each in order: what a server writes in another order each time is the same
/// then.
pub(super) fn shuffled(members: &Members) -> BTreeMap<&str, Vec<u8>> {
    let sorted = |value: &RawValue| {
        let mut letters = value.get().as_bytes().to_vec();
        letters.sort_unstable();
        letters
    };
    members.iter().map(|(name, value)| (&**name, sorted(value))).collect()
}

fn excerpt(value: &RawValue) -> String {
    const LONGEST: usize = 200;
    let text = value.get();
    text.char_indices().nth(LONGEST).map_or_else(|| text.to_owned(), |(end, _)| format!("{}…", &text[..end]))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn differs(direct: &str, through: &str, digits: Digits) -> Option<String> {
        let read = |text| Answer::read(text).expect("an answer");
        read(through).difference(&read(direct), digits)
    }

    #[test]
    fn added_members_are_no_difference_and_lost_or_rewritten_ones_are() {
        let direct = r#"{"id":1,"result":{"content":[{"n":1.0}]}}"#;
        let same = r#"{"id":7,"result":{"resultType":"complete","content":[{"n":1.0}]}}"#;
        assert_eq!(differs(direct, same, Digits::Same), None);
        let rewritten = r#"{"id":7,"result":{"content":[{"n":1}]}}"#;
        assert!(differs(direct, rewritten, Digits::Same).is_some());
        assert!(differs(direct, r#"{"id":7,"result":{}}"#, Digits::Same).is_some());
        assert!(differs(direct, r#"{"id":7,"error":{"code":1}}"#, Digits::Same).is_some());
    }

    #[test]
    fn the_message_of_an_error_has_the_name_of_its_server_and_stands_on_one_line() {
        let direct = r#"{"error":{"code":-1,"message":"no pod\n  in 3 ms"}}"#;
        let through = |message: &str| format!(r#"{{"error":{{"code":-1,"message":"{message}"}}}}"#);
        assert_eq!(differs(direct, &through("kube: no pod in 3 ms"), Digits::Same), None);
        assert_eq!(differs(direct, &through("kube: no pod in 4 ms"), Digits::Any), None);
        for other in ["no pod in 3 ms", "kube: no pod", "kube: no pod in 4 ms"] {
            assert!(differs(direct, &through(other), Digits::Same).is_some(), "{other}");
        }
    }

    #[test]
    fn digits_may_change_only_where_they_do_without_the_kernel() {
        let answer = |text: &str| format!(r#"{{"result":{{"content":"{text}"}}}}"#);
        let one = answer("took 12 ms in process 9977");
        for two in ["took 31 ms in process 9978", "took 7 ms in process 10014"] {
            assert!(differs(&one, &answer(two), Digits::Same).is_some(), "{two}");
            assert_eq!(differs(&one, &answer(two), Digits::Any), None, "{two}");
        }
        assert!(differs(&one, &answer("took ms in process 9977"), Digits::Any).is_some());
    }

    #[test]
    fn an_answer_that_changes_each_time_has_to_succeed_as_often_as_directly() {
        let (done, failed) =
            (r#"{"result":{"content":"a"}}"#, r#"{"result":{"content":"b","isError":true}}"#);
        assert_eq!(differs(done, r#"{"result":{"content":"c"}}"#, Digits::Text), None);
        assert!(differs(done, failed, Digits::Text).is_some());
        assert!(differs(failed, r#"{"error":{}}"#, Digits::Text).is_none());
    }

    #[test]
    fn a_definition_of_sets_is_the_same_in_any_order_of_its_letters() {
        let read = |text: &str| serde_json::from_str::<Members>(text).expect("members");
        let [one, two] = [r#"{"d":"a, b"}"#, r#"{"d":"b, a"}"#].map(read);
        assert!(shuffled(&one) == shuffled(&two) && shuffled(&one) != shuffled(&read(r#"{"d":"a, c"}"#)));
    }
}
