//! The gate that finds the tool of a call in the catalog, and has requests wait for servers that are starting.

use std::sync::Arc;
use std::time::Duration;

use mgp_discovery::config::model::ListLevel;
use mgp_types::mgp::method;
use mgp_types::{Context, Flow, Gate, Method, Principal, PrincipalRole, RawJson, Request};
use tokio::time::{Instant, timeout_at};

use crate::sections::Sections;
use crate::servers::upstream::{AgentLists, FirstStart, WaitingCall};
use crate::visibility::{CallerView, Visibility};

/// A gate that finds the tool of a call in the catalog.
///
/// Sits behind the record, and in front of all that looks at the tool of a call. Writes `context.tool`, the trail, and
/// the name by which the server knows the tool in place of the name that the client called. The tool is read from the
/// body and from nowhere else; where the caller has a connection of its own, the tool is the one of that connection. A
/// name that the catalog does not know passes: it may be one of the kernel's own tools.
///
/// Requests wait only while servers are being connected to for the first time. A call of a tool that is known from the
/// last start waits for its server, and then calls the tool as the server lists it now; so does a call of an unknown
/// tool whose name begins with the id of a server that starts. A call of any other tool waits a little, as does a
/// request for a prompt or a resource, or about a tool, that is not there yet, and so do searches and lists right after the kernel's
/// start: many clients ask as soon as they are answered, and only once. A list of tools waits a moment, and only where
/// it would be empty. All of these have the caller's own connections begin, and wait for them likewise. Operators wait for
/// the server of a tool that they call, and for nothing else.
///
/// Servers that wait until somebody needs them all start with the first request of an agent's client that is no call of
/// a tool, and one by one with calls.
#[derive(Clone)]
pub(crate) struct ResolveToolGate(pub(crate) Arc<Sections>);

impl Gate for ResolveToolGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let wanted = wanted(&self.0, request);
        let is_call = request.method == Method::TOOLS_CALL;
        let is_for_one = is_call && matches!(wanted, None | Some(RequiredLists::Tool { .. }));
        if !is_for_one && !is_operator(&request.context) {
            self.0.fleet.release();
        }
        let Some(wanted) = wanted else { return Flow::Pass(()) };
        let visibility = Arc::clone(&self.0.visibility);
        if let RequiredLists::Tool { start, name } = wanted {
            let mut request = request.take();
            return Flow::wait(async move {
                start.awaited_by(&WaitingCall::of(&request)).await;
                // The definition may have changed since the last start, or the tool may be gone.
                request.params.set("name", name);
                request.context.tool = None;
                resolve(&visibility, &mut request, UnlistedToolCall::SendNow);
                (request, Flow::Pass(()))
            });
        }
        // An operator is told what is known, and which servers have not listed anything yet.
        let caller = request.context.principal.as_ref().filter(|_| !is_operator(&request.context));
        let starts = starts(&self.0, &wanted, caller);
        if starts.is_empty() {
            if is_call {
                resolve(&visibility, request, UnlistedToolCall::SendNow);
            }
            return Flow::Pass(());
        }
        let mut request = request.take();
        Flow::wait(async move {
            for (start, until) in starts {
                // A caller that has waited long enough gets what there is by then.
                let _ = timeout_at(until, start.over()).await;
            }
            if is_call {
                resolve(&visibility, &mut request, UnlistedToolCall::SendNow);
            }
            (request, Flow::Pass(()))
        })
    }
}

fn is_operator(context: &Context) -> bool {
    context.principal.as_ref().is_some_and(|caller| caller.role() == PrincipalRole::Operator)
}

/// The lists that a request has to wait for.
enum RequiredLists {
    /// The list of one server: that of a tool that is known from its last start, or that `name` begins with.
    Tool { start: FirstStart, name: RawJson },
    /// The list of whichever server has a name that is not known so far.
    Name,
    /// The lists of all servers.
    All,
    /// The lists of tools: all of them, or any tools if the rest can be found by a search.
    Tools(ListLevel),
}

/// The treatment of a call of a tool that the caller's own connection has not listed yet.
#[derive(Clone, Copy, PartialEq, Eq)]
enum UnlistedToolCall {
    /// The call waits for the list of the connection.
    WaitForList,
    /// The call goes on without one, and the connection says what is the matter.
    SendNow,
}

/// Returns the lists that the request waits for, if servers are starting that may have them. Notes the tool that is
/// called, if it is known.
fn wanted(kernel: &Sections, request: &mut Request) -> Option<RequiredLists> {
    let visibility = &*kernel.visibility;
    if request.method == Method::TOOLS_CALL {
        let called = request.params.get("name")?;
        if resolve(visibility, request, UnlistedToolCall::WaitForList) {
            let start = start_of_tool(visibility, request)?;
            return Some(RequiredLists::Tool { start, name: called.detached() });
        }
        let name = request.params.text("name")?;
        return match method::of_tool(&name) {
            None => Some(match start_by_name(visibility, request, &name) {
                Some(start) => RequiredLists::Tool { start, name: called.detached() },
                None => RequiredLists::Name,
            }),
            Some(method) => searches(method).then_some(RequiredLists::All),
        };
    }
    if let Some(is_known) = is_known(visibility, request) {
        return (!is_known).then_some(RequiredLists::Name);
    }
    if request.method == Method::TOOLS_LIST {
        return Some(RequiredLists::Tools(kernel.config.load().tools.level));
    }
    let is_list = LISTS.contains(&request.method) || searches(request.method.as_str());
    is_list.then_some(RequiredLists::All)
}

/// Returns the start of the server whose tool is called, if it is not over and the caller may call the tool.
fn start_of_tool(visibility: &Visibility, request: &Request) -> Option<FirstStart> {
    let tool = request.context.tool.as_ref()?;
    let caller = request.context.principal.as_ref()?;
    let view = CallerView::of(visibility, &request.context).ok()?;
    if !view.is_permitted(&tool.server, tool.name.as_str()) {
        return None;
    }
    let start = visibility.fleet.get(tool.server.as_str())?.begun(caller)?;
    view.tool(&tool.server, &tool.name).then_some(start)
}

/// Returns the start of the server that the name of an unknown tool begins with, if it is not over and the caller may
/// call the tool.
fn start_by_name(visibility: &Visibility, request: &Request, name: &str) -> Option<FirstStart> {
    let caller = request.context.principal.as_ref()?;
    let view = CallerView::of(visibility, &request.context).ok()?;
    visibility.fleet.all().iter().find_map(|upstream| {
        let rest = name.strip_prefix(upstream.id().as_str())?;
        let tool = rest.strip_prefix('.').or_else(|| rest.strip_prefix("__"))?;
        // A caller that may not call the tool begins no connection of its own.
        if view.is_permitted(upstream.id(), tool) { upstream.begun(caller) } else { None }
    })
}

/// Returns whether the caller sees no tool yet while a server is being connected to that may have some for it. Begins
/// the caller's own connections.
pub(crate) fn awaits_first_tools(visibility: &Visibility, context: &Context) -> bool {
    let Some(caller) = context.principal.as_ref().filter(|_| !is_operator(context)) else { return false };
    let begun = visibility.fleet.all().iter().filter(|upstream| upstream.begun(caller).is_some()).count();
    begun > 0 && CallerView::of(visibility, context).is_ok_and(|view| view.has_no_tool())
}

/// Returns the starts of the servers that are being connected to for the first time, and the moment until which each is
/// waited for. Begins the caller's own connections.
fn starts(
    kernel: &Sections,
    wanted: &RequiredLists,
    caller: Option<&Principal>,
) -> Vec<(FirstStart, Instant)> {
    let Some(caller) = caller else { return Vec::new() };
    let now = Instant::now();
    let view = CallerView::of_agent(&kernel.visibility, caller);
    let can_search = matches!(wanted, RequiredLists::Tools(level) if *level != ListLevel::L0);
    let has_enough = can_search && !view.has_no_tool();
    let all = kernel.fleet.all();
    let starts = all.iter().filter_map(|upstream| {
        let start = upstream.begun(caller)?;
        let since = if upstream.is_by_agent() { start.age() } else { kernel.lifecycle.life.uptime() };
        let patience = match wanted {
            RequiredLists::Tool { .. } | RequiredLists::Name => OF_CALLS,
            RequiredLists::Tools(_) if has_enough || !view.names_of_tools(upstream.id()).is_empty() => {
                Duration::ZERO
            }
            RequiredLists::Tools(_) if can_search => OF_FIRST_TOOLS.saturating_sub(since),
            // A server that never answers must not hold up every list.
            RequiredLists::All | RequiredLists::Tools(_) => OF_LISTS.saturating_sub(since),
        };
        (!patience.is_zero()).then(|| (start, now + patience))
    });
    starts.collect()
}

/// Returns whether the caller can have the prompt, the resource or the tool that is asked for, or about; `None` for other
/// requests.
fn is_known(visibility: &Visibility, request: &Request) -> Option<bool> {
    let view = CallerView::of(visibility, &request.context).ok()?;
    let catalog = visibility.catalog.read();
    let text = |member: &str| request.params.text(member);
    Some(match request.method.as_str() {
        "prompts/get" => view.prompt(&catalog, &text("name")?).is_some(),
        "resources/read" => view.resource_owner(&catalog, &text("uri")?).is_some(),
        method::TOOLS_VALIDATE | method::REGISTRY_VALIDATE => view.called(&catalog, &text("name")?).is_some(),
        method::PERMISSION_CHECK => view.called(&catalog, &text("tool")?).is_some(),
        _ => return None,
    })
}

fn searches(method: &str) -> bool {
    const OF_ALL_TOOLS: [&str; 4] =
        [method::TOOLS_DISCOVER, method::TOOLS_REQUEST, method::MANIFEST_GET, method::DISCOVERY_CATALOG];
    OF_ALL_TOOLS.contains(&method)
}

/// Notes the tool that is called. Returns whether it is known.
fn resolve(visibility: &Visibility, request: &mut Request, missing: UnlistedToolCall) -> bool {
    let snapshot = visibility.catalog.snapshot();
    let Some(name) = request.params.text("name") else { return false };
    let Some(tool) = snapshot.called(&name) else { return false };
    let Some(caller) = &request.context.principal else { return false };
    let (server, own_name) = (tool.resolved.server.as_str(), tool.resolved.name.as_str());
    // The tool is noted as the caller's connection lists it.
    let resolved = match visibility.fleet.share(server, caller) {
        AgentLists::Own(own) => own.tool(server, own_name).map(|tool| Arc::clone(&tool.resolved)),
        AgentLists::Coming if missing == UnlistedToolCall::WaitForList => None,
        // A caller that does not reach the server is refused further in, with the reason.
        AgentLists::Everything | AgentLists::Coming | AgentLists::Nothing => Some(Arc::clone(&tool.resolved)),
    };
    let Some(resolved) = resolved else { return false };
    let is_renamed = resolved.name.as_str() != name;
    drop(name);
    if is_renamed {
        request.params.set("name", resolved.written_name());
    }
    if let Some(trail) = &request.context.trail {
        trail.note_tool(&resolved, &request.params);
    }
    request.context.tool = Some(resolved);
    true
}

static LISTS: [Method; 4] =
    [Method::TOOLS_LIST, Method::PROMPTS_LIST, Method::RESOURCES_LIST, Method::RESOURCES_TEMPLATES_LIST];

const OF_CALLS: Duration = Duration::from_secs(10);

/// The time for which lists wait, from the start of the kernel, or of the caller's own connection, on.
const OF_LISTS: Duration = Duration::from_secs(2);

/// The time for which the first list of tools waits, counted likewise. Most installed programs have listed their tools
/// by then, and a caller without any can search.
const OF_FIRST_TOOLS: Duration = Duration::from_millis(500);

#[cfg(test)]
mod tests {
    use mgp_types::{Error, Gate as _, Response};
    use tower_service::Service as _;

    use super::*;
    use crate::test_kernel::{TestClient, TestKernel};

    async fn called(kernel: &TestKernel, name: &str) -> Result<Response, Error> {
        let gate = ResolveToolGate(Arc::new(kernel.sections.clone()));
        let client = TestClient::begin(kernel, "one").await;
        let request = client.request("tools/call", &format!(r#"{{"name":"{name}","arguments":{{}}}}"#));
        gate.layer(kernel.router.clone()).call(request).await
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_of_an_unknown_tool_waits_as_long_as_the_server_that_it_names_may_take_to_start() {
        for name in ["files.read", "files__read"] {
            let kernel = TestKernel::open().await;
            let (server, start) = kernel.starting_server("files", Duration::from_mins(2)).await;
            let _never = kernel.starting_server("other", Duration::from_hours(1)).await;
            let began = Instant::now();
            let starting = async {
                tokio::time::sleep(OF_CALLS * 4).await;
                kernel.tool("files", "read");
                start.end();
            };
            let (answer, ()) = tokio::join!(called(&kernel, name), starting);
            assert!(answer.is_ok(), "{name}: {answer:?}");
            assert!(began.elapsed() >= OF_CALLS * 4, "{name}");
            assert_eq!(server.methods(), ["tools/call"]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_names_no_server_waits_a_little_only() {
        let kernel = TestKernel::open().await;
        let _starting = kernel.starting_server("files", Duration::from_hours(1)).await;
        let began = Instant::now();
        assert!(called(&kernel, "unheard").await.is_err());
        assert_eq!(began.elapsed(), OF_CALLS);
    }
}
