//! The sealed state that a client keeps while its call is parked.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use mgp_transport::token::{SealingKey, TokenBinding, TokenPurpose};
use mgp_types::{Error, Request};

/// The sealer of the state that a client keeps while its call is parked.
///
/// Parked calls are those of this process, so the key is its own, and a prefix that no other process has says whose
/// state it is: a kernel behind this one may have parked a call, too, and its state has to pass.
pub(super) struct Tickets {
    key: SealingKey,
    prefix: String,
}

/// The data by which a parked call is resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    /// The number of the call.
    pub(super) call: u64,
    /// The number of times that the call has asked.
    pub(super) round: u64,
    /// The principal and the request, which the answers have to match.
    pub(super) binding: TokenBinding,
}

impl Tickets {
    pub(super) fn new() -> Self {
        // The number has to differ between processes, and is no secret.
        let process = RandomState::new().hash_one(0);
        Self { key: SealingKey::random(), prefix: format!("mgp-parked.{process:016x}.") }
    }

    /// Returns the state by which the client resumes a call.
    pub(super) fn seal(&self, ticket: Ticket, ttl: Duration) -> String {
        let mut content = ticket.call.to_be_bytes().to_vec();
        content.extend_from_slice(&ticket.round.to_be_bytes());
        let sealed = self.key.seal(&content, &ticket.binding, ttl).expect("two numbers fit in a ticket");
        format!("{}{sealed}", self.prefix)
    }

    /// Returns the sealed part of a state that says it is of this process.
    pub(super) fn sealed<'a>(&self, state: &'a str) -> Option<&'a str> {
        state.strip_prefix(&self.prefix)
    }

    /// Returns the ticket in `sealed`, if `request` may resume its call.
    ///
    /// # Errors
    /// -32602 if the request may not resume it.
    pub(super) fn open(&self, sealed: &str, request: &Request) -> Result<Ticket, Error> {
        let binding = binding(request);
        let content = self.key.open(sealed, &binding).map_err(|why| unknown().with_source(why))?;
        let (call, rest) = content.split_first_chunk().ok_or_else(unknown)?;
        let round = rest.try_into().map_err(|_| unknown())?;
        Ok(Ticket { call: u64::from_be_bytes(*call), round: u64::from_be_bytes(round), binding })
    }
}

/// Returns the binding of a ticket for `request`: the same in each of its rounds.
pub(super) fn binding(request: &Request) -> TokenBinding {
    let principal = request.context.principal.as_ref();
    TokenBinding::of_request(TokenPurpose::ParkedCall, principal, &request.method, &request.params)
}

/// Returns the error for a state that resumes nothing. It is the same for all reasons, so that trying out states
/// reveals nothing.
pub(super) fn unknown() -> Error {
    Error::invalid_params(
        "no call waits for these answers: `requestState` was changed, was used before, is of another call, or is too \
         old; make the call again without `requestState` and `inputResponses`",
    )
}

#[cfg(test)]
mod tests {
    use mgp_types::{Method, Params, Principal};

    use super::*;

    fn request(principal: &'static str, params: &'static str) -> Request {
        let mut request = Request::call(Method::TOOLS_CALL, Params::parse(params).unwrap());
        request.context.principal = Some(Principal::new(principal));
        request
    }

    fn bound_to(request: &Request) -> Ticket {
        let binding = binding(request);
        Ticket { call: 3, round: 2, binding }
    }

    #[test]
    fn a_ticket_is_for_who_got_it_and_for_what_it_was_given() {
        let tickets = Tickets::new();
        let own = request("a", r#"{"name":"t"}"#);
        let state = tickets.seal(bound_to(&own), Duration::from_mins(1));
        let sealed = tickets.sealed(&state).unwrap();
        assert_eq!(tickets.open(sealed, &own).unwrap(), bound_to(&own));
        for other in [request("b", r#"{"name":"t"}"#), request("a", r#"{"name":"u"}"#)] {
            assert_eq!(tickets.open(sealed, &other).unwrap_err().code(), -32602);
        }
        for changed in [&sealed[1..], "", "AAAA", &format!("{sealed}A")] {
            assert!(tickets.open(changed, &own).is_err(), "{changed}");
        }
    }

    #[test]
    fn the_state_of_another_process_is_not_ours() {
        let own = request("a", "{}");
        let state = Tickets::new().seal(bound_to(&own), Duration::from_mins(1));
        assert_eq!(Tickets::new().sealed(&state), None);
        assert_eq!(Tickets::new().sealed("whatever"), None);
    }
}
