//! The digest that binds a confirmation to one call, and the calls whose arguments an operator edited, with the gate that
//! tells their callers so.

use std::sync::Arc;

use mgp_types::canonical::{Digest, digest};
use mgp_types::mgp::method::EDITED_META;
use mgp_types::mgp::{CallEffect, ResolvedTool};
use mgp_types::{Error, Flow, Gate, Principal, RawJson, Request, Response};

/// The call that a confirmation is for, as a digest of the caller, the server, the tool as it is defined now, and the
/// arguments. A confirmation counts for no other call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ConfirmationBinding(pub(super) Digest);

impl ConfirmationBinding {
    /// Returns the binding of all calls of `tool` by `principal`, with whatever arguments. A tool whose definition or risk
    /// has changed counts as another tool.
    ///
    /// # Errors
    /// Fails if the definition cannot be brought into canonical form.
    pub(super) fn of_tool(principal: &Principal, tool: &ResolvedTool) -> Result<Self, Error> {
        let definition = canonical(&tool.definition.to_raw())?;
        Ok(Self(Digest::of_parts([
            TOOL,
            principal.kind().as_str().as_bytes(),
            principal.as_str().as_bytes(),
            tool.server.as_str().as_bytes(),
            tool.name.as_str().as_bytes(),
            tool.security.risk.as_str().as_bytes(),
            definition.as_bytes(),
        ])))
    }

    /// Returns the binding of all calls with this effect, of a binding of all calls.
    pub(super) fn with_effect(self, effect: Option<CallEffect>) -> Self {
        Self(Digest::of_parts([EFFECT, self.0.as_bytes(), effect.map_or("", CallEffect::as_str).as_bytes()]))
    }

    /// Returns the binding of the one call with `arguments`, of a binding of all calls.
    ///
    /// Arguments with the same meaning are the same, however they are written; no arguments equal an empty object.
    ///
    /// # Errors
    /// Fails if the arguments cannot be brought into canonical form.
    pub(super) fn with_arguments(self, arguments: Option<&RawJson>) -> Result<Self, Error> {
        let arguments = canonical(arguments.unwrap_or(&RawJson::empty_object()))?;
        Ok(Self(Digest::of_parts([CALL, self.0.as_bytes(), arguments.as_bytes()])))
    }

    /// Returns the binding of the next round of the call, with the state that its server gave, if it gave one.
    pub(super) fn with_state(self, state: Option<&str>) -> Self {
        let given: &[u8] = if state.is_some() { b"given" } else { b"" };
        Self(Digest::of_parts([ROUND, self.0.as_bytes(), given, state.unwrap_or_default().as_bytes()]))
    }
}

/// Returns the digest of a value in canonical form.
///
/// # Errors
/// Fails if the value has no canonical form.
pub(super) fn canonical(value: &RawJson) -> Result<Digest, Error> {
    digest(value).map_err(|error| {
        Error::invalid_params("the arguments cannot be tied to a confirmation").with_source(error)
    })
}

/// The first parts of the digests, which separate them from each other and from digests for other purposes.
const TOOL: &[u8] = b"mgp confirmation of a tool 1";
const EFFECT: &[u8] = b"mgp confirmation of an effect 1";
const CALL: &[u8] = b"mgp confirmation of a call 1";
const ROUND: &[u8] = b"mgp confirmation of a round 1";

/// The mark of a request that enters its gates anew with the arguments that an operator gave it, and the confirmation for
/// it, in the extensions of the request. Only the gate of confirmation marks requests.
#[derive(Debug)]
pub struct EditedCall {
    /// The binding of the edited call: the confirmation counts for no other.
    pub(super) binding: ConfirmationBinding,
    pub(super) approver: Principal,
    pub(super) arguments: RawJson,
}

/// A gate that tells callers that an operator edited their call: a result has the arguments in its `_meta`, and the message
/// of an error says that there are others.
///
/// The gate stands in front of all that decide about calls, so that it also tells of an edit that one of them refuses.
#[derive(Debug, Clone, Copy)]
pub struct EditedCallGate;

impl Gate for EditedCallGate {
    type Pass = Option<Arc<EditedCall>>;

    fn enter(&self, request: &mut Request) -> Flow<Self::Pass> {
        Flow::Pass(request.extensions.get_shared())
    }

    fn leave(&self, call: Self::Pass, outcome: &mut Result<Response, Error>) {
        let Some(call) = call else { return };
        match outcome {
            Ok(response) => response.change_meta(|meta| meta.set(EDITED_META, call.arguments.clone())),
            Err(error) => {
                let message = format!("an operator changed the arguments of the call: {}", error.message());
                *error = error.clone().with_message(message);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use mgp_types::Object;
    use mgp_types::mgp::{EffectiveSecurity, RiskLevel};

    use super::*;

    fn of(
        who: &Principal,
        server: &str,
        tool: &str,
        definition: &'static str,
        arguments: &'static str,
    ) -> ConfirmationBinding {
        let definition = Object::parse(definition).unwrap();
        let tool = ResolvedTool::new(
            server.into(),
            tool.into(),
            definition,
            EffectiveSecurity::new(RiskLevel::Safe),
        );
        let arguments = RawJson::parse(arguments).unwrap();
        ConfirmationBinding::of_tool(who, &tool).unwrap().with_arguments(Some(&arguments)).unwrap()
    }

    #[test]
    fn every_part_of_a_call_counts_and_its_spelling_does_not() {
        let ada = Principal::new("ada");
        let one = of(&ada, "s", "t", "{}", r#"{"a":1,"b":"x"}"#);
        assert_eq!(one, of(&ada, "s", "t", "{}", r#"{ "b":"\u0078", "a":1.0 }"#));
        for other in [
            of(&Principal::new("bob"), "s", "t", "{}", r#"{"a":1,"b":"x"}"#),
            of(&Principal::operator("ada"), "s", "t", "{}", r#"{"a":1,"b":"x"}"#),
            of(&ada, "s2", "t", "{}", r#"{"a":1,"b":"x"}"#),
            of(&ada, "s", "t2", "{}", r#"{"a":1,"b":"x"}"#),
            of(&ada, "st", "", "{}", r#"{"a":1,"b":"x"}"#),
            of(&ada, "s", "t", r#"{"description":"new"}"#, r#"{"a":1,"b":"x"}"#),
            of(&ada, "s", "t", "{}", r#"{"a":2,"b":"x"}"#),
            of(&ada, "s", "t", "{}", r#"{"a":"1","b":"x"}"#),
            of(&ada, "s", "t", "{}", "{}"),
        ] {
            assert_ne!(one, other);
        }
        let number = |json| of(&ada, "s", "t", "{}", json);
        assert_ne!(number(r#"{"a":9007199254740993}"#), number(r#"{"a":9007199254740992}"#));
    }
}
