//! Lists of tools without those that a caller may not see.

use mgp_types::{CacheScope, Error, Object, RawJson, Response, ResultShape};
use serde_json::value::RawValue;

/// Takes the tools that `may` not be seen out of the list that a request is answered with.
pub(crate) fn keep_only(outcome: &mut Result<Response, Error>, may: impl Fn(&str) -> bool) {
    if let Ok(response) = outcome {
        *outcome = keep_listed(std::mem::replace(response, Response::empty()), may);
    }
}

/// A result of `tools/list` without the tools that `may` not be seen. Everything else stays as it is, the cursor
/// included: a page may become empty while there are more.
///
/// The list is then one caller's alone, so a result that calls itself public is made private.
///
/// # Errors
/// The result is no object, or its `tools` are no list.
pub(crate) fn keep_listed(mut response: Response, may: impl Fn(&str) -> bool) -> Result<Response, Error> {
    if response.context.stamp.is_some() {
        // Members that wait outside of the result may say how public it is, so they have to be in it.
        response.result = response.to_raw();
        response.context.stamp = None;
        response.context.shape = ResultShape::Opaque;
    }
    let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
    let kept = match result.get("tools") {
        Some(tools) => keep(&tools, may)?,
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

/// The list without what `may` not be seen; `None` if all may be.
fn keep(tools: &RawJson, may: impl Fn(&str) -> bool) -> Result<Option<RawJson>, Error> {
    let all: Vec<&RawValue> = tools.read().map_err(|_| malformed())?;
    let mut out = Vec::with_capacity(tools.as_bytes().len());
    let mut kept = 0;
    out.push(b'[');
    for tool in &all {
        if !is_kept(tool, tools, &may) {
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
fn is_kept(tool: &RawValue, tools: &RawJson, may: impl Fn(&str) -> bool) -> bool {
    let Ok(tool) = Object::parse(tools.to_bytes().slice_ref(tool.get().as_bytes())) else { return false };
    tool.text("name").is_some_and(|name| !name.is_empty() && may(&name))
}

fn malformed() -> Error {
    Error::misbehaved("the list of tools is none")
}
