use std::fmt;
use std::sync::Arc;

use mgp_types::{CallEnding, Context, Kind, RawJson, Request, Response};

use super::shared::Shared;
use crate::Tool;

/// The call of a tool, which counts as a use once it succeeds.
pub(super) struct ToolUse {
    caller: Context,
    tool: Arc<Tool>,
}

impl ToolUse {
    /// The tool that a call is for; `None` if the index does not know it.
    ///
    /// Where nobody resolved the call yet, the tool is attached to it, and the name becomes that by which its server knows
    /// it.
    pub(super) fn of(shared: &Arc<Shared>, request: &mut Request) -> Option<Self> {
        if request.kind == Kind::Notify {
            return None;
        }
        let snapshot = shared.index.snapshot();
        let tool = if let Some(resolved) = &request.context.tool {
            Arc::clone(snapshot.tool(resolved.server.as_str(), resolved.name.as_str())?)
        } else {
            let name = request.params.text("name")?;
            let tool = Arc::clone(snapshot.called(&name)?);
            let is_own = tool.name.as_str() == name;
            if !is_own {
                request.params.set("name", RawJson::from_text(tool.name.as_str()));
            }
            request.extensions.insert_shared(Arc::clone(&tool));
            tool
        };
        Some(Self { caller: caller(&request.context), tool })
    }

    pub(super) fn answered(self, shared: &Arc<Shared>, response: &Response) {
        // A tool that failed, or that asks for something first, has not been used yet.
        if CallEnding::of(&response.result) == CallEnding::Done {
            shared.used(&self.caller, &self.tool);
        }
    }
}

impl fmt::Debug for ToolUse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ToolUse").field("tool", &self.tool.name).finish_non_exhaustive()
    }
}

/// What has to be known of a call when it is over.
fn caller(context: &Context) -> Context {
    let mut caller = Context::default();
    caller.session.clone_from(&context.session);
    caller.principal.clone_from(&context.principal);
    caller.grants.clone_from(&context.grants);
    caller
}
