//! What requests are to the work that is in progress, whoever limits or refuses new work.

use mgp_types::mcp::method as mcp;
use mgp_types::mgp::method as mgp;
use mgp_types::{Kind, Method, Request};

/// What a method is to work that is in progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It tells how the server does.
    Tells,
    /// It lets work end.
    Ends,
    /// Work in progress waits for what it brings.
    Feeds,
    /// It asks for what was begun before.
    Follows,
}

/// Whether a request passes whatever the load: it tells how a server does, or it lets work end or go on.
///
/// To hold such a request back would keep calls running that are to stop or wait for it, and make a busy server look
/// dead.
pub(crate) fn is_vital(request: &Request) -> bool {
    request.kind == Kind::Notify || part(&request.method).is_some_and(|part| part != Part::Follows)
}

/// Whether a server that takes no new calls still takes a call of this method: it starts no work, and work that was
/// started may depend on it.
pub(crate) fn helps_to_finish(method: &Method) -> bool {
    part(method).is_some()
}

/// Whether the answer comes when something else ends, a subscription or a task, however long that takes.
pub(crate) fn is_open_ended(request: &Request) -> bool {
    request.method == Method::LISTEN || request.method == Method::TASKS_RESULT
}

/// `None` of what starts work, and of whatever is not known.
fn part(method: &Method) -> Option<Part> {
    // Most requests are calls of tools.
    if *method == Method::TOOLS_CALL {
        return None;
    }
    let known = PARTS.iter().find(|(name, _)| *name == method.as_str());
    known.map(|(_, part)| *part)
}

const PARTS: [(&str, Part); 16] = [
    (mcp::PING, Part::Tells),
    (mcp::SERVER_DISCOVER, Part::Tells),
    (mgp::HEALTH_PING, Part::Tells),
    (mgp::HEALTH_STATUS, Part::Tells),
    (mgp::LIFECYCLE_SHUTDOWN, Part::Ends),
    (mgp::STREAM_CANCEL, Part::Ends),
    (mcp::TASKS_CANCEL, Part::Ends),
    (mcp::RESOURCES_UNSUBSCRIBE, Part::Ends),
    (mgp::EVENTS_UNSUBSCRIBE, Part::Ends),
    (mgp::CALLBACK_RESPOND, Part::Feeds),
    (mgp::PERMISSION_RESPONSE, Part::Feeds),
    (mgp::PERMISSION_GRANT, Part::Feeds),
    (mcp::TASKS_UPDATE, Part::Feeds),
    (mcp::TASKS_GET, Part::Follows),
    (mcp::TASKS_RESULT, Part::Follows),
    (mcp::TASKS_LIST, Part::Follows),
];

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
            assert_eq!(is_vital(&call(method)), part != Part::Follows, "{method}");
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
