//! How a human is asked: the port, and the ways through it in their order.

mod approval_watch;
mod approver_chain;
mod display;
mod elicit;
mod pending;
mod row;
mod shown_arguments;
mod stored;
mod waiting;

use std::fmt;
use std::time::Duration;

use mgp_types::mgp::CallOptions;
use mgp_types::mgp::{Decision, Permission, RiskLevel, ServerId, ToolName};
use mgp_types::{BoxFuture, Context, Error, Principal, RawJson, Request};

pub use self::approval_watch::ApprovalWatch;
pub use self::approver_chain::ApproverChain;
pub(super) use self::display::line;
pub use self::elicit::OperatorInFront;
pub(super) use self::elicit::{form, read};
pub use self::pending::PendingApprovals;
pub use self::row::{ApprovalId, PendingApproval};
pub use self::shown_arguments::ShownArguments;
pub(crate) use self::waiting::{WaitingSubject, waits_for_approval};
use super::{GrantLifetime, GrantTerms, GrantedTo};

/// Whoever asks an operator.
pub trait Approver: Send + Sync + fmt::Debug + 'static {
    /// Asks, and waits for the answer, though no longer than the patience of the question.
    ///
    /// Dropping the future leaves the question where operators find it: whoever asks it again gets the answer that was given
    /// meanwhile.
    ///
    /// # Errors
    /// There is no room for the question; or it goes with an answer to the caller
    /// ([`Origin::InputRequired`](mgp_types::Origin::InputRequired)), and the error is to be returned as it is.
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalReply, Error>>;

    /// Takes a question back that was answered elsewhere.
    fn take_back<'a>(&'a self, _question: &'a ApprovalQuestion) -> BoxFuture<'a, ()> {
        Box::pin(std::future::ready(()))
    }

    /// Names an open question about what `server` needs by itself, if there is one.
    fn open_for(&self, _server: &ServerId) -> Option<ApprovalId> {
        None
    }
}

/// What came of asking.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a question is answered or waits")]
pub enum ApprovalReply {
    /// Somebody answered.
    Answer(ApprovalAnswer),
    /// Nobody has answered in time; operators find the question under this id.
    Waits(ApprovalId),
}

/// What an operator is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The server that it is about.
    pub server: ServerId,
    /// What is asked for.
    pub subject: ApprovalSubject,
    /// The context of the call that gives rise to it; empty if none does.
    pub context: Context,
    /// The id under which operators find it, if it has one before it waits for them.
    pub id: Option<ApprovalId>,
    /// How long whoever asks waits for the answer. Default: 5 minutes.
    pub patience: Duration,
    /// The name under which the caller wants to hear of progress, if it does.
    pub progress_token: Option<RawJson>,
}

/// What an approval is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ApprovalSubject {
    /// A permission for the server.
    #[non_exhaustive]
    Permission {
        /// Which.
        permission: Permission,
        /// How dangerous it is to grant it.
        risk: RiskLevel,
        /// The tool whose call needs it; `None` if the server needs it to operate.
        tool: Option<ToolName>,
        /// The arguments of that call; `None` if no call needs it.
        arguments: Option<ShownArguments>,
    },
    /// One call.
    #[non_exhaustive]
    Call {
        /// The tool.
        tool: ToolName,
        /// What can come of it.
        risk: RiskLevel,
        /// The arguments, for people.
        arguments: ShownArguments,
        /// What ties the approval to this caller and these arguments, in hexadecimal digits.
        binding: String,
    },
}

/// What an operator answered.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalAnswer {
    /// Who answered. The answer of one who is no operator counts for nothing.
    pub approver: Principal,
    /// What.
    pub decision: Decision,
    /// How far a permission is granted, and for how long.
    pub terms: GrantTerms,
    /// For whose calls.
    pub granted_to: GrantedTo,
}

impl ApprovalQuestion {
    /// Asks for `subject` on behalf of `server`.
    pub fn new(server: ServerId, subject: ApprovalSubject, context: Context) -> Self {
        Self { server, subject, context, id: None, patience: PATIENCE, progress_token: None }
    }

    /// Waits for so long, or less if the caller of `request` wishes so, and tells that caller meanwhile what it waits for.
    #[must_use]
    pub(crate) fn for_call(mut self, request: &Request, patience: Duration) -> Self {
        let wish = CallOptions::of(&request.params).approval_wait_ms.map(Duration::from_millis);
        self.patience = wish.map_or(patience, |wish| wish.min(patience));
        self.progress_token = request.meta("progressToken");
        self
    }

    /// Waits for so long.
    #[must_use]
    pub const fn with_patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Who called.
    pub fn asker(&self) -> Option<&Principal> {
        self.context.principal.as_ref()
    }

    /// The question for people. Names come from servers and models, and none of them ends its quotes or
    /// its line.
    pub fn message(&self) -> String {
        let server = line(self.server.as_str());
        let message = match &self.subject {
            ApprovalSubject::Permission { permission, risk, tool, arguments } => {
                let permission = line(permission.as_str());
                let why = match (tool, arguments) {
                    (Some(tool), _) => format!("to call its tool `{}`", line(tool.as_str())),
                    (None, Some(_)) => "to answer a request".to_owned(),
                    (None, None) => "to operate".to_owned(),
                };
                let asker = self.asker().map(|asker| format!(" for `{}`", line(&asker.access_id())));
                let lasts = match (&asker, arguments) {
                    (Some(_), Some(_)) => "for this agent, until its session ends, unless you say otherwise",
                    _ => "until the kernel stops, unless you say otherwise",
                };
                let (asker, call) = (asker.unwrap_or_default(), called_with(arguments.as_ref()));
                format!(
                    "The server `{server}` needs the permission `{permission}` ({risk}) {why}{asker}. Grant it? A yes \
                     holds {lasts}.{call}"
                )
            }
            ApprovalSubject::Call { tool, risk, arguments, .. } => {
                let asker = self.asker().map_or_else(String::new, |asker| line(&asker.access_id()));
                let tool = line(tool.as_str());
                let arguments = arguments.brief();
                format!(
                    "`{asker}` calls `{tool}` of `{server}` ({risk}) with these arguments. Let it?\n{arguments}"
                )
            }
        };
        match &self.id {
            Some(id) if self.arguments().is_some_and(ShownArguments::is_abridged) => {
                format!("{message}\nThe whole is shown by `mgp permissions show {}`.", id.as_str())
            }
            _ => message,
        }
    }

    /// Returns the arguments of the call that gives rise to it, if one does.
    pub fn arguments(&self) -> Option<&ShownArguments> {
        self.subject.arguments()
    }
}

impl ApprovalSubject {
    /// Returns the arguments of the call that it is about, if it is about one.
    pub const fn arguments(&self) -> Option<&ShownArguments> {
        match self {
            Self::Permission { arguments, .. } => arguments.as_ref(),
            Self::Call { arguments, .. } => Some(arguments),
        }
    }
}

fn called_with(arguments: Option<&ShownArguments>) -> String {
    match arguments {
        Some(arguments) => format!("\nThe arguments of the call:\n{}", arguments.brief()),
        None => String::new(),
    }
}

impl ApprovalAnswer {
    /// `approver` decided so: a yes is for the agent that asked, until its session ends.
    pub fn new(approver: Principal, decision: Decision) -> Self {
        let terms = GrantTerms::default().lasting(GrantLifetime::Session);
        Self { approver, decision, terms, granted_to: GrantedTo::Asker }
    }

    /// The answer for other calls than those of the agent that asked.
    #[must_use]
    pub const fn granted_to(mut self, whom: GrantedTo) -> Self {
        self.granted_to = whom;
        self
    }

    /// The answer with bounds; of a no, only the end counts.
    pub fn with_terms(mut self, terms: GrantTerms) -> Self {
        self.terms = terms;
        self
    }
}

const PATIENCE: Duration = Duration::from_mins(5);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_end_its_quotes_or_its_line() {
        let forged = "x` (safe) to operate. Grant it?\n\nThe server `y";
        let message = |server: &str, subject| {
            ApprovalQuestion::new(server.into(), subject, Context::default()).message()
        };
        let permission = |permission, tool| ApprovalSubject::Permission {
            permission,
            risk: RiskLevel::Dangerous,
            tool,
            arguments: None,
        };
        let plain = permission(Permission::Camera, Some("t".into()));
        for (question, quotes) in [
            (message(forged, plain), 6),
            (message("s", permission(Permission::read(forged), None)), 4),
            (message("s", permission(Permission::Camera, Some(forged.into()))), 6),
        ] {
            assert!(!question.contains('\n'), "{question}");
            assert_eq!(question.matches('`').count(), quotes, "{question}");
        }
    }
}
