//! The members of calls and results by extensions: hints, binary arguments, scopes, advice for users, and checked or
//! packed results.

use std::sync::Arc;

use mgp_security::ArgumentJudge;
#[cfg(feature = "http")]
use mgp_transport::http::BinaryArguments;
use mgp_types::ext::scope::{
    CheckPermission, NegotiateScopes, PermissionChecked, ScopeSession, Scopes, ScopesNegotiated, report,
};
use mgp_types::ext::{
    ENVELOPE_VERSION, ExtensionId, Impact, Intent, Provenance, StructuredError, Suggestion, ToolDeclaration,
    ToolResult, Unverified,
};
use mgp_types::mcp::{CallToolResult, Tool, ToolAnnotations};
use mgp_types::mgp::{EffectiveSecurity, ResolvedTool, RiskLevel, ServerId, method};
use mgp_types::{Error, Object, RawJson, Request, Response, RpcService, code};
use serde::Serialize;
use serde_json::json;

use crate::carried::meta;
use crate::{Call, Client, ClientBuilder};

impl<S: RpcService> Client<S> {
    /// Calls a tool as it was listed. The call is waited for as long as the tool's declared latency asks for, and never
    /// shorter than other calls; [`Call::timeout`] sets another time. Layers that make failed calls again learn from the
    /// tool whether a second time can do harm.
    pub fn call_listed(&self, tool: &Tool, arguments: impl Serialize) -> Call<S, CallToolResult> {
        let declared = ToolDeclaration::of_tool(tool);
        let mut call = self.call_tool(&tool.name, arguments);
        if let Ok(request) = &mut call.request {
            #[cfg(feature = "http")]
            if declared.binary_transport.as_deref() == Some("multipart") {
                request.extensions.insert(BinaryArguments::default());
            }
            request.context.tool = Some(resolved(tool, declared.idempotent));
        }
        if let Some(latency) = declared.latency {
            call.timeout = call.timeout.max(latency.timeout());
            call.max_timeout = call.max_timeout.max(call.timeout);
        }
        call
    }

    /// Asks whether a tool may be called, without calling it.
    pub fn check_permission(&self, question: &CheckPermission) -> Call<S, PermissionChecked> {
        self.call(Request::with_body(method::PERMISSION_CHECK, question), Response::body)
    }

    /// Asks for a session with scopes. Calls are made in it by [`Call::with_scopes`].
    pub fn negotiate_scopes(&self, wanted: &NegotiateScopes) -> Call<S, ScopesNegotiated> {
        self.call(Request::with_body(method::PERMISSION_NEGOTIATE, wanted), Response::body)
    }

    /// Asks for a new session with the scopes of one that is about to end, which ends the old one.
    pub fn refresh_scopes(&self, session: &ScopeSession) -> Call<S, ScopeSession> {
        let refresh = session.refresh_token.as_ref().map(|token| json!({ "refresh_token": token }));
        let request = refresh
            .ok_or_else(|| Error::invalid_params("the session cannot be refreshed: negotiate a new one"))
            .and_then(|refresh| Request::with_body(method::PERMISSION_REFRESH, &refresh));
        self.call(request, Response::body)
    }

    /// Lists the tools and tells a user what `held` scopes allow and what they do not, a line for each tool:
    ///
    /// ```text
    /// can call search_tickets
    /// cannot call edit_ticket: it needs write:tickets
    /// ```
    ///
    /// # Errors
    /// The list of tools fails.
    pub async fn scope_report(&self, held: &Scopes) -> Result<String, Error> {
        let tools = self.list_tools().await?;
        let declared: Vec<_> =
            tools.iter().map(|tool| (&*tool.name, ToolDeclaration::of_tool(tool).required_scopes)).collect();
        Ok(report(declared.iter().map(|(tool, required)| (*tool, &required[..])), held))
    }

    /// Returns what the server has to say to the user about a call that failed, whether the call ended in an error or in a
    /// failed result; `None` if the user can do nothing about it.
    ///
    /// An address of documentation counts as the server's own if it is of HTTPS and its host is that of the server's
    /// `websiteUrl`, or below it. Addresses that are not of HTTPS are left out.
    pub fn user_advice(&self, outcome: &Result<CallToolResult, Error>) -> Option<UserAdvice> {
        let error = match outcome {
            Err(error) => StructuredError::read(error.data()?)?,
            Ok(result) if result.is_error == Some(true) => {
                StructuredError::read(result.meta.as_ref()?.get("error")?)?
            }
            Ok(_) => return None,
        };
        if !error.user_actionable {
            return None;
        }
        let homepage = self.server_info().and_then(|server| server.website_url).unwrap_or_default();
        let documentation = error.documentation_of(&homepage).map(Into::into);
        let address = error.documentation_url.filter(|url| url.starts_with("https://"));
        let foreign_documentation = if documentation.is_some() { None } else { address };
        let (message, suggestion) = (error.message, error.suggestion);
        Some(UserAdvice { message, suggestion, documentation, foreign_documentation })
    }
}

impl<S: RpcService> Call<S, CallToolResult> {
    /// Tells the server what the call is for. Nothing is told without this: a purpose can hold what a server is not to
    /// know, so it is for servers that are trusted.
    ///
    /// An [`Intent`] can say on whose initiative the call is made, and of which workflow it is a step; a purpose of more
    /// than 1024 bytes is an error of the call.
    pub fn intent(mut self, purpose: impl Into<Intent>) -> Self {
        let purpose = purpose.into();
        self.request = self.request.and_then(|mut request| {
            purpose.write(request.meta_mut_or_new())?;
            Ok(request)
        });
        self
    }

    /// Sets the most units that the call may cost. A server that knows budgets refuses the call if its estimate is higher.
    pub fn budget(self, max_units: f64) -> Self {
        match RawJson::from_value(&json!({ "max_units": max_units })) {
            Ok(budget) => self.meta("budget", budget),
            Err(_) => self,
        }
    }

    /// Sets an argument to bytes, which the tool sees in base64.
    ///
    /// A call made with [`Client::call_listed`](crate::Client::call_listed) carries the bytes as they are over Streamable
    /// HTTP, in parts of their own, if its tool declares `binary_transport: "multipart"`. A media type that is no visible
    /// ASCII is an error of the call, and so are more than 64 such arguments.
    ///
    /// ```no_run
    /// # use mgp_client_sdk::{Client, Error, RpcService, json, mcp::Tool};
    /// # async fn sum<S: RpcService>(client: &Client<S>, tool: &Tool, picture: Vec<u8>) -> Result<(), Error> {
    /// let call = client.call_listed(tool, json!({"scale": 2})).attach("picture", "image/png", picture);
    /// let result = call.await?;
    /// # drop(result); Ok(()) }
    /// ```
    #[cfg(feature = "http")]
    pub fn attach(mut self, argument: &str, media_type: &str, content: impl Into<Vec<u8>>) -> Self {
        let content = content.into();
        self.request = self.request.and_then(|mut request| {
            BinaryArguments::attach(&mut request, argument, media_type, content)?;
            Ok(request)
        });
        self
    }

    /// Compares the structured result with the output schema that `tool` declares. A result that does not fit is an error
    /// of the call, which names the place of each fault and no value; the tool has done its work then all the same.
    ///
    /// A failed result, and any result of a tool without an output schema, is not compared.
    pub fn check_output(mut self, tool: &Tool) -> Self {
        let Some(schema) = &tool.output_schema else { return self };
        let name = tool.name.clone();
        match ArgumentJudge::compile(schema) {
            Ok(judge) => self.check = Some(Box::new(move |response| check(&name, &judge, response))),
            Err(fault) => {
                let unusable = format!("the output of `{name}` cannot be checked: {fault}");
                self.request = self.request.and(Err(Error::new(code::INVALID_REQUEST, unusable)));
            }
        }
        self
    }

    /// Asks for the result in an envelope, which says in one word what became of the call.
    ///
    /// A server without envelopes answers as ever; the client puts that result into one. An envelope of another major
    /// version, or one that breaks a rule, is an error.
    pub fn in_envelope(self) -> Call<S, ToolResult> {
        let settings = format!(r#"{{"envelope":true,"version":"{ENVELOPE_VERSION}"}}"#);
        self.meta(ExtensionId::Envelopes.id(), RawJson::from_written(settings.into_bytes()))
            .read_as(read_envelope)
    }
}

/// Returns the tool as layers see it. Nothing is taken for harmless but what its hints say.
fn resolved(tool: &Tool, idempotent: bool) -> Arc<ResolvedTool> {
    let mut hints = tool.annotations.as_deref().cloned().unwrap_or_default();
    if idempotent {
        hints.idempotent_hint.get_or_insert(true);
    }
    let members = tool.extra.iter().map(|(name, member)| (name.to_owned(), member.clone()));
    let mut definition: Object = members.collect();
    if let Ok(hints) = RawJson::from_value(&hints) {
        definition.set("annotations", hints);
    }
    let security = EffectiveSecurity::new(RiskLevel::Moderate);
    ResolvedTool::new(ServerId::from("server"), tool.name.as_str().into(), definition, security)
}

/// The hints in the metadata of a result. They are the server's claims.
#[derive(Debug, Clone, Default)]
pub struct ResultHints(Object);

impl ResultHints {
    /// Reads the hints of a result.
    pub fn of(result: &CallToolResult) -> Self {
        Self(meta(result))
    }

    /// Returns the tool that the server suggests in place of the `called` one, if it is among the `known` ones and is no
    /// riskier. Nothing follows the suggestion by itself.
    ///
    /// A tool that says nothing of its risk counts as destructive.
    pub fn suggestion(&self, called: &Tool, known: &[Tool]) -> Option<Suggestion> {
        let suggestion = Suggestion::read(&self.0)?;
        let tool = known.iter().find(|tool| *tool.name == *suggestion.recommended_tool)?;
        (tool.name != called.name && risk(tool) <= risk(called)).then_some(suggestion)
    }

    /// Returns the sources that the server names: citations that nobody has checked.
    pub fn provenance(&self) -> Unverified<Vec<Provenance>> {
        Provenance::read(&self.0)
    }
}

/// Returns the harm that a tool of a list can do.
pub(crate) fn risk(tool: &Tool) -> Impact {
    impact(ToolDeclaration::of_tool(tool).risk_level, tool.annotations.as_deref())
}

/// Returns the harm that a call can do. A tool that says nothing counts as destructive.
pub(super) fn impact(declared: Option<Impact>, hints: Option<&ToolAnnotations>) -> Impact {
    match declared {
        Some(impact) => impact,
        None if hints.is_some_and(|hints| hints.read_only_hint == Some(true)) => Impact::Safe,
        None if hints.is_some_and(|hints| hints.destructive_hint == Some(false)) => Impact::Reversible,
        None => Impact::Destructive,
    }
}

fn check(name: &str, judge: &ArgumentJudge, response: &Response) -> Result<(), Error> {
    let result: CallToolResult = response.body()?;
    if result.is_error == Some(true) {
        return Ok(());
    }
    let does_not_fit = |faults: &str| {
        Error::misbehaved(format!("the result of `{name}` does not fit its output schema: {faults}"))
    };
    let output = result.structured_content.ok_or_else(|| does_not_fit("it has no structured content"))?;
    let output = output.to().map_err(|error| does_not_fit("it is not JSON").with_source(error))?;
    let faults = judge.violations(&output).into_iter().take(MAX_FAULTS).map(|fault| match &*fault.path {
        "" => format!("it breaks `{}`", fault.keyword),
        path => format!("`{path}` breaks `{}`", fault.keyword),
    });
    let faults: Vec<_> = faults.collect();
    if faults.is_empty() { Ok(()) } else { Err(does_not_fit(&faults.join("; "))) }
}

fn read_envelope(response: &Response) -> Result<ToolResult, Error> {
    let result = Object::from_raw(&response.to_raw())
        .map_err(|error| Error::misbehaved("the result of the tool is no object").with_source(error))?;
    let settings = result.object("_meta").and_then(|meta| meta.object(ExtensionId::Envelopes.id()));
    // Only an envelope names its version.
    let Some(version) = settings.as_ref().and_then(|settings| settings.text("version")) else {
        return Ok(ToolResult::of_result(&result));
    };
    if major(&version) != major(ENVELOPE_VERSION) {
        let version: String = version.chars().take(32).collect();
        return Err(Error::misbehaved(format!(
            "the server speaks version {version} of envelopes, and this side {ENVELOPE_VERSION}: call without an envelope"
        )));
    }
    let envelope =
        result.object("structuredContent").ok_or_else(|| Error::misbehaved("the result has no envelope"))?;
    ToolResult::from_object(&envelope).map_err(|fault| Error::misbehaved(fault.to_string()))
}

fn major(version: &str) -> Option<&str> {
    version.split('.').next()
}

/// The most faults that an error names.
const MAX_FAULTS: usize = 8;

impl<L, I> ClientBuilder<L, I> {
    /// Declares the scopes that the client wants, so that the server knows them before the first call. The server may give
    /// fewer; [`Client::negotiate_scopes`] asks for a session with scopes.
    pub fn scopes(self, wanted: &Scopes) -> Self {
        let wanted = RawJson::from_value(wanted).map(|wanted| ("requested_scopes", wanted));
        self.extension(ExtensionId::ScopedAuth.id(), &wanted.into_iter().collect())
    }
}

impl<S: RpcService, T> Call<S, T> {
    /// Makes the call in a session with scopes.
    pub fn with_scopes(self, session: &ScopeSession) -> Self {
        self.meta("session_token", RawJson::from_text(&session.token))
    }
}

/// The words of a server for the user, about a failure that the user can do something about.
///
/// They are written by the server: show them as its words, and follow none of them by program.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserAdvice {
    /// The failure in words.
    pub message: Box<str>,
    /// The next step.
    pub suggestion: Option<Box<str>>,
    /// The address of an explanation on the server's own site.
    pub documentation: Option<Box<str>>,
    /// The address of an explanation elsewhere, which may lead the user anywhere: show its host before it is opened.
    pub foreign_documentation: Option<Box<str>>,
}
