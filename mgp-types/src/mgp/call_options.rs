//! The wishes of a caller for one call: streaming and limits of time (§12.3).

use super::MEMBER;
use super::members::leftover;
use crate::Object;
use crate::json::ObjectWriter;

/// The wishes of a caller for one call: the member `_mgp` of its parameters (§12.3).
///
/// Reading is lenient: a member of another type counts as missing, and unknown members are kept.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct CallOptions {
    /// True if the server sends parts of the result as they come.
    pub stream: bool,
    /// The time in milliseconds after which nobody waits for the answer any more.
    pub deadline_ms: Option<u64>,
    /// The time in milliseconds that the call may wait for the approval of a person. The call is refused then, and may
    /// be repeated when somebody has approved it.
    pub approval_wait_ms: Option<u64>,
    /// The members that this version does not know, in order.
    pub unknown: Object,
}

const STREAM: &str = "stream";
const DEADLINE: &str = "deadline_ms";
const APPROVAL_WAIT: &str = "approval_wait_ms";
const MEMBERS: &[&str] = &[STREAM, DEADLINE, APPROVAL_WAIT];

impl CallOptions {
    /// Reads the wishes in the parameters of a call; a call without the member has none.
    pub fn of(params: &Object) -> Self {
        let Some(wishes) = params.object(MEMBER) else {
            return Self::default();
        };
        Self {
            stream: wishes.get(STREAM).and_then(|raw| raw.to().ok()).unwrap_or_default(),
            deadline_ms: wishes.get(DEADLINE).and_then(|raw| raw.to().ok()),
            approval_wait_ms: wishes.get(APPROVAL_WAIT).and_then(|raw| raw.to().ok()),
            unknown: leftover(&wishes, MEMBERS),
        }
    }

    /// Writes the wishes into the parameters of a call, in place of earlier ones.
    pub fn write(&self, params: &mut Object) {
        let mut out = ObjectWriter::new();
        if self.stream {
            out.value(STREAM, &true);
        }
        out.optional(DEADLINE, self.deadline_ms.as_ref());
        out.optional(APPROVAL_WAIT, self.approval_wait_ms.as_ref());
        out.others(&self.unknown, MEMBERS);
        let wishes = out.finish();
        if wishes.is_empty() {
            params.remove(MEMBER);
        } else {
            params.set(MEMBER, wishes.to_raw());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // covers: MGP-12.3-01
    #[test]
    fn wishes_are_read_and_written_beside_what_others_say() {
        let mut params =
            Object::parse(r#"{"name":"think","_mgp":{"delegation":{"chain":[]},"stream":true}}"#).unwrap();
        let mut wishes = CallOptions::of(&params);
        assert!(wishes.stream && wishes.deadline_ms.is_none());
        wishes.deadline_ms = Some(1500);
        wishes.write(&mut params);
        let expected =
            r#"{"name":"think","_mgp":{"stream":true,"deadline_ms":1500,"delegation":{"chain":[]}}}"#;
        assert_eq!(params.to_raw().as_bytes(), expected.as_bytes());
    }

    #[test]
    fn wishes_of_the_wrong_type_are_none() {
        for json in [r#"{"_mgp":true}"#, r#"{"_mgp":{"stream":"yes","deadline_ms":-1}}"#, "{}"] {
            let wishes = CallOptions::of(&Object::parse(json).unwrap());
            assert!(!wishes.stream && wishes.deadline_ms.is_none(), "{json}");
        }
        let mut params = Object::parse(r#"{"_mgp":{"stream":true}}"#).unwrap();
        CallOptions::default().write(&mut params);
        assert!(params.is_empty());
    }
}
