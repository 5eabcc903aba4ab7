//! The state of a conversation between a client and a kernel that is needed to continue it with another kernel.

use std::collections::BTreeSet;

use bytes::Bytes;
use mgp_kernel_core::lifecycle::socket_connections::RESTARTING;
use mgp_types::Id;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use super::LONGEST_HELD;

/// The state of a conversation that is needed to continue it with another kernel.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a thing of its own that has happened")]
pub(super) struct PipeConversation {
    /// The `initialize` request of the client, with its id.
    hello: Option<(RawId, Bytes)>,
    /// The `notifications/initialized` of the client.
    ready: Option<Bytes>,
    /// The ids of the client's requests that are not answered.
    in_work: BTreeSet<RawId>,
    /// The ids of the kernel's requests that are not answered.
    asked: BTreeSet<RawId>,
    /// The lines that the current kernel may not have read: it has sent nothing yet but what opens the session again.
    unheard: Vec<Bytes>,
    /// True if the unheard lines have been sent to the current kernel.
    is_sent: bool,
    /// True if the current kernel has sent anything but what opens the session again.
    has_heard: bool,
    /// True if any kernel has sent anything.
    pub(super) has_begun: bool,
    /// True if the session has been lost and is not open again.
    is_lost: bool,
    /// True if the client's input has ended.
    pub(super) is_over: bool,
    /// True if another kernel is about to follow the current one.
    pub(super) is_followed: bool,
}

/// The id of a request as JSON text.
type RawId = Box<str>;

/// The recipient of a line from the kernel.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LineRecipient {
    ForClient,
    /// The line answers the request that opened the session again, so it is not for the client.
    Reopened,
    /// The line refuses to open the session again.
    NotReopened,
    /// The line is for the pipe itself.
    Pipe,
}

/// The members of a message that the pipe looks at; all others are skipped.
#[derive(Deserialize)]
struct LineHead<'a> {
    #[serde(borrow)]
    id: Option<&'a RawValue>,
    #[serde(borrow)]
    method: Option<std::borrow::Cow<'a, str>>,
    error: Option<IgnoredAny>,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

impl LineHead<'_> {
    /// Returns whether nothing is done twice if two kernels get the line.
    fn may_be_repeated(&self) -> bool {
        self.method.as_deref().is_some_and(|method| {
            matches!(method, "initialize" | "server/discover" | "ping")
                || method.starts_with("notifications/")
                || method.ends_with("/list")
        })
    }

    /// Returns the id of the request that a notification takes back.
    fn cancelled(&self) -> Option<&str> {
        let params: CancelledRequest<'_> = serde_json::from_str(self.params?.get()).ok()?;
        Some(params.request_id.get())
    }
}

#[derive(Deserialize)]
struct CancelledRequest<'a> {
    #[serde(borrow, rename = "requestId")]
    request_id: &'a RawValue,
}

impl PipeConversation {
    /// Records a line from the client, and returns whether it is a request.
    pub(super) fn said(&mut self, line: &Bytes) -> bool {
        if !self.has_heard && self.unheard.len() < MAX_UNHEARD && line.len() < LONGEST_HELD {
            self.unheard.push(line.clone());
        }
        let Ok(head) = serde_json::from_slice::<LineHead<'_>>(line) else { return false };
        match (head.method.as_deref(), head.id) {
            (Some(method), Some(id)) if Id::from_json(id.get().as_bytes()).is_some() => {
                self.in_work.insert(id.get().into());
                if method == "initialize" {
                    (self.hello, self.ready) = (Some((id.get().into(), line.clone())), None);
                    self.is_lost = false;
                }
                return true;
            }
            (Some("notifications/initialized"), None) => self.ready = Some(line.clone()),
            (None, Some(id)) => _ = self.asked.remove(id.get()),
            (Some("notifications/cancelled"), None) => _ = head.cancelled().map(|id| self.in_work.remove(id)),
            _ => {}
        }
        false
    }

    /// Returns whether the current kernel hears more of the client. One that another kernel is about to follow hears the answers
    /// to its questions.
    pub(super) fn goes_on(&self) -> bool {
        !(self.is_over || self.is_followed && self.asked.is_empty())
    }

    /// Returns whether the client may stop talking to the current kernel for good, which has little time for calls then.
    pub(super) fn may_leave(&self) -> bool {
        self.is_over || !self.is_waiting()
    }

    /// Returns whether a request of the client has no answer yet.
    pub(super) fn is_waiting(&self) -> bool {
        !self.in_work.is_empty()
    }

    /// Records a line from the kernel, and returns its recipient.
    pub(super) fn heard(&mut self, line: &[u8]) -> LineRecipient {
        self.has_begun = true;
        if !self.is_lost {
            self.has_heard = true;
            self.unheard.clear();
        }
        let Ok(head) = serde_json::from_slice::<LineHead<'_>>(line) else { return LineRecipient::ForClient };
        match (head.method.as_deref(), head.id) {
            (Some(_), Some(id)) => _ = self.asked.insert(id.get().into()),
            (None, Some(id)) => {
                let is_hello = self.hello.as_ref().is_some_and(|(hello, _)| **hello == *id.get());
                if self.is_lost && is_hello {
                    self.is_lost = false;
                    return if head.error.is_some() {
                        LineRecipient::NotReopened
                    } else {
                        LineRecipient::Reopened
                    };
                }
                self.in_work.remove(id.get());
            }
            (Some("notifications/cancelled"), None) => _ = head.cancelled().map(|id| self.asked.remove(id)),
            (Some(RESTARTING), None) => {
                self.is_followed = true;
                return LineRecipient::Pipe;
            }
            _ => {}
        }
        LineRecipient::ForClient
    }

    /// Records the loss of the kernel, and returns the errors that answer the client's open requests and say `why`, except
    /// those that the next kernel gets. Returns `None` if the client may still answer a question of the lost kernel: another
    /// kernel could take the answer for one to a question of its own.
    pub(super) fn lost(&mut self, why: &str) -> Option<Vec<Bytes>> {
        if !self.asked.is_empty() {
            return None;
        }
        let mut kept = BTreeSet::<RawId>::new();
        self.unheard.retain(|line| {
            let head = serde_json::from_slice::<LineHead<'_>>(line).ok();
            let stays = !self.is_sent || head.as_ref().is_some_and(LineHead::may_be_repeated);
            kept.extend(head.and_then(|head| head.id).filter(|_| stays).map(|id| RawId::from(id.get())));
            stays
        });
        self.is_lost = self.hello.as_ref().is_some_and(|(_, hello)| !self.unheard.contains(hello));
        self.has_heard = false;
        let (waiting, open): (BTreeSet<_>, BTreeSet<_>) =
            std::mem::take(&mut self.in_work).into_iter().partition(|id| kept.contains(id));
        self.in_work = waiting;
        let answers = open.into_iter().map(|id| {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32603,"message":"{why}"}}}}"#);
            Bytes::from(line + "\n")
        });
        Some(answers.collect())
    }

    /// Records the connection to another kernel, and returns the messages that open the session again.
    pub(super) fn begin(&mut self) -> Option<(Bytes, Option<Bytes>)> {
        (self.has_heard, self.is_sent, self.is_followed) = (false, false, false);
        let hello = self.hello.as_ref().filter(|_| self.is_lost);
        hello.map(|(_, hello)| (hello.clone(), self.ready.clone()))
    }

    /// Records that the current kernel hears the client from now on, and returns the lines that it gets first.
    pub(super) fn tell(&mut self) -> Vec<Bytes> {
        self.is_sent = true;
        self.unheard.clone()
    }
}

/// The largest number of lines that are kept to be repeated.
const MAX_UNHEARD: usize = 256;

#[cfg(test)]
mod tests {
    use super::super::{LOST, STOPPED};
    use super::*;

    fn said(conversation: &mut PipeConversation, lines: &[&'static str]) {
        for line in lines {
            conversation.said(&Bytes::from_static(line.as_bytes()));
        }
    }

    const HELLO: &str = r#"{"jsonrpc":"2.0","id":"a","method":"initialize","params":{}}"#;
    const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

    /// A conversation with a kernel that has sent nothing yet.
    fn told() -> PipeConversation {
        let mut conversation = PipeConversation::default();
        conversation.begin();
        conversation.tell();
        conversation
    }

    fn in_session() -> PipeConversation {
        let mut conversation = told();
        said(&mut conversation, &[HELLO]);
        assert_eq!(
            conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
            LineRecipient::ForClient
        );
        said(&mut conversation, &[READY]);
        conversation
    }

    #[test]
    fn a_lost_kernel_leaves_calls_to_be_answered_and_a_session_to_be_opened_anew() {
        let mut conversation = in_session();
        said(&mut conversation, &[r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"id":1}}"#]);
        assert!(conversation.unheard.is_empty());
        let answered = conversation.lost(LOST).unwrap();
        assert_eq!(answered.len(), 1);
        let answer: serde_json::Value = serde_json::from_slice(&answered[0]).unwrap();
        assert_eq!((&answer["id"], &answer["error"]["code"]), (&7.into(), &(-32603).into()));
        assert_eq!(conversation.begin().unwrap(), (HELLO.into(), Some(READY.into())));
        assert_eq!(conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#), LineRecipient::Reopened);
        assert_eq!(conversation.tell(), Vec::<Bytes>::new());
        assert_eq!(
            conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#),
            LineRecipient::ForClient
        );
    }

    #[test]
    fn what_no_answer_can_name_is_not_answered() {
        let mut conversation = in_session();
        for id in ["5.5", "true", "[1]", "null"] {
            let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"ping"}}"#);
            assert!(!conversation.said(&line.into()), "{id}");
        }
        assert_eq!(conversation.lost(LOST).unwrap(), Vec::<Bytes>::new());
    }

    #[test]
    fn requests_wait_for_the_kernel_that_is_about_to_follow() {
        let mut conversation = in_session();
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#;
        said(&mut conversation, &[call]);
        let notice = format!(r#"{{"jsonrpc":"2.0","method":"{RESTARTING}"}}"#);
        assert_eq!(conversation.heard(notice.as_bytes()), LineRecipient::Pipe);
        assert!(!conversation.goes_on(), "what comes is for the next kernel");
        assert!(!conversation.may_leave(), "a call is in work");
        conversation.heard(br#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create","params":{}}"#);
        assert!(conversation.goes_on(), "the kernel hears the answer");
        said(&mut conversation, &[r#"{"jsonrpc":"2.0","id":3,"result":{"action":"accept"}}"#]);
        conversation.heard(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#);
        assert!(!conversation.goes_on() && conversation.may_leave());
        assert_eq!(conversation.lost(LOST).unwrap(), Vec::<Bytes>::new(), "nothing is lost");
        conversation.begin();
        assert!(conversation.goes_on());
    }

    #[test]
    fn what_a_kernel_never_answered_in_any_way_is_said_again() {
        let mut conversation = told();
        said(&mut conversation, &[HELLO, READY]);
        assert_eq!(conversation.lost(LOST).unwrap(), Vec::<Bytes>::new());
        assert_eq!(conversation.begin(), None);
        assert_eq!(conversation.tell(), [HELLO, READY]);
    }

    #[test]
    fn a_call_that_a_kernel_may_have_made_is_answered_and_not_said_again() {
        let mut conversation = told();
        let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{}}"#;
        said(&mut conversation, &[list, r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{}}"#]);
        let answered = conversation.lost(LOST).unwrap();
        assert_eq!(answered.len(), 1);
        assert!(answered[0].starts_with(br#"{"jsonrpc":"2.0","id":2,"error""#), "{answered:?}");
        conversation.begin();
        assert_eq!(conversation.tell(), [list]);
    }

    #[test]
    fn a_call_that_no_kernel_has_got_is_kept_for_the_next_one() {
        let mut conversation = in_session();
        conversation.lost(STOPPED).unwrap();
        let call = r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{}}"#;
        said(&mut conversation, &[call]);
        assert!(conversation.begin().is_some());
        assert_eq!(conversation.lost(LOST).unwrap(), Vec::<Bytes>::new(), "the session was not open yet");
        assert!(conversation.begin().is_some());
        assert_eq!(conversation.heard(br#"{"jsonrpc":"2.0","id":"a","result":{}}"#), LineRecipient::Reopened);
        assert_eq!(conversation.tell(), [call]);
        assert_eq!(conversation.lost(LOST).unwrap().len(), 1);
    }

    #[test]
    fn an_open_question_of_the_kernel_lets_no_other_one_take_over() {
        let mut conversation = in_session();
        let question = br#"{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":{}}"#;
        conversation.heard(question);
        assert!(conversation.lost(LOST).is_none());
        said(&mut conversation, &[r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#]);
        assert!(conversation.lost(LOST).is_some());
        conversation.heard(question);
        conversation
            .heard(br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
        assert!(conversation.lost(LOST).is_some());
    }
}
