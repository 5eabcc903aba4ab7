//! What the tools of a server declare, read once for each.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use mgp_types::ext::ToolDeclaration;
use mgp_types::mgp::{ResolvedTool, ToolName};

/// The declarations of one server's tools, read once for each definition.
#[derive(Debug, Default)]
pub(super) struct DeclaredTools(ArcSwap<HashMap<ToolName, DeclaredTool, foldhash::fast::RandomState>>);

#[derive(Debug, Clone)]
struct DeclaredTool {
    tool: Arc<ResolvedTool>,
    /// `None` if the tool declares nothing that decides about its calls.
    declaration: Option<Arc<ToolDeclaration>>,
}

impl DeclaredTools {
    /// Returns what the tool declares about costs and sizes; `None` if it declares neither.
    pub(super) fn of(&self, tool: &Arc<ResolvedTool>) -> Option<Arc<ToolDeclaration>> {
        if let Some(known) = self.0.load().get(&tool.name).filter(|known| Arc::ptr_eq(&known.tool, tool)) {
            return known.declaration.clone();
        }
        let declaration = ToolDeclaration::of_definition(&tool.definition);
        let decides = declaration.cost.is_some() || declaration.max_input_size_bytes.is_some();
        let known = DeclaredTool { tool: tool.clone(), declaration: decides.then(|| Arc::new(declaration)) };
        let declaration = known.declaration.clone();
        // A tool that was never listed is resolved anew with each call; noting it would let callers fill the memory.
        if tool.definition.contains("inputSchema") {
            self.0.rcu(|all| {
                let mut all = HashMap::clone(all);
                all.insert(tool.name.clone(), known.clone());
                all
            });
        }
        declaration
    }
}
