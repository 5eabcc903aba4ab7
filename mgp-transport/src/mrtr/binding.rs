//! The binding of a sealed state to its principal and request.

use mgp_types::{Method, Params, Principal};
use sha2::{Digest, Sha256};

/// Returns the value that the state of a request with several rounds is bound to: a digest of the principal, the method
/// and the parameters. It is the same in every round.
pub fn binding(principal: Option<&Principal>, method: &Method, params: &Params) -> [u8; 32] {
    let mut digest = Sha256::new();
    let mut part = |bytes: &[u8]| {
        digest.update((bytes.len() as u64).to_be_bytes());
        digest.update(bytes);
    };
    part(principal.map_or("", |principal| principal.kind().as_str()).as_bytes());
    part(principal.map_or("", Principal::as_str).as_bytes());
    part(method.as_str().as_bytes());
    for (name, value) in params.iter() {
        if !PER_ROUND.contains(&&*name) {
            part(name.as_bytes());
            part(value.as_bytes());
        }
    }
    digest.finalize().into()
}

/// The parameters that may differ in each round: the answers themselves, and the members that MCP and MGP add.
const PER_ROUND: [&str; 5] = ["_meta", "_mgp", "trace_id", "inputResponses", "requestState"];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(principal: &'static str, method: &Method, params: &'static str) -> [u8; 32] {
        binding(Some(&Principal::new(principal)), method, &Params::parse(params).unwrap())
    }

    #[test]
    fn rounds_of_one_request_have_one_binding_and_others_have_others() {
        let first = of("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#);
        let next = of(
            "a",
            &Method::TOOLS_CALL,
            r#"{"name":"t","arguments":{"x":1},"_meta":{},"_mgp":{"deadline_ms":1},"trace_id":"t","inputResponses":{},"requestState":"s"}"#,
        );
        assert_eq!(first, next);
        for other in [
            of("b", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::PROMPTS_GET, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":2}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t"}"#),
            binding(None, &Method::TOOLS_CALL, &Params::new()),
        ] {
            assert_ne!(first, other);
        }
    }
}
