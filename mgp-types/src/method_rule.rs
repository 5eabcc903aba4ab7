//! The table of methods: the sender of each, its concern, the permission that a key needs for it, and the gates that see it
//! on its way to a server.
//!
//! A gateway forwards the methods that have a row here, and refuses all others.

use std::sync::{Arc, LazyLock};

use serde::Deserialize;

use crate::mcp::method::TOOLS_CALL;
use crate::mgp::ResolvedTool;
use crate::{Error, Method, RawJson, Request, RequestKind};

/// The decisions that a request passes on its way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a gate that is not named here sees nothing")]
pub enum GateKind {
    /// May the caller use the server, or the tool?
    Access,
    /// Is the definition of the called tool the approved one?
    Definitions,
    /// Do the arguments do harm?
    Validators,
    /// Are the permissions granted that the request needs?
    Permission,
    /// Does a human confirm the call?
    Confirmation,
    /// Does every request leave a record? Without this gate, only refused requests do.
    Record,
}

/// The senders of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a connection has two ends")]
pub enum MessageSender {
    /// A client.
    Client,
    /// A server.
    Server,
    /// Either of them.
    Both,
}

/// The concern of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub enum RequestConcern {
    /// The request opens a session, keeps it alive, or takes something back; it reaches no tool.
    Session,
    /// The request sets how much the other end writes into its log, for everybody.
    Logging,
    /// The request calls a tool.
    Tool,
    /// The request lists tools.
    ToolList,
    /// The request lists something else, or ends a subscription.
    List,
    /// The request is about a task or stream that the call of a tool began, or about a transaction of such calls.
    Running,
    /// The request reads a resource, or asks for notifications of its changes.
    Resource,
    /// The request gets a prompt.
    Prompt,
    /// The request completes an argument of a prompt or of a template.
    Completion,
    /// The request calls a method of MGP, which the receiver answers itself and never forwards.
    Own,
    /// The request asks the client or its user something.
    Question,
    /// The notification reports an event.
    Report,
}

/// The permission that a request demands of an API key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a permission that is not named here permits nothing")]
pub enum KeyPermission {
    /// Any key will do: the request keeps a session alive, or its answer is cut down to the tools that the key may see.
    Any,
    /// The key must permit calling the tool that the request names.
    Call,
    /// The key must permit anything about any tool: the request is about the caller's own calls, changes and rights, or is
    /// answered with the tools that the key is for.
    SomeTool,
    /// The key must permit seeing all tools.
    AllTools,
    /// The key must permit reading the registry. Resources and prompts are registered like tools and have no permissions
    /// of their own.
    Read,
    /// The key must permit changing the registry. A method without a row demands this, too.
    Register,
}

/// The role of a method for calls in progress, for whoever limits or refuses new calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a method without a row begins work")]
pub enum WorkRole {
    /// The method begins work.
    Begins,
    /// The method tells something, or asks whether the receiver is there.
    Tells,
    /// The method ends calls.
    Ends,
    /// Calls in progress wait for the data of the method.
    Feeds,
    /// The method asks about a call that was begun before.
    Follows,
    /// The method is about the receiver itself, is answered in every state, and is counted nowhere.
    Apart,
}

/// The effect of a method by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[expect(clippy::exhaustive_enums, reason = "a method without a row acts")]
pub enum MethodEffect {
    /// The method only reads.
    Reads,
    /// The method decides or changes something, or may.
    Acts,
}

/// The row of one method.
#[derive(Debug, Deserialize)]
#[non_exhaustive]
pub struct MethodRule {
    /// The name of the method.
    pub method: &'static str,
    /// The senders of the method.
    pub sender: MessageSender,
    /// The kind of message: a call or a notification.
    pub kind: RequestKind,
    /// The concern of the method.
    pub concern: RequestConcern,
    /// The permission that an API key needs for the method.
    pub permission: KeyPermission,
    /// The role of the method for calls in progress.
    pub role: WorkRole,
    /// The effect of the method by itself.
    pub effect: MethodEffect,
    /// True if the request may be made twice: it reads, or leaves a state that is the same after the second time.
    pub is_repeatable: bool,
    /// True if a client may cache the results of the method.
    pub is_cacheable: bool,
    /// The gates that see the method in front of a server; none where the gateway answers it, or where it only keeps a
    /// session alive.
    pub gates: Vec<GateKind>,
}

impl MethodRule {
    /// Returns the row of the method that `request` names. `None` stands for a method without a row, and for a call by
    /// the name of a notification, which no honest sender makes.
    pub fn of(request: &Request) -> Option<&'static Self> {
        Self::named(request.method.as_str())
            .filter(|rule| rule.kind == RequestKind::Call || request.kind == RequestKind::Notify)
    }

    /// Returns the row of the method called exactly `name`; all methods of a kernel's operators have the same one.
    pub fn named(name: &str) -> Option<&'static Self> {
        match name {
            // Most requests are calls of tools.
            TOOLS_CALL => *OF_CALLS,
            name if name.starts_with(OF_OPERATORS) => Self::listed(OF_OPERATORS),
            name => Self::listed(name),
        }
    }

    fn listed(name: &str) -> Option<&'static Self> {
        RULES.get(RULES.binary_search_by(|rule| rule.method.cmp(name)).ok()?)
    }

    /// Returns all rows.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        RULES.iter()
    }

    /// Returns whether the methods are those of a kernel's operators, which go no further than that kernel.
    pub fn is_of_operators(&self) -> bool {
        self.method == OF_OPERATORS
    }

    /// Returns whether `sender` sends such messages.
    pub fn is_sent_by(&self, sender: MessageSender) -> bool {
        self.sender == MessageSender::Both || self.sender == sender
    }
}

/// The part of a request that a gate judges.
#[derive(Debug)]
pub struct JudgedRequest<'a> {
    /// The called tool, or the method in the form of a tool.
    pub tool: &'a Arc<ResolvedTool>,
    request: &'a Request,
}

impl JudgedRequest<'_> {
    /// Returns the arguments to judge.
    pub fn arguments(&self) -> Option<RawJson> {
        match &self.request.context.operation {
            Some(operation) if self.request.method != Method::TOOLS_CALL => Some(operation.arguments.clone()),
            _ => self.request.params.get("arguments"),
        }
    }
}

impl Request {
    /// Returns the part of the request that `gate` has to judge; `None` if the gate does not see requests of this
    /// method.
    ///
    /// Every gate judges a method that has no row.
    ///
    /// # Errors
    /// The gate sees such requests, and no layer has resolved the tool or operation of this one.
    pub fn judged_by(&self, gate: GateKind) -> Result<Option<JudgedRequest<'_>>, Error> {
        let resolved = if self.method == Method::TOOLS_CALL {
            self.context.tool.as_ref()
        } else if MethodRule::of(self).is_none_or(|rule| rule.gates.contains(&gate)) {
            self.context.operation.as_ref().map(|operation| &operation.tool)
        } else {
            return Ok(None);
        };
        match resolved {
            Some(tool) => Ok(Some(JudgedRequest { tool, request: self })),
            None => Err(Error::invalid_request(format!(
                "no layer resolved the tool or operation that `{}` is for",
                self.method
            ))),
        }
    }
}

impl Request {
    /// Returns the role of the request for calls in progress. A notification begins no work.
    pub fn role(&self) -> WorkRole {
        if self.kind == RequestKind::Notify { WorkRole::Tells } else { self.method.role() }
    }

    /// Returns whether the request passes whatever the load: it is about the receiver itself, or lets calls end or go on.
    ///
    /// Holding such a request back would keep calls running that are to stop or wait for it, and make a busy server
    /// look dead.
    pub fn is_vital(&self) -> bool {
        !matches!(self.role(), WorkRole::Begins | WorkRole::Follows)
    }

    /// Returns whether the answer comes when a subscription or a task ends, however long that takes.
    pub fn is_open_ended(&self) -> bool {
        self.method == Method::LISTEN || self.method == Method::TASKS_RESULT
    }
}

impl Method {
    /// Returns the role of the method for calls in progress.
    pub fn role(&self) -> WorkRole {
        self.rule().map_or(WorkRole::Begins, |rule| rule.role)
    }

    /// Returns the row of the method in the table of methods; `None` for a method without a row.
    pub fn rule(&self) -> Option<&'static MethodRule> {
        MethodRule::named(self.as_str())
    }
}

/// The beginning of the names of the methods of a kernel's operators, which share the row of this name.
const OF_OPERATORS: &str = "kernel/";

/// The row of calls of tools.
static OF_CALLS: LazyLock<Option<&MethodRule>> = LazyLock::new(|| MethodRule::listed(TOOLS_CALL));

/// The rows of all methods, sorted by name; each has the values of the fields of [`MethodRule`] in their order.
static RULES: LazyLock<Vec<MethodRule>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("method_rules.json")).expect("the table is part of the program")
});

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Params;
    use crate::mcp::{method, notification_name};
    use crate::mgp::method as mgp;

    #[test]
    fn every_method_of_all_revisions_and_of_mgp_has_one_row() {
        assert!(RULES.is_sorted_by(|one, other| one.method < other.method));
        let optional = [
            mgp::REGISTRY_VALIDATE,
            "mgp/events/list",
            "notifications/mgp.session.lifecycle",
            "mgp/data/resolve",
            "mgp/data/renew",
            "mgp/data/release",
            "transaction/begin",
            "transaction/commit",
            "transaction/rollback",
            "transaction/status",
            OF_OPERATORS,
        ];
        let known = [method::NAMES, notification_name::NAMES, mgp::NAMES, &optional].concat();
        for name in &known {
            let rule = MethodRule::named(name).unwrap_or_else(|| panic!("{name} has no row"));
            assert_eq!(rule.kind == RequestKind::Notify, name.starts_with("notifications/"), "{name}");
        }
        assert_eq!(known.len(), RULES.len(), "no row is for a method that there is not");
    }

    #[test]
    fn what_reaches_a_server_by_a_name_or_an_address_passes_all_gates() {
        use GateKind::{Access, Confirmation, Definitions, Permission, Validators};
        for rule in MethodRule::all() {
            let names = matches!(
                rule.concern,
                RequestConcern::Tool
                    | RequestConcern::Resource
                    | RequestConcern::Prompt
                    | RequestConcern::Completion
            );
            let all = [Access, Definitions, Validators, Permission, Confirmation]
                .map(|gate| rule.gates.contains(&gate));
            assert!(!names || all == [true; 5], "{}", rule.method);
            assert!(rule.sender != MessageSender::Server || rule.gates.is_empty(), "{}", rule.method);
        }
    }

    #[test]
    fn a_key_that_may_not_register_can_neither_change_nor_play_the_server() {
        for rule in MethodRule::all() {
            let changes = rule.method.starts_with("mgp/access/") && rule.method != mgp::ACCESS_QUERY
                || rule.is_of_operators()
                || [mgp::DISCOVERY_REGISTER, mgp::DISCOVERY_DEREGISTER, mgp::LIFECYCLE_SHUTDOWN]
                    .contains(&rule.method);
            let demands_most = rule.permission == KeyPermission::Register;
            assert_eq!(demands_most, changes || rule.sender == MessageSender::Server, "{}", rule.method);
            assert_eq!(rule.permission == KeyPermission::Call, rule.concern == RequestConcern::Tool);
        }
    }

    #[test]
    fn what_ends_or_feeds_work_or_tells_of_health_is_vital_and_calls_are_not() {
        let call = |method: &str| Request::call(method, Params::new());
        let calls = RULES.iter().filter(|rule| rule.kind == RequestKind::Call).map(|rule| rule.method);
        let vital = [
            OF_OPERATORS, "mgp/callback/respond", "mgp/events/unsubscribe", "mgp/health/ping",
            "mgp/health/status", "mgp/lifecycle/shutdown", "mgp/permission/grant", "mgp/permission/response",
            "mgp/stream/cancel", "ping", "resources/unsubscribe", "server/discover", "tasks/cancel",
            "tasks/update",
        ];
        assert_eq!(calls.filter(|method| call(method).is_vital()).collect::<Vec<_>>(), vital);
        assert!(Request::notify("notifications/cancelled", Params::new()).is_vital());
        assert!(call("kernel/status").is_vital() && !call("vendor/ping").is_vital());
    }

    #[test]
    fn subscriptions_and_results_of_tasks_take_as_long_as_they_take() {
        for (method, open_ended) in
            [("subscriptions/listen", true), ("tasks/result", true), ("tasks/get", false)]
        {
            assert_eq!(Request::call(method, Params::new()).is_open_ended(), open_ended, "{method}");
        }
    }

    #[test]
    fn what_is_not_known_or_not_of_the_kind_its_name_says_has_no_row() {
        let concern = |request: Request| MethodRule::of(&request).map(|rule| rule.concern);
        for name in ["vendor/x", "", "Tools/Call", "tools/call ", "notifications/vendor", "mgp/x", "tasks/x"]
        {
            assert_eq!(concern(Request::call(name, Params::new())), None, "{name}");
            assert_eq!(concern(Request::notify(name, Params::new())), None, "{name}");
        }
        let name = "notifications/cancelled";
        assert_eq!(concern(Request::notify(name, Params::new())), Some(RequestConcern::Session));
        assert_eq!(concern(Request::call(name, Params::new())), None);
        assert_eq!(concern(Request::notify("tools/call", Params::new())), Some(RequestConcern::Tool));
    }
}
