//! The arguments of each tool that headers repeat, learnt from the server's lists.

use std::collections::HashMap;
use std::sync::Arc;

#[cfg(feature = "http")]
use mgp_transport::http::MirroredHeaders;
#[cfg(feature = "http")]
use mgp_types::Request;
use mgp_types::mcp::MirroredArgument;
use mgp_types::{Object, RawJson, Response};
use parking_lot::RwLock;

/// The arguments of each tool that headers repeat, for tools that have any. The map is bounded by the tools that the server
/// lists, page by page, and beyond that by a limit.
#[derive(Clone, Default)]
pub(super) struct HeaderPlans(Arc<RwLock<HashMap<Box<str>, Vec<MirroredArgument>>>>);

/// The number of tools outside of all lists that are remembered.
const MAX_KNOWN: usize = 4096;

impl HeaderPlans {
    /// Attaches the headers of a tool call.
    #[cfg(feature = "http")]
    pub(super) fn apply(&self, request: &mut Request) {
        let Some(name) = request.params.text("name") else { return };
        let tools = self.0.read();
        let Some(plan) = tools.get(&*name) else { return };
        let Some(arguments) = request.params.object("arguments") else { return };
        let mut headers = None::<MirroredHeaders>;
        for mirrored in plan {
            if let Some(value) = mirrored.value(&arguments) {
                headers.get_or_insert_default().push(mirrored.header(), value);
            }
        }
        drop(tools);
        if let Some(headers) = headers {
            request.extensions.insert(headers);
        }
    }

    /// Learns from tools that a search found (MGP §16), which need not be in any list.
    pub(super) fn learn_found(&self, response: &Response) {
        let Ok(mut result) = Object::from_raw(&response.result) else { return };
        let structured = result.object("structuredContent");
        result = structured.unwrap_or(result);
        let found = result.get("tools").or_else(|| result.get("tools_loaded"));
        let Some(Ok(tools)) = found.map(|tools| tools.to::<Vec<RawJson>>()) else { return };
        let tools = tools.iter().filter_map(|tool| Object::from_raw(tool).ok());
        for tool in tools.filter(|tool| tool.contains("name")) {
            let (name, plan) = Self::read(&tool);
            match plan {
                Ok(plan) if plan.is_empty() => {}
                Ok(plan) => {
                    let mut known = self.0.write();
                    if known.len() < MAX_KNOWN || known.contains_key(&name) {
                        known.insert(name, plan);
                    }
                }
                Err(wrong) => tracing::warn!(tool = %name, %wrong, "a found tool may not be callable"),
            }
        }
    }

    /// Learns from a page of tools, and takes out the tools that are annotated wrongly.
    pub(super) fn learn(&self, mut response: Response) -> Response {
        let Ok(mut result) = Object::from_raw(&response.result) else { return response };
        let Some(Ok(mut tools)) = result.get("tools").map(|tools| tools.to::<Vec<RawJson>>()) else {
            return response;
        };
        let all = tools.len();
        tools.retain(|tool| {
            let Ok(tool) = Object::from_raw(tool) else { return false };
            let (name, plan) = Self::read(&tool);
            if let Err(wrong) = plan {
                tracing::warn!(tool = %name, %wrong, "leaving out a tool");
            }
            let is_right = plan.is_ok();
            self.set(name, plan.unwrap_or_default());
            is_right
        });
        if let (true, Ok(tools)) = (tools.len() < all, RawJson::from_value(&tools)) {
            result.set("tools", tools);
            response.result = result.to_raw().into();
        }
        response
    }

    fn set(&self, tool: Box<str>, plan: Vec<MirroredArgument>) {
        let mut known = self.0.write();
        if plan.is_empty() {
            known.remove(&tool);
        } else {
            known.insert(tool, plan);
        }
    }

    /// Returns the name of a tool and the arguments of it that headers repeat, or the fault of its annotations.
    fn read(tool: &Object) -> (Box<str>, Result<Vec<MirroredArgument>, &'static str>) {
        let schema = tool.get("inputSchema");
        let plan = schema.map_or(Ok(Vec::new()), |schema| MirroredArgument::all_of(&schema));
        (tool.text("name").unwrap_or_default().into(), plan)
    }
}

mgp_types::partial_debug!(HeaderPlans, self => tools: self.0.read().len());
