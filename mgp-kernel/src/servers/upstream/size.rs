//! The bound on the size of a server's results.

use std::sync::Arc;

use mgp_transport::TooLong;
use mgp_types::mcp::{CallToolResult, ForRevision};
use mgp_types::{Error, Flow, Gate, Method, Request, Response, Session, code};

/// A gate that keeps results of a server from being longer than its clients have room for.
///
/// A result that is too long is replaced by a message that says how long it is and what to do: for a tool a result with
/// `isError`, because that reaches the model, which can ask for less; for everything else an error, 3001. A result that
/// was so long that its connection did not take it in is replaced as well. Sits outside of retry and of the circuit
/// breaker: the call was made, and the server is none the worse for it. Costs a comparison.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultSizeGate {
    pub(crate) max_bytes: usize,
}

impl Gate for ResultSizeGate {
    /// The session of the client that calls a tool.
    type Pass = Option<Arc<Session>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        let is_call = request.method == Method::TOOLS_CALL;
        Flow::Pass(if is_call { request.context.session.clone() } else { None })
    }

    fn leave(&self, tool: Self::Pass, outcome: &mut Result<Response, Error>) {
        let most = self.max_bytes;
        let has = |bytes: String| {
            format!(
                "the result has {bytes} bytes, and {most} are allowed; ask for less, such as a page, a range or fewer \
                 fields, or have `max_message_bytes` of `[limits]` raised in mgp.toml"
            )
        };
        let message = match outcome {
            Ok(response) if response.written_bytes() <= most => return,
            Ok(response) => has(response.written_bytes().to_string()),
            Err(error) => match TooLong::of(error) {
                Some(TooLong::Message { most_bytes }) => has(format!("more than {most_bytes}")),
                Some(_) => error.message().to_owned(),
                None => return,
            },
        };
        *outcome = match tool {
            Some(session) => {
                Response::with_body(&CallToolResult::error(message).for_revision(session.revision))
            }
            None => Err(Error::new(code::RESOURCE_EXHAUSTED, message)),
        };
    }
}
