//! The tokens of a call, opened around the handler of its tool.

use std::future::ready;
use std::sync::Arc;

use mgp_types::mcp::Elicited;

use super::ToolResult;
use super::arguments::ArgumentFault;
use super::entry::{CallInput, ErasedTool, ToolFuture, or_refused};
use crate::cx::Cx;
use crate::tokens::{
    CallCheckpoints, CallSession, CallTokens, ConfirmForm, Confirmation, TokenSettings, TokenTool, declined,
};

/// Puts what the caller carries for the server around the handler of a tool: the state of its session, a place to go on
/// from, and the confirmation of a person.
pub(super) fn with_tokens(tool: TokenTool, handler: ErasedTool) -> ErasedTool {
    Arc::new(move |input: CallInput| match input.extras.server.clone() {
        Some(server) => open_tokens(&tool, &server.about.tokens, &handler, input),
        None => handler(input),
    })
}

fn open_tokens(
    tool: &TokenTool,
    settings: &TokenSettings,
    handler: &ErasedTool,
    mut input: CallInput,
) -> Result<ToolFuture, ArgumentFault> {
    let session = match CallSession::of(settings, &input.request) {
        Ok(session) => session,
        Err(refused) => {
            return Ok(Box::pin(async move { Err(refused.tell(input.request.context.outbox).await) }));
        }
    };
    let checkpoints = CallCheckpoints::of(settings, tool, &input.request);
    let confirmation = Confirmation::of(settings, tool, &input.request);
    let (checkpoints, confirmation) =
        match checkpoints.and_then(|checkpoints| Ok((checkpoints, confirmation?))) {
            Ok(both) => both,
            Err(error) => return Ok(Box::pin(ready(Err(error)))),
        };
    if session.is_some() || checkpoints.is_some() {
        input.extras.tokens = Some(Arc::new(CallTokens { session, checkpoints }));
    }
    match confirmation {
        Confirmation::Given => carry(handler, input),
        Confirmation::Required(answer) => Ok(Box::pin(ready(Ok(ToolResult::from(*answer))))),
        Confirmation::Asked(question) => {
            let handler = handler.clone();
            Ok(Box::pin(async move {
                let cx = Cx::new(input.request.clone(), input.extras.clone());
                match cx.elicit::<ConfirmForm>("mgp.confirm", question).await? {
                    Elicited::Accepted(ConfirmForm { confirm: true }) => {}
                    _ => return Err(declined()),
                }
                or_refused(carry(&handler, input)).await
            }))
        }
    }
}

/// Runs the handler, and writes the state of the session into its result.
fn carry(handler: &ErasedTool, input: CallInput) -> Result<ToolFuture, ArgumentFault> {
    let Some(tokens) = input.extras.tokens.clone().filter(|tokens| tokens.session.is_some()) else {
        return handler(input);
    };
    let outbox = input.request.context.outbox.clone();
    let future = handler(input)?;
    Ok(Box::pin(async move {
        let result = future.await?;
        match &tokens.session {
            Some(session) => Ok(result.with_hints(&session.close(&outbox).await)),
            None => Ok(result),
        }
    }))
}
