use mgp_types::mgp::{AgentId, ServerId};
use mgp_types::{CacheScope, Error, Object, RawJson, Response, Shape};
use serde_json::value::RawValue;

use super::AccessPolicy;

/// What an agent may see of a server's list of tools.
#[derive(Debug)]
pub struct Listed {
    pub(super) policy: AccessPolicy,
    pub(super) agent: AgentId,
    pub(super) server: ServerId,
}

impl Listed {
    /// The result without the tools that the agent may not call. Everything else stays, the cursor included: a page
    /// may become empty while there are more.
    pub(super) fn keep_allowed(&self, mut response: Response) -> Result<Response, Error> {
        if response.context.stamp.is_some() {
            // Members that wait outside of the result may say how public it is, so they have to be in it.
            response.result = response.to_raw();
            response.context.stamp = None;
            response.context.shape = Shape::Opaque;
        }
        let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
        let kept = match result.get("tools") {
            Some(tools) => self.allowed(&tools)?,
            None => None,
        };
        let public = result.contains("cacheScope") && result.text("cacheScope").as_deref() != Some("private");
        if let Some(cache) = &mut response.context.cache {
            cache.scope = CacheScope::Private;
        }
        if kept.is_none() && !public {
            return Ok(response);
        }
        if let Some(kept) = kept {
            result.set("tools", kept);
        }
        if public {
            result.set("cacheScope", RawJson::from_written(br#""private""#.to_vec()));
        }
        response.result = result.to_raw();
        Ok(response)
    }

    /// The list without what the agent may not call; `None` if it may call everything.
    fn allowed(&self, tools: &RawJson) -> Result<Option<RawJson>, Error> {
        let all: Vec<&RawValue> = tools.read().map_err(|_| malformed())?;
        let mut out = Vec::with_capacity(tools.as_bytes().len());
        let mut kept = 0;
        out.push(b'[');
        for tool in &all {
            if !self.allows(tool, tools) {
                continue;
            }
            if kept > 0 {
                out.push(b',');
            }
            out.extend_from_slice(tool.get().as_bytes());
            kept += 1;
        }
        out.push(b']');
        Ok((kept < all.len()).then(|| RawJson::from_written(out)))
    }

    /// A tool without a readable name cannot be called, so it is not shown.
    fn allows(&self, tool: &RawValue, tools: &RawJson) -> bool {
        let bytes = tools.to_bytes().slice_ref(tool.get().as_bytes());
        let Ok(tool) = Object::parse(bytes) else { return false };
        let name = tool.text("name").filter(|name| !name.is_empty());
        name.is_some_and(|name| {
            self.policy.decide(self.agent.as_str(), self.server.as_str(), Some(&name)).allows()
        })
    }
}

fn malformed() -> Error {
    Error::misbehaved("the list of tools is none")
}
