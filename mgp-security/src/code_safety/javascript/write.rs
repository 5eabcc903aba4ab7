//! Rules for what readonly refuses beyond strict: changes of a file, a store, a service or the page's cookies.

use mgp_types::mgp::SafetyLevel::Readonly;

use super::Check;
use super::call::arguments;
use super::names::{CLIENTS, WRITING};
use crate::code_safety::identifier::plain;
use crate::code_safety::syntax::Node;

impl<'t> Check<'_, 't> {
    pub(super) fn writing_call(&mut self, node: Node<'t>) {
        let Some(function) = node.field("function").or_else(|| node.field("constructor")) else { return };
        let is_method = function.kind() == "member_expression";
        let name = match function.field("property").filter(|_| is_method) {
            Some(property) => plain(property.text()),
            None => plain(function.text()),
        };
        let object = function.field("object").map(|object| plain(object.text())).unwrap_or_default();
        let writes = match &*name {
            "fetch" | "axios" | "got" | "ky" | "request" => {
                arguments(node).any(|options| self.is_writing_request(options))
            }
            "post" | "put" | "patch" | "sendBeacon" => is_method,
            "delete" => is_method && CLIENTS.iter().any(|client| object.to_lowercase().ends_with(client)),
            "open" => {
                let verb = arguments(node).next().and_then(|verb| self.scopes.text(verb));
                is_method
                    && verb.is_some_and(|verb| {
                        matches!(&*verb.to_uppercase(), "POST" | "PUT" | "PATCH" | "DELETE")
                    })
            }
            "setItem" | "removeItem" | "clear" => object.ends_with("Storage"),
            "query" | "execute" | "exec" => {
                let statement = arguments(node).next().and_then(|statement| self.scopes.text(statement));
                statement.is_some_and(|statement| is_change(&statement))
            }
            "Function" => false,
            name => WRITING.contains(name),
        };
        if writes {
            self.findings.pattern(Readonly, &format!("{name}("), node.at());
        }
    }

    /// Returns whether the options of a request have a method that does not only read, or that is not known.
    fn is_writing_request(&self, options: Node<'t>) -> bool {
        let pairs =
            options.named_children().filter(|pair| options.kind() == "object" && pair.kind() == "pair");
        pairs.into_iter().any(|pair| {
            let is_method =
                pair.field("key").is_some_and(|key| key.text().trim_matches(['\'', '"']) == "method");
            let verb = pair.field("value").and_then(|verb| self.scopes.text(verb));
            is_method && verb.is_none_or(|verb| !matches!(&*verb.to_uppercase(), "GET" | "HEAD" | "OPTIONS"))
        })
    }
}

fn is_change(statement: &str) -> bool {
    let word =
        statement.trim_start().split(|c: char| !c.is_alphabetic()).next().unwrap_or_default().to_uppercase();
    matches!(
        &*word,
        "INSERT"
            | "UPDATE"
            | "DELETE"
            | "DROP"
            | "CREATE"
            | "ALTER"
            | "TRUNCATE"
            | "REPLACE"
            | "MERGE"
            | "GRANT"
            | "REVOKE"
            | "WITH"
            | "CALL"
    )
}
