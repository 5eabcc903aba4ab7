//! A call with a key, as a request tells it.

use mgp_types::canonical::{Digest, digest};
use mgp_types::ext::{IDEMPOTENCY_HEADER, IdempotencyKey, IdempotentCall};
use mgp_types::mgp::{ServerId, ToolName};
use mgp_types::{Error, Method, Principal, RawJson, Request, RequestKind};

/// A call with a key.
#[derive(Debug, Clone)]
pub(super) struct KeyedCall {
    /// The key, and the time for which it holds.
    pub(super) key_terms: IdempotentCall,
    /// The digest of the caller, the server, the tool and the key.
    pub(super) id: Digest,
    /// The digest of the caller.
    pub(super) caller: Digest,
    /// The digest of the arguments.
    pub(super) arguments: Digest,
}

impl KeyedCall {
    /// Reads the call; `None` if the request calls no tool, or has no key.
    ///
    /// # Errors
    /// The key has another form, the header names another one, or the arguments have no canonical form.
    pub(super) fn of(request: &Request) -> Result<Option<Self>, Error> {
        if request.kind != RequestKind::Call || request.method != Method::TOOLS_CALL {
            return Ok(None);
        }
        let Some(key_terms) = key_of(request)? else { return Ok(None) };
        let principal = request.context.principal.as_ref();
        let who = [
            principal.map_or("", |principal| principal.kind().as_str()),
            principal.map_or("", Principal::as_str),
        ];
        let tool = request.context.tool.as_deref();
        let name = request.params.text("name").unwrap_or_default();
        let what = [
            tool.map_or("", |tool| ServerId::as_str(&tool.server)),
            tool.map_or(&*name, |tool| ToolName::as_str(&tool.name)),
            key_terms.key.as_str(),
        ];
        let arguments = request.params.get("arguments").unwrap_or(RawJson::empty_object());
        let arguments = digest(&arguments).map_err(|error| {
            Error::invalid_params("the arguments cannot be tied to an idempotency key").with_source(error)
        })?;
        let of = |purpose: &str, more: &[&str]| {
            let parts = std::iter::once(purpose).chain(who).chain(more.iter().copied());
            Digest::of_parts(parts.map(str::as_bytes))
        };
        Ok(Some(Self {
            id: of("mgp idempotent call 1", &what),
            caller: of("mgp caller 1", &[]),
            arguments,
            key_terms,
        }))
    }
}

/// Returns the key in the metadata of a request, or in its HTTP header.
pub(super) fn key_of(request: &Request) -> Result<Option<IdempotentCall>, Error> {
    let mut meta = request.params.object("_meta").unwrap_or_default();
    let in_body = IdempotentCall::read(&meta)?;
    let Some(key) = key_in_header(request)? else { return Ok(in_body) };
    match in_body {
        Some(call) if call.key != key => {
            Err(refuse(request, "the header X-Idempotency-Key and `_meta.idempotency_key` differ"))
        }
        Some(call) => Ok(Some(call)),
        None => {
            // The time for which the key holds is in the metadata.
            IdempotentCall::new(key).write(&mut meta);
            IdempotentCall::read(&meta)
        }
    }
}

/// Returns the key in the HTTP header of a request.
pub(super) fn key_in_header(request: &Request) -> Result<Option<IdempotencyKey>, Error> {
    let head = request.extensions.get::<http::request::Parts>();
    let Some(header) = head.and_then(|head| head.headers.get(IDEMPOTENCY_HEADER)) else { return Ok(None) };
    let key = header.to_str().ok().and_then(|key| key.parse().ok());
    let wrong = "the header X-Idempotency-Key has 1 to 128 letters, digits or characters of `_-:.`";
    key.map(Some).ok_or_else(|| refuse(request, wrong))
}

fn refuse(request: &Request, message: &'static str) -> Error {
    let is_stateless =
        request.context.session.as_ref().is_some_and(|session| session.revision.is_stateless());
    if is_stateless { Error::header_mismatch(message) } else { Error::invalid_params(message) }
}
