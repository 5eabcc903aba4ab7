//! What a client declared that it can be asked.

use std::sync::Arc;

use mgp_types::{Context, Error, Method, Origin, Request, Session};

/// Whether it is a question to a client at all.
pub(crate) fn is_question(method: &Method) -> bool {
    *method == Method::ELICIT || *method == Method::CREATE_MESSAGE || *method == Method::ROOTS_LIST
}

/// Whether the client declared that it can be asked anything.
pub(super) fn anything(session: &Session) -> bool {
    ["elicitation", "sampling", "roots"].iter().any(|name| session.peer_can(&[name]))
}

/// Whether the client declared that it can be asked this.
///
/// # Errors
/// It did not, or this is no question.
pub(crate) async fn this(session: &Arc<Session>, question: &Request) -> Result<(), Error> {
    if !is_question(&question.method) {
        return Err(Error::method_not_found(&question.method));
    }
    // The rules stand where handlers ask. With an exchange the question is noted there and not sent.
    let mut context = Context::default();
    context.session = Some(Arc::clone(session));
    context.input = Some(Arc::default());
    match context.ask("", question.method.clone(), question.params.clone()).await {
        Err(error) if error.origin() != Origin::InputRequired => Err(error),
        _ => Ok(()),
    }
}
