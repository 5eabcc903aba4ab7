//! Arguments that HTTP headers repeat, where a tool's schema asks for it (`x-mcp-header`).

mod plans;

use mgp_transport::era::{Agreement, NextStep, ResendRule, WireKind};
use mgp_types::mgp::method;
use mgp_types::{Error, Method, Object, Request, Response, code};

use self::plans::HeaderPlans;

/// Repeats arguments of tool calls in headers, over HTTP and where there are no sessions.
///
/// The mirror is a rule of [`ClientEra`](mgp_transport::era::ClientEra). The mirror learns the arguments from the lists of
/// tools, and from the results of tool searches (MGP §16), and removes the tools with wrong annotations from lists. A call
/// that the server refuses for its headers is sent again once, after the tools were listed again. The mirror writes
/// `extensions`; over transports other than HTTP it has no effect.
#[derive(Debug, Clone)]
pub struct HeaderMirror {
    plans: Option<HeaderPlans>,
    agreement: Agreement,
}

impl HeaderMirror {
    pub(crate) fn new(kind: WireKind, agreement: Agreement) -> Self {
        let has_headers = matches!(kind, WireKind::Http { .. });
        Self { plans: has_headers.then(HeaderPlans::default), agreement }
    }
}

/// The reason why the mirror looks at the outcome of a call.
#[derive(Debug)]
pub enum MirroredCall {
    /// The result lists tools.
    List,
    /// The result holds tools that a search found.
    Search,
    /// The server may refuse the headers.
    Tool {
        /// True if the tools were listed again because the server refused the headers.
        is_relisted: bool,
    },
}

impl ResendRule for HeaderMirror {
    type State = MirroredCall;

    fn begin(&self, request: &Request) -> Result<Option<MirroredCall>, Error> {
        Ok(self.plans.as_ref().and_then(|_| MirroredCall::of(request)))
    }

    #[cfg(feature = "http")]
    fn write(&self, state: &mut MirroredCall, request: &mut Request) {
        if let (MirroredCall::Tool { .. }, Some(plans)) = (state, &self.plans) {
            plans.apply(request);
        }
    }

    fn judge(&self, state: &mut MirroredCall, call: &Request, outcome: Result<Response, Error>) -> NextStep {
        let Some(plans) = &self.plans else { return NextStep::Return(outcome) };
        NextStep::Return(match (state, outcome) {
            (MirroredCall::List, Ok(response)) => Ok(plans.learn(response)),
            (MirroredCall::Search, Ok(response)) => {
                plans.learn_found(&response);
                Ok(response)
            }
            (MirroredCall::Tool { is_relisted }, Err(refusal))
                if refusal.code() == code::HEADER_MISMATCH && !*is_relisted =>
            {
                *is_relisted = true;
                let relisted = relist(self.agreement.clone(), plans.clone(), call.clone(), refusal);
                return NextStep::SendAgain(Box::pin(relisted));
            }
            (MirroredCall::Tool { is_relisted }, Ok(response)) => {
                *is_relisted = false;
                Ok(response)
            }
            (_, outcome) => outcome,
        })
    }
}

impl MirroredCall {
    fn of(request: &Request) -> Option<Self> {
        if request.method == Method::TOOLS_LIST {
            Some(Self::List)
        } else if finds_tools(request) {
            Some(Self::Search)
        } else if request.method == Method::TOOLS_CALL {
            Some(Self::Tool { is_relisted: false })
        } else {
            None
        }
    }
}

/// Returns whether a request searches or asks for tools, by a method or by the tool that models call.
fn finds_tools(request: &Request) -> bool {
    let method = if request.method == Method::TOOLS_CALL {
        request.params.text("name").and_then(|name| method::of_tool(&name))
    } else {
        Some(request.method.as_str())
    };
    matches!(method, Some(method::TOOLS_DISCOVER | method::TOOLS_REQUEST))
}

/// Lists the tools again, and returns the call. A server that does not list them has the last word.
async fn relist(
    agreement: Agreement,
    plans: HeaderPlans,
    call: Request,
    refusal: Error,
) -> Result<Request, Error> {
    tracing::debug!("the server refuses the headers; listing the tools again");
    let Some(session) = agreement.session() else { return Err(refusal) };
    let mut cursor = None;
    for _ in 0..MAX_PAGES {
        let mut params = Object::new();
        if let Some(cursor) = cursor.take() {
            params.set("cursor", cursor);
        }
        let Ok(page) = session.outbox.call(Request::call(Method::TOOLS_LIST, params)).await else {
            return Err(refusal);
        };
        let page = plans.learn(page);
        cursor = Object::from_raw(&page.result).ok().and_then(|page| page.get("nextCursor"));
        if cursor.is_none() {
            break;
        }
    }
    Ok(call)
}

const MAX_PAGES: usize = 100;
