//! How a human is asked: the port, and two ways through it.

mod display;
mod elicit;
mod pending;
mod shown;

use std::fmt;

use mgp_types::mgp::{Decision, Permission, RiskLevel, ServerId, ToolName};
use mgp_types::{BoxFuture, Context, Error, Principal};

pub(super) use self::display::line;
pub use self::elicit::{AskedOperator, ElicitApprover};
pub(super) use self::elicit::{form, read};
pub use self::pending::{ApprovalId, PendingApproval, PendingApprovals};
pub use self::shown::{ShownArguments, Unshowable};
use super::{GrantedTo, Lasts, Terms};

/// Whoever asks an operator.
pub trait Approver: Send + Sync + fmt::Debug + 'static {
    /// Asks, and waits for the answer. [`Decision::Deferred`] says that there is none yet.
    ///
    /// The one who waits decides how long. Dropping the future takes the question back.
    ///
    /// # Errors
    /// Nobody can be asked; or the question goes with an answer to the caller
    /// ([`Origin::InputRequired`](mgp_types::Origin::InputRequired)), and the error is to be returned as it is.
    fn ask(&self, question: ApprovalQuestion) -> BoxFuture<'_, Result<ApprovalAnswer, Error>>;
}

/// What an operator is asked.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The server that it is about.
    pub server: ServerId,
    /// What is asked for.
    pub subject: Subject,
    /// The context of the call that gives rise to it; empty if none does.
    pub context: Context,
    /// The id under which operators find it, if it has one before it waits for them.
    pub id: Option<ApprovalId>,
}

/// What an approval is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Subject {
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
    pub terms: Terms,
    /// For whose calls.
    pub granted_to: GrantedTo,
}

impl ApprovalQuestion {
    /// Asks for `subject` on behalf of `server`.
    pub fn new(server: ServerId, subject: Subject, context: Context) -> Self {
        Self { server, subject, context, id: None }
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
            Subject::Permission { permission, risk, tool, arguments } => {
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
            Subject::Call { tool, risk, arguments, .. } => {
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

impl Subject {
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
        let terms = Terms::default().lasting(Lasts::Session);
        Self { approver, decision, terms, granted_to: GrantedTo::Asker }
    }

    /// The answer for other calls than those of the agent that asked.
    #[must_use]
    pub const fn granted_to(mut self, whom: GrantedTo) -> Self {
        self.granted_to = whom;
        self
    }

    /// The answer with bounds.
    pub fn with_terms(mut self, terms: Terms) -> Self {
        self.terms = terms;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_can_end_its_quotes_or_its_line() {
        let forged = "x` (safe) to operate. Grant it?\n\nThe server `y";
        let message = |server: &str, subject| {
            ApprovalQuestion::new(server.into(), subject, Context::default()).message()
        };
        let permission = |permission, tool| Subject::Permission {
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
