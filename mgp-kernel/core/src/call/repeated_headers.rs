//! The check of the headers in which calls over HTTP repeat arguments.

use mgp_security::confirmation::EditedCall;
use mgp_server_sdk::check_repeated_arguments;
use mgp_types::{Flow, Gate, Method, Request};

/// A gate that holds calls over HTTP to the headers in which their tools want arguments repeated.
///
/// Intermediaries between a client and the kernel decide by those headers, so they have to say what the body says; the
/// server behind does not see them. A call by `mgp.tools.call` says to them that it is one, and has no such headers. Sits
/// behind access. A call whose arguments an operator edited was compared when it came. Reads `context.tool` and
/// `context.session`. Costs a look at the tool's schema for calls over HTTP without a session, and nothing for others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RepeatedHeadersGate;

impl Gate for RepeatedHeadersGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_edited = request.extensions.get::<EditedCall>().is_some();
        let is_call = request.method == Method::TOOLS_CALL && !is_edited;
        let tool = request.context.tool.as_ref().filter(|_| is_call);
        let schema = tool.and_then(|tool| tool.definition.get("inputSchema"));
        schema.map_or(Ok(()), |schema| check_repeated_arguments(&schema, request)).into()
    }
}
