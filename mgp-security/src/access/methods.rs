//! The gate that serves the access methods of MGP, as methods and as tools, and the check whether the server or tool of a
//! new rule exists.

use std::sync::Arc;

use mgp_types::mgp::{
    AccessGrant, AccessQuery, AccessRevoke, Extension, MethodForm, Refusal, ToolName, ToolPattern, method,
    written,
};
use mgp_types::{Error, Flow, Gate, RawJson, Request, RequestKind, Response, Revision, code};
use serde::Serialize;
use serde_json::json;

use super::policy::operator;
use super::{AccessError, AccessPolicy, StoredEntry};

/// A gate that serves `mgp/access/query`, `mgp/access/grant` and `mgp/access/revoke` (§5.4).
///
/// The gate stands behind the layers that authenticate and record, and in front of [`AccessGate`](super::AccessGate),
/// because it guards the methods that it serves itself. The same three are served as tools under the names
/// `mgp.access.query`, `mgp/access/query` and `mgp_access_query`, and so on; those names are reserved, so no server's
/// tool is ever called by them. As methods they exist only for a peer with which `access_control` was negotiated. All
/// other requests pass untouched.
///
/// The gate reads `context.session`, `context.principal` and `context.trace`. Only an operator may grant and revoke
/// (1000), an agent may ask about itself only (1001), and a request without a principal is refused (1002); refusals
/// are noted in `context.trail`. It allocates only for requests that it serves. Dropping the future of a grant or a
/// revocation makes the change either whole or not at all.
#[derive(Clone)]
pub struct AccessMethodsGate {
    policy: AccessPolicy,
    targets: Option<Arc<dyn KnownTargets>>,
}

impl AccessMethodsGate {
    /// Returns a gate that queries and changes `policy`.
    pub const fn new(policy: AccessPolicy) -> Self {
        Self { policy, targets: None }
    }

    mgp_types::setters! { #[must_use] self =>
        /// Refuses grants whose group does not exist, or whose server or tool matches nothing that `targets` knows, unless
        /// they are forced.
        pub fn known_targets(targets: Arc<dyn KnownTargets>) => self.targets = Some(targets);
    }

    async fn answer(
        &self,
        form: MethodForm,
        method: &str,
        rule: &'static str,
        request: &Request,
    ) -> Result<Response, Error> {
        form.check(request, &Extension::AccessControl)?;
        if request.kind == RequestKind::Notify {
            return Err(Error::invalid_request("access is changed and told by calls, not by notifications"));
        }
        let outcome = self.result(form, method, request).await;
        let refused = [code::PERMISSION_DENIED, code::ACCESS_DENIED, code::AUTH_REQUIRED];
        if outcome.as_ref().is_err_and(|error| refused.contains(&error.code())) {
            request.context.note_refusal(Refusal::new("access", rule));
        }
        let revision = request.context.session.as_ref().map_or(Revision::LATEST, |session| session.revision);
        form.answer(outcome, revision)
    }

    async fn result(&self, form: MethodForm, method: &str, request: &Request) -> Result<RawJson, Error> {
        let by = request.context.principal.as_ref().ok_or(AccessError::Unauthenticated)?;
        if method == method::ACCESS_QUERY {
            return written(&self.policy.query(by, &form.read::<AccessQuery>(request)?)?);
        }
        operator(by)?; // Before the parameters are read: an agent is not told what is wrong with them.
        let trace = request.context.trace;
        if method == method::ACCESS_GRANT {
            let wanted: AccessGrant = form.read(request)?;
            self.check(&wanted)?;
            let entry = self.policy.grant(by, trace, wanted).await?;
            return written(&GrantedResult { status: "granted", flat: &entry, entry: &entry });
        }
        let revoke: AccessRevoke = form.read(request)?;
        let revoked = self.policy.revoke(by, trace, revoke.clone()).await?;
        let (deleted_count, entry) = (u8::from(revoked.is_some()), revoked.as_deref());
        written(&RevokedResult { status: "revoked", deleted_count, revoke: &revoke, entry })
    }

    fn check(&self, wanted: &AccessGrant) -> Result<(), UnmatchedTarget> {
        let Some(targets) = self.targets.as_ref().filter(|_| !wanted.force) else { return Ok(()) };
        let agent = &wanted.agent_id;
        if agent.as_str().starts_with('@') && !self.policy.groups().ids().contains(agent) {
            return Err(UnmatchedTarget::new(format!("no group in `[[groups]]` is called `{agent}`")));
        }
        let tool = wanted.tool_name.as_ref().map(ToolName::as_str).filter(|tool| *tool != "*");
        targets.check(wanted.server_id.as_str(), tool)
    }
}

mgp_types::partial_debug!(AccessMethodsGate, self => policy: self.policy);

impl Gate for AccessMethodsGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let Some((form, method)) = MethodForm::of(request) else { return Flow::Pass(()) };
        let (method, rule) = match method {
            method::ACCESS_QUERY => (method::ACCESS_QUERY, "access-query"),
            method::ACCESS_GRANT => (method::ACCESS_GRANT, "access-grant"),
            method::ACCESS_REVOKE => (method::ACCESS_REVOKE, "access-revoke"),
            _ => return Flow::Pass(()),
        };
        let (gate, request) = (self.clone(), request.take());
        Flow::answer_later(async move { gate.answer(form, method, rule, &request).await })
    }
}

/// The result of a grant. The members of the entry stand both beside the status and under `entry`, because drafts and
/// readers of the protocol differ.
#[derive(Serialize)]
struct GrantedResult<'a> {
    status: &'static str,
    #[serde(flatten)]
    flat: &'a StoredEntry,
    entry: &'a StoredEntry,
}

#[derive(Serialize)]
struct RevokedResult<'a> {
    status: &'static str,
    deleted_count: u8,
    #[serde(flatten)]
    revoke: &'a AccessRevoke,
    entry: Option<&'a StoredEntry>,
}

/// A directory of the existing servers and tools, by which an entry that matches none of them is noticed before it is
/// made.
pub trait KnownTargets: Send + Sync {
    /// Checks that the server or tool exists, or may exist. Both names may be patterns.
    ///
    /// # Errors
    /// Fails if there is no such server or tool.
    fn check(&self, server: &str, tool: Option<&str>) -> Result<(), UnmatchedTarget>;
}

/// The error of a rule that matches nothing, with the target that is probably meant. Its text is for the author of
/// the rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{}{}",
    self.reason(),
    self.suggestion().map(|near| format!("; did you mean `{near}`?")).unwrap_or_default()
)]
pub struct UnmatchedTarget {
    what: String,
    meant: Option<MeantTarget>,
}

/// The target that is probably meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct MeantTarget {
    server_id: String,
    tool_name: Option<String>,
}

impl UnmatchedTarget {
    /// Returns the error for the missing server or tool that `what` describes.
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), meant: None }
    }

    /// Adds the server or tool that is probably meant.
    #[must_use]
    pub fn meant(mut self, server: &str, tool: Option<&str>) -> Self {
        self.meant = Some(MeantTarget { server_id: server.to_owned(), tool_name: tool.map(str::to_owned) });
        self
    }

    /// Turns a suggested server into all of its tools, for rules that are about tools.
    #[must_use]
    pub fn of_tools(mut self) -> Self {
        if let Some(meant) = &mut self.meant {
            meant.tool_name.get_or_insert_with(|| "*".to_owned());
        }
        self
    }

    /// Returns the description of what is missing, without what is probably meant.
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Returns the target that is probably meant, written as `server` or `server.tool`.
    pub fn suggestion(&self) -> Option<String> {
        let MeantTarget { server_id, tool_name } = self.meant.as_ref()?;
        Some(match tool_name {
            Some(tool) => ToolPattern::new(server_id, tool).ok()?.to_string(),
            None => server_id.clone(),
        })
    }

    fn reason(&self) -> String {
        format!("{}, so this would have no effect", self.what)
    }
}

impl From<UnmatchedTarget> for Error {
    /// Returns the error for the answer to a request: its `data` holds the target that is probably meant, under the
    /// names of the request's parameters.
    fn from(unmatched: UnmatchedTarget) -> Self {
        let error = Self::invalid_params(format!("{unmatched} (`force` makes it all the same)"));
        let data = json!({ "reason": unmatched.reason(), "did_you_mean": unmatched.meant });
        match RawJson::from_value(&data) {
            Ok(data) => error.with_data(data),
            Err(_) => error,
        }
    }
}
