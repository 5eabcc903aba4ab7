//! Calls that a person confirms before they are made.

use std::future::Future;

use mgp_types::ext::{
    CONFIRMATION_TOKEN, ConfirmationRequired, ExtensionId, Impact, ToolDeclaration, USER_CONFIRMED,
};
use mgp_types::mcp::{CallToolResult, Tool};
use mgp_types::{Error, Object, RawJson, RpcService, code};
use serde::Serialize;

use super::{again, meta};
use crate::{Client, ClientBuilder};

impl<L, I> ClientBuilder<L, I> {
    /// Declares that the client asks its user to confirm calls where a server wants that;
    /// [`Client::call_confirmed`] asks.
    pub fn confirmations(self) -> Self {
        self.extension(ExtensionId::HumanInTheLoop.id(), &Object::new())
    }
}

/// A question to the user: may this call be made?
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfirmationPrompt {
    /// The name of the tool.
    pub tool: Box<str>,
    /// The question, in the words of the server; it is no text of the client's own.
    pub message: Box<str>,
    /// The harm that the call can do.
    pub impact: Impact,
}

/// The way in which a question is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfirmationStyle {
    /// A plain question.
    Plain,
    /// A question with a warning.
    Warning,
    /// A question with a warning of danger, which the user answers by typing the name of the tool.
    TypeToConfirm,
}

impl ConfirmationPrompt {
    /// Returns the way in which the question is to be shown.
    pub const fn style(&self) -> ConfirmationStyle {
        match self.impact {
            Impact::Safe => ConfirmationStyle::Plain,
            Impact::Reversible => ConfirmationStyle::Warning,
            Impact::Destructive => ConfirmationStyle::TypeToConfirm,
        }
    }
}

impl<S: RpcService> Client<S> {
    /// Calls a tool as it was listed, and has the user confirm the call where the tool or the server asks for that: the call
    /// is made once `confirm` has returned true.
    ///
    /// A call of a tool that declares it is not sent before the user has agreed. A server that asks another question than
    /// the tool's own has it put to the user, too.
    ///
    /// # Errors
    /// 1022: the user declined, and nothing was done. The other errors are those of the call.
    pub async fn call_confirmed<F, A>(
        &self,
        tool: &Tool,
        arguments: impl Serialize,
        mut confirm: F,
    ) -> Result<CallToolResult, Error>
    where
        F: FnMut(ConfirmationPrompt) -> A,
        A: Future<Output = bool>,
    {
        let declared = ToolDeclaration::of_tool(tool);
        let call = self.call_listed(tool, arguments);
        let prompt = |message: &str, impact| ConfirmationPrompt {
            tool: tool.name.as_str().into(),
            message: message.into(),
            impact,
        };
        let mut shown = None;
        if declared.requires_confirmation {
            let given = call.request.as_ref().ok().and_then(|request| request.params.object("arguments"));
            let question = declared.confirmation_question(&given.unwrap_or_default());
            let question = question.unwrap_or_else(|| format!("Call the tool {}?", tool.name));
            let asked = prompt(&question, declared.risk_level.unwrap_or(Impact::Safe));
            if !confirm(asked.clone()).await {
                return Err(declined());
            }
            shown = Some(asked);
        }
        let confirmed = again(&call);
        let result = call.await?;
        let Some(required) = ConfirmationRequired::read(&meta(&result)) else { return Ok(result) };
        let asked = prompt(&required.confirmation_message, required.risk_level);
        if shown.as_ref() != Some(&asked) && !confirm(asked).await {
            return Err(declined());
        }
        confirmed
            .meta(CONFIRMATION_TOKEN, RawJson::from_text(&required.confirmation_token))
            .meta(USER_CONFIRMED, RawJson::from_written(b"true".to_vec()))
            .await
    }
}

fn declined() -> Error {
    let message =
        "the user declined the call, and it was not made; do not make it again, ask the user what to do";
    Error::new(code::CONFIRMATION_DECLINED, message)
}
