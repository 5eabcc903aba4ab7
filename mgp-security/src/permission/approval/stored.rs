//! The JSON form in which questions are stored beyond the process.

use mgp_types::mgp::{Decision, Permission, RiskLevel, Scope, ServerId, Timestamp, ToolName};
use mgp_types::{Context, Principal, PrincipalKind};
use serde::{Deserialize, Serialize};

use super::row::ApprovalRow;
use super::{ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalSubject, ShownArguments};
use crate::StoreError;
use crate::permission::{GrantLifetime, GrantTerms, GrantedTo};

#[derive(Debug, Serialize, Deserialize)]
struct Stored {
    id: String,
    server: ServerId,
    subject: StoredSubject,
    asker: Option<StoredPrincipal>,
    asked_at: Timestamp,
    ends_at: Timestamp,
    answer: Option<StoredAnswer>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StoredSubject {
    Permission {
        permission: Permission,
        risk: RiskLevel,
        tool: Option<ToolName>,
        arguments: Option<StoredArguments>,
    },
    Call {
        tool: ToolName,
        risk: RiskLevel,
        arguments: StoredArguments,
        #[serde(default)]
        says: Option<String>,
        binding: String,
    },
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredArguments {
    brief: String,
    whole: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredPrincipal {
    kind: String,
    name: String,
}

#[derive(Debug, Serialize, Deserialize)]
struct StoredAnswer {
    approver: StoredPrincipal,
    decision: Decision,
    scope: Option<Box<Scope>>,
    expires_at: Option<Timestamp>,
    lasts: GrantLifetime,
    granted_to: GrantedTo,
    #[serde(default = "one_call")]
    max_uses: u32,
}

const fn one_call() -> u32 {
    1
}

/// Returns the stored form of a question.
///
/// # Errors
/// Fails if the question cannot be written as JSON.
pub(super) fn written(row: &ApprovalRow) -> Result<String, StoreError> {
    let subject = match row.subject() {
        ApprovalSubject::Permission { permission, risk, tool, arguments } => StoredSubject::Permission {
            permission: permission.clone(),
            risk: *risk,
            tool: tool.clone(),
            arguments: arguments.as_ref().map(StoredArguments::of),
        },
        ApprovalSubject::Call { tool, risk, arguments, says, binding } => StoredSubject::Call {
            tool: tool.clone(),
            risk: *risk,
            arguments: StoredArguments::of(arguments),
            says: says.clone(),
            binding: binding.clone(),
        },
    };
    let answer = row.answer.as_ref().map(|answer| StoredAnswer {
        approver: StoredPrincipal::of(&answer.approver),
        decision: answer.decision,
        scope: answer.terms.scope.clone(),
        expires_at: answer.terms.expires_at,
        lasts: answer.terms.lasts,
        granted_to: answer.granted_to,
        max_uses: answer.max_uses,
    });
    let stored = Stored {
        id: row.id.as_str().to_owned(),
        server: row.server().clone(),
        subject,
        asker: row.asker().map(StoredPrincipal::of),
        asked_at: row.asked_at,
        ends_at: row.ends_at,
        answer,
    };
    serde_json::to_string(&stored).map_err(|error| StoreError::Unavailable(Box::new(error)))
}

/// Reads a question from its stored form.
///
/// # Errors
/// Fails if the text is not the stored form of a question.
pub(super) fn read(text: &str) -> Result<ApprovalRow, StoreError> {
    let stored: Stored = serde_json::from_str(text)
        .map_err(|error| StoreError::Damaged(format!("a question to an operator: {error}")))?;
    let subject = match stored.subject {
        StoredSubject::Permission { permission, risk, tool, arguments } => {
            let arguments = arguments.map(StoredArguments::shown);
            ApprovalSubject::Permission { permission, risk, tool, arguments }
        }
        StoredSubject::Call { tool, risk, arguments, says, binding } => {
            ApprovalSubject::Call { tool, risk, arguments: arguments.shown(), says, binding }
        }
    };
    let mut context = Context::default();
    context.principal = stored.asker.map(StoredPrincipal::principal).transpose()?;
    let question = ApprovalQuestion::new(stored.server, subject, context);
    let id = ApprovalId::from(stored.id.as_str());
    let mut row = ApprovalRow::new(id, &question, stored.asked_at, stored.ends_at);
    row.is_stored = true;
    row.answer = stored.answer.map(StoredAnswer::answer).transpose()?;
    Ok(row)
}

impl StoredArguments {
    fn of(arguments: &ShownArguments) -> Self {
        let (brief, whole) = (arguments.brief().to_owned(), arguments.whole());
        let whole = arguments.is_abridged().then(|| whole.to_owned());
        Self { brief, whole }
    }

    fn shown(self) -> ShownArguments {
        ShownArguments::again(&self.brief, self.whole.as_deref())
    }
}

impl StoredPrincipal {
    fn of(principal: &Principal) -> Self {
        Self { kind: principal.kind().as_str().to_owned(), name: principal.as_str().to_owned() }
    }

    fn principal(self) -> Result<Principal, StoreError> {
        let kind = PrincipalKind::read(&self.kind);
        let kind =
            kind.ok_or_else(|| StoreError::Damaged(format!("`{}` is no kind of a principal", self.kind)))?;
        Ok(Principal::of(kind, self.name))
    }
}

impl StoredAnswer {
    fn answer(self) -> Result<ApprovalAnswer, StoreError> {
        let Self { approver, decision, scope, expires_at, lasts, granted_to, max_uses } = self;
        let answer = ApprovalAnswer::new(approver.principal()?, decision).for_calls(max_uses);
        Ok(answer.with_terms(GrantTerms { scope, expires_at, lasts }).granted_to(granted_to))
    }
}
