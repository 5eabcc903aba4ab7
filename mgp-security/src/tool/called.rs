//! The tools of one server by its own list, and the gate that determines which of them a call is for.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwapOption;
use mgp_types::mgp::{ResolvedTool, ServerId, ToolName};
use mgp_types::{BoxedService, Error, Flow, Gate, Method, Object, Request, RpcService};
use tokio::sync::Mutex;
use tokio::time::Instant;

use super::effective::{ToolRules, effective};
use super::pages::fetch;

/// A gate that determines the tool of each call to one server, so that all other gates can judge it.
///
/// The gate belongs in front of every gate that reads `context.tool`, which it writes; [`OperationsGate`] does the same
/// for requests that call no tool. It asks the server for its list of tools at the first call, again for a name that the
/// list does not have, and again when the list is half a minute old. A call of a tool that the server does not list
/// passes as it is, and the gates behind refuse what they cannot judge.
///
/// ```
/// use mgp_security::tool::{OperationsGate, ToolRules, ToolsGate};
/// use mgp_security::validator::{ValidateGate, Validators};
/// use mgp_types::mgp::TrustLevel;
/// use mgp_types::{Gate, RpcService};
///
/// /// Puts validators in front of a server: `client` sends to it.
/// fn guard(client: impl RpcService + Sync) -> impl RpcService {
///     let rules = ToolRules::new(TrustLevel::Standard);
///     let checked = ValidateGate::new(Validators::standard()).layer(client.clone());
///     let operations = OperationsGate::new("notes".into(), rules.clone()).layer(checked);
///     ToolsGate::new("notes".into(), rules, client).layer(operations)
/// }
/// ```
///
/// [`OperationsGate`]: super::OperationsGate
#[derive(Debug, Clone)]
pub struct ToolsGate(Arc<ListedTools>);

/// The tools of a server by name, and when it listed them.
#[derive(Debug)]
struct ToolList {
    listed: Instant,
    tools: HashMap<Box<str>, Arc<ResolvedTool>>,
}

/// A server, and the tools that it listed last.
#[derive(Debug)]
struct ListedTools {
    server: ServerId,
    rules: ToolRules,
    lists: BoxedService,
    known: ArcSwapOption<ToolList>,
    /// Held by the one request that lists.
    listing: Mutex<()>,
}

impl ToolsGate {
    /// Returns a gate for the tools of `server` under the operator's `rules`. `lists` sends to the server.
    pub fn new(server: ServerId, rules: ToolRules, lists: impl RpcService + Sync) -> Self {
        let (lists, known, listing) = (BoxedService::new(lists), ArcSwapOption::default(), Mutex::default());
        Self(Arc::new(ListedTools { server, rules, lists, known, listing }))
    }
}

impl Gate for ToolsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if request.method != Method::TOOLS_CALL || request.context.tool.is_some() {
            return Flow::Pass(());
        }
        let Some(name) = request.params.text("name") else { return Flow::Pass(()) };
        if let Some(tool) = self.0.fresh(&name) {
            request.context.tool = Some(tool);
            return Flow::Pass(());
        }
        let (tools, name) = (Arc::clone(&self.0), name.into_owned());
        let mut request = request.take();
        Flow::wait(async move {
            match tools.listed(&request, &name).await {
                Ok(tool) => {
                    request.context.tool = tool;
                    (request, Flow::Pass(()))
                }
                Err(error) => (request, Flow::refuse(error)),
            }
        })
    }
}

impl ListedTools {
    /// Returns the tool of this name, if the list is not too old.
    fn fresh(&self, name: &str) -> Option<Arc<ResolvedTool>> {
        let known = self.known.load();
        let known = known.as_ref().filter(|known| known.listed.elapsed() < LONGEST_AGE)?;
        known.tools.get(name).cloned()
    }

    /// Returns the tool of this name from a new list, for the caller of a request.
    async fn listed(&self, request: &Request, name: &str) -> Result<Option<Arc<ResolvedTool>>, Error> {
        let _turn = self.listing.lock().await;
        if let Some(tool) = self.fresh(name) {
            return Ok(Some(tool));
        }
        let mut list = Request::call(Method::TOOLS_LIST, Object::new());
        list.context = request.context.clone();
        let (_, fetched) = fetch(self.lists.clone(), list, "tools", false).await?;
        let tools: HashMap<_, _> = fetched.listed.into_iter().filter_map(|it| self.resolved(it)).collect();
        let found = tools.get(name).cloned();
        self.known.store(Some(Arc::new(ToolList { listed: Instant::now(), tools })));
        Ok(found)
    }

    /// Returns the tool that a definition in a list is of, by its name; nothing for one without a name.
    fn resolved(&self, definition: Object) -> Option<(Box<str>, Arc<ResolvedTool>)> {
        let name = Box::<str>::from(definition.text("name")?);
        let security = effective(&definition, &self.rules);
        let tool = ResolvedTool::new(self.server.clone(), ToolName::from(&*name), definition, security);
        Some((name, tool))
    }
}

/// The age from which a list is read again before a call is judged by it.
const LONGEST_AGE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use std::future::{Ready, ready};
    use std::sync::atomic::{AtomicUsize, Ordering};

    use mgp_types::mgp::TrustLevel;
    use mgp_types::{RawJson, Response, call_once};
    use tower_service::Service;

    use super::*;

    /// A server that lists its tools on two pages, and answers a call with the validators that it is judged by.
    #[derive(Debug, Clone, Default)]
    struct Paged(Arc<AtomicUsize>);

    impl Service<Request> for Paged {
        type Future = Ready<Result<Response, Error>>;

        mgp_types::always_ready!();

        fn call(&mut self, request: Request) -> Self::Future {
            let is_list = request.method == Method::TOOLS_LIST;
            let result = match &request.context.tool {
                _ if is_list && !request.params.contains("cursor") => {
                    self.0.fetch_add(1, Ordering::Relaxed);
                    r#"{"tools":[{"name":"add"},{"no":"name"}],"nextCursor":"2"}"#
                }
                _ if is_list => {
                    r#"{"tools":[{"name":"run","inputSchema":{"properties":{"command":{"type":"string"}}}}]}"#
                }
                Some(tool) if tool.security.validators.is_empty() => r#""nothing""#,
                Some(_) => r#""validators""#,
                None => "null",
            };
            ready(Ok(Response::new(RawJson::parse(result.to_owned()).unwrap())))
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_is_judged_by_the_definition_that_its_server_lists_now() {
        let server = Paged::default();
        let lists = || server.0.load(Ordering::Relaxed);
        let gate = ToolsGate::new("notes".into(), ToolRules::new(TrustLevel::Trusted), server.clone());
        let called = async |name: &str| {
            let params = Object::parse(format!(r#"{{"name":{name:?}}}"#)).unwrap();
            let request = Request::call(Method::TOOLS_CALL, params);
            call_once(gate.layer(server.clone()), request).await.unwrap().result.to_string()
        };
        assert_eq!(called("run").await, r#""validators""#, "of the second page");
        assert_eq!(called("add").await, r#""nothing""#);
        assert_eq!(lists(), 1, "one list is enough");
        assert_eq!(called("other").await, "null", "what is not listed is not judged here");
        assert_eq!(lists(), 2);
        tokio::time::advance(LONGEST_AGE).await;
        called("add").await;
        assert_eq!(lists(), 3, "an old list is read again");
    }
}
