//! What clients carry for the server from call to call: session state, checkpoints, and confirmations. The guard around the
//! handler of each tool (`tool/guard.rs`) opens it and writes it.

mod checkpoint;
mod confirm;
mod session;

use std::sync::Arc;
use std::time::Duration;

use mgp_transport::token::{SealingKey, SingleUseTokens, TokenBinding, TokenPurpose};
use mgp_types::canonical::digest;
use mgp_types::ext::{ExtensionId, ExtensionIds, ToolDeclaration};
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Object, Params, Request};

pub(crate) use self::checkpoint::CallCheckpoints;
pub(crate) use self::confirm::{ConfirmForm, Confirmation, declined};
pub(crate) use self::session::{CallSession, invalid as invalid_session};

/// The tokens that a server gives, and their keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenSettings {
    /// The time for which an unused session lasts; `None` for a server without sessions.
    pub(crate) session_idle_timeout: Option<Duration>,
    /// The extensions that the server declares.
    offered: ExtensionIds,
    keys: Option<Arc<TokenKeys>>,
}

#[derive(Debug)]
struct TokenKeys {
    sealing: SealingKey,
    confirmations: SingleUseTokens,
}

impl TokenSettings {
    /// Gives the server its key, once it is known which extensions it declares.
    pub(crate) fn seal_with(&mut self, key: &SealingKey, offered: ExtensionIds) {
        let confirmations = SingleUseTokens::new(key.clone());
        self.keys = Some(Arc::new(TokenKeys { sealing: key.clone(), confirmations }));
        self.offered = offered;
    }

    /// Returns whether the server and the client both have the extension.
    pub(crate) fn shares(&self, id: ExtensionId, request: &Request) -> bool {
        self.offered.has(id)
            && request.context.session.as_ref().is_some_and(|session| session.extensions().has(id))
    }

    fn keys(&self) -> Result<&Arc<TokenKeys>, Error> {
        self.keys.as_ref().ok_or_else(|| Error::internal("the server has no key for its tokens"))
    }
}

/// The tool whose calls get tokens.
#[derive(Debug)]
pub(crate) struct TokenTool {
    name: Box<str>,
    declared: Option<ToolDeclaration>,
}

impl TokenTool {
    pub(crate) fn new(name: &str, declared: Option<&ToolDeclaration>) -> Self {
        Self { name: name.into(), declared: declared.cloned() }
    }
}

/// The tokens that the client of one call carries for the server.
#[derive(Debug)]
pub(crate) struct CallTokens {
    pub(crate) session: Option<CallSession>,
    pub(crate) checkpoints: Option<CallCheckpoints>,
}

/// Binds a token to a call: to its caller, its tool, and its arguments, however they are written.
fn call_binding(purpose: TokenPurpose, tool: &TokenTool, request: &Request) -> Result<TokenBinding, Error> {
    let arguments = digest(&arguments(&request.params)?.to_raw()).map_err(|error| {
        Error::invalid_params("the arguments cannot be tied to a token").with_source(error)
    })?;
    let binding = TokenBinding::new(purpose, request.context.principal.as_ref());
    Ok(binding.and(tool.name.as_bytes()).and(arguments.as_bytes()))
}

/// Returns the arguments of a call; none and null ones are an empty object.
fn arguments(params: &Params) -> Result<Object, Error> {
    match params.get("arguments").filter(|arguments| !arguments.is_null()) {
        None => Ok(Object::new()),
        Some(arguments) => Ok(Object::from_raw(&arguments)?),
    }
}

/// Returns the metadata of a call.
fn meta(params: &Params) -> Object {
    params.object("_meta").unwrap_or_default()
}

/// Returns an error of MGP with advice.
fn refusal(code: i64, message: impl Into<std::borrow::Cow<'static, str>>) -> Error {
    Error::new(code, message).with_recovery(Recovery::for_code(code).unwrap_or_default())
}
