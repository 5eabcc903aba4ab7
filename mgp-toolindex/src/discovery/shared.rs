//! The state that all services of a gate share, and the tools that each caller may see.

use std::cell::OnceCell;
use std::sync::Arc;

use mgp_types::mgp::{NameStyle, Permission, code};
use mgp_types::{BoxFuture, Context, Error, Request};

use super::ToolDiscoverySettings;
use super::callers::CallerNames;
use super::notifier::ListChangeNotifier;
use crate::level::Level;
use crate::session::{SessionKey, SessionSettings, SessionTable, SessionTools, ToolSessions, ToolView};
use crate::{Index, Snapshot, Tool, VisibleTools};

/// The state that all services of a gate share.
#[derive(Debug)]
pub(super) struct DiscoveryShared {
    pub(super) index: Index,
    pub(super) sessions: Arc<ToolSessions>,
    pub(super) settings: ToolDiscoverySettings,
    pub(super) visible_tools: VisibilityCache,
    pub(super) notifier: ListChangeNotifier,
    callers: CallerNames,
}

impl DiscoveryShared {
    pub(super) fn new(index: Index, sessions: Arc<ToolSessions>, settings: ToolDiscoverySettings) -> Self {
        let visible_tools =
            VisibilityCache { eyes: settings.eyes.clone(), known: SessionTable::new(MAX_KNOWN) };
        Self {
            index,
            sessions,
            settings,
            visible_tools,
            notifier: ListChangeNotifier::default(),
            callers: CallerNames::default(),
        }
    }

    /// Returns the key of the session that a request belongs to.
    pub(super) fn key(&self, context: &Context) -> SessionKey {
        self.callers.key(context, &self.sessions)
    }

    /// Runs `act` on these tools, as far as the caller sees them.
    pub(super) fn with_view<T>(
        &self,
        snapshot: &Snapshot,
        context: &Context,
        act: impl FnOnce(&ToolView<'_>) -> T,
    ) -> T {
        let sees = |tool: &Tool| self.visible_tools.sees(context, tool);
        // Most uses of a view write no name, and every successful call makes one.
        let style = OnceCell::new();
        let names = || *style.get_or_init(|| self.names(context));
        act(&ToolView::new(snapshot, &sees).named(&names))
    }

    /// Runs `act` on the session of a key, with these tools as far as the caller sees them.
    pub(super) fn with_session<T>(
        &self,
        snapshot: &Snapshot,
        (key, context): (&SessionKey, &Context),
        act: impl FnOnce(&mut SessionTools, &ToolView<'_>, &SessionSettings) -> T,
    ) -> T {
        self.with_view(snapshot, context, |view| {
            self.sessions.with(key, view, |session, settings| act(session, view, settings))
        })
    }

    /// Returns the style of names for the caller.
    pub(super) fn names(&self, context: &Context) -> NameStyle {
        (self.settings.names)(context)
    }

    /// Returns the level of the caller's session.
    pub(super) fn level(&self, key: &SessionKey, context: &Context) -> Level {
        self.settings.level.unwrap_or_else(|| {
            let snapshot = self.index.snapshot();
            let visible = self.visible_tools.of(key, context, &snapshot);
            let seen = visible.map_or(snapshot.len(), |visible| visible.count());
            self.with_session(&snapshot, (key, context), |session, view, settings| {
                session.level_by_budget(view, settings, seen)
            })
        })
    }

    /// Returns whether the caller sees no tool yet because servers are still starting, so that its list would be empty.
    pub(super) fn awaits_tools(&self, context: &Context) -> bool {
        !matches!(self.settings.level, Some(Level::L1 | Level::L2 | Level::L3))
            && self.settings.awaits_tools.as_ref().is_some_and(|awaits| awaits(context))
    }

    /// Notes that the caller called a tool with success.
    pub(super) fn used(self: &Arc<Self>, context: &Context, tool: &Tool) {
        let key = self.key(context);
        let snapshot = self.index.snapshot();
        self.with_view(&snapshot, context, |view| self.sessions.used(&key, view, tool));
        self.notifier.changed(self, &key);
    }
}

/// The access policy of a gateway, as discovery needs it.
///
/// Access is decided again when a tool is called: this trait only decides which tools are found and listed.
pub trait ToolVisibility: Send + Sync + 'static {
    /// Returns whether the caller may know of the tool. The gate asks for each tool in turn, and keeps the answers
    /// until the tool or the [`revision`](Self::revision) changes.
    fn sees(&self, context: &Context, tool: &Tool) -> bool;

    /// Returns a number that changes whenever answers of [`sees`](Self::sees) may for this caller.
    fn revision(&self, _context: &Context) -> u64 {
        0
    }

    /// Returns the permissions that the caller lacks for calling the tool; empty if none is missing.
    fn missing_permissions(&self, _context: &Context, _tool: &Tool) -> Vec<Permission> {
        Vec::new()
    }

    /// Asks for the permissions that the sender of the request lacks for calling these tools, as a call of each would.
    /// Returns the refusal that the call of a tool would get, or nothing if it has the permissions now. By default
    /// nobody is asked.
    fn ask_permissions<'a>(
        &'a self,
        _request: &'a Request,
        tools: &'a [Arc<Tool>],
    ) -> BoxFuture<'a, Vec<Option<Error>>> {
        let refusal = || Error::new(code::PERMISSION_DENIED, "an operator has to grant the permissions");
        Box::pin(std::future::ready(tools.iter().map(|_| Some(refusal())).collect()))
    }
}

/// The tools that callers see, computed once for each state of the index and the policy.
pub(super) struct VisibilityCache {
    eyes: Option<Arc<dyn ToolVisibility>>,
    /// The tools for each caller, and the revision that they are of.
    known: SessionTable<Option<(Arc<VisibleTools>, u64)>>,
}

impl VisibilityCache {
    /// Returns the tools of a snapshot that the caller sees; `None` if all callers see all tools.
    pub(super) fn of(
        &self,
        key: &SessionKey,
        context: &Context,
        snapshot: &Snapshot,
    ) -> Option<Arc<VisibleTools>> {
        let eyes = self.eyes.as_ref()?;
        // The revision is read before the tools are looked at: a change in between leads to another look the next time.
        let revision = eyes.revision(context);
        let known = self.known.with(key, |known| known.clone()).filter(|(_, of)| *of == revision);
        let sees = |tool: &Tool| eyes.sees(context, tool);
        let visible = match known {
            Some((visible, _)) if visible.is_of(snapshot) => return Some(visible),
            Some((visible, _)) => Arc::new(visible.follow(snapshot, sees)),
            None => Arc::new(VisibleTools::of(snapshot, sees)),
        };
        self.known.with(key, |known| *known = Some((Arc::clone(&visible), revision)));
        Some(visible)
    }

    pub(super) fn missing(&self, context: &Context, tool: &Tool) -> Vec<Permission> {
        self.eyes.as_ref().map_or_else(Vec::new, |eyes| eyes.missing_permissions(context, tool))
    }

    /// Returns the refusals that calls of these tools would get once people have been asked.
    pub(super) async fn ask(&self, request: &Request, tools: &[Arc<Tool>]) -> Vec<Option<Error>> {
        match &self.eyes {
            Some(eyes) if !tools.is_empty() => eyes.ask_permissions(request, tools).await,
            _ => Vec::new(),
        }
    }

    pub(super) fn sees(&self, context: &Context, tool: &Tool) -> bool {
        self.eyes.as_ref().is_none_or(|eyes| eyes.sees(context, tool))
    }
}

/// The number of callers that are remembered. Each takes a bit for each tool, and is computed anew with a question for
/// each tool.
const MAX_KNOWN: usize = 1024;

mgp_types::partial_debug!(VisibilityCache, self => restricted: self.eyes.is_some());
