use mgp_types::mcp::meta::key;
use mgp_types::{Error, Method, Object, Origin, RawJson, Response, Session, Shape, code};

use super::ServerIdentity;

/// Gives a stateless result what the era requires of it.
pub(super) fn stamp(mut response: Response, cacheable: bool, identity: &ServerIdentity) -> Response {
    if response.context.shape == Shape::Plain {
        let hint = response.context.cache.take();
        response.context.stamp =
            Some(if cacheable { identity.cacheable_stamp(hint.as_ref()) } else { identity.stamp() });
        return response;
    }
    let Ok(mut result) = Object::from_raw(&response.to_raw()) else { return response };
    let complete = match result.text("resultType") {
        None => {
            result.set("resultType", RawJson::from_value("complete").unwrap_or_else(|_| RawJson::null()));
            true
        }
        Some(kind) => kind == "complete",
    };
    if complete && cacheable {
        let hint = response.context.cache.take().unwrap_or_else(ServerIdentity::no_cache);
        for (name, value) in [
            ("ttlMs", RawJson::from_value(&hint.ttl_ms)),
            ("cacheScope", RawJson::from_value(hint.scope.as_str())),
        ] {
            if let (false, Ok(value)) = (result.contains(name), value) {
                result.set(name, value);
            }
        }
    }
    let mut meta = result.get("_meta").and_then(|meta| Object::from_raw(&meta).ok()).unwrap_or_default();
    if !meta.contains(key::SERVER_INFO) {
        meta.set(key::SERVER_INFO, identity.info(mgp_types::Revision::LATEST));
        result.set("_meta", meta.to_raw());
    }
    with_result(response, result.to_raw())
}

/// Takes from a result what sessions do not have.
pub(super) fn strip(response: Response) -> Response {
    if response.context.shape == Shape::Plain
        || memchr::memmem::find(response.result.as_bytes(), br#""resultType""#).is_none()
    {
        return response;
    }
    let Ok(mut result) = Object::from_raw(&response.to_raw()) else { return response };
    for name in ["resultType", "ttlMs", "cacheScope"] {
        result.remove(name);
    }
    with_result(response, result.to_raw())
}

/// The error as the peer is to see it: one that does not speak MGP gets the codes of MCP and no advice.
/// What another peer answered passes through untouched.
pub(super) fn explain(error: Error, session: &Session) -> Error {
    if session.mgp.is_some() || error.origin() == Origin::Peer {
        return error;
    }
    let plain = code::to_mcp(error.code(), session.revision.is_stateless());
    error.with_code(plain).without_recovery()
}

/// Whether results of the method may be kept by whoever gets them.
pub(super) fn is_cacheable(method: &Method) -> bool {
    matches!(
        method.as_str(),
        "server/discover"
            | "tools/list"
            | "prompts/list"
            | "resources/list"
            | "resources/templates/list"
            | "resources/read"
    )
}

fn with_result(mut response: Response, result: RawJson) -> Response {
    response.result = result;
    response.context.stamp = None;
    response
}
