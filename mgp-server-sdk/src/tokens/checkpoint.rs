//! Places in a long call, from which another call goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use mgp_stream::call::FIRST_INDEX;
use mgp_transport::token::{TokenBinding, TokenError, TokenPurpose};
use mgp_types::ext::{ExtensionId, MAX_CHECKPOINT_BYTES, RESUME, Resume};
use mgp_types::{Error, Object, RawJson, Request};
use serde::{Deserialize, Serialize};

use super::{TokenKeys, TokenSettings, TokenTool, call_binding, meta};

/// The checkpoints of one call.
pub(crate) struct CallCheckpoints {
    keys: Arc<TokenKeys>,
    binding: TokenBinding,
    /// The id of the operation that the call is about.
    pub(crate) operation: Box<str>,
    /// The place from which the call goes on.
    pub(crate) resumed: Option<RawJson>,
    /// The number of the first part of this call.
    first: u64,
    sent: AtomicU64,
}

/// The content of a checkpoint's token.
#[derive(Debug, Serialize, Deserialize)]
struct SealedCheckpoint {
    operation: Box<str>,
    /// The number of the next part.
    next: u64,
    cursor: RawJson,
}

/// The time for which a call can be resumed.
const TTL: Duration = Duration::from_mins(15);

impl CallCheckpoints {
    /// Opens the checkpoint that the call goes on from, if it goes on from one; `None` if the tool has no checkpoints or
    /// the client does not know them.
    pub(crate) fn of(
        settings: &TokenSettings,
        tool: &TokenTool,
        request: &Request,
    ) -> Result<Option<Self>, Error> {
        let supports = tool.declared.as_ref().is_some_and(|declared| declared.supports_checkpoint);
        if !supports && !request.params.contains("_meta") {
            return Ok(None);
        }
        let session = request.context.session.as_ref();
        if !session.is_some_and(|session| session.extensions().has(ExtensionId::Streaming)) {
            return Ok(None);
        }
        let meta = meta(&request.params);
        if !supports {
            return if meta.contains(RESUME) { Err(Resume::unsupported(&tool.name)) } else { Ok(None) };
        }
        let binding = call_binding(TokenPurpose::Checkpoint, tool, request)?;
        let keys = settings.keys()?.clone();
        let (operation, first, resumed) = match Resume::read(&meta)? {
            None => (mgp_types::random_name().into(), 0, None),
            Some(resume) => {
                let sealed = opened(&keys, &binding, &resume)?;
                (sealed.operation, sealed.next, Some(sealed.cursor))
            }
        };
        Ok(Some(Self { keys, binding, operation, resumed, first, sent: AtomicU64::new(0) }))
    }

    /// Returns the members by which a message tells of the checkpoint `cursor`, `ahead` parts after those that were sent.
    ///
    /// # Errors
    /// -32603: the token would be too long.
    pub(crate) fn members(&self, cursor: RawJson, ahead: u64) -> Result<Object, Error> {
        let next = self.first + self.sent.load(Ordering::Acquire) + ahead;
        let sealed = SealedCheckpoint { operation: self.operation.clone(), next, cursor };
        let content = mgp_types::mgp::written(&sealed)?;
        let key = &self.keys.sealing;
        let token = key.seal(content.as_bytes(), &self.binding, TTL).map_err(|why| {
            let message = format!("a checkpoint takes at most {MAX_CHECKPOINT_BYTES} bytes; keep less in it");
            Error::internal(message).with_source(why)
        })?;
        let (operation, token) = (RawJson::from_text(&self.operation), RawJson::from_text(&token));
        Ok(Object::from([("operation_id", operation), ("checkpoint_token", token)]))
    }

    /// Tells the layer that numbers the parts from which number on, if the call goes on with another one.
    pub(crate) fn number(&self, params: &mut Object) {
        if self.resumed.is_some()
            && let Ok(first) = RawJson::from_value(&self.first)
        {
            params.set(FIRST_INDEX, first);
        }
    }

    /// Notes that a part was sent.
    pub(crate) fn sent(&self) {
        self.sent.fetch_add(1, Ordering::AcqRel);
    }
}

mgp_types::partial_debug!(CallCheckpoints, self => operation: self.operation, first: self.first);

fn opened(keys: &TokenKeys, binding: &TokenBinding, resume: &Resume) -> Result<SealedCheckpoint, Error> {
    let content = keys.sealing.open(&resume.checkpoint_token, binding).map_err(|why| match why {
        TokenError::Expired => Resume::expired(),
        _ => Resume::invalid(),
    })?;
    let sealed = RawJson::parse(content).ok().and_then(|content| content.to::<SealedCheckpoint>().ok());
    sealed.filter(|sealed| sealed.operation == resume.operation_id).ok_or_else(Resume::invalid)
}
