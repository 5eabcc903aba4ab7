//! The tools, prompts and resources that a caller sees, in lists, in searches and by name.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use foldhash::quality::RandomState;
use mgp_discovery::catalog::{
    Catalog, CatalogPrompt, CatalogResource, CatalogSnapshot, CatalogTool, ResourceOwner,
};
use mgp_security::auth::KeyScope;
use mgp_security::definition::{DefinitionKind, DefinitionName, server_of};
use mgp_security::permission::PermissionGate;
use mgp_toolindex::Tool;
use mgp_toolindex::discovery::ToolVisibility;
use mgp_types::ext::scope::Scopes;
use mgp_types::mgp::{
    MEMBER, NameStyle, Permission, ResolvedTool, ServerId, ServerState, ToolName, ToolPattern,
};
use mgp_types::{BoxFuture, Context, Error, Flow, Gate as _, Method, Object, Principal, Request, code};
use tokio::task::JoinSet;

use crate::policies::Policies;
use crate::servers::fleet::Fleet;
use crate::servers::upstream::{AgentLists, Upstream};

/// The tools, prompts and resources of all servers, and the policies by which callers see them.
pub(crate) struct Visibility {
    pub(crate) catalog: Catalog,
    pub(crate) policies: Arc<Policies>,
    pub(crate) fleet: Arc<Fleet>,
}

/// The part of the catalog that a caller may see: what it may use, by the policy that its calls are held to; and of a
/// server to which agents have connections of their own, what the caller's connection lists.
pub(crate) struct CallerView<'a> {
    pub(crate) visibility: &'a Visibility,
    pub(crate) principal: Principal,
    /// The scopes of the caller's token, which also decide which tools are listed for it.
    pub(crate) scopes: Option<Arc<Scopes>>,
}

/// The visible part of a list.
pub(crate) struct VisibleItems<T> {
    pub(crate) items: Vec<Arc<T>>,
    /// True if the part is the whole list, for everybody.
    pub(crate) is_whole: bool,
}

impl Visibility {
    /// Returns how many tools can be called, because their servers are connected, and how many are listed.
    pub(crate) fn tool_counts(&self) -> (u64, u64) {
        let views = self.fleet.views().into_iter();
        let connected: BTreeSet<_> =
            views.filter(|view| view.state == ServerState::Connected).map(|view| view.id).collect();
        let snapshot = self.catalog.snapshot();
        let tools = snapshot.tools();
        let available = tools.iter().filter(|tool| connected.contains(&tool.resolved.server)).count();
        (available as u64, tools.len() as u64)
    }
}

impl<'a> CallerView<'a> {
    /// Returns the view of the sender of a request.
    ///
    /// # Errors
    /// Fails if the sender is not known.
    pub(crate) fn of(visibility: &'a Visibility, context: &Context) -> Result<Self, Error> {
        let principal = context.principal.as_ref().ok_or_else(|| Error::internal("nobody calls"))?;
        Ok(Self { scopes: context.scopes.clone(), ..Self::of_agent(visibility, principal) })
    }

    /// Returns the view of this agent.
    pub(crate) fn of_agent(visibility: &'a Visibility, agent: &Principal) -> Self {
        Self { visibility, principal: agent.clone(), scopes: None }
    }

    /// Returns whether the caller may call the tool, as far as access rules and approvals say.
    pub(crate) fn tool(&self, server: &ServerId, name: &ToolName) -> bool {
        let own = |own: &CatalogSnapshot| own.tool(server.as_str(), name.as_str()).map(|_| ());
        self.may_call(server, name) && self.shared(server, || Some(()), own).is_some()
    }

    /// Returns the tool that the caller means by `name`, as the connection that it uses lists it, if it may call it.
    pub(crate) fn called(&self, snapshot: &CatalogSnapshot, name: &str) -> Option<Arc<ResolvedTool>> {
        let tool = &snapshot.called(name)?.resolved;
        if !self.may_call(&tool.server, &tool.name) {
            return None;
        }
        let own = |own: &CatalogSnapshot| {
            Some(Arc::clone(&own.tool(tool.server.as_str(), tool.name.as_str())?.resolved))
        };
        self.shared(&tool.server, || Some(Arc::clone(tool)), own)
    }

    /// Returns the tool that `request` is about without calling it.
    ///
    /// # Errors
    /// 1000 if the caller's key is not for the tool, and else 4001 if the caller has no such tool.
    pub(crate) fn asked_about(
        &self,
        request: &Request,
        snapshot: &CatalogSnapshot,
        name: &str,
    ) -> Result<Arc<ResolvedTool>, Error> {
        let tool = self.called(snapshot, name);
        let (server, own_name) = match &tool {
            Some(tool) => (tool.server.as_str(), tool.name.as_str()),
            None => ToolPattern::split(name),
        };
        KeyScope::check(request, server, own_name)?;
        tool.ok_or_else(|| {
            let name: String = name.chars().take(128).collect();
            Error::new(code::TOOL_NOT_FOUND, format!("there is no tool `{name}`"))
        })
    }

    /// Returns whether there is no tool that the caller may call.
    pub(crate) fn has_no_tool(&self) -> bool {
        let snapshot = self.visibility.catalog.snapshot();
        let mut tools = snapshot.tools().iter().map(|tool| &tool.resolved);
        !tools.any(|tool| self.tool(&tool.server, &tool.name))
    }

    /// Returns the names of the tools of `server` that the caller may call.
    pub(crate) fn names_of_tools(&self, server: &ServerId) -> Vec<ToolName> {
        let lists = match self.share(server) {
            AgentLists::Everything => self.visibility.catalog.snapshot(),
            AgentLists::Own(own) => own,
            AgentLists::Coming | AgentLists::Nothing => return Vec::new(),
        };
        let names = lists.of_server(server.as_str()).iter().map(|tool| &tool.resolved.name);
        names.filter(|name| self.may_call(server, name)).cloned().collect()
    }

    pub(crate) fn tools(&self, snapshot: &CatalogSnapshot) -> VisibleItems<CatalogTool> {
        let sees = |tool: &CatalogTool| {
            let tool = &tool.resolved;
            self.may_call(&tool.server, &tool.name) && self.has_scopes(tool)
        };
        let own = |own: &CatalogSnapshot| own.tools().to_vec();
        self.seen(snapshot.tools().iter(), |tool| &tool.resolved.server, sees, own)
    }

    pub(crate) fn prompts(&self, snapshot: &CatalogSnapshot) -> VisibleItems<CatalogPrompt> {
        let sees = |prompt: &CatalogPrompt| self.may_use(&prompt.server);
        let own = |own: &CatalogSnapshot| own.prompts().to_vec();
        self.seen(snapshot.prompts().iter(), |prompt| &prompt.server, sees, own)
    }

    pub(crate) fn resources(&self, snapshot: &CatalogSnapshot) -> VisibleItems<CatalogResource> {
        let sees = |resource: &CatalogResource| self.may_use(&resource.server);
        let own = |own: &CatalogSnapshot| own.resources().cloned().collect();
        self.seen(snapshot.resources(), |resource| &resource.server, sees, own)
    }

    pub(crate) fn templates(&self, snapshot: &CatalogSnapshot) -> VisibleItems<CatalogResource> {
        let sees = |template: &CatalogResource| self.may_use(&template.server);
        let own = |own: &CatalogSnapshot| own.templates().cloned().collect();
        self.seen(snapshot.templates(), |template| &template.server, sees, own)
    }

    /// Returns the prompt that the caller means by `name`.
    pub(crate) fn prompt(&self, snapshot: &CatalogSnapshot, name: &str) -> Option<Arc<CatalogPrompt>> {
        let prompt = snapshot.prompt(name).filter(|prompt| self.may_use(&prompt.server))?;
        let own = |own: &CatalogSnapshot| own.prompt(&prompt.shown).cloned();
        self.shared(&prompt.server, || Some(Arc::clone(prompt)), own)
    }

    /// Returns the server of the resource that the caller means by `uri`, and the URI that it has there.
    pub(crate) fn resource_owner<'s>(
        &self,
        snapshot: &'s CatalogSnapshot,
        uri: &'s str,
    ) -> Option<ResourceOwner<'s>> {
        let is_own = |own: &CatalogSnapshot| own.resource_owner(uri, |_| true).is_some();
        snapshot.resource_owner(uri, |server| self.owns(server, is_own))
    }

    /// Returns the server of the template that the caller means, and the template as it is there.
    pub(crate) fn template_owner<'s>(
        &self,
        snapshot: &'s CatalogSnapshot,
        template: &'s str,
    ) -> Option<ResourceOwner<'s>> {
        let is_own = |own: &CatalogSnapshot| own.template_owner(template, |_| true).is_some();
        snapshot.template_owner(template, |server| self.owns(server, is_own))
    }

    /// Returns the servers of which the caller may use anything.
    pub(crate) fn servers(&self) -> impl Iterator<Item = Arc<Upstream>> {
        let reaches = |upstream: &Arc<Upstream>| {
            upstream.admits(&self.principal)
                && (self.may_use(upstream.id()) || upstream.reaches(&self.principal))
        };
        self.visibility.fleet.all().into_iter().filter(reaches)
    }

    fn owns(&self, server: &ServerId, is_own: impl FnOnce(&CatalogSnapshot) -> bool) -> bool {
        self.may_use(server) && self.shared(server, || Some(()), |own| is_own(own).then_some(())).is_some()
    }

    /// Returns an item of the lists that the caller has of a server: by `all` if these are the lists for all, by `own` if
    /// the caller has lists of its own.
    fn shared<T>(
        &self,
        server: &ServerId,
        all: impl FnOnce() -> Option<T>,
        own: impl FnOnce(&CatalogSnapshot) -> Option<T>,
    ) -> Option<T> {
        match self.share(server) {
            AgentLists::Everything => all(),
            AgentLists::Own(lists) => own(&lists),
            AgentLists::Coming | AgentLists::Nothing => None,
        }
    }

    fn share(&self, server: &ServerId) -> AgentLists {
        self.visibility.fleet.share(server.as_str(), &self.principal)
    }

    fn may_call(&self, server: &ServerId, name: &ToolName) -> bool {
        self.is_permitted(server, name.as_str()) && self.is_admitted(server, name)
    }

    /// Returns whether the policy lets the caller call the tool, whether the server has it or not.
    pub(crate) fn is_permitted(&self, server: &ServerId, tool: &str) -> bool {
        self.is_allowed(server.as_str(), Some(tool))
    }

    /// Returns whether the tool is shown to the caller: it may call it, and its token, if it has one, has the scopes.
    pub(crate) fn finds(&self, server: &ServerId, name: &ToolName) -> bool {
        if !self.tool(server, name) {
            return false;
        }
        let snapshot = self.visibility.catalog.snapshot();
        let tool = || snapshot.tool(server.as_str(), name.as_str());
        self.scopes.is_none() || tool().is_some_and(|tool| self.has_scopes(&tool.resolved))
    }

    /// Returns whether the caller's token has the scopes that the tool needs.
    fn has_scopes(&self, tool: &ResolvedTool) -> bool {
        self.scopes.as_ref().is_none_or(|held| self.visibility.policies.scopes.suffice(held, tool))
    }

    /// Returns whether the definition of the tool is approved on the connection that the caller uses.
    fn is_admitted(&self, server: &ServerId, name: &ToolName) -> bool {
        let holder = self.visibility.fleet.holder(server.as_str(), &self.principal);
        let holder = holder.as_ref().unwrap_or(server);
        self.visibility.policies.definitions.is_admitted(holder, DefinitionKind::Tool, name.as_str())
    }

    /// Returns whether the definition is on a connection that the caller uses, and of something that the caller may
    /// use.
    pub(crate) fn concerns(&self, holder: &ServerId, name: &DefinitionName) -> bool {
        let server = server_of(holder);
        let tool = (name.kind() == DefinitionKind::Tool).then(|| name.as_str());
        self.is_allowed(server, tool) && self.holder(server) == *holder
    }

    /// Returns the id under which the definitions are pinned that `server` lists for the caller.
    pub(crate) fn holder(&self, server: &str) -> ServerId {
        self.visibility.fleet.holder(server, &self.principal).unwrap_or_else(|| server.into())
    }

    /// Returns whether the caller may use the server as a whole, its prompts and resources included.
    fn may_use(&self, server: &ServerId) -> bool {
        self.is_allowed(server.as_str(), None)
    }

    fn is_allowed(&self, server: &str, tool: Option<&str>) -> bool {
        let access = &self.visibility.policies.access;
        access.decide(&self.principal.access_id(), server, tool).allows_to(&self.principal)
    }

    /// Returns the part of `all`, which comes server by server, that the caller sees; where it has a connection of its
    /// own, the part that `own` finds in the lists of that connection.
    fn seen<'s, T: 's>(
        &self,
        all: impl Iterator<Item = &'s Arc<T>>,
        server: impl Fn(&'s T) -> &'s ServerId,
        may_see: impl Fn(&T) -> bool,
        own: impl Fn(&CatalogSnapshot) -> Vec<Arc<T>>,
    ) -> VisibleItems<T> {
        let mut seen = VisibleItems { items: Vec::new(), is_whole: true };
        let mut of: Option<(&ServerId, AgentLists)> = None;
        for item in all {
            let server = server(item);
            let share = match of.take() {
                Some((last, share)) if last == server => share,
                _ => {
                    let share = self.share(server);
                    if let AgentLists::Own(lists) = &share {
                        seen.items.extend(own(lists).into_iter().filter(|item| may_see(item)));
                    }
                    share
                }
            };
            if matches!(share, AgentLists::Everything) && may_see(item) {
                seen.items.push(Arc::clone(item));
            } else {
                seen.is_whole = false;
            }
            of = Some((server, share));
        }
        seen
    }
}

/// The tools that a search shows a caller: those that it may call, by the policy that its calls are held to.
pub(crate) struct CatalogVisibility {
    visibility: Arc<Visibility>,
    hasher: RandomState,
}

impl CatalogVisibility {
    pub(crate) fn new(visibility: Arc<Visibility>) -> Self {
        Self { visibility, hasher: RandomState::default() }
    }

    /// Returns a call of the tool without arguments, and the permissions of its server.
    fn call_of(&self, request: &Request, tool: &Tool) -> Result<(PermissionGate, Request), Error> {
        let view = CallerView::of(&self.visibility, &request.context)?;
        let upstream = self.visibility.fleet.get(tool.server.as_str());
        let gate = upstream.and_then(|upstream| Some(upstream.stack(&view.principal)?.permissions));
        let name = NameStyle::DOTS.write(tool.server.as_str(), tool.name.as_str());
        let resolved = view.called(&self.visibility.catalog.snapshot(), &name);
        let (Some(gate), Some(resolved)) = (gate, resolved) else {
            let message = format!("the server `{}` is not there: `mgp servers` shows why", tool.server);
            return Err(Error::new(code::SERVER_NOT_READY, message));
        };
        let mut call = Request::call(Method::TOOLS_CALL, Object::new());
        call.context.clone_from(&request.context);
        // A refusal is told in the answer; the request for tools itself is not refused.
        call.context.trail = None;
        call.context.tool = Some(resolved);
        for member in ["_meta", MEMBER] {
            if let Some(value) = request.params.get(member) {
                call.params.set(member, value);
            }
        }
        Ok((gate, call))
    }
}

impl ToolVisibility for CatalogVisibility {
    fn sees(&self, context: &Context, tool: &Tool) -> bool {
        CallerView::of(&self.visibility, context).is_ok_and(|view| view.finds(&tool.server, &tool.name))
    }

    fn revision(&self, context: &Context) -> u64 {
        let Visibility { policies, fleet, .. } = &*self.visibility;
        // Each of them only ever grows, so no sum comes twice.
        let of_policies = policies.access.revision() + fleet.revision() + policies.scopes.revision();
        let client = context.principal.as_ref().and_then(|caller| fleet.lists_for(caller));
        if client.is_none() && context.scopes.is_none() {
            return of_policies;
        }
        self.hasher.hash_one((of_policies, client, &context.scopes))
    }

    fn missing_permissions(&self, context: &Context, tool: &Tool) -> Vec<Permission> {
        let grants = &self.visibility.policies.grants;
        let missing = |permission: &&Permission| !grants.is_granted_for(&tool.server, permission, context);
        tool.permissions.iter().filter(missing).cloned().collect()
    }

    fn ask_permissions<'a>(
        &'a self,
        request: &'a Request,
        tools: &'a [Arc<Tool>],
    ) -> BoxFuture<'a, Vec<Option<Error>>> {
        let mut asked = JoinSet::new();
        for (place, tool) in tools.iter().enumerate() {
            let call = self.call_of(request, tool);
            asked.spawn(async move {
                let refusal = match call {
                    // The permissions ask as for any call; nothing is sent.
                    Ok((gate, call)) => refusal(&gate, call).await,
                    Err(error) => Some(error),
                };
                (place, refusal)
            });
        }
        Box::pin(async move {
            let mut refusals = asked.join_all().await;
            refusals.sort_by_key(|(place, _)| *place);
            refusals.into_iter().map(|(_, refusal)| refusal).collect()
        })
    }
}

/// Returns why the permissions of a server refuse the call, once people have decided about it.
async fn refusal(permissions: &PermissionGate, mut call: Request) -> Option<Error> {
    let mut flow = permissions.enter(&mut call);
    loop {
        match flow {
            Flow::Pass(_) => return None,
            Flow::Answer(answer) => return answer.err(),
            Flow::Wait(waiting) => flow = waiting.await.1,
        }
    }
}
