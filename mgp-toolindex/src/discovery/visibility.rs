//! The tools that each caller may see.

use std::sync::Arc;

use mgp_types::mgp::{Permission, code};
use mgp_types::{BoxFuture, Context, Error, Request};

use crate::session::{SessionKey, SessionTable};
use crate::{Snapshot, Tool, VisibleTools};

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
    pub(super) fn new(eyes: Option<Arc<dyn ToolVisibility>>) -> Self {
        Self { eyes, known: SessionTable::new(MAX_KNOWN) }
    }

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
