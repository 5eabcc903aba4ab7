//! Errors that a user can do something about.

use mgp_types::ext::StructuredError;
use mgp_types::mcp::CallToolResult;
use mgp_types::{Error, RpcService};

use crate::Client;

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
