//! Tools in envelopes: each call has the tool's name and arguments, and each result a status.

use bytes::Bytes;
use http::{Response, StatusCode};
use mgp_discovery::catalog::Catalog;
use mgp_transport::Accept;
use mgp_transport::http::HttpBody;
use mgp_types::RawJson;
use mgp_types::ext::{EnvelopeReading, ProjectedNames, ToolCall, ToolResult};

use super::inner::InnerCalls;
use super::{json, rest, text};

/// The most calls in one body.
const MAX_CALLS: usize = 50;

/// Makes the call of a body, or each call of a list, one after the other. What is JSON is answered with 200, because a
/// result says itself whether the call failed.
pub(super) async fn call<A: Accept>(
    calls: &InnerCalls<A>,
    catalog: &Catalog,
    body: Bytes,
) -> Response<HttpBody> {
    let Ok(wanted) = RawJson::parse(body) else {
        return text(StatusCode::BAD_REQUEST, "the body must be JSON: a call, or a list of calls");
    };
    let snapshot = catalog.snapshot();
    let tools = snapshot.tools().iter().map(|tool| {
        let (server, name) = (tool.resolved.server.as_str(), tool.resolved.name.as_str());
        (server, name, tool.shown.clone())
    });
    let names = ProjectedNames::dotted(tools);
    let one = async |call: &RawJson| result(calls, &names, call).await.to_raw();
    let Ok(list) = wanted.to::<Vec<RawJson>>() else {
        return json(StatusCode::OK, &one(&wanted).await);
    };
    if list.len() > MAX_CALLS {
        let why = format!("a list has at most {MAX_CALLS} calls");
        return text(StatusCode::BAD_REQUEST, why);
    }
    let mut results = Vec::with_capacity(list.len());
    for call in &list {
        results.push(one(call).await);
    }
    json(StatusCode::OK, &RawJson::from_value(&results).unwrap_or(RawJson::null()))
}

async fn result<A: Accept>(
    calls: &InnerCalls<A>,
    names: &ProjectedNames<std::sync::Arc<str>>,
    call: &RawJson,
) -> ToolResult {
    let call = match ToolCall::from_json(call.to_bytes(), EnvelopeReading::Strict) {
        Ok(call) => call,
        Err(fault) => return ToolResult::failure(fault.to_error_detail()),
    };
    let name = names.tool(call.tool_name.as_str()).map_or(call.tool_name.as_str(), |name| name);
    match rest::outcome(calls, name, &call.arguments).await {
        Ok(result) => ToolResult::of_result(&result),
        Err(error) => ToolResult::of_call(&Err(error)),
    }
}
