//! Arguments that HTTP headers repeat, where a tool's schema asks for it (`x-mcp-header`).

use std::collections::HashMap;
use std::sync::Arc;

use mgp_transport::era::{Agreement, NextStep, ResendRule, WireKind};
#[cfg(feature = "http")]
use mgp_transport::http::MirroredHeaders;
use mgp_types::mcp::MirroredArgument;
use mgp_types::mgp::method;
use mgp_types::{Error, Method, Object, RawJson, Request, Response, code};
use parking_lot::RwLock;

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
        let params: Object = cursor.take().map(|cursor| ("cursor", cursor)).into_iter().collect();
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

/// The arguments of each tool that headers repeat, for tools that have any. The map is bounded by the tools that the server
/// lists, page by page, and beyond that by a limit.
#[derive(Clone, Default)]
struct HeaderPlans(Arc<RwLock<HashMap<Box<str>, Vec<MirroredArgument>>>>);

/// The number of tools outside of all lists that are remembered.
const MAX_KNOWN: usize = 4096;

impl HeaderPlans {
    /// Attaches the headers of a tool call.
    #[cfg(feature = "http")]
    fn apply(&self, request: &mut Request) {
        let Some(name) = request.params.text("name") else { return };
        let tools = self.0.read();
        let Some(plan) = tools.get(&*name) else { return };
        let Some(arguments) = request.params.object("arguments") else { return };
        let mut headers = None::<MirroredHeaders>;
        for mirrored in plan {
            if let Some(value) = mirrored.value(&arguments) {
                headers.get_or_insert_default().push(mirrored.header(), value);
            }
        }
        drop(tools);
        if let Some(headers) = headers {
            request.extensions.insert(headers);
        }
    }

    /// Learns from tools that a search found (MGP §16), which need not be in any list.
    fn learn_found(&self, response: &Response) {
        let Ok(result) = Object::from_raw(&response.result) else { return };
        let result = result.object("structuredContent").unwrap_or(result);
        let found = result.get("tools").or_else(|| result.get("tools_loaded"));
        let Some(Ok(tools)) = found.map(|tools| tools.to::<Vec<RawJson>>()) else { return };
        let tools = tools.iter().filter_map(|tool| Object::from_raw(tool).ok());
        for tool in tools.filter(|tool| tool.contains("name")) {
            let (name, plan) = Self::read(&tool);
            match plan {
                Ok(plan) if plan.is_empty() => {}
                Ok(plan) => {
                    let mut known = self.0.write();
                    if known.len() < MAX_KNOWN || known.contains_key(&name) {
                        known.insert(name, plan);
                    }
                }
                Err(wrong) => tracing::warn!(tool = %name, %wrong, "a found tool may not be callable"),
            }
        }
    }

    /// Learns from a page of tools, and takes out the tools that are annotated wrongly.
    fn learn(&self, mut response: Response) -> Response {
        let Ok(mut result) = Object::from_raw(&response.result) else { return response };
        let Some(Ok(mut tools)) = result.get("tools").map(|tools| tools.to::<Vec<RawJson>>()) else {
            return response;
        };
        let all = tools.len();
        tools.retain(|tool| {
            let Ok(tool) = Object::from_raw(tool) else { return false };
            let (name, plan) = Self::read(&tool);
            if let Err(wrong) = plan {
                tracing::warn!(tool = %name, %wrong, "leaving out a tool");
            }
            let is_right = plan.is_ok();
            let mut known = self.0.write();
            match plan {
                Ok(plan) if !plan.is_empty() => known.insert(name, plan),
                _ => known.remove(&name),
            };
            is_right
        });
        if let (true, Ok(tools)) = (tools.len() < all, RawJson::from_value(&tools)) {
            result.set("tools", tools);
            response.result = result.to_raw().into();
        }
        response
    }

    /// Returns the name of a tool and the arguments of it that headers repeat, or the fault of its annotations.
    fn read(tool: &Object) -> (Box<str>, Result<Vec<MirroredArgument>, &'static str>) {
        let schema = tool.get("inputSchema");
        let plan = schema.map_or(Ok(Vec::new()), |schema| MirroredArgument::all_of(&schema));
        (tool.text("name").unwrap_or_default().into(), plan)
    }
}

mgp_types::partial_debug!(HeaderPlans, self => tools: self.0.read().len());
