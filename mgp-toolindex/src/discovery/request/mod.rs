//! Mode B of discovery (§16.6): tools for the capabilities that a task turns out to need.

mod choice;
mod flow;

use std::sync::Arc;

use mgp_types::mgp::{FoundTool, NearMiss, PendingTool, RequestTools, RequestedTools, ToolRequestStatus};
use mgp_types::{Context, Error, Object, Origin, Request};

use self::choice::{ChosenTool, ToolChoice, candidates};
use super::answer::{loaded as loaded_tool, starting};
use super::shared::DiscoveryShared;
use super::{meta_tool, params};
use crate::session::{LoadedTools, SessionKey};
use crate::{Snapshot, Tool, VisibleTools};

/// Finds tools for the capabilities, asks for permissions that they lack, and loads them into the session.
///
/// # Errors
/// The parameters are wrong, or the caller has to be asked first.
pub(super) async fn request(
    shared: &Arc<DiscoveryShared>,
    request: &Request,
    params: &Object,
) -> Result<RequestedTools, Error> {
    let wanted = params::request(params)?;
    let mut context = (*request.context).clone();
    context.trace = context.trace.or(wanted.task_trace_id);
    let key = shared.key(&context);
    let snapshot = shared.index.up_to_date().await;
    let visible = shared.visible_tools.of(&key, &context, &snapshot);
    let asking = ToolRequest {
        shared,
        context: &context,
        snapshot: &snapshot,
        visible: visible.as_deref(),
        wanted: &wanted,
    };

    let capabilities = capabilities(&wanted);
    let mut choice = ToolChoice::default();
    for capability in &capabilities {
        choice.decide(&asking, capability, candidates(&asking, capability).await);
        // Each capability takes some searches, and other tasks wait for this thread.
        tokio::task::yield_now().await;
    }
    let lacking = choice.lacking();
    for (tool, refusal) in lacking.iter().zip(shared.visible_tools.ask(request, &lacking).await) {
        match refusal {
            Some(refusal) if refusal.origin() == Origin::InputRequired => return Err(refusal),
            refusal => choice.asked(tool, refusal.as_ref()),
        }
    }
    let (loaded, found) = asking.load(&key, &choice);
    let mut answer = asking.answer(&choice, &loaded);
    answer.tools_loaded = found;
    if answer.status == ToolRequestStatus::Unavailable
        && let Some(creation) = &shared.settings.creation
        && creation.begin(&context, &wanted, &answer.tools_unavailable).await
    {
        answer.status = ToolRequestStatus::Creating;
    }
    if !loaded.loaded.is_empty() {
        shared.notifier.loaded(shared, &key);
    }
    tracing::debug!(
        task = wanted.task_trace_id.map(tracing::field::display),
        reason = %wanted.reason,
        status = %answer.status,
        asked = capabilities.len(),
        loaded = answer.tools_loaded.len(),
        "an agent asked for tools"
    );
    Ok(answer)
}

/// Returns the capabilities of a request. A request that names none needs one: its context.
fn capabilities(wanted: &RequestTools) -> Vec<String> {
    let mut capabilities: Vec<String> = Vec::new();
    for capability in &wanted.requirements.capabilities {
        if !capabilities.contains(capability) {
            capabilities.push(capability.clone());
        }
    }
    if capabilities.is_empty() {
        capabilities.push(wanted.context.clone());
    }
    capabilities
}

/// A request for tools, with the index and settings to meet it.
struct ToolRequest<'a> {
    shared: &'a DiscoveryShared,
    context: &'a Context,
    snapshot: &'a Snapshot,
    visible: Option<&'a VisibleTools>,
    wanted: &'a RequestTools,
}

impl ToolRequest<'_> {
    /// Loads the chosen tools, and returns them in the length that the list of the session has.
    fn load(&self, key: &SessionKey, choice: &ToolChoice) -> (LoadedTools, Vec<FoundTool>) {
        let tools = choice.callable();
        let names = self.shared.names(self.context);
        self.shared.with_session(self.snapshot, (key, self.context), |session, view, settings| {
            if tools.is_empty() {
                // No tool is loaded, and tools that were found before stay found.
                let state = session.state(settings);
                let session_tools_count = (state.pinned.len() + state.cached.len()) as u64;
                return (LoadedTools { session_tools_count, ..LoadedTools::default() }, Vec::new());
            }
            let loaded = session.load(view, settings, &tools);
            let found = |tool: &Arc<Tool>| loaded_tool(self.snapshot, tool, names, session.held(tool));
            let found = loaded.loaded.iter().map(found).collect();
            (loaded, found)
        })
    }

    fn answer(&self, choice: &ToolChoice, loaded: &LoadedTools) -> RequestedTools {
        let is_loaded = |tool: &Arc<Tool>| loaded.loaded.iter().any(|loaded| loaded.is_same(tool));
        let mut answer = RequestedTools::new(ToolRequestStatus::Unavailable);
        let (mut met, mut pending) = (0, 0);
        for (capability, chosen) in &choice.chosen {
            match chosen {
                Ok(chosen) if !chosen.missing.is_empty() => {
                    pending += 1;
                    let name = self.snapshot.shown_name(&chosen.tool, self.shared.names(self.context));
                    if !answer.tools_pending.iter().any(|known| known.name == name) {
                        let (server, missing) = (chosen.tool.server.clone(), chosen.missing.clone());
                        let mut pending_tool = PendingTool::new(name, server, missing);
                        pending_tool.approval_id = chosen.approval_id();
                        pending_tool.message =
                            chosen.refusal.as_ref().map(|refusal| refusal.message().to_owned());
                        answer.tools_pending.push(pending_tool);
                    }
                }
                Ok(ChosenTool { tool, .. }) if is_loaded(tool) => met += 1,
                Ok(ChosenTool { tool, .. }) => {
                    let why = "the tool fits, but the context budget has no room for it".to_owned();
                    answer.near_misses.push(self.near_miss(capability, tool, why));
                    answer.tools_unavailable.push(capability.clone());
                }
                Err(near) => {
                    answer.tools_unavailable.push(capability.clone());
                    let near = near.iter();
                    let near = near.map(|(tool, reason)| self.near_miss(capability, tool, reason.clone()));
                    answer.near_misses.extend(near);
                }
            }
        }
        answer.status = match (met, pending, answer.tools_unavailable.len()) {
            (_, 0, 0) => ToolRequestStatus::Fulfilled,
            (0, 0, _) => ToolRequestStatus::Unavailable,
            (0, ..) => ToolRequestStatus::PendingApproval,
            _ => ToolRequestStatus::Partial,
        };
        if !loaded.loaded.is_empty() {
            let starting = starting(self.snapshot, loaded.loaded.iter().map(|tool| &tool.server));
            let names = self.shared.names(self.context);
            answer.next = Some(meta_tool::how_to_call(names, self.context, &starting));
        }
        answer.session_tools_count = loaded.session_tools_count;
        answer.context_tokens_added = loaded.context_tokens_added;
        answer
    }

    fn near_miss(&self, capability: &str, tool: &Tool, reason: String) -> NearMiss {
        let name = self.snapshot.shown_name(tool, self.shared.names(self.context));
        NearMiss::new(capability, name, tool.server.clone(), reason)
    }
}
