//! The part of the permission gate that judges requests against the decisions.

use mgp_types::mgp::{ApprovalPolicy, CallEffect, Permission, ResolvedTool, Timestamp, method};
use mgp_types::{Context, Error, GateKind, MethodRule, RawJson, Request, RequestConcern, RequestKind};

use super::ask::{PermissionRefusal, not_ready, not_resolved, refuse};
use super::{ConnectedServer, GrantedOnce, PermissionGate, is_about_permissions};
use crate::permission::book::CurrentGrants;
use crate::permission::settings::PermissionJudgement;

/// The outcome of judging a request that is not refused.
pub(super) enum RequestAdmission {
    Pass,
    /// The request has to wait until these permissions are decided.
    Wait(Vec<Permission>),
    /// The request has to wait for the end of the negotiation, in which no person is waited for.
    Negotiating,
}

/// The classes of requests that the gate treats differently.
enum RequestClass {
    /// The request makes the server do nothing.
    Free,
    /// The request is one that only the gate itself sends.
    Own,
    /// The request is the call of a tool, or is judged like one.
    Judged,
    /// The effect of the request is known, and needs no permission of its own.
    Known,
    /// The effect of the request is unknown: it may use all that the server was granted.
    Unknown,
}

impl PermissionGate {
    /// Judges a request.
    ///
    /// # Errors
    /// Fails with the refusal of the request.
    pub(super) fn admit(&self, request: &Request) -> Result<RequestAdmission, Error> {
        let class = classify(request);
        match class {
            RequestClass::Free => return Ok(RequestAdmission::Pass),
            RequestClass::Own => {
                return Err(refuse(self.server(), &PermissionRefusal::NotYours, None, request));
            }
            RequestClass::Judged | RequestClass::Known | RequestClass::Unknown => {}
        }
        let connected = self.0.connected.load();
        let Some(connected) = connected.as_ref() else {
            let waits = self.0.approver.open_for(self.server());
            if waits.is_none() && *self.0.negotiating.borrow() {
                return Ok(RequestAdmission::Negotiating);
            }
            return Err(not_ready(self.server(), waits.as_ref(), request));
        };
        let tool = match class {
            RequestClass::Judged => match request.judged_by(GateKind::Permission) {
                Ok(Some(judged)) if judged.tool.server == *self.server() => Some(judged.tool),
                _ => return Err(not_resolved()),
            },
            _ => None,
        };
        let standing = self.0.book.standing();
        let now = self.0.book.now();
        let call = Some(&*request.context);
        let mut undecided = Vec::new();
        // A tool without a declaration of its own may use all that the server was granted.
        let bounded = tool.map_or(matches!(class, RequestClass::Unknown), |tool| tool.security.derived);
        for (_, permission) in &connected.required {
            let judged = self.judge(&standing, permission, call, now);
            self.weigh(judged, permission, request, bounded, &mut undecided)?;
        }
        let is_free =
            |permission: &Permission| tool.is_some_and(|tool| self.is_free(tool, permission, request));
        for permission in tool.iter().flat_map(|tool| &tool.security.permissions) {
            let judged = self.judge(&standing, permission, call, now);
            if matches!(judged, PermissionJudgement::Undecided { expired: false }) && is_free(permission) {
                continue;
            }
            self.weigh(judged, permission, request, true, &mut undecided)?;
        }
        Ok(if undecided.is_empty() { RequestAdmission::Pass } else { RequestAdmission::Wait(undecided) })
    }

    /// Returns the permissions about which an operator would be asked before the request goes on.
    ///
    /// # Errors
    /// The gate would refuse the request, or the needs of the server are not settled yet.
    pub(super) fn questions(&self, request: &Request) -> Result<Vec<Permission>, Error> {
        let undecided = match self.admit(request)? {
            RequestAdmission::Pass => return Ok(Vec::new()),
            RequestAdmission::Wait(undecided) => undecided,
            RequestAdmission::Negotiating => return Err(not_ready(self.server(), None, request)),
        };
        let (now, mut asked) = (self.0.book.now(), Vec::new());
        for permission in undecided {
            let judged = self.0.settings.judge(&permission, now);
            self.weigh(judged, &permission, request, true, &mut asked)?;
        }
        Ok(asked)
    }

    /// Returns the decision about `permission` at `now`, for a call or for the server itself.
    pub(super) fn judge<'a>(
        &'a self,
        standing: &'a CurrentGrants,
        permission: &Permission,
        call: Option<&Context>,
        now: Timestamp,
    ) -> PermissionJudgement<'a> {
        let entry = standing.entry(self.server(), permission, call, now);
        let expired = match entry.and_then(|entry| entry.judge(&self.0.settings, now)) {
            Some(PermissionJudgement::Expired) => true,
            Some(decided) => return decided,
            None => false,
        };
        match self.0.settings.judge(permission, now) {
            PermissionJudgement::Undecided { .. } => PermissionJudgement::Undecided { expired },
            _ if !self.0.settled.load().contains(permission) => PermissionJudgement::Unsettled,
            PermissionJudgement::Denied { .. } if expired => PermissionJudgement::Expired,
            decided => decided,
        }
    }

    /// Returns whether nobody is asked for `permission`: because an operator's rule says whether somebody is asked about the
    /// call, or because it was only guessed, and what the call does to files, in folders that are open to its client, or runs
    /// as a command, changes nothing, can be taken back, or is confirmed by itself.
    fn is_free(&self, tool: &ResolvedTool, permission: &Permission, request: &Request) -> bool {
        let settings = &self.0.settings;
        let is_judged = matches!(
            permission,
            Permission::FilesystemRead | Permission::FilesystemWrite | Permission::ShellExecute
        );
        let is_free = |effect: CallEffect| {
            effect <= CallEffect::RunsLater || (settings.confirms_calls && effect.is_grave())
        };
        let is_guessed = is_judged && tool.security.guessed_permissions.contains(permission);
        settings.policy == ApprovalPolicy::Interactive
            && (request.context.asking.is_some() || is_guessed && request.context.effect.is_some_and(is_free))
    }

    fn weigh(
        &self,
        judged: PermissionJudgement<'_>,
        permission: &Permission,
        request: &Request,
        bounded: bool,
        undecided: &mut Vec<Permission>,
    ) -> Result<(), Error> {
        let refuse = |reason| refuse(self.server(), &reason, Some(permission), request);
        match judged {
            PermissionJudgement::Approved { scope: Some(scope), .. } if bounded => {
                let converted = request.context.converted.as_ref();
                let outside = |finding| refuse(PermissionRefusal::OutOfScope(finding));
                scope.check(arguments(request).as_ref()).map_err(outside)?;
                converted.map_or(Ok(()), |converted| scope.check(Some(converted)).map_err(outside))
            }
            PermissionJudgement::Approved { .. } => Ok(()),
            PermissionJudgement::Denied { until } => Err(refuse(PermissionRefusal::Denied { until })),
            PermissionJudgement::Expired => {
                Err(refuse(PermissionRefusal::Undecided { expired: true, question: None }))
            }
            PermissionJudgement::Unsettled | PermissionJudgement::Undecided { .. } => {
                if !GrantedOnce::holds(request, permission) && !undecided.contains(permission) {
                    undecided.push(permission.clone());
                }
                Ok(())
            }
        }
    }
}

impl ConnectedServer {
    /// Returns the name by which the server calls `permission`.
    pub(super) fn spelling<'a>(&'a self, permission: &'a Permission) -> &'a str {
        let own = self.required.iter().find(|(_, required)| required == permission);
        own.map_or_else(|| permission.as_str(), |(spelling, _)| spelling)
    }
}

/// Returns the arguments that a scope is checked against, and that people are shown: those of a tool, or all parameters
/// of another request.
pub(super) fn arguments(request: &Request) -> Option<RawJson> {
    match request.judged_by(GateKind::Permission) {
        Ok(Some(judged)) => judged.arguments(),
        _ => Some(request.params.to_raw()),
    }
}

fn classify(request: &Request) -> RequestClass {
    let Some(rule) = MethodRule::of(request) else {
        let is_resolved = request.context.operation.is_some();
        return if is_resolved { RequestClass::Judged } else { RequestClass::Unknown };
    };
    match rule.concern {
        _ if rule.gates.contains(&GateKind::Permission) => RequestClass::Judged,
        // A notification asks for nothing.
        _ if rule.kind == RequestKind::Notify => RequestClass::Free,
        RequestConcern::Session
        | RequestConcern::Logging
        | RequestConcern::ToolList
        | RequestConcern::List => RequestClass::Free,
        RequestConcern::Running if rule.method == method::STREAM_CANCEL => RequestClass::Free,
        RequestConcern::Running => RequestClass::Known,
        RequestConcern::Own => match rule.method {
            name if is_about_permissions(name) => RequestClass::Own,
            method::HEALTH_PING | method::HEALTH_STATUS | method::LIFECYCLE_SHUTDOWN => RequestClass::Free,
            method::EVENTS_SUBSCRIBE | method::EVENTS_UNSUBSCRIBE => RequestClass::Known,
            _ => RequestClass::Unknown,
        },
        _ => RequestClass::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Params;

    use super::*;

    fn call(name: &'static str) -> RequestClass {
        classify(&Request::call(name, Params::new()))
    }

    #[test]
    fn what_makes_a_server_do_nothing_is_free() {
        assert!(matches!(call("tools/list"), RequestClass::Free));
        assert!(matches!(call(method::HEALTH_PING), RequestClass::Free));
        assert!(matches!(call(method::STREAM_CANCEL), RequestClass::Free));
        for name in ["notifications/cancelled", "notifications/mgp.stream.pace", "notifications/tasks/status"]
        {
            let notification = Request::notify(name, Params::new());
            assert!(matches!(classify(&notification), RequestClass::Free), "{name}");
        }
    }

    #[test]
    fn what_has_a_known_effect_is_told_from_what_may_do_anything() {
        for name in [method::EVENTS_SUBSCRIBE, method::EVENTS_UNSUBSCRIBE, method::CALLBACK_RESPOND] {
            assert!(matches!(call(name), RequestClass::Known), "{name}");
        }
        assert!(matches!(call("x/y"), RequestClass::Unknown));
        assert!(matches!(call(method::PERMISSION_GRANT), RequestClass::Own));
    }
}
