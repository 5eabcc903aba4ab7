//! The known facts about a message that is too long to be read, from its first and last bytes.

use mgp_types::{Id, RpcService, frame};

use super::incoming::IncomingDispatcher;
use super::outgoing::WriteBuffer;
use crate::TooLong;
use crate::skipped_message::{MessageHead, head, id_at_end};

/// The known facts about a message that is being skipped, until its last bytes tell the rest.
pub(super) struct UnclearMessage {
    why: TooLong,
    /// True if the message is a request or a notification; else its kind is unknown.
    is_request: bool,
}

impl<S: RpcService> IncomingDispatcher<S> {
    /// Handles the beginning of a message that is skipped. Its waiter gets the error as soon as the bytes tell which
    /// call it belongs to.
    pub(super) fn too_long(&mut self, why: TooLong, first: &[u8], writes: &mut WriteBuffer) {
        match head(first) {
            MessageHead::Answer(id) => self.replied(&id, Err(why.answer(self.setting_names))),
            MessageHead::Request(Some(id)) => self.refuse(why, Some(&id), writes),
            MessageHead::Request(None) => self.unclear = Some(UnclearMessage { why, is_request: true }),
            MessageHead::Unclear => self.unclear = Some(UnclearMessage { why, is_request: false }),
        }
    }

    /// Handles the end of a message that was skipped.
    pub(super) fn skipped(&mut self, last: &[u8], writes: &mut WriteBuffer) {
        let Some(UnclearMessage { why, is_request }) = self.unclear.take() else { return };
        match id_at_end(last) {
            Some(id) if !is_request => self.replied(&id, Err(why.answer(self.setting_names))),
            // A notification gets no answer.
            None if is_request => tracing::warn!(%why, "a notification is too long and was dropped"),
            id => self.refuse(why, id.as_ref(), writes),
        }
    }

    fn refuse(&self, why: TooLong, id: Option<&Id>, writes: &mut WriteBuffer) {
        let error = why.refusal(self.setting_names);
        writes.message(|out| frame::write_error(out, id, &error));
    }
}
