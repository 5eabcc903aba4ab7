//! The requests to which the limits of ordinary calls do not apply.

use mgp_types::mgp::method as mgp;
use mgp_types::{Kind, Method, Request};

/// Whether a request passes whatever the load: it tells how a server does, or it lets work end.
///
/// To hold such a request back would keep calls running that are to stop or wait for it, and make a busy server look
/// dead.
pub(super) fn is_vital(request: &Request) -> bool {
    request.kind == Kind::Notify || VITAL.contains(&request.method.as_str())
}

/// Whether the answer comes when something else ends, a subscription or a task, however long that takes.
pub(super) fn is_open_ended(request: &Request) -> bool {
    request.method == Method::LISTEN || request.method == Method::TASKS_RESULT
}

const VITAL: [&str; 7] = [
    "ping",
    "tasks/cancel",
    mgp::HEALTH_PING,
    mgp::HEALTH_STATUS,
    mgp::LIFECYCLE_SHUTDOWN,
    mgp::STREAM_CANCEL,
    // A call in progress waits for it.
    mgp::CALLBACK_RESPOND,
];

#[cfg(test)]
mod tests {
    use mgp_types::Object;

    use super::*;

    #[test]
    fn what_ends_work_or_tells_of_health_is_vital_and_calls_are_not() {
        for method in VITAL {
            assert!(is_vital(&Request::call(method, Object::new())), "{method}");
        }
        assert!(is_vital(&Request::notify("notifications/cancelled", Object::new())));
        for method in ["tools/call", "tools/list", "vendor/ping"] {
            assert!(!is_vital(&Request::call(method, Object::new())), "{method}");
        }
    }
}
