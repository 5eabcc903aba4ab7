//! The table of methods: the sender of each, its concern, and the gates that see it on its way to a server.
//!
//! A gateway forwards the methods that have a row here, and refuses all others.

use std::sync::Arc;

use crate::mgp::ResolvedTool;
use crate::{Error, Method, RawJson, Request, RequestKind};

/// The decisions that a request passes on its way to a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(clippy::exhaustive_enums, reason = "a gate that is not named here sees nothing")]
pub enum GateKind {
    /// May the caller use the server, or the tool?
    Access = 1,
    /// Is the definition of the called tool the approved one?
    Definitions = 2,
    /// Do the arguments do harm?
    Validators = 4,
    /// Are the permissions granted that the request needs?
    Permission = 8,
    /// Does a human confirm the call?
    Confirmation = 16,
    /// Does every request leave a record? Without this gate, only refused requests do.
    Record = 32,
}

/// A set of gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GateKinds(u8);

/// The senders of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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

/// The row of one method.
#[derive(Debug)]
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
    /// The gates that see the method in front of a server; none where the gateway answers it, or where it only keeps a
    /// session alive.
    pub gates: GateKinds,
}

impl GateKinds {
    /// Returns whether `gate` is in the set.
    pub const fn has(self, gate: GateKind) -> bool {
        self.0 & gate as u8 != 0
    }
}

impl MethodRule {
    /// Returns the row of the method that `request` names. `None` stands for a method without a row, and for a call by
    /// the name of a notification, which no honest sender makes.
    pub fn of(request: &Request) -> Option<&'static Self> {
        Self::named(request.method.as_str())
            .filter(|rule| rule.kind == RequestKind::Call || request.kind == RequestKind::Notify)
    }

    /// Returns the row of the method called exactly `name`.
    pub fn named(name: &str) -> Option<&'static Self> {
        let index = RULES.binary_search_by(|rule| rule.method.cmp(name)).ok()?;
        RULES.get(index)
    }

    /// Returns all rows.
    pub fn all() -> impl Iterator<Item = &'static Self> {
        RULES.iter()
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
        } else if MethodRule::of(self).is_none_or(|rule| rule.gates.has(gate)) {
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

impl Method {
    /// Returns the row of the method in the table of methods; `None` for a method without a row.
    pub fn rule(&self) -> Option<&'static MethodRule> {
        MethodRule::named(self.as_str())
    }
}

macro_rules! rules {
    ($($name:literal $sender:ident $kind:ident $concern:ident [$($gate:ident)*];)+) => {
        &[$(MethodRule {
            method: $name,
            sender: MessageSender::$sender,
            kind: RequestKind::$kind,
            concern: RequestConcern::$concern,
            gates: GateKinds(0 $(| GateKind::$gate as u8)*),
        }),+]
    };
}

/// The rows of all methods, sorted by name.
#[rustfmt::skip]
const RULES: &[MethodRule] = rules! {
    "completion/complete"                         Client Call   Completion [Access Definitions Validators Permission Confirmation];
    "elicitation/create"                          Server Call   Question   [];
    "initialize"                                  Client Call   Session    [];
    "logging/setLevel"                            Client Call   Logging    [Access];
    "mgp/access/grant"                            Client Call   Own        [];
    "mgp/access/query"                            Client Call   Own        [];
    "mgp/access/revoke"                           Client Call   Own        [];
    "mgp/callback/respond"                        Client Call   Running    [Access];
    "mgp/data/release"                            Server Call   Own        [];
    "mgp/data/renew"                              Server Call   Own        [];
    "mgp/data/resolve"                            Server Call   Own        [];
    "mgp/discovery/catalog"                        Client Call   Own        [];
    "mgp/discovery/deregister"                    Client Call   Own        [];
    "mgp/discovery/list"                          Client Call   Own        [];
    "mgp/discovery/recommend"                      Client Call   Own        [];
    "mgp/discovery/register"                      Client Call   Own        [];
    "mgp/events/replay"                           Client Call   Own        [];
    "mgp/events/subscribe"                        Client Call   Own        [];
    "mgp/events/unsubscribe"                      Client Call   Own        [];
    "mgp/health/ping"                             Client Call   Own        [];
    "mgp/health/status"                           Client Call   Own        [];
    "mgp/lifecycle/shutdown"                      Client Call   Own        [];
    "mgp/manifest/get"                             Client Call   Own        [];
    "mgp/permission/await"                        Client Call   Own        [];
    "mgp/permission/check"                         Client Call   Own        [];
    "mgp/permission/grant"                        Client Call   Own        [];
    "mgp/permission/negotiate"                     Client Call   Own        [];
    "mgp/permission/refresh"                       Client Call   Own        [];
    "mgp/permission/request"                      Client Call   Own        [];
    "mgp/permission/response"                     Client Call   Own        [];
    "mgp/stream/cancel"                           Client Call   Running    [Access];
    "mgp/tools/discover"                          Client Call   Own        [];
    "mgp/tools/request"                           Client Call   Own        [];
    "mgp/tools/session"                           Client Call   Own        [];
    "mgp/tools/session/evict"                     Client Call   Own        [];
    "mgp/tools/validate"                           Client Call   Own        [];
    "notifications/cancelled"                     Both   Notify Session    [];
    "notifications/elicitation/complete"          Server Notify Report     [];
    "notifications/initialized"                   Client Notify Session    [];
    "notifications/message"                       Server Notify Report     [];
    "notifications/mgp.audit"                     Server Notify Report     [];
    "notifications/mgp.callback.request"          Server Notify Report     [];
    "notifications/mgp.event"                     Server Notify Report     [];
    "notifications/mgp.lifecycle"                 Server Notify Report     [];
    "notifications/mgp.session.lifecycle"         Server Notify Report     [];
    "notifications/mgp.stream.chunk"              Server Notify Report     [];
    "notifications/mgp.stream.gap"                Client Notify Running    [Access];
    "notifications/mgp.stream.gap_unrecoverable"  Server Notify Report     [];
    "notifications/mgp.stream.pace"               Client Notify Running    [Access];
    "notifications/mgp.stream.progress"           Server Notify Report     [];
    "notifications/progress"                      Both   Notify Session    [];
    "notifications/prompts/list_changed"          Server Notify Report     [];
    "notifications/resources/list_changed"        Server Notify Report     [];
    "notifications/resources/updated"             Server Notify Report     [];
    "notifications/roots/list_changed"            Client Notify Session    [];
    "notifications/subscriptions/acknowledged"    Server Notify Report     [];
    "notifications/tasks"                         Server Notify Report     [];
    "notifications/tasks/status"                  Both   Notify Report     [Access];
    "notifications/tools/list_changed"            Server Notify Report     [];
    "ping"                                        Both   Call   Session    [];
    "prompts/get"                                 Client Call   Prompt     [Access Definitions Validators Permission Confirmation Record];
    "prompts/list"                                Client Call   List       [Access Definitions];
    "resources/list"                              Client Call   List       [Access Definitions];
    "resources/read"                              Client Call   Resource   [Access Definitions Validators Permission Confirmation Record];
    "resources/subscribe"                         Client Call   Resource   [Access Definitions Validators Permission Confirmation];
    "resources/templates/list"                    Client Call   List       [Access Definitions];
    "resources/unsubscribe"                       Client Call   List       [Access];
    "roots/list"                                  Server Call   Question   [];
    "sampling/createMessage"                      Server Call   Question   [];
    "server/discover"                             Client Call   Session    [];
    "subscriptions/listen"                        Client Call   Running    [Access Definitions Validators Permission Confirmation];
    "tasks/cancel"                                Both   Call   Running    [Access];
    "tasks/get"                                   Both   Call   Running    [Access];
    "tasks/list"                                  Both   Call   Running    [Access];
    "tasks/result"                                Both   Call   Running    [Access];
    "tasks/update"                                Client Call   Running    [Access];
    "tools/call"                                  Client Call   Tool       [Access Definitions Validators Permission Confirmation Record];
    "tools/list"                                  Client Call   ToolList   [Access Definitions];
    "tools/validate"                              Client Call   Own        [];
    "transaction/begin"                           Client Call   Running    [Access];
    "transaction/commit"                          Client Call   Running    [Access];
    "transaction/rollback"                        Client Call   Running    [Access];
    "transaction/status"                          Client Call   Running    [Access];
};

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
            "notifications/mgp.session.lifecycle",
            "mgp/data/resolve",
            "mgp/data/renew",
            "mgp/data/release",
            "transaction/begin",
            "transaction/commit",
            "transaction/rollback",
            "transaction/status",
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
        for rule in RULES {
            let names = matches!(
                rule.concern,
                RequestConcern::Tool
                    | RequestConcern::Resource
                    | RequestConcern::Prompt
                    | RequestConcern::Completion
            );
            let all =
                [Access, Definitions, Validators, Permission, Confirmation].map(|gate| rule.gates.has(gate));
            assert!(!names || all == [true; 5], "{}", rule.method);
            assert!(rule.sender != MessageSender::Server || rule.gates == GateKinds(0), "{}", rule.method);
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
