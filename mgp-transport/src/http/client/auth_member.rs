//! The key that a client puts into its messages.

use std::sync::Arc;

use mgp_types::RawJson;

/// A key as the member `auth` of messages, beside `params`.
#[derive(Clone)]
pub(super) struct AuthMember(Arc<[u8]>);

impl AuthMember {
    /// Creates the member of a bearer token.
    pub(super) fn bearer(token: &str) -> Self {
        let token = RawJson::from_text(token);
        Self([&br#","auth":{"type":"bearer","token":"#[..], token.as_bytes(), b"}}"].concat().into())
    }

    /// Adds the member to a message, which is an object with members.
    pub(super) fn add_to(&self, message: &mut Vec<u8>) {
        if message.last() == Some(&b'}') {
            message.pop();
            message.extend_from_slice(&self.0);
        }
    }
}

mgp_types::partial_debug!(AuthMember);
