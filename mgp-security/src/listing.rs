//! Results of `tools/list`, reduced to the tools that a caller may see.

use mgp_types::{CacheScope, Error, Object, RawJson, Response};
use serde_json::value::RawValue;

/// Returns a result of `tools/list` without the tools that `may` does not admit. Everything else stays as it is, the
/// cursor included: a page may become empty while there are more pages.
///
/// The reduced list is for one caller alone, so a result that calls itself public is made private.
///
/// # Errors
/// Fails if the result is not an object, or its `tools` are not a list.
pub(crate) fn keep_listed(mut response: Response, may: impl Fn(&str) -> bool) -> Result<Response, Error> {
    // Members that are kept outside of the result may say how public it is.
    response.absorb_stamp();
    let mut result = Object::from_raw(&response.result).map_err(|_| malformed())?;
    let kept = result.get("tools").map(|tools| keep(&tools, may)).transpose()?.flatten();
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
    response.result = result.to_raw().into();
    Ok(response)
}

/// Makes a result of `tools/list` private, and leaves it otherwise as it is. A result that cannot have members
/// specific to a protocol era is not parsed: for thousands of tools, parsing takes longer than everything else.
///
/// # Errors
/// Fails if the result is not an object, or if its `tools` are not a list.
#[cfg(feature = "auth")]
pub(crate) fn keep_all(mut response: Response) -> Result<Response, Error> {
    if response.context.shape != mgp_types::ResultShape::Plain || response.context.stamp.is_some() {
        return keep_listed(response, |_| true);
    }
    if let Some(cache) = &mut response.context.cache {
        cache.scope = CacheScope::Private;
    }
    Ok(response)
}

/// Returns the list without the tools that `may` does not admit; `None` if it admits all of them.
fn keep(tools: &RawJson, may: impl Fn(&str) -> bool) -> Result<Option<RawJson>, Error> {
    let all: Vec<&RawValue> = tools.to().map_err(|_| malformed())?;
    let kept: Vec<_> = all.iter().filter(|tool| is_kept(tool, tools, &may)).collect();
    (kept.len() < all.len()).then(|| RawJson::from_value(&kept)).transpose().map_err(|_| malformed())
}

/// Returns whether `tool` stays in the list. A tool without a readable name cannot be called, so it is removed.
fn is_kept(tool: &RawValue, tools: &RawJson, may: impl Fn(&str) -> bool) -> bool {
    let Ok(tool) = Object::parse(tools.to_bytes().slice_ref(tool.get().as_bytes())) else { return false };
    tool.text("name").is_some_and(|name| !name.is_empty() && may(&name))
}

fn malformed() -> Error {
    Error::misbehaved("the list of tools is none")
}

#[cfg(feature = "auth")]
#[cfg(test)]
mod tests {
    use mgp_types::CacheHint;

    use super::*;

    fn list() -> RawJson {
        RawJson::parse(r#"{"tools":[{"name":"echo"}],"cacheScope":"public"}"#).unwrap()
    }

    #[test]
    fn a_list_of_our_own_is_passed_on_as_the_bytes_it_is_and_is_private() {
        let mut response = Response::plain(RawJson::parse(r#"{"tools":[{"name":"echo"}]}"#).unwrap());
        response.context.cache = Some(CacheHint { ttl_ms: 1, scope: CacheScope::Public });
        let bytes = response.result.as_bytes().as_ptr();
        let kept = keep_all(response).unwrap();
        assert_eq!(kept.result.as_bytes().as_ptr(), bytes);
        assert_eq!(kept.context.cache.map(|cache| cache.scope), Some(CacheScope::Private));
    }

    #[test]
    fn a_list_that_calls_itself_public_is_private_even_if_all_of_it_is_seen() {
        let kept = keep_all(Response::new(list())).unwrap();
        assert_eq!(kept.result.as_bytes(), br#"{"tools":[{"name":"echo"}],"cacheScope":"private"}"#);
    }
}
