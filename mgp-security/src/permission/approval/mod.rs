//! The approval of permissions and calls by people: the interface of approvers, and its implementations.

mod approver_chain;
mod display;
mod pending;
mod waiting;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use mgp_types::mgp::{
    CallEffect, CallOptions, Decision, Permission, RiskLevel, ServerId, ToolName, UnknownCommand,
};
use mgp_types::{Context, Error, Principal, RawJson, Request};
use serde::{Deserialize, Serialize};

pub use self::approver_chain::{ApproverChain, OperatorInFront, PersonInFront};
pub use self::display::ShownArguments;
use self::display::{line, sentence};
pub use self::pending::{ApprovalWatch, PendingApprovals};
pub use self::waiting::{ApprovalId, PendingApproval, WaitingQuestion};
pub(crate) use self::waiting::{WaitingSubject, waits_for_approval};
use super::{GrantLifetime, GrantTerms, GrantedTo};

/// A way of asking an operator.
#[async_trait]
pub trait Approver: Send + Sync + fmt::Debug + 'static {
    /// Asks a question, and waits for the answer no longer than the patience of the question.
    ///
    /// Dropping the future leaves the question where operators find it: the next caller to ask it gets the answer
    /// that was given meanwhile.
    ///
    /// # Errors
    /// Fails if there is no room for the question. It also fails if the question has to go with an answer to the
    /// caller ([`Origin::InputRequired`](mgp_types::Origin::InputRequired)); the error is then to be returned
    /// unchanged.
    async fn ask(&self, question: ApprovalQuestion) -> Result<ApprovalReply, Error>;

    /// Withdraws a question that was answered elsewhere.
    async fn take_back(&self, _question: &ApprovalQuestion) {}

    /// Returns an open question about what `server` needs to operate, if there is one.
    fn open_for(&self, _server: &ServerId) -> Option<WaitingQuestion> {
        None
    }
}

/// The result of asking.
#[derive(Debug, Clone)]
#[expect(clippy::exhaustive_enums, reason = "a question is answered or waits")]
pub enum ApprovalReply {
    /// An operator answered.
    Answer(ApprovalAnswer),
    /// Nobody answered in time, and the question waits for operators.
    Waits(WaitingQuestion),
}

/// A question to an operator.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct ApprovalQuestion {
    /// The server that the question is about.
    pub server: ServerId,
    /// The permission or call that is to be approved.
    pub subject: ApprovalSubject,
    /// The context of the call that caused the question; empty if none did.
    pub context: Context,
    /// The id under which operators find the question, if it is fixed before the question is queued.
    pub id: Option<ApprovalId>,
    /// The time to wait for the answer. Default: 5 minutes.
    pub patience: Duration,
    /// The token for progress notifications to the caller, if it wants them.
    pub progress_token: Option<RawJson>,
}

/// The subject of an approval.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ApprovalSubject {
    /// A permission for the server.
    #[non_exhaustive]
    Permission {
        /// The permission that is asked for.
        permission: Permission,
        /// The risk of granting the permission.
        risk: RiskLevel,
        /// The tool whose call needs the permission; `None` if the server needs it to operate.
        tool: Option<ToolName>,
        /// The data that the session of that call took in before, which the call may carry out or act on.
        flow: Option<String>,
        /// The arguments of that call; `None` if no call needs the permission.
        arguments: Option<ShownArguments>,
    },
    /// One call.
    #[non_exhaustive]
    Call {
        /// The tool that is called.
        tool: ToolName,
        /// The risk of the call.
        risk: RiskLevel,
        /// The effect of the call, as far as it is known.
        effect: Option<CallEffect>,
        /// What is unknown in the command of the call.
        #[serde(default)]
        command: Option<UnknownCommand>,
        /// The data that the session of the call took in before, which the call may carry out or act on.
        flow: Option<String>,
        /// The arguments of the call, in a form for people.
        arguments: ShownArguments,
        /// The question that the server itself has for people; it is the server's word.
        says: Option<String>,
        /// True if a yes holds a day for all calls of the tool with this effect.
        #[serde(default)]
        is_for_a_day: bool,
        /// True if the call can be approved with other arguments: it is one of a tool, and its arguments are shown as the
        /// JSON that they are.
        #[serde(default)]
        can_be_edited: bool,
        /// The digest that ties the approval to this caller and these arguments, in hexadecimal digits.
        binding: String,
        /// The digest that all calls have in common that can be approved together with this one: those of the tool by this
        /// caller.
        #[serde(default)]
        of_tool: String,
    },
}

/// The answer of an operator.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[non_exhaustive]
pub struct ApprovalAnswer {
    /// The principal who answered. The answer of a principal who is not an operator does not count.
    pub approver: Principal,
    /// The decision.
    pub decision: Decision,
    /// The scope, the end and the lifetime of a granted permission.
    #[serde(flatten)]
    pub terms: GrantTerms,
    /// The agents for whose calls the answer holds.
    pub granted_to: GrantedTo,
    /// The number of calls of the tool that the approval of a call is for, the one that was asked about and further ones
    /// with whatever arguments, until the end of the terms or for ten minutes.
    #[serde(default = "one_call")]
    pub max_uses: u32,
    /// The arguments that an approved call takes in place of its own; `None` if the operator did not edit them.
    pub arguments: Option<RawJson>,
    /// The reason for a denial, which the caller is told.
    pub reason: Option<String>,
    /// The id under which the question stood in the queue, if it was answered there.
    #[serde(skip)]
    pub question: Option<ApprovalId>,
}

impl ApprovalQuestion {
    /// Returns a question about `subject` on behalf of `server`.
    pub fn new(server: ServerId, subject: ApprovalSubject, context: Context) -> Self {
        Self { server, subject, context, id: None, patience: PATIENCE, progress_token: None }
    }

    /// Sets the patience, shortened if the caller of `request` wishes so, and lets that caller hear what it waits
    /// for.
    #[must_use]
    pub(crate) fn for_call(mut self, request: &Request, patience: Duration) -> Self {
        let wish = CallOptions::of(&request.params).approval_wait_ms.map(Duration::from_millis);
        self.patience = wish.map_or(patience, |wish| wish.min(patience));
        self.progress_token = request.meta("progressToken");
        self
    }

    /// Returns the principal whose call caused the question.
    pub fn asker(&self) -> Option<&Principal> {
        self.context.principal.as_ref()
    }

    /// Returns the text of the question. Names in it come from servers and models; none of them can end its quotes or
    /// its line.
    pub fn message(&self) -> String {
        message(&self.server, &self.subject, self.asker(), self.id.as_ref())
    }
}

impl ApprovalSubject {
    /// Returns the arguments of the call that the subject is about, if it is about one.
    pub const fn arguments(&self) -> Option<&ShownArguments> {
        match self {
            Self::Permission { arguments, .. } => arguments.as_ref(),
            Self::Call { arguments, .. } => Some(arguments),
        }
    }
}

/// Returns the text of a question: see [`ApprovalQuestion::message`].
fn message(
    server: &ServerId,
    subject: &ApprovalSubject,
    asker: Option<&Principal>,
    id: Option<&ApprovalId>,
) -> String {
    let server = line(server.as_str());
    let message = match subject {
        ApprovalSubject::Permission { permission, risk, tool, flow, arguments } => {
            let permission = line(permission.as_str());
            let why = match (tool, arguments) {
                (Some(tool), _) => format!("to call its tool `{}`", line(tool.as_str())),
                (None, Some(_)) => "to answer a request".to_owned(),
                (None, None) => "to operate".to_owned(),
            };
            let asker = asker.map(|asker| format!(" for `{}`", line(&asker.access_id())));
            let lasts = match (&asker, arguments) {
                (Some(_), Some(_)) => "this agent until its session ends",
                _ => "it until the kernel stops",
            };
            let call =
                arguments.as_ref().map(|call| format!("\nThe arguments of the call:\n{}", call.brief()));
            let (asker, call) = (asker.unwrap_or_default(), call.unwrap_or_default());
            let flow = flow_before(flow.as_deref());
            format!(
                "The server `{server}` needs the permission `{permission}` ({risk}) {why}{asker}. Grant it? \
                 Approving grants {lasts}, unless you choose another time.{flow}{call}"
            )
        }
        ApprovalSubject::Call {
            tool, risk, effect, command, flow, arguments, says, is_for_a_day, ..
        } => {
            let asker = asker.map_or_else(String::new, |asker| line(&asker.access_id()));
            let tool = line(tool.as_str());
            let arguments = arguments.brief();
            let says = says.as_deref().map(|says| format!("\nThe server says: {}", sentence(says)));
            let says = says.unwrap_or_default();
            let flow = flow_before(flow.as_deref());
            let effect = effect.filter(|effect| *effect > CallEffect::Writes);
            let unknown = command.as_ref().filter(|_| effect == Some(CallEffect::RunsUnknown));
            let effect = match effect {
                Some(CallEffect::Unknown) => ". mgp does not know what this tool does".to_owned(),
                Some(effect) => format!(" ({risk}): it {}", effect.phrase()),
                None => format!(" ({risk})"),
            };
            let effect = unknown
                .map_or(effect, |unknown| format!(" ({risk}): the command {}", sentence(&unknown.why)));
            let rule = unknown.and_then(|unknown| unknown.prefixes.first()).map(|begin| {
                let begin = line(begin);
                format!(" `mgp ask never {server}.{tool} --command '{begin}'` allows `{begin}` from now on.")
            });
            let rule = rule.unwrap_or_default();
            let lasts =
                if *is_for_a_day { " Approving allows all such calls of this tool for a day." } else { "" };
            format!(
                "`{asker}` wants to call `{server}.{tool}`{effect}. Allow it?{lasts}{rule}{flow}{says}\n{arguments}"
            )
        }
    };
    match id {
        Some(id) if subject.arguments().is_some_and(ShownArguments::is_abridged) => {
            format!("{message}\nThe whole is shown by `mgp permissions show {}`.", id.as_str())
        }
        _ => message,
    }
}

fn flow_before(sources: Option<&str>) -> String {
    let sources = sources.map(|sources| {
        format!("\nBefore that, its agent took in {}; this call may carry it out.", sentence(sources))
    });
    sources.unwrap_or_default()
}

impl ApprovalAnswer {
    /// Returns the answer `decision` of `approver`. An approval is for the agent that asked, until its session ends.
    pub fn new(approver: Principal, decision: Decision) -> Self {
        let terms = GrantTerms { lasts: GrantLifetime::Session, ..GrantTerms::default() };
        Self {
            approver,
            decision,
            terms,
            granted_to: GrantedTo::Asker,
            max_uses: 1,
            arguments: None,
            reason: None,
            question: None,
        }
    }

    /// Returns the reason of a denial as the end of a sentence about it.
    pub(crate) fn because(&self) -> String {
        let reason = self.reason.as_deref();
        reason.map(|reason| format!(", and said: \"{}\"", sentence(reason))).unwrap_or_default()
    }
}

const fn one_call() -> u32 {
    1
}

/// The default time to wait for an answer.
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
            flow: None,
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
