use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use mgp_transport::mrtr::{SealingKey, binding};
use mgp_types::{Error, Request};

/// Makes and reads the state that a client keeps while its call is parked.
///
/// Parked calls are those of this process, so the key is its own, and a name that no other process has says whose state
/// it is: a kernel behind this one may have parked a call, too, and its state has to pass.
pub(super) struct Tickets {
    key: SealingKey,
    prefix: String,
}

/// What a parked call is resumed by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ticket {
    /// The call.
    pub(super) call: u64,
    /// How often it has asked.
    pub(super) round: u64,
    /// Who asks what.
    pub(super) binding: [u8; 32],
}

impl Tickets {
    pub(super) fn new() -> Self {
        // It has to be another one for each process, and is no secret.
        let process = RandomState::new().hash_one(0);
        Self { key: SealingKey::random(), prefix: format!("mgp-parked.{process:016x}.") }
    }

    /// The state to resume a call by.
    pub(super) fn seal(&self, ticket: Ticket, ttl: Duration) -> String {
        let mut content = ticket.call.to_be_bytes().to_vec();
        content.extend_from_slice(&ticket.round.to_be_bytes());
        let sealed = self.key.seal(&content, &ticket.binding, ttl);
        format!("{}{sealed}", self.prefix)
    }

    /// The sealed part of a state that says it is of this process.
    pub(super) fn sealed<'a>(&self, state: &'a str) -> Option<&'a str> {
        state.strip_prefix(&self.prefix)
    }

    /// What `sealed` resumes, if `request` may.
    ///
    /// # Errors
    /// -32602 if it may not.
    pub(super) fn open(&self, sealed: &str, request: &Request) -> Result<Ticket, Error> {
        let binding = binding(request.context.principal.as_ref(), &request.method, &request.params);
        let content = self.key.open(sealed, &binding).map_err(|why| unknown().with_source(why))?;
        let (call, rest) = content.split_first_chunk().ok_or_else(unknown)?;
        let round = rest.try_into().map_err(|_| unknown())?;
        Ok(Ticket { call: u64::from_be_bytes(*call), round: u64::from_be_bytes(round), binding })
    }
}

/// Why a state resumes nothing. It is the same for all reasons: whoever tries out states learns nothing.
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
        let binding = binding(request.context.principal.as_ref(), &request.method, &request.params);
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
