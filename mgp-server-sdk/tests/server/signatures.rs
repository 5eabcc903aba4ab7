//! Servers whose tools are made of signatures, and what is asked of them.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use mgp_server_sdk::{Constraint, FieldType, InputField, RawJson, Server, Signature, Tool};
use serde_json::{Value, json};

/// A server with one tool, which counts its calls and returns its arguments.
pub(crate) fn one_tool(signature: &Signature) -> (Server, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let server = Server::new("test", "1").offer_validation().tool(
        Tool::from_signature(signature),
        move |arguments: RawJson| {
            counted.fetch_add(1, Ordering::SeqCst);
            async move { arguments.to_string() }
        },
    );
    (server, calls)
}

pub(crate) fn text(name: &str, constraints: impl IntoIterator<Item = Constraint>) -> InputField {
    let field = InputField::new(name, FieldType::String, "A text.");
    constraints.into_iter().fold(field, InputField::constraint)
}

pub(crate) fn arguments_of(signature: &str, arguments: &Value) -> Value {
    json!({"name": signature, "arguments": arguments})
}
