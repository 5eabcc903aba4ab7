//! The checks of whether a client declared that it can be asked a question.

use std::sync::Arc;

use mgp_types::{Context, Error, Method, Origin, Request, Session};

/// Returns whether the method is a question to a client at all.
pub(crate) fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}

/// Returns whether the client declared that it can be asked anything.
pub(super) fn anything(session: &Session) -> bool {
    ["elicitation", "sampling", "roots"].iter().any(|name| session.peer_can(&[name]))
}

/// Checks whether the client declared that it can be asked this question.
///
/// # Errors
/// Fails if the client did not declare it, or this is no question.
pub(crate) async fn this(session: &Arc<Session>, question: &Request) -> Result<(), Error> {
    if !is_question(&question.method) {
        return Err(Error::method_not_found(&question.method));
    }
    // The rules are those of handlers that ask. With an exchange in the context the question is noted there and not
    // sent.
    let mut context = Context::default();
    context.session = Some(Arc::clone(session));
    context.input = Some(Arc::default());
    match context.ask("", question.method.clone(), question.params.clone()).await {
        Err(error) if error.origin() != Origin::InputRequired => Err(error),
        _ => Ok(()),
    }
}
