use mgp_types::mgp::RequestTools;
use mgp_types::{BoxFuture, Context};

/// Makes tools for what no tool can do (§16.6).
pub trait CreateTools: Send + Sync + 'static {
    /// Begins to make a tool with these capabilities, and says whether it did; the tool itself comes later, as any new
    /// tool does.
    ///
    /// It has to refuse unless the agent was granted `code_execution` and the approval policy is `auto_approve`: nobody
    /// asks that in front of it.
    fn begin<'a>(
        &'a self,
        context: &'a Context,
        request: &'a RequestTools,
        capabilities: &'a [String],
    ) -> BoxFuture<'a, bool>;
}
