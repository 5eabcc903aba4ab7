//! The client's side: the rule that answers the questions in a result, and sends the call again.

mod rounds;
#[cfg(test)]
mod tests;

use mgp_types::{Error, Params, Request, Response, ResultKind, RpcService};

use self::rounds::answered;
use super::may_ask;
use crate::era::{Agreement, NextStep, ResendRule, RoundHandler};

/// Answers the questions that the server asks in its results, as if it had sent requests.
///
/// A result of `tools/call`, `prompts/get` or `resources/read` may ask for input instead of being final. Each question
/// goes as a request into `inbound`, the same stack that answers a server's own requests, so the same gates see it;
/// then the request is sent again with the answers. The questions of one result are asked at the same time.
///
/// `InputRounds` is a rule of [`ClientEra`](crate::era::ClientEra). Each question has the context of its call, so that the
/// answering service can reach the caller, with the server's session in place of the caller's. What an ordinary result
/// says of itself is read once for all who ask. The call fails when the client cannot answer, when the server asks more
/// than ten times, or when the result is of a type that was not agreed on. Dropping a call drops the questions in work.
///
/// In a gateway ([`EraOptions::with_relay`](crate::era::EraOptions::with_relay)) the requests of a client that handles
/// rounds itself pass through, as do their results. Where the server has sessions there are no earlier rounds to
/// continue, and a request that tries is refused with -32602.
#[derive(Debug, Clone)]
pub struct InputRounds<H> {
    inbound: H,
    agreement: Agreement,
}

/// The mark on a result that was made with answers of the user or of the client's model: it belongs to its call alone,
/// and no cache keeps it.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct AnsweredQuestions;

/// The number of times that a server may ask before it answers.
const MAX_ROUNDS: usize = 10;

impl<H> InputRounds<H> {
    /// Creates the rule whose `inbound` answers the questions asked under `agreement`.
    pub fn new(inbound: H, agreement: Agreement) -> Self {
        Self { inbound, agreement }
    }
}

impl<H: RpcService> ResendRule for InputRounds<H> {
    /// The number of times that the server has asked.
    type State = usize;

    fn begin(&self, request: &Request) -> Result<Option<usize>, Error> {
        match self.agreement.rounds_of(request) {
            RoundHandler::Ours => Ok(Some(0)),
            RoundHandler::Unknown if may_ask(&request.method) && goes_on(&request.params) => {
                Err(Error::invalid_params(
                    "no questions were asked that this answers; make the call again without `requestState` and \
                     `inputResponses`",
                ))
            }
            RoundHandler::None | RoundHandler::Callers | RoundHandler::Unknown => Ok(None),
        }
    }

    fn judge(&self, asked: &mut usize, call: &Request, outcome: Result<Response, Error>) -> NextStep {
        let Ok(mut response) = outcome else { return NextStep::Return(outcome) };
        let refused = |why: String| NextStep::Return(Err(Error::misbehaved(why)));
        match response.result.kind() {
            ResultKind::Complete | ResultKind::Task => {
                if *asked > 0 {
                    response.extensions.insert(AnsweredQuestions);
                }
                return NextStep::Return(Ok(response));
            }
            ResultKind::InputRequired => {}
            //= mcp 2026-07-28
            //# If the client does not recognise the value, it MUST treat the response as invalid.
            _ => return refused("the result is of a type that was not agreed on".to_owned()),
        }
        if !may_ask(&call.method) {
            return refused("the server asks for input where it may not".to_owned());
        }
        if *asked == MAX_ROUNDS {
            return refused(format!("the server asked for input more than {MAX_ROUNDS} times"));
        }
        *asked += 1;
        NextStep::SendAgain(Box::pin(answered(
            self.inbound.clone(),
            self.agreement.session(),
            call.clone(),
            response.result.into_raw(),
        )))
    }
}

/// Returns whether a request continues earlier rounds.
fn goes_on(params: &Params) -> bool {
    params.contains("requestState") || params.contains("inputResponses")
}
