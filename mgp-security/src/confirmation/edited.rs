//! Calls whose arguments an operator edited when approving them, and the gate that tells their callers so.

use std::sync::Arc;

use mgp_types::mgp::method::EDITED_META;
use mgp_types::{Error, Flow, Gate, Principal, RawJson, Request, Response};

use super::ConfirmationBinding;

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
                let told = format!("an operator changed the arguments of the call: {}", error.message());
                *error = error.clone().with_message(told);
            }
        }
    }
}
