//! The known facts about a message that is too long to be read, from its first and last bytes.

use mgp_types::{Id, RpcService, frame};

use super::incoming::IncomingDispatcher;
use super::outgoing::WriteBuffer;
use crate::TooLong;
use crate::skipped_message::{MessageHead, head, id_at_end};

/// The known facts about a message that is being skipped, until its last bytes tell the rest.
#[derive(Debug, Clone, Copy)]
pub(super) enum UnclearMessage {
    /// The message is a request or a notification.
    Request(TooLong),
    /// The kind of message is unknown.
    Anything(TooLong),
}

impl<S: RpcService> IncomingDispatcher<S> {
    /// Handles the beginning of a message that is skipped. Its waiter gets the error as soon as the bytes tell which
    /// call it belongs to.
    pub(super) fn too_long(&mut self, why: TooLong, first: &[u8], writes: &mut WriteBuffer) {
        match head(first) {
            MessageHead::Answer(id) => self.replied(&id, Err(why.answer(self.setting_names))),
            MessageHead::Request(Some(id)) => self.refuse(why, Some(&id), writes),
            MessageHead::Request(None) => self.unclear = Some(UnclearMessage::Request(why)),
            MessageHead::Unclear => self.unclear = Some(UnclearMessage::Anything(why)),
        }
    }

    /// Handles the end of a message that was skipped.
    pub(super) fn skipped(&mut self, last: &[u8], writes: &mut WriteBuffer) {
        match (self.unclear.take(), id_at_end(last)) {
            (Some(UnclearMessage::Request(why)), Some(id)) => self.refuse(why, Some(&id), writes),
            (Some(UnclearMessage::Anything(why)), Some(id)) => {
                self.replied(&id, Err(why.answer(self.setting_names)));
            }
            (Some(UnclearMessage::Anything(why)), None) => self.refuse(why, None, writes),
            // A notification gets no answer.
            (Some(UnclearMessage::Request(why)), None) => {
                tracing::warn!(%why, "a notification is too long and was dropped");
            }
            (None, _) => {}
        }
    }

    fn refuse(&self, why: TooLong, id: Option<&Id>, writes: &mut WriteBuffer) {
        let error = why.refusal(self.setting_names);
        writes.message(|out| frame::write_error(out, id, &error));
    }
}
