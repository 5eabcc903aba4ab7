//! The changes to results and errors on their way out of a server.

use std::sync::LazyLock;

use memchr::memmem::Finder;
use mgp_types::ext::{ExtensionId, StructuredError, projection, registry_error_data};
use mgp_types::mcp::CacheScope;
use mgp_types::mcp::meta::key;
use mgp_types::mgp::{Recovery, TraceId};
use mgp_types::{CacheHint, Error, Object, Origin, RawJson, Request, Response, ResultShape, Session, code};

use super::ServerIdentity;

/// Adds the members that the era requires of a stateless result.
pub(super) fn stamp(response: &mut Response, cacheable: bool, identity: &ServerIdentity) {
    if response.context.shape == ResultShape::Plain {
        let hint = response.context.cache.take();
        response.context.stamp =
            Some(if cacheable { identity.cacheable_stamp(hint.as_ref()) } else { identity.stamp.clone() });
        return;
    }
    let Ok(mut result) = Object::from_raw(&response.to_raw()) else { return };
    let complete = match result.text("resultType") {
        None => {
            result.set("resultType", RawJson::from_text("complete"));
            true
        }
        Some(kind) => kind == "complete",
    };
    if complete && cacheable {
        // Nobody keeps a result without a hint of its own.
        let hint =
            response.context.cache.take().unwrap_or(CacheHint { ttl_ms: 0, scope: CacheScope::Private });
        for (name, value) in [
            ("ttlMs", RawJson::from_value(&hint.ttl_ms)),
            ("cacheScope", RawJson::from_value(hint.scope.as_str())),
        ] {
            if let (false, Ok(value)) = (result.contains(name), value) {
                result.set(name, value);
            }
        }
    }
    let meta = result.object_mut_or_new("_meta");
    if !meta.contains(key::SERVER_INFO) {
        meta.set(key::SERVER_INFO, identity.info(mgp_types::Revision::LATEST));
    }
    set_result(response, result.to_raw());
}

static RESULT_TYPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""resultType""#));

/// Removes the members from a result that sessions do not have.
pub(super) fn strip(response: &mut Response) {
    if response.context.shape == ResultShape::Plain || !has(&RESULT_TYPE, &response.result) {
        return;
    }
    if response.context.stamp.is_none()
        && let Some(members) = behind_complete(&response.result)
    {
        let result = RawJson::from_written([b"{", members].concat());
        return set_result(response, result);
    }
    let Ok(mut result) = Object::from_raw(&response.to_raw()) else { return };
    for name in ["resultType", "ttlMs", "cacheScope"] {
        result.remove(name);
    }
    set_result(response, result.to_raw());
}

/// Returns the error in the form for the peer.
///
/// A peer that speaks MGP gets advice with every error of MGP (§14.4). Another one gets the codes of MCP and no advice,
/// whoever gave it; errors without advice that came from another peer pass untouched.
///
/// A peer that declared structured errors, or the profile of the tool registry, finds their members in the data; the
/// registry's numbers are written in sessions only, because the stateless revisions give them other meanings.
pub(crate) fn explain(error: Error, session: &Session, trace: Option<TraceId>) -> Error {
    let extensions = session.extensions();
    let is_structured = extensions.has(ExtensionId::StructuredErrors);
    let of_registry = extensions.has(ExtensionId::ToolRegistry);
    if !is_structured && !of_registry {
        return with_advice(error, session);
    }
    let registry = (of_registry && session.lasts()).then(|| projection(error.code()).registry);
    let structured = is_structured.then(|| StructuredError::of(&error));
    let members = trace.map(|trace| registry_error_data(&error, trace));
    let mut error = with_advice(error, session);
    if let Some(members) = members {
        error = error.with_data(members);
    }
    if let Some(structured) = structured {
        let data = structured.add_to(error.data());
        error = error.with_data(data);
    }
    if let Some(code) = registry { error.with_code(code) } else { error }
}

/// Returns the trace that the errors of a request name, for a peer in the profile of the tool registry: the one that the
/// request carries, or a new one, by which the record knows the request too.
pub(super) fn trace_for_errors(request: &mut Request, session: &Session) -> Option<TraceId> {
    if !session.extensions().has(ExtensionId::ToolRegistry) {
        return None;
    }
    let carried = request.params.object("_meta").and_then(|meta| {
        let own = meta.text("trace_id").and_then(|id| id.parse().ok());
        own.or_else(|| TraceId::from_traceparent(&meta.text("traceparent")?))
    });
    let trace = request.context.trace.or(carried).unwrap_or_else(TraceId::random);
    request.context.trace = Some(trace);
    Some(trace)
}

fn with_advice(error: Error, session: &Session) -> Error {
    let advice = error.recovery();
    if session.mgp.is_some() {
        return if advice.is_none() { advised(error) } else { error };
    }
    if error.origin() == Origin::Peer && advice.is_none() {
        return error;
    }
    let plain = code::to_mcp(error.code(), session.revision.is_stateless());
    error.with_code(plain).without_recovery()
}

/// Returns the error with the advice of its code. Of a call that was lost on its way nobody knows whether it was done, so
/// it is not to be made again.
fn advised(error: Error) -> Error {
    match Recovery::for_code(error.code()) {
        Some(advice) if error.origin() == Origin::Connection => {
            error.with_recovery(advice.with_retryable(false))
        }
        Some(advice) if error.origin() != Origin::Peer => error.with_recovery(advice),
        _ => error,
    }
}

static TTL: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""ttlMs""#));

static CACHE_SCOPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r#""cacheScope""#));

/// The beginning of the escape of a letter.
static ESCAPE: LazyLock<Finder<'static>> = LazyLock::new(|| Finder::new(r"\u"));

/// Returns the members of a result behind its type, if the result begins with that of a complete one and has no other
/// member that sessions lack. A text that may be such a member, also in a part of the result or spelled with escapes,
/// counts as one.
fn behind_complete(result: &RawJson) -> Option<&[u8]> {
    let members = result.as_bytes().strip_prefix(br#"{"resultType":"complete","#)?;
    let is_plain = [&TTL, &CACHE_SCOPE, &ESCAPE].iter().all(|name| !has(name, result));
    is_plain.then_some(members)
}

fn has(name: &Finder<'_>, result: &RawJson) -> bool {
    name.find(result.as_bytes()).is_some()
}

fn set_result(response: &mut Response, result: RawJson) {
    response.result = result.into();
    response.context.stamp = None;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_of_a_session_has_no_member_of_the_other_era() {
        for (json, stripped) in [
            (r#"{"resultType":"complete","content":[],"a":1.0}"#, r#"{"content":[],"a":1.0}"#),
            (r#"{"resultType":"complete","content":["\n"]}"#, r#"{"content":["\n"]}"#),
            (r#"{"resultType":"complete"}"#, "{}"),
            (r#"{"resultType":"complete","a":1,"ttlMs":1,"cacheScope":"public"}"#, r#"{"a":1}"#),
            (r#"{"resultType":"complete","a":1,"ttl\u004ds":1}"#, r#"{"a":1}"#),
            (r#"{"resultType":"complete","a":{"ttlMs":1}}"#, r#"{"a":{"ttlMs":1}}"#),
            (r#"{"a":1,"resultType":"complete"}"#, r#"{"a":1}"#),
            (r#"{"a":{"resultType":"complete"}}"#, r#"{"a":{"resultType":"complete"}}"#),
        ] {
            let mut response = Response::new(RawJson::parse(json).unwrap());
            strip(&mut response);
            let result = response.result;
            assert_eq!(result.as_bytes(), stripped.as_bytes(), "{json}");
        }
    }
}
