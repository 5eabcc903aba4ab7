//! Whether a call may be made again: not if a second time could do what was done once already.

use mgp_types::mcp::ToolAnnotations;
use mgp_types::mgp::{ResolvedTool, RiskLevel, code};
use mgp_types::{Error, Method, Request};

/// Returns whether the call may be made again after it ended in `error`.
///
/// A method is repeatable if it is known to be; a tool, if its definition says so. Anything else only if the error tells
/// that nothing was carried out.
pub(in crate::call) fn is_repeatable(request: &Request, error: &Error) -> bool {
    let in_itself = if request.method == Method::TOOLS_CALL {
        request.context.tool.as_deref().is_some_and(is_harmless)
    } else {
        request.method.rule().is_some_and(|rule| rule.is_repeatable)
    };
    in_itself || !may_be_executed(error)
}

/// Returns whether the server may have begun with a call that ended in this error.
///
/// | error | begun? | because |
/// |---|---|---|
/// | any, marked as [not executed](Error::is_not_executed) | no | it never left |
/// | 1000, 1001, 1002, 1003, 1010, 1011 | no | the check comes before the work |
/// | 2000, 2001, 2002 | no | the server takes no calls; one that cut a call off does not say `retryable` |
/// | 3000 | no | the call was turned away at the door |
/// | 4001, 4002 | no | there is no tool that could have begun |
/// | 3001, 3002 | maybe | memory or a quota may end in the midst of the work |
/// | 3003, 5001 | maybe | what took too long may still be done |
/// | 4000, -32602 | maybe | a tool may judge its arguments one by one as it goes |
/// | 5000, 5002 | maybe | the tool ran, and what it needed failed |
/// | connection lost, no answer in time, an answer that is none | maybe | nobody knows |
/// | all others | maybe | nothing is known of them |
///
/// The codes count where somebody chose them, the server or a layer before it. The code of a lost connection or of an
/// answer that did not come is made up here and tells nothing.
pub(crate) fn may_be_executed(error: &Error) -> bool {
    use mgp_types::Origin::{Local, Peer};
    if error.is_not_executed() {
        return false;
    }
    let is_refusal = matches!(
        error.code(),
        code::PERMISSION_DENIED..=code::AUTH_EXPIRED
            | code::VALIDATION_BLOCKED..=code::CODE_SAFETY_VIOLATION
            | code::SERVER_NOT_READY..=code::SERVER_RESTARTING
            | code::RATE_LIMITED
            | code::TOOL_NOT_FOUND..=code::TOOL_DISABLED
    );
    !(is_refusal && matches!(error.origin(), Local | Peer))
}

/// Returns whether calling the tool twice is as good as once, by its annotations or its security (§4).
///
/// A tool that says it only reads, and of which effects are known, has contradicted itself and is not believed.
pub(crate) fn is_harmless(tool: &ResolvedTool) -> bool {
    let security = &tool.security;
    let has_no_effects = security.side_effects.is_empty();
    let annotations: Option<ToolAnnotations> =
        tool.definition.get("annotations").and_then(|annotations| annotations.to().ok());
    let (reads, repeats, destroys) = annotations.map_or((false, false, false), |hints| {
        let is_true = |hint: Option<bool>| hint == Some(true);
        (is_true(hints.read_only_hint), is_true(hints.idempotent_hint), is_true(hints.destructive_hint))
    });
    let declared_harmless =
        !security.derived && security.risk == RiskLevel::Safe && has_no_effects && !destroys;
    repeats || (reads && has_no_effects && !destroys) || declared_harmless
}

#[cfg(test)]
mod tests {
    use mgp_types::mgp::{EffectiveSecurity, SideEffect};
    use mgp_types::{MethodRule, Object, Origin};

    use super::*;

    fn tool(definition: &'static str, change: impl FnOnce(&mut EffectiveSecurity)) -> ResolvedTool {
        let mut security = EffectiveSecurity::new(RiskLevel::Moderate);
        change(&mut security);
        let definition = Object::parse(definition).unwrap();
        (*ResolvedTool::new("s".into(), "t".into(), definition, security)).clone()
    }

    #[test]
    fn a_tool_is_harmless_only_if_it_says_so_and_nothing_speaks_against_it() {
        let hint = |hints| tool(hints, |_| {});
        assert!(is_harmless(&hint(r#"{"annotations":{"readOnlyHint":true}}"#)));
        assert!(is_harmless(&hint(r#"{"annotations":{"idempotentHint":true,"destructiveHint":true}}"#)));
        for silent in [
            "{}",
            r#"{"annotations":{}}"#,
            r#"{"annotations":{"readOnlyHint":"yes"}}"#,
            r#"{"annotations":{"readOnlyHint":false,"idempotentHint":false}}"#,
            r#"{"annotations":{"readOnlyHint":true,"destructiveHint":true}}"#,
        ] {
            assert!(!is_harmless(&hint(silent)), "{silent}");
        }
        let writes = |security: &mut EffectiveSecurity| security.side_effects.push(SideEffect::Filesystem);
        assert!(!is_harmless(&tool(r#"{"annotations":{"readOnlyHint":true}}"#, writes)));
        assert!(is_harmless(&tool("{}", |security| security.risk = RiskLevel::Safe)));
        let guessed = |security: &mut EffectiveSecurity| {
            security.risk = RiskLevel::Safe;
            security.derived = true;
        };
        assert!(!is_harmless(&tool("{}", guessed)));
    }

    #[test]
    fn an_error_tells_whether_the_call_was_begun() {
        let refused = [1000, 1001, 1002, 1003, 1010, 1011, 2000, 2001, 2002, 3000, 4001, 4002];
        for code in (0..6000).chain(-32800..-31900) {
            let from = |origin| Error::from_origin(origin, code, "no");
            assert_eq!(may_be_executed(&from(Origin::Peer)), !refused.contains(&code), "{code}");
            for origin in [Origin::Connection, Origin::Timeout, Origin::Misbehaved, Origin::Cancelled] {
                assert!(may_be_executed(&from(origin)), "{code} {origin:?}");
            }
            assert!(!may_be_executed(&from(Origin::Local).not_executed()), "{code}");
        }
    }

    #[test]
    fn unknown_methods_are_not_repeated() {
        let busy = Error::from_origin(Origin::Peer, 5002, "gone");
        let repeatable = |method: &str| is_repeatable(&Request::call(method, Object::new()), &busy);
        let known: Vec<_> = MethodRule::all().map(|rule| rule.method).filter(|it| repeatable(it)).collect();
        assert_eq!(
            known,
            [
                "completion/complete", "logging/setLevel", "mgp/access/query", "mgp/health/ping",
                "mgp/health/status", "mgp/stream/cancel", "ping", "prompts/get", "prompts/list",
                "resources/list", "resources/read", "resources/subscribe", "resources/templates/list",
                "resources/unsubscribe", "roots/list", "server/discover", "tasks/cancel", "tasks/get",
                "tasks/list", "tasks/result", "tools/list",
            ]
        );
        for method in ["tools/call", "vendor/pay", "mgp/access/grant", "sampling/createMessage", "initialize"]
        {
            assert!(!repeatable(method), "{method}");
        }
    }
}
