use mgp_types::mcp::{method, notification_name as notification};
use mgp_types::mgp::method as mgp;
use mgp_types::{Kind, Request};

/// What a request is about, as far as every gate has to tell. Each gate says for itself what it asks of which.
///
/// What is not known here is [`Other`](Self::Other), and of that a gate asks the most. A call by the name of a
/// notification is not known: nobody sends one who means what the name says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Concern {
    /// It opens a session, keeps it alive, or takes something back; it reaches no tool.
    Session,
    /// How much the other end writes into its log, for everybody.
    Logging,
    /// The call of a tool, be it by a notification.
    Tool,
    /// Which tools there are.
    ToolList,
    /// What the call of a tool began, or changes that somebody wants to be told of.
    Running,
    /// Anything else, known or not.
    Other,
}

impl Concern {
    pub(crate) fn of(request: &Request) -> Self {
        match request.method.as_str() {
            method::TOOLS_CALL => Self::Tool,
            method::TOOLS_LIST => Self::ToolList,
            method::INITIALIZE | method::PING | method::SERVER_DISCOVER => Self::Session,
            notification::INITIALIZED
            | notification::CANCELLED
            | notification::PROGRESS
            | notification::ROOTS_LIST_CHANGED
                if request.kind == Kind::Notify =>
            {
                Self::Session
            }
            method::LOGGING_SET_LEVEL => Self::Logging,
            method::TASKS_GET
            | method::TASKS_RESULT
            | method::TASKS_LIST
            | method::TASKS_UPDATE
            | method::TASKS_CANCEL
            | method::SUBSCRIPTIONS_LISTEN
            | mgp::STREAM_CANCEL
            | mgp::CALLBACK_RESPOND => Self::Running,
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Params;

    use super::*;

    #[test]
    fn what_is_not_known_or_not_of_the_kind_its_name_says_is_other() {
        for name in ["vendor/x", "", "Tools/Call", "tools/call ", "notifications/vendor", "mgp/x", "tasks/x"]
        {
            assert_eq!(Concern::of(&Request::call(name, Params::new())), Concern::Other, "{name}");
            assert_eq!(Concern::of(&Request::notify(name, Params::new())), Concern::Other, "{name}");
        }
        let name = "notifications/cancelled";
        assert_eq!(Concern::of(&Request::notify(name, Params::new())), Concern::Session);
        assert_eq!(Concern::of(&Request::call(name, Params::new())), Concern::Other);
        assert_eq!(Concern::of(&Request::notify("tools/call", Params::new())), Concern::Tool);
    }
}
