//! The role of methods for calls in progress, for layers that limit or refuse new calls.

use mgp_types::mcp::method as mcp;
use mgp_types::mgp::method as mgp;
use mgp_types::{Method, Request, RequestKind};

/// The role of a method for calls in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WorkRole {
    /// The method reports health.
    Tells,
    /// The method ends calls.
    Ends,
    /// Calls in progress wait for the data of the method.
    Feeds,
    /// The method asks about a call that was begun before.
    Follows,
}

/// Returns whether a request passes whatever the load: it reports health, or lets calls end or go on.
///
/// Holding such a request back would keep calls running that are to stop or wait for it, and make a busy server look
/// dead.
pub(crate) fn is_vital(request: &Request) -> bool {
    request.kind == RequestKind::Notify || part(&request.method).is_some_and(|part| part != WorkRole::Follows)
}

/// Returns whether a server that takes no new calls still takes this method: it starts no work, and calls in progress
/// may depend on it.
pub(crate) fn helps_to_finish(method: &Method) -> bool {
    part(method).is_some()
}

/// Returns whether the answer comes when a subscription or a task ends, however long that takes.
pub(crate) fn is_open_ended(request: &Request) -> bool {
    request.method == Method::LISTEN || request.method == Method::TASKS_RESULT
}

const PARTS: [(&str, WorkRole); 16] = [
    (mcp::PING, WorkRole::Tells),
    (mcp::DISCOVER, WorkRole::Tells),
    (mgp::HEALTH_PING, WorkRole::Tells),
    (mgp::HEALTH_STATUS, WorkRole::Tells),
    (mgp::LIFECYCLE_SHUTDOWN, WorkRole::Ends),
    (mgp::STREAM_CANCEL, WorkRole::Ends),
    (mcp::TASKS_CANCEL, WorkRole::Ends),
    (mcp::RESOURCES_UNSUBSCRIBE, WorkRole::Ends),
    (mgp::EVENTS_UNSUBSCRIBE, WorkRole::Ends),
    (mgp::CALLBACK_RESPOND, WorkRole::Feeds),
    (mgp::PERMISSION_RESPONSE, WorkRole::Feeds),
    (mgp::PERMISSION_GRANT, WorkRole::Feeds),
    (mcp::TASKS_UPDATE, WorkRole::Feeds),
    (mcp::TASKS_GET, WorkRole::Follows),
    (mcp::TASKS_RESULT, WorkRole::Follows),
    (mcp::TASKS_LIST, WorkRole::Follows),
];

/// Returns the role of a method; `None` for methods that start work, and for unknown ones.
fn part(method: &Method) -> Option<WorkRole> {
    // Most requests are calls of tools.
    if *method == Method::TOOLS_CALL {
        return None;
    }
    let known = PARTS.iter().find(|(name, _)| *name == method.as_str());
    known.map(|(_, part)| *part)
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;

    fn call(method: &str) -> Request {
        Request::call(method, Object::new())
    }

    #[test]
    fn what_ends_or_feeds_work_or_tells_of_health_is_vital_and_calls_are_not() {
        for (method, part) in PARTS {
            assert_eq!(is_vital(&call(method)), part != WorkRole::Follows, "{method}");
            assert!(helps_to_finish(&Method::new(method)), "{method}");
        }
        assert!(is_vital(&Request::notify("notifications/cancelled", Object::new())));
        for method in
            ["tools/call", "tools/list", "vendor/ping", "subscriptions/listen", "mgp/events/subscribe"]
        {
            assert!(!is_vital(&call(method)) && !helps_to_finish(&Method::new(method)), "{method}");
        }
    }

    #[test]
    fn subscriptions_and_results_of_tasks_take_as_long_as_they_take() {
        for (method, open_ended) in
            [("subscriptions/listen", true), ("tasks/result", true), ("tasks/get", false)]
        {
            assert_eq!(is_open_ended(&call(method)), open_ended, "{method}");
        }
    }
}
