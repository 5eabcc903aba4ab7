//! What a user can do: scopes to ask for, to call with and to tell of, and errors with advice.

use mgp_types::ext::scope::{
    CheckPermission, NegotiateScopes, PermissionChecked, ScopeSession, Scopes, ScopesNegotiated, report,
};
use mgp_types::ext::{ExtensionId, StructuredError, ToolDeclaration};
use mgp_types::mcp::CallToolResult;
use mgp_types::mgp::method;
use mgp_types::{Error, Object, RawJson, Request, Response, RpcService};
use serde_json::json;

use crate::{Call, Client, ClientBuilder};

impl<L, I> ClientBuilder<L, I> {
    /// Declares the scopes that the client wants, so that the server knows them before the first call. The server may give
    /// fewer; [`Client::negotiate_scopes`] asks for a session with scopes.
    pub fn scopes(self, wanted: &Scopes) -> Self {
        let mut settings = Object::new();
        if let Ok(wanted) = RawJson::from_value(wanted) {
            settings.set("requested_scopes", wanted);
        }
        self.extension(ExtensionId::ScopedAuth.id(), &settings)
    }
}

impl<S: RpcService> Client<S> {
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

impl<S: RpcService> Client<S> {
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
        let own = error.documentation_of(&homepage).map(Into::into);
        let address = error.documentation_url.filter(|url| url.starts_with("https://"));
        let foreign = if own.is_some() { None } else { address };
        Some(UserAdvice {
            message: error.message,
            suggestion: error.suggestion,
            documentation: own,
            foreign_documentation: foreign,
        })
    }
}
