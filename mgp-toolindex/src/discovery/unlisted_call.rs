//! Calls of tools by the meta-tool `mgp.tools.call`, for clients that call only tools which they listed.
//!
//! The call is rewritten in front of authentication, so nothing further in knows two kinds of calls. It repeats no
//! arguments in headers, because its client never saw the schema.

use mgp_types::mgp::{MethodForm, UnlistedCall, method};
use mgp_types::{Error, Flow, Gate, Method, RawJson, Request};

/// A gate that makes a call of the tool `mgp.tools.call` the call of the tool that it names.
///
/// Sits in front of all that looks at the tool of a call: for whoever is further in, the call is one of the named tool,
/// with all other members of its params. Puts an [`UnlistedCall`] into the extensions of such a call. A call that names
/// no tool stays as it is, to be refused where callers are known; all other requests pass untouched. Costs a look at the
/// first letters of the name.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct UnlistedCallGate;

impl UnlistedCallGate {
    /// Returns the gate.
    pub const fn new() -> Self {
        Self
    }
}

impl Gate for UnlistedCallGate {
    type Pass = ();

    fn enter(&self, request: &mut Request) -> Flow {
        let is_unlisted = request.method == Method::TOOLS_CALL && request.context.tool.is_none() && {
            let name = request.params.text("name");
            name.is_some_and(|name| method::of_tool(&name) == Some(method::TOOLS_CALL))
        };
        if is_unlisted && let Ok((name, arguments)) = named(request) {
            request.params.set("name", RawJson::from_text(&name));
            request.params.set("arguments", arguments);
            request.extensions.insert(UnlistedCall);
        }
        Flow::Pass(())
    }
}

/// Returns the name and the arguments of the tool that a call of `mgp.tools.call` is for.
///
/// # Errors
/// The arguments of the call are not such a name and such arguments; the error says which of them is wrong.
pub(super) fn named(request: &Request) -> Result<(String, RawJson), Error> {
    let params = MethodForm::Tool.params(request)?;
    let name = params.get("name").and_then(|name| name.to_text()).filter(|name| !name.is_empty());
    let missing = "`name` is missing: it is the name of the tool to call, as a search found it";
    let name = name.ok_or_else(|| Error::invalid_params(missing))?;
    if method::of_tool(&name) == Some(method::TOOLS_CALL) {
        let why = format!("`name` is `{name}` itself: it has to be the tool to call");
        return Err(Error::invalid_params(why));
    }
    if let Some((other, _)) = params.iter().find(|(member, _)| !matches!(&**member, "name" | "arguments")) {
        return Err(Error::invalid_params(format!(
            "`{other}` is neither `name` nor `arguments`: what `{name}` takes goes into `arguments`"
        )));
    }
    let arguments = match params.get("arguments").filter(|arguments| !arguments.is_null()) {
        None => Some(RawJson::empty_object()),
        // Some models write the object as a text.
        Some(arguments) => match arguments.to_text() {
            Some(text) => RawJson::parse(text).ok(),
            None => Some(arguments),
        },
    };
    let wrong = || format!("`arguments` has to be an object: the arguments of the tool `{name}`");
    let arguments = arguments.filter(RawJson::is_object).ok_or_else(|| Error::invalid_params(wrong()))?;
    Ok((name, arguments))
}
