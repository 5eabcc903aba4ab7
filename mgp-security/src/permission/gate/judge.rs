use std::borrow::Cow;

use mgp_types::mgp::{Permission, Timestamp, method};
use mgp_types::{Concern, Error, GateKind, Kind, MethodRule, RawJson, Request};

use super::once::GrantedOnce;
use super::refusal::{Reason, not_ready, not_resolved, refuse};
use super::{Connected, PermissionGate, is_about_permissions};
use crate::permission::book::{Standing, Use};
use crate::permission::settings::Say;
use crate::permission::{OnRefusal, ScopeCheck, Terms, Verdict};

/// What becomes of a request.
pub(super) enum Admission {
    Pass,
    Refused(Error),
    /// It has to wait until something is decided about these.
    Wait(Vec<Permission>),
}

/// What is decided about a permission.
pub(super) enum Judgement<'a> {
    Approved {
        terms: &'a Terms,
        scope: Option<&'a ScopeCheck>,
        by: Cow<'a, str>,
    },
    Refused(Reason),
    /// What the settings say is not in the audit trail yet.
    Unsettled,
    /// An operator has to be asked; whether a grant has come to its end.
    Undecided {
        expired: bool,
    },
}

/// What a request is, to the gate.
enum Class {
    /// It makes the server do nothing.
    Free,
    /// It is the gate's own.
    Own,
    /// The call of a tool, or what is judged like one.
    Judged,
    /// What is asked for is known, and needs no permission of its own.
    Known,
    /// Nobody knows what it does: it may use all that the server was granted.
    Unknown,
}

impl PermissionGate {
    pub(super) fn admit(&self, request: &Request) -> Admission {
        let class = classify(request);
        match class {
            Class::Free => return Admission::Pass,
            Class::Own => return Admission::Refused(refuse(self.server(), &Reason::NotYours, None, request)),
            Class::Judged | Class::Known | Class::Unknown => {}
        }
        let connected = self.0.connected.load();
        let Some(connected) = connected.as_ref() else {
            let waits = self.0.approver.as_ref().and_then(|approver| approver.open_for(self.server()));
            return Admission::Refused(not_ready(self.server(), waits.as_ref(), request));
        };
        let tool = match class {
            Class::Judged => match request.judged_by(GateKind::Permission) {
                Ok(Some(judged)) if judged.tool.server == *self.server() => Some(judged.tool),
                _ => return Admission::Refused(not_resolved()),
            },
            _ => None,
        };
        let standing = self.0.book.standing();
        let now = self.0.book.now();
        let by = Use::Call(&request.context);
        let mut undecided = Vec::new();
        // A definition that says nothing may stand for a tool that uses all the server was granted.
        let bounded = tool.map_or(matches!(class, Class::Unknown), |tool| tool.security.derived);
        if self.0.settings.on_refusal() == OnRefusal::Reject || bounded {
            for (_, permission) in &connected.required {
                let judged = self.judge(&standing, permission, by, now);
                if let Err(error) = self.weigh(judged, permission, request, bounded, &mut undecided) {
                    return Admission::Refused(error);
                }
            }
        }
        for permission in tool.iter().flat_map(|tool| &tool.security.permissions) {
            let judged = self.judge(&standing, permission, by, now);
            if let Err(error) = self.weigh(judged, permission, request, true, &mut undecided) {
                return Admission::Refused(error);
            }
        }
        if undecided.is_empty() { Admission::Pass } else { Admission::Wait(undecided) }
    }

    /// What is decided about `permission` at `now`, for who uses it.
    pub(super) fn judge<'a>(
        &'a self,
        standing: &'a Standing,
        permission: &Permission,
        by: Use<'_>,
        now: Timestamp,
    ) -> Judgement<'a> {
        let mut expired = false;
        if let Some(entry) = standing.entry(self.server(), permission, by, now) {
            match &entry.record.verdict {
                denial @ Verdict::Denied { until } if denial.holds_at(entry.record.decided_at, now) => {
                    return Judgement::Refused(Reason::Denied { until: *until });
                }
                Verdict::Approved(terms) if self.0.settings.heeds_operators() => {
                    let holds = terms.hold_at(entry.record.decided_at, now);
                    if holds && !self.0.settings.denies(permission) {
                        let by = Cow::Borrowed(&*entry.record.approver);
                        return Judgement::Approved { terms, scope: entry.scope.as_ref(), by };
                    }
                    expired = !holds;
                }
                Verdict::Approved(_) | Verdict::Denied { .. } => {}
            }
        }
        match self.0.settings.say(permission, now) {
            Say::Ask => Judgement::Undecided { expired },
            _ if !self.0.settled.load().contains(permission) => Judgement::Unsettled,
            Say::Approved(terms, scope) => {
                let by = if self.0.settings.is_configured(permission) {
                    "configuration"
                } else {
                    self.0.settings.policy().as_str()
                };
                Judgement::Approved { terms, scope, by: Cow::Borrowed(by) }
            }
            Say::Denied if expired => Judgement::Refused(Reason::Expired(None)),
            Say::Denied => Judgement::Refused(Reason::Denied { until: None }),
        }
    }

    fn weigh(
        &self,
        judged: Judgement<'_>,
        permission: &Permission,
        request: &Request,
        bounded: bool,
        undecided: &mut Vec<Permission>,
    ) -> Result<(), Error> {
        match judged {
            Judgement::Approved { scope: Some(scope), .. } if bounded => {
                let converted = request.context.converted.as_ref();
                let outside =
                    |finding| refuse(self.server(), &Reason::OutOfScope(finding), Some(permission), request);
                scope.check(arguments(request).as_ref()).map_err(outside)?;
                converted.map_or(Ok(()), |converted| scope.check(Some(converted)).map_err(outside))
            }
            Judgement::Approved { .. } => Ok(()),
            Judgement::Refused(reason) => Err(refuse(self.server(), &reason, Some(permission), request)),
            Judgement::Unsettled | Judgement::Undecided { .. } if GrantedOnce::holds(request, permission) => {
                Ok(())
            }
            Judgement::Unsettled | Judgement::Undecided { .. } => {
                if !undecided.contains(permission) {
                    undecided.push(permission.clone());
                }
                Ok(())
            }
        }
    }
}

impl Connected {
    /// What the server calls `permission`.
    pub(super) fn spelling<'a>(&'a self, permission: &'a Permission) -> &'a str {
        let own = self.required.iter().find(|(_, required)| required == permission);
        own.map_or_else(|| permission.as_str(), |(spelling, _)| spelling)
    }
}

/// What a scope is held against.
fn arguments(request: &Request) -> Option<RawJson> {
    match request.judged_by(GateKind::Permission) {
        Ok(Some(judged)) => judged.arguments(),
        _ => Some(request.params.to_raw()),
    }
}

fn classify(request: &Request) -> Class {
    let Some(rule) = MethodRule::of(request) else {
        let is_resolved = request.context.operation.is_some();
        return if is_resolved { Class::Judged } else { Class::Unknown };
    };
    match rule.concern {
        _ if rule.gates.has(GateKind::Permission) => Class::Judged,
        // What a notification says asks for nothing.
        _ if rule.kind == Kind::Notify => Class::Free,
        Concern::Session | Concern::Logging | Concern::ToolList | Concern::List => Class::Free,
        Concern::Running if rule.method == method::STREAM_CANCEL => Class::Free,
        Concern::Running => Class::Known,
        Concern::Own => match rule.method {
            name if is_about_permissions(name) => Class::Own,
            method::HEALTH_PING | method::HEALTH_STATUS | method::LIFECYCLE_SHUTDOWN => Class::Free,
            method::EVENTS_SUBSCRIBE | method::EVENTS_UNSUBSCRIBE => Class::Known,
            _ => Class::Unknown,
        },
        _ => Class::Unknown,
    }
}
