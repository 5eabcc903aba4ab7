//! What clients carry for the server from call to call: session state, checkpoints, and confirmations. It stands around
//! the handler of each tool, behind the checks of the arguments.

mod checkpoint;
mod confirm;
mod session;

use std::future::ready;
use std::sync::Arc;
use std::time::Duration;

use mgp_transport::token::{SealingKey, SingleUseTokens, TokenBinding, TokenPurpose};
use mgp_types::canonical::digest;
use mgp_types::ext::{ExtensionId, ToolDeclaration};
use mgp_types::mgp::Recovery;
use mgp_types::{Error, Object, Params, RawJson, Request};

pub(crate) use self::checkpoint::CallCheckpoints;
use self::confirm::Confirmation;
pub(crate) use self::session::{CallSession, invalid as invalid_session};
use crate::catalog::Catalog;
use crate::server_shared::{ServerDescription, ServerShared};
use crate::tool::arguments::{self, ArgumentFault};
use crate::tool::{CallInput, ErasedTool, ToolFuture, ToolResult};

/// The tokens that a server gives, and their keys.
#[derive(Debug, Clone, Default)]
pub(crate) struct TokenSettings {
    /// The time for which an unused session lasts; `None` for a server without sessions.
    pub(crate) session_idle_timeout: Option<Duration>,
    keys: Option<TokenKeys>,
}

#[derive(Debug, Clone)]
struct TokenKeys {
    sealing: SealingKey,
    confirmations: Arc<SingleUseTokens>,
}

impl TokenSettings {
    pub(crate) fn seal_with(&mut self, key: &SealingKey) {
        let confirmations = Arc::new(SingleUseTokens::new(key.clone()));
        self.keys = Some(TokenKeys { sealing: key.clone(), confirmations });
    }

    fn keys(&self) -> Result<&TokenKeys, Error> {
        self.keys.as_ref().ok_or_else(|| Error::internal("the server has no key for its tokens"))
    }
}

impl ServerDescription {
    /// Declares the extensions of the tokens that the server's tools give.
    pub(crate) fn declare_tokens(&mut self, catalog: &Catalog) {
        let any = |wants: fn(&ToolDeclaration) -> bool| {
            catalog.tools.iter().any(|tool| tool.declared().is_some_and(wants))
        };
        if any(|declared| declared.requires_confirmation) {
            self.extensions.insert(ExtensionId::HumanInTheLoop.id(), RawJson::empty_object());
        }
        if any(|declared| declared.supports_checkpoint) {
            self.extensions.insert(
                ExtensionId::Streaming.id(),
                RawJson::from_written(br#"{"checkpoint":true}"#.to_vec()),
            );
        }
    }

    /// Returns whether the server and the client both have the extension.
    pub(crate) fn shares(&self, id: ExtensionId, request: &Request) -> bool {
        self.extensions.get(id.id()).is_some()
            && request.context.session.as_ref().is_some_and(|session| session.extensions().has(id))
    }
}

/// The tool whose calls get tokens.
#[derive(Debug)]
struct TokenTool {
    name: Box<str>,
    declared: Option<ToolDeclaration>,
}

/// What the client of one call carries for the server.
#[derive(Debug)]
pub(crate) struct CallTokens {
    pub(crate) session: Option<CallSession>,
    pub(crate) checkpoints: Option<CallCheckpoints>,
}

/// Puts the tokens around the handler of a tool.
pub(crate) fn around(name: &str, declared: Option<&ToolDeclaration>, handler: ErasedTool) -> ErasedTool {
    let tool = Arc::new(TokenTool { name: name.into(), declared: declared.cloned() });
    ErasedTool::new(move |input: CallInput| match input.extras.shared.clone() {
        Some(shared) => start(&tool, &shared, &handler, input),
        None => handler.call(input),
    })
}

fn start(
    tool: &Arc<TokenTool>,
    shared: &Arc<ServerShared>,
    handler: &ErasedTool,
    mut input: CallInput,
) -> Result<ToolFuture, ArgumentFault> {
    let session = match CallSession::of(shared, tool, &input.request) {
        Ok(session) => session,
        Err(refused) => return Ok(Box::pin(refused.tell(input.request.context.outbox))),
    };
    let checkpoints = match CallCheckpoints::of(shared, tool, &input.request) {
        Ok(checkpoints) => checkpoints,
        Err(error) => return Ok(Box::pin(ready(Err(error)))),
    };
    let confirmation = match Confirmation::of(shared, tool, &input.request) {
        Ok(confirmation) => confirmation,
        Err(error) => return Ok(Box::pin(ready(Err(error)))),
    };
    if session.is_some() || checkpoints.is_some() {
        input.extras.tokens = Some(Arc::new(CallTokens { session, checkpoints }));
    }
    match confirmation {
        Confirmation::Given => run(handler, input),
        Confirmation::Required(answer) => Ok(Box::pin(ready(Ok(ToolResult::from(*answer))))),
        Confirmation::Asked(question) => {
            let handler = handler.clone();
            Ok(Box::pin(async move {
                confirm::ask(&input, question).await?;
                match run(&handler, input) {
                    Ok(future) => future.await,
                    Err(fault) => Ok(ToolResult::refused(fault)),
                }
            }))
        }
    }
}

/// Runs the handler, and writes the state of the session into its result.
fn run(handler: &ErasedTool, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
    let Some(tokens) = input.extras.tokens.clone().filter(|tokens| tokens.session.is_some()) else {
        return handler.call(input);
    };
    let outbox = input.request.context.outbox.clone();
    let future = handler.call(input)?;
    Ok(Box::pin(async move {
        let result = future.await?;
        match &tokens.session {
            Some(session) => Ok(result.with_hints(&session.close(&outbox).await)),
            None => Ok(result),
        }
    }))
}

/// Binds a token to a call: to its caller, its tool, and its arguments, however they are written.
fn call_binding(purpose: TokenPurpose, tool: &TokenTool, request: &Request) -> Result<TokenBinding, Error> {
    let given = RawJson::parse(arguments::bytes(&request.params).to_vec())?;
    let arguments = digest(&given).map_err(|error| {
        Error::invalid_params("the arguments cannot be tied to a token").with_source(error)
    })?;
    let binding = TokenBinding::new(purpose, request.context.principal.as_ref());
    Ok(binding.and(tool.name.as_bytes()).and(arguments.as_bytes()))
}

/// Returns the metadata of a call.
fn meta(params: &Params) -> Object {
    params.object("_meta").unwrap_or_default()
}

/// Returns an error of MGP with advice and the fact `details`.
fn refusal(
    code: i64,
    message: impl Into<std::borrow::Cow<'static, str>>,
    details: &[(&'static str, &str)],
) -> Error {
    let mut facts = Object::new();
    for (name, value) in details {
        facts.set(*name, RawJson::from_text(value));
    }
    let recovery = Recovery::for_code(code).unwrap_or_default();
    let recovery = if facts.is_empty() { recovery } else { recovery.with_details(&facts) };
    Error::new(code, message).with_recovery(recovery)
}
