//! Scopes: what a caller may do with the tools that ask for scopes, by its configuration and its session.
//!
//! A tool says which scopes a call of it needs, and an operator can add some. A caller holds those of its session, whose
//! token it sends with its calls, or else those that are configured for it. A caller for which nothing is configured
//! is held to none. Scopes narrow what access control allows; they never widen it.

mod book;
mod sessions;

use mgp_types::mgp::Refusal;
use mgp_types::{AskedRule, Error, Flow, Gate, Method, Request, code};

pub use self::book::{ScopeBook, ScopeRules};
pub(crate) use self::sessions::SecretDigest;
use self::sessions::{META_MEMBER, shown_by};
use crate::refusal::refusal;

/// A gate that refuses calls of tools for which the caller lacks a scope.
///
/// The gate stands behind [`AccessGate`](crate::access::AccessGate), in front of one server. It reads
/// `context.principal`, `context.scopes` and `context.tool`, and fills `context.trail`. It moves the session token of every request
/// to its extensions, so that no server sees one. A missing scope is refused with 1000, whose recovery details name it; a token that is not
/// known with 1002, and one whose session is over with 1003. Requests that call no tool pass: only tools ask for
/// scopes. Where nobody is held to scopes, the gate reads a flag and nothing else. It never waits.
#[derive(Debug, Clone)]
pub struct ScopeGate(ScopeBook);

impl ScopeGate {
    /// Returns a gate that holds calls to the scopes in `book`.
    pub const fn new(book: ScopeBook) -> Self {
        Self(book)
    }

    fn admit(&self, request: &Request) -> Result<(), Error> {
        let is_held = request.context.scopes.is_some() || self.0.is_in_use();
        if request.method != Method::TOOLS_CALL || !is_held {
            return Ok(());
        }
        let verdict = match &request.context.tool {
            Some(tool) => self.0.judge(request, request.extensions.get::<SecretDigest>(), tool),
            None => Err(refusal(code::PERMISSION_DENIED, "the scopes that the tool needs are not known")),
        };
        verdict.inspect_err(|error| {
            let is_missing = error.code() == code::PERMISSION_DENIED;
            let rule = if is_missing { "missing-scope" } else { "session" };
            request.context.note_refusal(Refusal::new("scope", rule));
        })
    }
}

impl Gate for ScopeGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        if self.0.is_in_use()
            && let Some(token) = shown_by(request)
        {
            // Nobody further on reads it.
            if let Some(meta) = request.meta_mut() {
                meta.remove(META_MEMBER);
            }
            request.extensions.insert(token);
        }
        self.admit(request).into()
    }

    /// Refuses a call whose scopes ended while it waited.
    fn recheck(&self, (): &mut (), request: &mut Request) -> Result<(), Error> {
        self.admit(request)
    }

    fn explain(&self, request: &mut Request, answers: &mut Vec<AskedRule>) {
        answers.push(AskedRule::judged("scopes", self.admit(request).map(|()| "")));
    }
}

#[cfg(test)]
mod tests;
