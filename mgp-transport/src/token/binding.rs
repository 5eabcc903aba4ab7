//! The facts that a token is bound to.

use mgp_types::{Method, Params, Principal};
use sha2::{Digest, Sha256};

use super::TokenPurpose;

/// The facts that a token is bound to, as a digest: its purpose, its principal, and whatever is added.
///
/// ```
/// use mgp_transport::token::{TokenBinding, TokenPurpose};
/// use mgp_types::Principal;
///
/// let ada = Principal::new("ada");
/// let binding = TokenBinding::new(TokenPurpose::Checkpoint, Some(&ada)).and(b"export").and(b"{}");
/// assert_ne!(binding, TokenBinding::new(TokenPurpose::Checkpoint, Some(&ada)).and(b"export{}"));
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct TokenBinding {
    purpose: TokenPurpose,
    digest: [u8; 32],
}

/// The parameters that may differ in each round: the answers themselves, and the members that MCP and MGP add.
const PER_ROUND: [&str; 5] = ["_meta", "_mgp", "trace_id", "inputResponses", "requestState"];

impl TokenBinding {
    /// Binds a token of `purpose` to `principal`. A token for nobody known is none for anybody known.
    pub fn new(purpose: TokenPurpose, principal: Option<&Principal>) -> Self {
        let nothing = Self { purpose, digest: [0; 32] };
        nothing
            .and(principal.map_or("", |principal| principal.kind().as_str()).as_bytes())
            .and(principal.map_or("", Principal::as_str).as_bytes())
    }

    /// Binds a token of `purpose` to a request with several rounds: to its principal, its method and its parameters. The
    /// binding is the same in every round.
    pub fn of_request(
        purpose: TokenPurpose,
        principal: Option<&Principal>,
        method: &Method,
        params: &Params,
    ) -> Self {
        let mut binding = Self::new(purpose, principal).and(method.as_str().as_bytes());
        for (name, value) in params.iter() {
            if !PER_ROUND.contains(&&*name) {
                binding = binding.and(name.as_bytes()).and(value.as_bytes());
            }
        }
        binding
    }

    /// Binds the token to `fact`, too. The order of facts and the borders between them count.
    #[must_use]
    pub fn and(self, fact: &[u8]) -> Self {
        // The digest so far has a fixed length, so that no two lists of facts are hashed as the same bytes.
        let digest = Sha256::new().chain_update(self.digest).chain_update(fact).finalize();
        Self { digest: digest.into(), ..self }
    }

    pub(super) const fn purpose(&self) -> TokenPurpose {
        self.purpose
    }

    pub(super) const fn digest(&self) -> &[u8; 32] {
        &self.digest
    }
}

mgp_types::partial_debug!(TokenBinding, self => purpose: self.purpose);

#[cfg(test)]
mod tests {
    use super::*;

    fn of(principal: &'static str, method: &Method, params: &'static str) -> TokenBinding {
        let params = Params::parse(params).unwrap();
        TokenBinding::of_request(
            TokenPurpose::RequestState,
            Some(&Principal::new(principal)),
            method,
            &params,
        )
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
        let nobody =
            TokenBinding::of_request(TokenPurpose::RequestState, None, &Method::TOOLS_CALL, &Params::new());
        for other in [
            of("b", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::PROMPTS_GET, r#"{"name":"t","arguments":{"x":1}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t","arguments":{"x":2}}"#),
            of("a", &Method::TOOLS_CALL, r#"{"name":"t"}"#),
            nobody,
        ] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_fact_that_is_cut_elsewhere_is_another_one() {
        let none = TokenBinding::new(TokenPurpose::Checkpoint, None);
        let all = [
            none,
            none.and(b""),
            none.and(b"ab"),
            none.and(b"a").and(b"b"),
            none.and(b"b").and(b"a"),
            none.and(b"ab").and(b""),
            TokenBinding::new(TokenPurpose::Checkpoint, Some(&Principal::new("ab"))),
            TokenBinding::new(TokenPurpose::Checkpoint, Some(&Principal::operator("ab"))),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(all[..place].iter().all(|other| other != one), "{place}");
        }
    }
}
