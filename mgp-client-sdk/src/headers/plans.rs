//! The arguments of each tool that headers repeat, learnt from the server's lists.

use std::collections::HashMap;
use std::sync::Arc;

use mgp_types::{Extensions, Object, RawJson, Request, Response};
use parking_lot::RwLock;

use super::annotation::{self, MirroredArgument};

/// The arguments of each tool that headers repeat.
#[derive(Clone)]
pub(crate) struct HeaderPlans(Arc<HeaderPlansInner>);

struct HeaderPlansInner {
    /// The arguments by tool, for tools that have any. The map is bounded by the tools that the server lists, page by
    /// page, and beyond that by a limit.
    tools: RwLock<HashMap<Box<str>, Vec<MirroredArgument>>>,
    attach: Attach,
}

/// A function that attaches the headers' names and values to a request, in the transport's own type.
pub(crate) type Attach = fn(&mut Extensions, Vec<(Box<str>, RawJson)>);

/// The number of tools outside of all lists that are remembered.
const MAX_KNOWN: usize = 4096;

impl HeaderPlans {
    pub(crate) fn new(attach: Attach) -> Self {
        Self(Arc::new(HeaderPlansInner { tools: RwLock::default(), attach }))
    }

    /// Attaches the headers of a tool call.
    pub(super) fn apply(&self, request: &mut Request) {
        let Some(name) = request.params.text("name") else { return };
        let tools = self.0.tools.read();
        let Some(plan) = tools.get(&*name) else { return };
        let arguments = request.params.object("arguments");
        let Some(arguments) = arguments else { return };
        let headers: Vec<_> = plan
            .iter()
            .filter_map(|mirrored| Some((mirrored.header.clone(), value_at(&arguments, &mirrored.path)?)))
            .collect();
        drop(tools);
        if !headers.is_empty() {
            (self.0.attach)(&mut request.extensions, headers);
        }
    }

    /// Learns from tools that a search found (MGP §16), which need not be in any list.
    pub(super) fn learn_found(&self, response: &Response) {
        let Ok(mut result) = Object::from_raw(&response.result) else { return };
        let structured = result.object("structuredContent");
        result = structured.unwrap_or(result);
        let found = result.get("tools").or_else(|| result.get("tools_loaded"));
        let Some(Ok(tools)) = found.map(|tools| tools.to::<Vec<RawJson>>()) else { return };
        let mut plans = Vec::new();
        for tool in tools.iter().filter_map(|tool| Object::from_raw(tool).ok()) {
            let (Some(name), Some(schema)) = (tool.text("name"), tool.get("inputSchema")) else { continue };
            match annotation::read(&schema) {
                Ok(plan) if plan.is_empty() => {}
                Ok(plan) => plans.push((Box::<str>::from(name), plan)),
                Err(wrong) => tracing::warn!(tool = %name, %wrong, "a found tool may not be callable"),
            }
        }
        if plans.is_empty() {
            return;
        }
        let mut known = self.0.tools.write();
        for (name, plan) in plans {
            if known.len() < MAX_KNOWN || known.contains_key(&name) {
                known.insert(name, plan);
            }
        }
    }

    /// Learns from a page of tools, and takes out the tools that are annotated wrongly.
    pub(super) fn learn(&self, response: Response) -> Response {
        let Ok(mut result) = Object::from_raw(&response.result) else { return response };
        let Some(Ok(tools)) = result.get("tools").map(|tools| tools.to::<Vec<RawJson>>()) else {
            return response;
        };
        let mut plans = Vec::with_capacity(tools.len());
        let mut kept = Vec::with_capacity(tools.len());
        let all = tools.len();
        for tool in tools {
            let Ok(object) = Object::from_raw(&tool) else { continue };
            let name = object.text("name").unwrap_or_default();
            let plan = object.get("inputSchema").map_or(Ok(Vec::new()), |schema| annotation::read(&schema));
            if plan.is_ok() {
                kept.push(tool);
            }
            let plan = plan.unwrap_or_else(|wrong| {
                tracing::warn!(tool = %name, %wrong, "leaving out a tool");
                Vec::new()
            });
            plans.push((Box::<str>::from(name), plan));
        }
        let mut known = self.0.tools.write();
        for (name, plan) in plans {
            if plan.is_empty() {
                known.remove(&name);
            } else {
                known.insert(name, plan);
            }
        }
        drop(known);
        if kept.len() == all {
            return response;
        }
        let mut response = response;
        if let Ok(tools) = RawJson::from_value(&kept) {
            result.set("tools", tools);
            response.result = result.to_raw().into();
        }
        response
    }
}

fn value_at(arguments: &Object, path: &[String]) -> Option<RawJson> {
    let (first, rest) = path.split_first()?;
    let value = arguments.get(first)?;
    let value = if rest.is_empty() { value } else { value_at(&Object::from_raw(&value).ok()?, rest)? };
    (!value.is_null()).then_some(value)
}

mgp_types::partial_debug!(HeaderPlans, self => tools: self.0.tools.read().len());
