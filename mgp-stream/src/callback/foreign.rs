//! Callbacks of a server behind a gateway, asked by the gateway in its own name.

use std::collections::HashSet;

use foldhash::quality::RandomState;
use mgp_types::RawJson;
use mgp_types::mcp::{ElicitResult, FormSchema};
use mgp_types::mgp::{CallbackRequest, CallbackType};

use super::answer::{CallbackReply, Confirmation};
use super::elicit;
use super::question::{AnswerReader, Callback, wait_for};

const CANCEL: &str = "cancel";

impl Callback<RawJson> {
    /// Creates the question of a server behind a gateway for a client in front of it; the answer is the response to
    /// that server.
    ///
    /// A client with callbacks answers in its own words. From a form comes one of the options, a text, or `confirm` and
    /// `cancel` for a confirmation without options; the words of a confirmation are offered as a selection rather than
    /// taken for yes and no, because only the server knows which is which. A user who says no or nothing responds
    /// `cancel` where that is an option, and `null` else.
    ///
    /// Options that are empty or come twice are left out: the user could not tell them from others, and the server is
    /// answered with the option and not with its position.
    ///
    /// Returns `None` for callbacks that need no answer, for unknown types, and for a selection without options.
    pub fn foreign(request: &CallbackRequest) -> Option<Self> {
        let options = distinct(&request.options);
        let reading = match request.callback_type {
            CallbackType::Confirmation | CallbackType::Selection if !options.is_empty() => {
                reading(elicit::selection_form, |options, result| {
                    Some(match elicit::selection(options, result)? {
                        CallbackReply::Given(choice) => RawJson::from_text(&choice.option),
                        CallbackReply::Declined | CallbackReply::Cancelled => refusal(options),
                    })
                })
            }
            CallbackType::Confirmation => reading(elicit::confirmation_form, |_, result| {
                let is_yes = elicit::confirmation(result) == Confirmation::Confirmed;
                Some(RawJson::from_text(if is_yes { "confirm" } else { CANCEL }))
            }),
            CallbackType::Input => reading(elicit::input_form, |_, result| {
                Some(elicit::input(result)?.given().unwrap_or(RawJson::null()))
            }),
            _ => return None,
        };
        // Options of an input are hints for the reader, and no part of a form.
        Some(
            Self::new(request.callback_type.clone(), &request.message, options, reading)
                .timeout(wait_for(request)),
        )
    }
}

/// Returns a reading that takes callbacks in the client's words, and forms as `elicited` says.
fn reading(
    form: fn(&[String]) -> FormSchema,
    elicited: fn(&[String], &ElicitResult) -> Option<RawJson>,
) -> AnswerReader<RawJson> {
    AnswerReader { response: |_, response| Some(response.detached()), form, elicited }
}

fn distinct(options: &[String]) -> Vec<String> {
    let mut known = HashSet::with_capacity_and_hasher(options.len(), RandomState::default());
    options.iter().filter(|option| !option.trim().is_empty() && known.insert(*option)).cloned().collect()
}

/// Returns the response for a user who says no, or nothing.
fn refusal(options: &[String]) -> RawJson {
    if options.iter().any(|option| option == CANCEL) { RawJson::from_text(CANCEL) } else { RawJson::null() }
}

#[cfg(test)]
mod tests {
    use mgp_types::Revision;

    use super::*;
    use crate::callback::bench::{CallbackBench, session};
    use crate::doubles::{TestPort, raw, settle};

    fn asked(kind: &str, options: &[&str]) -> CallbackRequest {
        CallbackRequest::new("cb", CallbackType::from(kind), "?").with_options(options.iter().copied())
    }

    #[tokio::test(start_paused = true)]
    async fn what_a_server_behind_asks_is_answered_from_a_form() {
        let yes = r#"{"action":"accept","content":{"answer":true}}"#;
        let second = r#"{"action":"accept","content":{"answer":"b"}}"#;
        let (no, nothing) = (r#"{"action":"decline"}"#, r#"{"action":"cancel"}"#);
        for (kind, options, answer, response) in [
            ("confirmation", &[][..], yes, r#""confirm""#),
            ("confirmation", &[], no, r#""cancel""#),
            ("confirmation", &["b", "cancel"], second, r#""b""#),
            ("confirmation", &["cancel", "b"], no, r#""cancel""#),
            ("selection", &["a", "b"], second, r#""b""#),
            ("selection", &["a", "b"], nothing, "null"),
            ("input", &[], second, r#""b""#),
            ("input", &[], no, "null"),
            ("confirmation", &["", " "], yes, r#""confirm""#),
            ("selection", &["a", "b", "", "b"], second, r#""b""#),
        ] {
            let plain = session(Revision::V2025_11_25, &[], r#"{"elicitation":{}}"#);
            let bench = CallbackBench::new(plain, TestPort::answering(answer));
            let question = Callback::foreign(&asked(kind, options)).unwrap();
            let responded = bench.callbacks.ask(&bench.context, "cb", question).await.unwrap();
            assert_eq!(responded, raw(response), "{kind} {options:?} {answer}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_with_callbacks_answers_in_its_own_words() {
        let bench = CallbackBench::with_callbacks();
        let question = Callback::foreign(&asked("selection", &["a"]).with_timeout_ms(3000)).unwrap();
        let (callbacks, context) = (bench.callbacks.clone(), bench.context.clone());
        let asking = tokio::spawn(async move { callbacks.ask(&context, "cb", question).await });
        settle().await;
        assert!(bench.lines()[0].contains(r#""options":["a"],"timeout_ms":3000"#));
        bench.respond(&bench.id(), r#"{"choice":0}"#).await.unwrap();
        assert_eq!(asking.await.unwrap().unwrap(), raw(r#"{"choice":0}"#));
    }

    #[test]
    fn what_needs_no_answer_or_has_none_is_not_asked() {
        for (kind, options) in
            [("notification", &[][..]), ("llm_completion", &["a"]), ("selection", &[]), ("selection", &[""])]
        {
            assert!(Callback::foreign(&asked(kind, options)).is_none(), "{kind}");
        }
    }
}
