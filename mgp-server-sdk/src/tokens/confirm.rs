//! The confirmation of a call by a person, before its handler runs.

use std::time::Duration;

use mgp_transport::token::TokenPurpose;
use mgp_types::ext::{
    CONFIRMATION_TOKEN, ConfirmationRequired, ExtensionId, Impact, ToolDeclaration, USER_CONFIRMED,
};
use mgp_types::mcp::{CallToolResult, Meta};
use mgp_types::mgp::{Extension, Timestamp};
use mgp_types::{Error, Request, code};
use schemars::JsonSchema;
use serde::Deserialize;

use super::{TokenSettings, TokenTool, arguments, call_binding, meta};

/// The decision about a call that may need a confirmation.
pub(crate) enum Confirmation {
    /// The call may be made.
    Given,
    /// The call is answered with the question and a token.
    Required(Box<CallToolResult>),
    /// The client is asked this question first.
    Asked(String),
}

/// The time that a person has to confirm a call.
const TTL: Duration = Duration::from_mins(5);

impl Confirmation {
    pub(crate) fn of(settings: &TokenSettings, tool: &TokenTool, request: &Request) -> Result<Self, Error> {
        let Some(declared) = tool.declared.as_ref().filter(|declared| declared.requires_confirmation) else {
            return Ok(Self::Given);
        };
        let Some(session) = &request.context.session else { return Err(nobody_to_ask()) };
        if session.extensions().has(ExtensionId::HumanInTheLoop) {
            return by_token(settings, tool, declared, request);
        }
        //= mgp §4.3
        //# the kernel MUST request explicit human confirmation
        if session.has(&Extension::ToolSecurity) {
            return Ok(Self::Given);
        }
        if session.peer_can(&["elicitation"]) {
            return question(declared, request).map(Self::Asked);
        }
        Err(nobody_to_ask())
    }
}

fn by_token(
    settings: &TokenSettings,
    tool: &TokenTool,
    declared: &ToolDeclaration,
    request: &Request,
) -> Result<Confirmation, Error> {
    let tokens = &settings.keys()?.confirmations;
    let binding = call_binding(TokenPurpose::Confirmation, tool, request)?;
    let meta = meta(&request.params);
    let Some(token) = meta.get(CONFIRMATION_TOKEN) else {
        let question = question(declared, request)?;
        let token = tokens.seal(b"", &binding, TTL);
        let token =
            token.map_err(|why| Error::internal("the confirmation cannot be sealed").with_source(why))?;
        return Ok(Confirmation::Required(Box::new(required(declared, &question, token))));
    };
    if meta.bytes(USER_CONFIRMED) != Some(b"true") {
        let form = "`_meta.user_confirmed` must be true beside the token: a person has to agree before the call \
                    is made";
        return Err(Error::new(code::CONFIRMATION_INVALID, form).with_usual_recovery());
    }
    let is_confirmed = token.to_text().is_some_and(|token| tokens.take(&token, &binding).is_ok());
    if is_confirmed { Ok(Confirmation::Given) } else { Err(invalid()) }
}

/// Returns the answer to a call that was not made.
fn required(declared: &ToolDeclaration, question: &str, token: String) -> CallToolResult {
    let mut answer = ConfirmationRequired::new(question, declared.risk_level.unwrap_or(Impact::Safe), token);
    answer.expires_at = Some(Timestamp::now().saturating_add(TTL));
    let meta = Meta::new().with(ConfirmationRequired::MEMBER, answer.to_raw());
    CallToolResult::error(format!("Confirmation required: {question}")).with_meta(meta)
}

fn question(declared: &ToolDeclaration, request: &Request) -> Result<String, Error> {
    let question = declared.confirmation_question(&arguments(&request.params)?);
    question.ok_or_else(|| Error::internal("the tool has no question to confirm its calls by"))
}

/// The form that a person fills in.
#[derive(Deserialize, JsonSchema)]
pub(crate) struct ConfirmForm {
    /// Make the call
    pub(crate) confirm: bool,
}

/// Returns the error of a call that a person did not confirm.
pub(crate) fn declined() -> Error {
    let message = "the user did not confirm the call, and nothing was done; ask the user what to do instead";
    Error::new(code::CONFIRMATION_DECLINED, message).with_usual_recovery()
}

fn invalid() -> Error {
    let message = "the confirmation is too old, was used already, or is for another call; call again without \
                   `_meta.confirmation_token`, and ask the user again";
    Error::new(code::CONFIRMATION_INVALID, message).with_usual_recovery()
}

fn nobody_to_ask() -> Error {
    let message = "a person has to confirm this call, and this client can ask nobody; use a client that supports \
                   confirmation or elicitation";
    Error::new(code::CONFIRMATION_REQUIRED, message).with_usual_recovery()
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;

    #[test]
    fn an_answer_without_a_risk_counts_as_safe_and_says_until_when_the_token_holds() {
        let result = required(&ToolDeclaration::default(), "Proceed?", "token".into());
        assert!(result.is_error());
        let meta = Object::from_value(result.meta.as_ref().unwrap()).unwrap();
        let answer = ConfirmationRequired::read(&meta).unwrap();
        assert_eq!((answer.risk_level, &*answer.confirmation_token), (Impact::Safe, "token"));
        let left = answer.expires_at.unwrap().since(Timestamp::now());
        assert!(left <= TTL && left > TTL.saturating_sub(Duration::from_mins(2)), "{left:?}");
    }
}
